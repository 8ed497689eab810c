"""A failure that is reported several times counts once."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.features.page.entries import Log
from tests.recordings.library import load

from adk_prism.features.page.film import fold


def nested(log: Log) -> None:
    log.start("boss")
    log.start("agent", "boss")
    log.start("look", "agent", "tool", call="c-1")
    log.end("look", "failed", error="ValueError")
    log.end("agent", "failed", error="ValueError")
    log.end("boss", "failed", error="ValueError")
    log.over("failed")


def twice(log: Log) -> None:
    for node in ("a1", "a2"):
        log.start(node)
        log.end(node, "failed", error="ValueError")
    log.over()


def other_code(log: Log) -> None:
    log.start("boss")
    log.start("look", "boss", "tool")
    log.end("look", "failed", error="ValueError")
    log.end("boss", "failed", error="KeyError")
    log.over()


@pytest.mark.parametrize(
    ("play", "failures"), [(nested, [5]), (twice, [3, 5]), (other_code, [4, 5])]
)
def test_a_failure_counts_where_it_was_first_seen(
    play: Callable[[Log], None], failures: list[int]
) -> None:
    """What fails around it, with the same code, is the same failure; at no cursor there is another."""
    log = Log()
    play(log)
    film = fold(log.entries)
    for cursor in range(1, film.last + 1):
        assert film.failures.at(cursor) == [one for one in failures if one <= cursor]


@pytest.mark.parametrize(
    ("name", "count"), [("exception", 1), ("tool_error", 1), ("x_retried_node", 2), ("state", 0)]
)
def test_failures_of_recordings(name: str, count: int) -> None:
    """The timeline shows them with their times; without any it says nothing of them."""
    shown = fold(load(name)).at(panel="timeline")["timeline"]
    assert len(shown.get("failures", ())) == count
    assert all(0 <= one["time"] <= shown["now"] for one in shown.get("failures", ()))
