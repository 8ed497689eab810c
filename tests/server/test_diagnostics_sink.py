"""What the operator reads: one line each, with its cause, safe to print."""

from __future__ import annotations

import io
import json
import logging
import warnings
from collections.abc import Iterator

import pytest

from adk_prism.diagnostics import Diagnostic
from adk_prism.server.operating.diagnostics_sink import route_logging, sink

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
    before = (root.level, list(root.handlers))
    with warnings.catch_warnings():
        yield
    logging.captureWarnings(False)
    root.setLevel(before[0])
    root.handlers[:] = before[1]


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
