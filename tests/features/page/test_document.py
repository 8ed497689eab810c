"""The document of a film: grows by what came, in proportion to it, and never changes what it said."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.features.page import films
from tests.features.page.entries import Log
from tests.recordings.library import CAPTURES, RECORDINGS, load

from adk_prism.errors import BadPosition
from adk_prism.features.page.film import VERSION, Document, Film, document, encode, fold

Json = dict[str, Any]


def plain(written: Document) -> Json:
    found: Json = msgspec.json.decode(msgspec.json.encode(written))
    return found


def grown(whole: Json, growth: Json) -> Json:
    """Return a document with its growth: what any reader does with one."""
    assert growth["after"] == whole["last"]
    items = {kind: [dict(item) for item in known] for kind, known in whole["items"].items()}
    for kind, news in growth["items"].items():
        for item in news:
            if item["index"] < len(items.setdefault(kind, [])):
                known = items[kind][item["index"]]
                replaced = item["marks"] and item["marks"][-1][1] == {"replaced": True}
                known["marks"] = item["marks"] if replaced else known["marks"] + item["marks"]
            else:
                items[kind].append(item)
    return growth | {"after": 0, "times": whole["times"] + growth["times"], "items": items}


@pytest.mark.parametrize("name", [*RECORDINGS, *CAPTURES])
def test_a_document_that_grew_is_the_whole_one(name: str) -> None:
    """Entry by entry, or in two pieces."""
    film = Film()
    read: Json = {}
    for entry in load(name):
        before = film.last
        film.feed(entry)
        read = grown(read, plain(document(film, before))) if before else plain(document(film))
    assert read == plain(document(fold(load(name))))


@pytest.mark.parametrize("name", films.KEPT)
def test_the_golden_films_are_current(name: str) -> None:
    """`python -m tests.features.page.films` writes them; old ones stay readable, so explain the diff."""
    assert films.path(name).read_bytes() == films.golden(name)


def test_no_golden_film_is_left_over() -> None:
    """What nobody writes would never be compared."""
    assert set(films.FOLDER.glob("*")) == {films.path(name) for name in films.KEPT}


def test_it_says_what_it_is() -> None:
    """Version, run, where it belongs, how it ended, and from where on it holds."""
    log = Log("Hi", topic="x")
    log.over("failed", code="boom")
    written = plain(document(fold(log.entries)))
    assert written["version"] == VERSION
    assert (written["run"], written["app"], written["user"]) == ("run-1", "app", "user")
    assert (written["after"], written["last"], written["times"]) == (0, 2, [0, 500_000])
    assert written["ended"] == {
        "cursor": 2,
        "outcome": "failed",
        "code": "boom",
        "completion": 2,
    }


@pytest.mark.parametrize("after", [-1, 3, 10**9])
def test_growth_after_a_cursor_that_is_not_there_is_refused(after: int) -> None:
    """With the cursors there are."""
    log = Log("Hi")
    log.over()
    with pytest.raises(BadPosition, match="1 to 2"):
        document(fold(log.entries), after)


def test_a_film_of_nothing_has_no_document() -> None:
    """A run begins with its first entry."""
    with pytest.raises(BadPosition):
        document(Film())


def _text(pieces: int) -> Log:
    log = Log("Hi", topic="x")
    log.start("root")
    for number in range(pieces):
        log.event("root", text=f"word {number} ", partial=True)
    return log


def test_size_is_in_proportion_to_the_run() -> None:
    """Of a text that grows, each piece is there once; so also in growth."""
    small, large = (fold(_text(count).entries) for count in (1_000, 10_000))
    assert len(encode(large)) < 12 * len(encode(small))
    assert len(encode(large, large.last - 10)) < 1_500


def test_unreadable_grounding_says_why_from_when_to_when() -> None:
    """The page has the values, and not their shapes."""
    log = Log()
    for stage in ("scoping", 7, 8, "retrieval"):
        log.event(delta={"grounding:stage": stage})
    (fault,) = plain(document(fold(log.entries)))["items"]["faults"]
    assert [mark[0] for mark in fault["marks"]] == [3, 5]
    assert fault["marks"][0][1]
    assert fault["marks"][1][1] == ""
