"""Where each page of the checkout is on the site, and what becomes of the links between them.

Pages of docs/ keep their places. Those that have to be elsewhere in the checkout, such as SECURITY.md, get
one. A link to a file that is no page of the site, such as a test, is written as the file's name.
"""

from __future__ import annotations

import re
from os.path import normpath, relpath
from pathlib import Path

ROOT = Path(__file__).parent.parent

ELSEWHERE = {
    "ARCHITECTURE.md": "project/architecture.md",
    "CHANGELOG.md": "project/changelog.md",
    "CODE_OF_CONDUCT.md": "project/conduct.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "README.md": "project/readme.md",
    "SECURITY.md": "security.md",
    "apps/README.md": "project/example-apps.md",
    "benchmarks/README.md": "benchmarks.md",
    "packages/client/README.md": "reference/client.md",
}
"""Pages outside of docs/; those of examples/ are found."""

FOLDERS = {"docs/decisions": "decisions/README.md", "examples": "examples/README.md"}
"""Folders that are linked to, and the page that stands for each."""

LINK = re.compile(r"(?P<text>!?\[(?:[^\[\]]|\[[^\]]*\])*\])\((?P<target>[^()\s]+)\)")
FENCE = re.compile(r"^( *)(```|~~~).*?^\1\2 *$", re.DOTALL | re.MULTILINE)


def pages() -> dict[str, str]:
    """Return the place on the site of every file that is copied there, by its path in the checkout."""
    places = {
        path.relative_to(ROOT).as_posix(): path.relative_to(ROOT / "docs").as_posix()
        for path in sorted((ROOT / "docs").rglob("*"))
        if path.is_file()
    }
    examples = [*(ROOT / "examples").glob("*.md"), *(ROOT / "examples").glob("*/*.md")]
    pictures = [
        path for kind in ("png", "webp") for path in (ROOT / "examples").glob(f"*/*.{kind}")
    ]
    own = (path.relative_to(ROOT).as_posix() for path in sorted([*examples, *pictures]))
    return places | {name: name for name in own} | ELSEWHERE


def moved(text: str, page: str, places: dict[str, str]) -> str:
    """Return a page with links that hold on the site; code blocks stay as they are."""
    parts, end = [], 0
    for block in FENCE.finditer(text):
        parts += [_moved_links(text[end : block.start()], page, places), block[0]]
        end = block.end()
    return "".join([*parts, _moved_links(text[end:], page, places)])


def _moved_links(text: str, page: str, places: dict[str, str]) -> str:
    def link(found: re.Match[str]) -> str:
        target, sign, anchor = found["target"].partition("#")
        if not target or ":" in target:
            return found[0]
        path = normpath(f"{page.rpartition('/')[0] or '.'}/{target}")
        place = FOLDERS.get(path) or places.get(path)
        if place is None:
            return found["text"].strip("!")[1:-1]
        return f"{found['text']}({_relative(place, places[page])}{sign}{anchor})"

    return LINK.sub(link, text)


def _relative(place: str, page: str) -> str:
    return relpath(place, page.rpartition("/")[0] or ".")
