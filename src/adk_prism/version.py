"""The versions: ours, and the range of google-adk that it supports.

`pyproject.toml` and the README name the same range; a test compares them.
"""

from __future__ import annotations

VERSION = "0.1.0"

OLDEST_ADK = (2, 13)
"""Major and minor (docs/decisions/0026-supported-adk.md)."""
NEXT_ADK = 3
"""The first major version that is not supported."""
ADK_RANGE = ">={}.{},<{}".format(*OLDEST_ADK, NEXT_ADK)


def adk_problem() -> str:
    """Return what is wrong with the installed google-adk, in one line; empty if it is supported.

    A version that cannot be read is not judged.
    """
    # Imported here: `adk-prism --help` needs no metadata.
    from importlib.metadata import PackageNotFoundError, version

    try:
        installed = version("google-adk")
        major, minor = (int(number) for number in installed.split(".")[:2])
    except (PackageNotFoundError, ValueError):
        return ""
    if OLDEST_ADK <= (major, minor) < (NEXT_ADK, 0):
        return ""
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
