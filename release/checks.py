"""Why a checkout may not be released: versions that disagree, missing notes, a contact that nobody reads."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

from changes.notes import fragments

PLACEHOLDER = "security@example.invalid"
"""Stands in SECURITY.md until the maintainers have an address. No mail can be sent to `.invalid`."""

_VERSION = re.compile(r'^VERSION = "(?P<version>[^"]+)"$', re.MULTILINE)


def version_of(root: Path) -> str:
    """Return the version that pyproject.toml names."""
    return str(tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"])


def problems(root: Path) -> list[str]:
    """Return every reason why a checkout may not be released, a sentence each."""
    version = version_of(root)
    return [
        *_versions(root, version),
        *_notes(root, version),
        *_contact(root),
        *_repository(root, version),
    ]


def _versions(root: Path, version: str) -> Iterator[str]:
    for place, found in _named_versions(root):
        if found != version:
            yield f"{place} says {found}, pyproject.toml says {version}."


def _named_versions(root: Path) -> Iterator[tuple[str, str]]:
    """Yield every place that repeats the version, and what stands there."""
    source = root / "src" / "adk_prism" / "version.py"
    match = _VERSION.search(source.read_text())
    yield "src/adk_prism/version.py", match["version"] if match else "nothing"
    client = root / "packages" / "client" / "package.json"
    yield "packages/client/package.json", json.loads(client.read_text())["version"]
    apps = tomllib.loads((root / "apps" / "pyproject.toml").read_text())["project"]
    yield "apps/pyproject.toml", apps["version"]
    own = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    pins = [("apps/pyproject.toml", each) for each in apps["dependencies"]]
    pins += [("pyproject.toml", each) for each in own["optional-dependencies"]["apps"]]
    for place, pin in pins:
        name, equals, pinned = pin.partition("==")
        if equals and name.startswith("adk-prism"):
            yield f"{place}, {name}", pinned


def _notes(root: Path, version: str) -> Iterator[str]:
    changelog = (root / "CHANGELOG.md").read_text()
    if not re.search(
        rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$", changelog, re.MULTILINE
    ):
        yield (
            f"CHANGELOG.md has no notes of {version}."
            f" Write them: python changes/notes.py --release {version}"
        )
    if left := fragments(root / "changes"):
        yield f"changes/ has {len(left)} notes that are in no release, such as {min(left).name}."


def _contact(root: Path) -> Iterator[str]:
    for name in ("SECURITY.md", "CODE_OF_CONDUCT.md"):
        if PLACEHOLDER in (root / name).read_text():
            yield f"{name} names {PLACEHOLDER}: put an address there that somebody reads."


def _repository(root: Path, version: str) -> Iterator[str]:
    if _git(root, "status", "--porcelain"):
        yield "The checkout has changes that are not committed."
    if f"v{version}" not in _git(root, "tag", "--points-at", "HEAD").split():
        yield f"The commit has no tag v{version}: git tag --sign v{version}"


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout.strip()
