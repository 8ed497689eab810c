"""Spans of OpenTelemetry: the caller's, the request's, the run's, ADK's, one below the other."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from tests.server.traced import ABOVE

Span = dict[str, Any]
CHAT = "POST /api/chat/{app_name}"


@pytest.fixture(scope="module")
def spans() -> list[Span]:
    """The spans of a process that collects them, and was asked the same before it did."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.server.traced"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: list[Span] = json.loads(done.stdout)
    return found


def below(spans: list[Span], parent: str) -> dict[str, Span]:
    return {span["name"]: span for span in spans if span["parent"] == parent}


def test_adks_spans_are_below_the_runs_below_the_requests_below_the_callers(
    spans: list[Span],
) -> None:
    """One trace from the caller's own span to the tool that ran."""
    _, trace_id, above, _ = ABOVE.split("-")
    request = below(spans, above)[CHAT]
    assert request["kind"] == "SERVER"
    run = below(spans, request["id"])["adk_prism.run"]
    names = set()
    level = [run["id"]]
    while level:
        found = [span for each in level for span in below(spans, each).values()]
        names |= {span["name"] for span in found}
        level = [span["id"] for span in found]
    assert any("invoke_agent" in name or name == "invocation" for name in names), names
    assert any("execute_tool" in name for name in names), names
    ours = [span for span in spans if span["trace"] == trace_id]
    assert len(ours) > 4
    assert run["attributes"]["adk_prism.outcome"] == "finished"
    assert run["attributes"]["adk_prism.run"] == request["attributes"]["adk_prism.run"]
    assert request["attributes"]["http.response.status_code"] == 200
    assert request["attributes"]["adk_prism.request"] == "req-1"


def test_a_failed_run_is_an_error_that_leads_to_its_cause(spans: list[Span]) -> None:
    """The span has the reference that the client was told; the answer itself was a success."""
    (failed,) = [s for s in spans if s["attributes"].get("adk_prism.outcome") == "failed"]
    assert failed["status"] == "ERROR"
    assert failed["attributes"]["error.type"] == "RuntimeError"
    assert len(failed["attributes"]["adk_prism.correlation"]) == 12
    (request,) = [s for s in spans if s["id"] == failed["parent"]]
    assert (request["name"], request["status"], request["parent"]) == (CHAT, "UNSET", "")


def test_a_host_that_traces_its_requests_has_the_runs_below_its_own(spans: list[Span]) -> None:
    """There is no second span of the same request."""
    (host,) = [span for span in spans if span["name"] == "host"]
    assert list(below(spans, host["id"])) == ["adk_prism.run"]


def test_a_socket_is_a_span(spans: list[Span]) -> None:
    """Below its caller's, too, for as long as it is open."""
    _, _, above, _ = ABOVE.split("-")
    socket = below(spans, above)["WS /api/live/{app_name}"]
    assert socket["attributes"]["http.response.status_code"] == 101


def test_spans_name_templates_and_nobody(spans: list[Span]) -> None:
    """No query, no path, no text of an exception in ours."""
    ours = [s for s in spans if s["name"].startswith(("GET", "POST", "WS", "adk_prism"))]
    text = json.dumps(ours)
    assert "GET" in [span["name"] for span in ours]
    for word in ("secret", "nowhere", "broken", "hello"):
        assert word not in text
