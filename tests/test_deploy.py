"""The files for containers agree with each other and with the server; `make dist` has their schemas."""

from __future__ import annotations

import re
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import yaml

from adk_prism.server.settings import Settings

ROOT = Path(__file__).parent.parent
DOCKERFILE = (ROOT / "Dockerfile").read_text()
COMPOSE = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text())
KUBERNETES = [*yaml.safe_load_all((ROOT / "deploy" / "kubernetes.yaml").read_text())]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


def resource(kind: str) -> dict[str, Any]:
    [found] = [one for one in KUBERNETES if one["kind"] == kind]
    return found


POD: dict[str, Any] = resource("Deployment")["spec"]["template"]["spec"]
[CONTAINER] = POD["containers"]
SERVICE: dict[str, Any] = COMPOSE["services"]["server"]


def test_nobody_is_root() -> None:
    """One number everywhere, so that files of one belong to the other."""
    [user] = re.findall(r"^USER (\d+):\1$", DOCKERFILE, re.MULTILINE)
    context = POD["securityContext"]
    assert {context[key] for key in ("runAsUser", "runAsGroup", "fsGroup")} == {int(user)}
    assert context["runAsNonRoot"]
    assert f"--uid {user} " in DOCKERFILE
    assert not CONTAINER["securityContext"]["allowPrivilegeEscalation"]
    assert CONTAINER["securityContext"]["capabilities"]["drop"] == SERVICE["cap_drop"] == ["ALL"]


def test_the_root_file_system_is_read_only() -> None:
    """What is written is in the volume, and in a temporary folder."""
    assert CONTAINER["securityContext"]["readOnlyRootFilesystem"]
    assert SERVICE["read_only"]
    mounts = {
        mount["mountPath"]: mount.get("readOnly", False) for mount in CONTAINER["volumeMounts"]
    }
    assert {path for path, is_read_only in mounts.items() if not is_read_only} == {"/data", "/tmp"}
    assert "VOLUME /data" in DOCKERFILE
    assert "ADK_PRISM_DATA_DIR=/data/" in DOCKERFILE


def test_probes_ask_for_the_routes_that_exist() -> None:
    """By a name that the server accepts; and a pod has time to end its runs."""
    probes = {
        name: CONTAINER[f"{name}Probe"]["httpGet"] for name in ("startup", "liveness", "readiness")
    }
    assert [probe["path"] for probe in probes.values()] == ["/health", "/health", "/ready"]
    for probe in probes.values():
        assert probe["httpHeaders"] == [{"name": "Host", "value": "localhost"}]
        assert probe["port"] == CONTAINER["ports"][0]["name"]
    assert "/health" in DOCKERFILE.partition("HEALTHCHECK")[2]
    grace = Settings().grace
    assert POD["terminationGracePeriodSeconds"] > grace
    assert int(SERVICE["stop_grace_period"].removesuffix("s")) > grace


def test_versions_are_those_of_the_package() -> None:
    assert CONTAINER["image"] == SERVICE["image"] == f"adk-prism:{VERSION}"


FILES = DOCKERFILE + "".join(
    (ROOT / "deploy" / name).read_text() for name in ("compose.yaml", "kubernetes.yaml")
)


@pytest.mark.parametrize("name", sorted(set(re.findall(r"ADK_PRISM_\w+", FILES))))
def test_variables_are_settings(name: str) -> None:
    """Or the folder of apps, which has no default."""
    known = {"agents_dir", *(field.name for field in fields(Settings))}
    assert name.removeprefix("ADK_PRISM_").lower() in known
