"""Which packages are installed, and which versions of them are supported."""

from __future__ import annotations

import platform
import re
from importlib.metadata import PackageNotFoundError, requires, version
from typing import NamedTuple

from adk_prism.version import ADK_RANGE, VERSION

DISTRIBUTIONS = (
    "google-adk", "google-genai", "fastapi", "starlette", "uvicorn", "pydantic", "msgspec",
    "sqlalchemy", "opentelemetry-api", "redis", "textual", "adk-prism-apps",
)  # fmt: skip
"""In the order in which they are shown. The last three are optional."""

_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^\]]*\])?\s*([^;]*)")


class Package(NamedTuple):
    """A package that adk-prism uses."""

    name: str
    installed: str
    """Its version; empty if it is not installed."""
    supported: str
    """The versions that work; empty if any does."""


def packages() -> list[Package]:
    """Return Python, adk-prism and what it uses."""
    supported = _supported() | {"google-adk": ADK_RANGE}
    own = [
        Package("python", platform.python_version(), ">=3.11"),
        Package("adk-prism", VERSION, ""),
    ]
    return own + [Package(name, _version(name), supported.get(name, "")) for name in DISTRIBUTIONS]


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _supported() -> dict[str, str]:
    """Return the version ranges that adk-prism's own metadata requires."""
    try:
        wanted = requires("adk-prism") or []
    except PackageNotFoundError:  # run from a source tree
        return {}
    found = (_REQUIREMENT.match(line) for line in wanted)
    return {each[1].lower(): each[2].strip() for each in found if each is not None}
