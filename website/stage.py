"""Gather the pages of the site in build/docs: `python -m website.stage`.

A page may have lines `<!-- built: NAME -->`: what the code says is written there. The checkout does not hold
those parts, so they are never stale.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from website.commands import commands
from website.navigation import navigation
from website.places import ROOT, moved, pages
from website.python_api import python_api
from website.routes import routes
from website.settings import settings

MARKER = re.compile(r"^<!-- built: ([\w-]+) -->$", re.MULTILINE)
BUILT: Mapping[str, Callable[[], str]] = {
    "commands": commands,
    "python-api": python_api,
    "routes": routes,
    "settings": settings,
}


HISTORY = ("docs/decisions/", "docs/STATUS.md", "docs/security-tests.md", "CHANGELOG.md")
"""Pages that the search leaves out: what they say would come before the guides."""
_NOT_SEARCHED = "---\nsearch:\n  exclude: true\n---\n\n"


def stage(build: Path) -> None:
    """Write the pages to docs/ in a folder, and mkdocs.yml beside it."""
    staged = build / "docs"
    shutil.rmtree(staged, ignore_errors=True)
    places = pages()
    for source, place in places.items():
        target = staged / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.endswith(".md"):
            target.write_text(_page(source, places), encoding="utf-8")
        else:
            shutil.copyfile(ROOT / source, target)
    names = {place for place in places.values() if place.endswith(".md")}
    nav = navigation((staged / "README.md").read_text(encoding="utf-8"), names)
    config = {
        "INHERIT": str(Path(__file__).with_name("mkdocs.yml")),
        "docs_dir": staged.name,
        "site_dir": "site",
        "nav": nav,
    }
    # JSON is YAML, too.
    (build / "mkdocs.yml").write_text(json.dumps(config, indent=1), encoding="utf-8")


def _page(source: str, places: dict[str, str]) -> str:
    text = (ROOT / source).read_text(encoding="utf-8")
    page = MARKER.sub(lambda found: BUILT[found[1]](), moved(text, source, places))
    return _NOT_SEARCHED + page if source.startswith(HISTORY) else page


if __name__ == "__main__":
    stage(ROOT / "build")
