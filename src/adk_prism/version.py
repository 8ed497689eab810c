"""The versions: ours, where everything may look it up, and those of google-adk that it works with.

`pyproject.toml` says the same; a test holds them equal.
"""

from __future__ import annotations

VERSION = "0.1.0"

OLDEST_ADK = (2, 13)
"""Major and minor. Older ones have another `Event`, other plugins and no workflows."""
ADK_RANGE = ">=2.13,<3"


def check_adk() -> None:
    """Leave the program, with one line on stderr and exit code 1, if google-adk is too old.

    Called before the first import of google-adk, which would fail with a stack that says nothing. A
    version that cannot be read is not judged.
    """
    # Imported here: `adk-prism --help` needs no metadata.
    from importlib.metadata import PackageNotFoundError, version

    try:
        installed = version("google-adk")
        major, minor = (int(number) for number in installed.split(".")[:2])
    except (PackageNotFoundError, ValueError):
        return
    if (major, minor) < OLDEST_ADK:
        raise SystemExit(
            f"adk-prism: google-adk {installed} is installed, and adk-prism {VERSION} needs"
            f" google-adk{ADK_RANGE}; run: pip install 'google-adk{ADK_RANGE}'"
        )
