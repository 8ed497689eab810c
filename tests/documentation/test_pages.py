"""The pages can be read as files: every link leads to a file and a heading; every page can be found."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from website.navigation import navigation
from website.places import FENCE, LINK, ROOT, moved, pages
from website.stage import BUILT, MARKER

PAGES = [name for name in pages() if name.endswith(".md")]


def prose(name: str) -> str:
    return FENCE.sub("", (ROOT / name).read_text(encoding="utf-8"))


@cache
def anchors(path: Path) -> frozenset[str]:
    """Return the anchors that a file view gives to a page's headings."""
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    found: list[str] = []
    for heading in re.findall(r"^#+ (.+?) *$", text, re.MULTILINE):
        words = LINK.sub(lambda link: link["text"][1:-1], heading)
        slug = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
        found.append(f"{slug}-{found.count(slug)}" if slug in found else slug)
    return frozenset(found)


def broken(name: str) -> list[str]:
    """Return the links of a page that lead nowhere."""
    wrong = []
    for link in LINK.finditer(prose(name)):
        target, _, anchor = link["target"].partition("#")
        if ":" in target:
            continue
        path = (ROOT / name).parent / target if target else ROOT / name
        has_anchor = not anchor or (path.suffix == ".md" and anchor in anchors(path))
        if not path.exists() or not has_anchor:
            wrong.append(link["target"])
    return wrong


@pytest.mark.parametrize("name", PAGES)
def test_every_link_leads_somewhere(name: str) -> None:
    """Also where no site is built: in an editor, or on a page that shows the checkout's files."""
    assert broken(name) == []


def test_every_page_is_in_a_list_of_the_first_one() -> None:
    """What is not linked from docs/README.md is on no path that a reader takes."""
    places = pages()
    start = moved((ROOT / "docs/README.md").read_text(encoding="utf-8"), "docs/README.md", places)
    staged = {place for name, place in places.items() if name in PAGES}
    listed = re.findall(r"[\w./-]+\.md\b", str(navigation(start, staged)))
    assert staged - set(listed) == set(), "add it to a list in docs/README.md"
    assert set(listed) <= staged
    assert len(listed) == len(staged), "a page is in two lists"


def test_what_the_site_adds_is_known() -> None:
    """A mistyped marker would else leave its page empty."""
    used = {marker for name in PAGES for marker in MARKER.findall((ROOT / name).read_text())}
    assert used == set(BUILT)


def test_a_link_to_what_is_no_page_becomes_a_name() -> None:
    """And one to a page that has moved follows it; code is left alone."""
    text = "[rules](../../SECURITY.md#a) [t](../../tests/conftest.py) `[x](y.md)`\n\n```\n[a](b)\n```\n"
    told = moved(text, "docs/guides/expose.md", pages())
    assert told.startswith("[rules](../security.md#a) t ")
    assert "```\n[a](b)\n```" in told
