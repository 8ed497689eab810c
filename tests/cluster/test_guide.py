"""The files in the guide to replicas: they can be read, and say what this version takes."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from adk_prism.cli.options import add_settings
from adk_prism.server.setting_sources import read_settings
from adk_prism.server.settings import Settings

GUIDE = Path(__file__).parents[2] / "docs/guides/cluster.md"
CLOSING = 2
"""Seconds that connections may take to close after the grace period."""


def blocks() -> list[Any]:
    """Return the YAML in the guide: the compose file, and the Deployment."""
    return [
        yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", GUIDE.read_text(), re.S)
    ]


def settings_of(words: list[str], environment: dict[str, str]) -> Settings:
    """Read a command as the program does."""
    assert words[:2] == ["adk-prism", "serve"]
    parser = argparse.ArgumentParser()
    add_settings(parser)
    given = vars(parser.parse_args(words[2:]))
    return read_settings({k: v for k, v in given.items() if v is not None}, environment, Path("/"))


def seconds(text: str) -> int:
    return int(text.removesuffix("s"))


def test_the_compose_file() -> None:
    """Its command and environment are settings, and a container has the time that a replica needs."""
    compose = blocks()[0]
    prism = compose["services"]["prism"]
    settings = settings_of(prism["command"].split(), prism["environment"])
    assert settings.log == "redis://redis:6379/0"
    assert seconds(prism["stop_grace_period"]) >= settings.grace + CLOSING
    assert set(prism["depends_on"]) == set(compose["services"]) - {"prism"}
    named = {
        volume.split(":")[0]
        for service in compose["services"].values()
        for volume in service.get("volumes", [])
    }
    assert named == set(compose["volumes"])
    assert (
        "--appendonly yes --maxmemory-policy noeviction" in compose["services"]["redis"]["command"]
    )


@pytest.mark.parametrize("kind", ["Deployment"])
def test_the_kubernetes_example(kind: str) -> None:
    """The same for a pod; what it is probed at is there."""
    [found] = [block for block in blocks()[1:] if block["kind"] == kind]
    spec = found["spec"]
    pod = spec["template"]["spec"]
    [container] = pod["containers"]
    settings = settings_of(container["args"], {"ADK_PRISM_LOG": "redis://redis:6379/0"})
    assert pod["terminationGracePeriodSeconds"] >= settings.grace + CLOSING
    assert spec["selector"]["matchLabels"] == spec["template"]["metadata"]["labels"]
    assert container["ports"] == [{"containerPort": settings.port}]
    probes = {name: container[name]["httpGet"] for name in ("readinessProbe", "livenessProbe")}
    assert probes == {
        "readinessProbe": {"path": "/ready", "port": settings.port},
        "livenessProbe": {"path": "/health", "port": settings.port},
    }
