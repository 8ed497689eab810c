"""What the operator reads: one line each, with its cause, safe to print."""

from __future__ import annotations

import io
import json
import logging
import warnings
from collections.abc import Iterator

import pytest

from adk_prism.errors import Diagnostic
from adk_prism.server.observability import QUIET, route_logging, sink
from adk_prism.server.setting_groups import LogLevel

FULL = Diagnostic(
    kind="run failed", detail="it broke", correlation="c1", run="r1", app="tour", cause="a\nb"
)


def test_text_is_one_line_with_the_cause_below() -> None:
    """Readable, and the ids can be searched for."""
    stream = io.StringIO()
    sink("text", stream)(FULL)
    first, *rest = stream.getvalue().splitlines()
    assert first.endswith(" run failed correlation=c1 app=tour run=r1: it broke")
    assert rest == ["    a", "    b"]


def test_json_is_one_line() -> None:
    """A line for a machine, with only what there is."""
    stream = io.StringIO()
    sink("json", stream)(FULL)
    sink("json", stream)(Diagnostic(kind="x"))
    first, second = (json.loads(line) for line in stream.getvalue().splitlines())
    assert first.pop("time")
    assert first == {
        "kind": "run failed",
        "detail": "it broke",
        "correlation": "c1",
        "run": "r1",
        "app": "tour",
        "cause": "a\nb",
    }
    assert set(second) == {"time", "kind"}


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_client_cannot_write_lines_of_its_own(form: str) -> None:
    """Names come from requests: a line break, a colour code or half a surrogate pair stay inside."""
    stream = io.StringIO()
    detail = "x\n00:00:00 forged\x1b[31m\u202e\ud800"
    sink(form, stream)(Diagnostic(kind="k", detail=detail))  # type: ignore[arg-type]
    written = stream.getvalue()
    assert written.count("\n") == 1
    assert written.removesuffix("\n").isprintable()


@pytest.fixture
def untouched() -> Iterator[None]:
    """Put logging and warnings back as they were."""
    root = logging.getLogger()
    handlers = list(root.handlers)
    levels = {name: logging.getLogger(name).level for name in (*QUIET, "root")}
    with warnings.catch_warnings():
        yield
    logging.captureWarnings(False)
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)
    root.handlers[:] = handlers


@pytest.mark.usefixtures("untouched")
def test_libraries_speak_from_warnings_up() -> None:
    """ADK's and uvicorn's records become diagnostics; their chatter does not."""
    told: list[Diagnostic] = []
    route_logging(told.append)
    warnings.simplefilter("always")
    warnings.filterwarnings("ignore", message=r"\[EXPERIMENTAL\]", category=UserWarning)
    logging.getLogger("google_adk.runner").info("chatter")
    logging.getLogger("google_adk.runner").warning("worth %s", "it")
    warnings.warn("[EXPERIMENTAL] thing: may change", UserWarning, stacklevel=1)
    try:
        raise KeyError("why")
    except KeyError:
        logging.getLogger("uvicorn.error").exception("broke")
    assert [(each.kind, each.detail) for each in told] == [
        ("warning", "google_adk.runner: worth it"),
        ("error", "uvicorn.error: broke"),
    ]
    assert "KeyError" in told[1].cause


LEVELS: dict[LogLevel, list[str]] = {
    "debug": ["shop.agent debug", "shop.agent info", "shop.agent warning", "google_adk.x debug"],
    "info": ["shop.agent info", "shop.agent warning"],
    "warning": ["shop.agent warning"],
    "error": [],
}


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize("level", LEVELS)
def test_an_app_is_heard_from_the_level_that_is_set(level: LogLevel) -> None:
    """Its own loggers, whatever they are called; libraries from warnings up, with debug ADK too."""
    told: list[Diagnostic] = []
    route_logging(told.append, level)
    for name, number in (
        ("shop.agent", logging.DEBUG),
        ("shop.agent", logging.INFO),
        ("shop.agent", logging.WARNING),
        ("google_adk.x", logging.DEBUG),
        ("uvicorn.access", logging.INFO),
        ("httpx", logging.INFO),
    ):
        logging.getLogger(name).log(number, "%s", logging.getLevelName(number).lower())
    assert [each.detail.replace(":", "") for each in told] == LEVELS[level]


@pytest.mark.usefixtures("untouched")
def test_a_record_that_cannot_be_written_is_told_as_it_came() -> None:
    """An app's mistake in its arguments ends nothing, and is not lost."""
    told: list[Diagnostic] = []
    route_logging(told.append)
    logging.getLogger("shop").warning("%d eggs", "no")
    assert told[0].detail == "shop: %d eggs ('no',)"
