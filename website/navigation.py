"""The navigation of the site: the sections and lists of docs/README.md, the page that one starts at.

A page that the lists leave out fails the build, so what is in docs/ can be found.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Any

from website.places import LINK

Entry = dict[str, Any]
"""A page under its title, or a section with its pages."""

ITEM = re.compile(r"^- (?P<link>\[[^\]]*\]\([^)]*\))", re.MULTILINE)


def navigation(start: str, staged: set[str]) -> list[Entry]:
    """Return mkdocs's `nav` for the staged start page and the names of all staged pages."""
    sections: list[Entry] = [{"Start here": "README.md"}]
    for section in re.split(r"^## ", start, flags=re.MULTILINE)[1:]:
        title, _, lists = section.partition("\n")
        items = [_item(found["link"]) for found in ITEM.finditer(lists)]
        entries = [entry for name, page in items for entry in _with_folder(name, page, staged)]
        if entries:
            sections.append({title.strip(): entries})
    return sections


def _item(text: str) -> tuple[str, str]:
    found = LINK.fullmatch(text)
    assert found is not None, text
    return found["text"][1:-1].replace("`", ""), found["target"].partition("#")[0]


def _with_folder(name: str, page: str, staged: set[str]) -> list[Entry]:
    """A list's README stands for the pages beside it: decisions, examples."""
    if not page.endswith("/README.md"):
        return [{name: page}]
    folder = PurePosixPath(page).parent
    below = sorted(
        each for each in staged if each != page and folder in PurePosixPath(each).parents
    )
    return [{name: [page, *below]}]
