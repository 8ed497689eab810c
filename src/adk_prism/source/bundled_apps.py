"""Which apps are served when no folder is named: the tour, and those of `adk-prism-apps`.

`adk-prism-apps` is a distribution of its own (`pip install "adk-prism[apps]"`). Its import package,
`adk_prism_apps`, is a folder of ADK apps. It is located, and never imported from here: an app is
imported by the loader, as any app of a folder is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path

TOUR_FOLDER = Path(__file__).parent.parent / "apps"
"""The folder of the apps that are part of this package."""

APPS_PACKAGE = "adk_prism_apps"
"""The import package of the distribution `adk-prism-apps`."""

BUNDLED_ALIASES: Mapping[str, str] = {"research_agent": "research"}
"""Further names that a bundled app is served under: the names that its panel's contract uses.

An alias is not listed. It has the same code and its own sessions, as if the folder had that name.
"""

_INSTALLED_WITH_APPS = frozenset({"recovery", "research", *BUNDLED_ALIASES})
"""Names of the apps of `adk-prism-apps`, for a message where it is not installed."""


@cache
def bundled_folders() -> Sequence[Path]:
    """Return the folders of the bundled apps: this package's, and that of `adk-prism-apps` if installed."""
    spec = find_spec(APPS_PACKAGE)
    installed = (spec and spec.submodule_search_locations) or ()
    return (TOUR_FOLDER.resolve(), *(Path(each).resolve() for each in installed))


def install_hint(app: str) -> str:
    """Return how to install a bundled app that is not there; empty for any other name."""
    if app not in _INSTALLED_WITH_APPS or len(bundled_folders()) > 1:
        return ""
    return ' Install it with: pip install "adk-prism[apps]".'


def is_bundled(path: Path) -> bool:
    """Return whether a file or folder belongs to a bundled app."""
    return any(path.is_relative_to(folder) for folder in bundled_folders())
