"""The versions: ours, and the range of google-adk that it supports.

`pyproject.toml` and the README name the same range; a test compares them.
"""

from __future__ import annotations

import platform
import re
import warnings
from importlib.metadata import PackageNotFoundError, requires, version
from typing import NamedTuple

VERSION = "0.1.0"

OLDEST_ADK = (2, 13)
"""Major and minor (docs/decisions/0026-supported-adk.md)."""
NEXT_ADK = 3
"""The first major version that is not supported."""
NEWEST_TESTED_ADK = (2, 13)
"""Major and minor. Newer ones of the range are expected to work, and `make test-versions` tells."""
ADK_RANGE = ">={}.{},<{}".format(*OLDEST_ADK, NEXT_ADK)


# ---------------------------------------------------------------------------
# What had another name in the version before: old names work for one release, and warn.

OLD_NAMES = {
    "cached_prefix": "cache_prefix",
    "client_state": "accept_client_state",
    "client_tools": "accept_client_tools",
    "in_doubt": "on_crash",
    "tool_threads": "limit_tool_threads",
}
"""Of `adk_prism`."""
OLD_SETTINGS = {"in_doubt": "on_crash", "in_doubt_tool": "on_crash_tool"}
"""Of `Settings`, and so options of `serve`, variables and keys of pyproject.toml."""
OLD_ARGUMENTS = {"as_": "protocol"}
"""Of `adk_prism.project`."""


def warn_of_old(old: str, new: str, level: int = 3) -> None:
    """Warn that a name is an old one; `level` frames up is who uses it."""
    text = f"{old} is now called {new}; the old name will not work in the next release."
    warnings.warn(text, DeprecationWarning, stacklevel=level + 1)


def _installed_adk() -> tuple[str, tuple[int, int]] | None:
    """Return the installed google-adk, as it is written and as numbers; None if it cannot be read."""
    # Imported here: `adk-prism --help` needs no metadata.
    from importlib.metadata import PackageNotFoundError, version

    try:
        installed = version("google-adk")
        major, minor = (int(number) for number in installed.split(".")[:2])
    except (PackageNotFoundError, ValueError):
        return None
    return installed, (major, minor)


def adk_notice() -> str:
    """Return that google-adk is newer than what was tested, in one line; empty if it is not."""
    found = _installed_adk()
    if found is None or not NEWEST_TESTED_ADK < found[1] < (NEXT_ADK, 0):
        return ""
    tested = "{}.{}".format(*NEWEST_TESTED_ADK)
    return (
        f"google-adk {found[0]} is newer than {tested}, the newest that adk-prism {VERSION} was tested with:"
        " it should work; adk-prism doctor lists what does, and adk-prism fields --check new fields"
    )


def adk_problem() -> str:
    """Return what is wrong with the installed google-adk, in one line; empty if it is supported.

    A version that cannot be read is not judged.
    """
    found = _installed_adk()
    if found is None or OLDEST_ADK <= found[1] < (NEXT_ADK, 0):
        return ""
    installed = found[0]
    return (
        f"google-adk {installed} is installed, and adk-prism {VERSION} needs google-adk{ADK_RANGE};"
        f" run: pip install 'google-adk{ADK_RANGE}' (adk-prism doctor lists all versions)"
    )


def check_adk() -> None:
    """Exit with one line on stderr and code 1 if google-adk is not supported.

    Called before the first import of google-adk, which could fail with a stack that says nothing.
    """
    problem = adk_problem()
    if problem:
        raise SystemExit(f"adk-prism: {problem}")


# ---------------------------------------------------------------------------
# Which packages are installed, and which versions of them are supported.

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
