"""The app on ADK's real Gemini class: a model words things; what may run is decided without it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from google.genai import types
from tests.app_runner import SESSION, USER, AppRun, AppRunner
from tests.loopback_gemini import Json, LoopbackGemini, chunk, serve_gemini

from adk_prism_apps.research.agent import research_app
from adk_prism_apps.research.directive import read_directive

SEARCH = "search_sample_library"
QUERY = "counterfactual explanations"
CONFIRMATION = "adk_request_confirmation"


def calls(name: str, /, **args: Any) -> list[Json]:
    return [chunk({"functionCall": {"name": name, "args": args}}, finish="STOP")]


def says(text: str) -> list[Json]:
    return [chunk({"text": text}, finish="STOP")]


@contextmanager
def gemini(monkeypatch: pytest.MonkeyPatch, *replies: list[Json]) -> Iterator[LoopbackGemini]:
    """Let ADK's Gemini class talk to these replies."""
    with serve_gemini(*replies) as server:
        monkeypatch.setenv("ADK_PRISM_MODEL", "gemini-2.5-flash")
        monkeypatch.setenv("GOOGLE_API_KEY", "synthetic")
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.url)
        yield server


def searched(take: AppRun) -> bool:
    return any("papers" in (answer.response or {}) for answer in take.responses)


def asked(take: AppRun) -> bool:
    return any(call.name == CONFIRMATION for call in take.calls)


async def state_of(stage: AppRunner) -> dict[str, Any]:
    session = await stage.sessions.get_session(
        app_name="research", user_id=USER, session_id=SESSION
    )
    assert session is not None
    return dict(session.state)


def directives(server: LoopbackGemini) -> list[dict[str, Any]]:
    """Return what the model was told, request by request."""
    return [
        read_directive(request["systemInstruction"]["parts"][0]["text"])
        for request in server.requests
    ]


async def test_a_whole_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plan, ok, search, receipt; the directive says what to do at each step."""
    replies = (
        calls("propose_search", question=QUERY),
        [
            chunk({"text": "Here is the plan."}),
            chunk({"functionCall": {"name": SEARCH, "args": {"query": QUERY}}}, finish="STOP"),
        ],
        calls(SEARCH, query=QUERY, limit=50),
        says("Found."),
    )
    with gemini(monkeypatch, *replies) as server:
        stage = AppRunner(research_app(0, environment={}))
        planned = await stage.send(QUERY)
        found = await stage.send("yes, go ahead")
    assert planned.error is None
    assert found.error is None
    assert asked(planned)
    assert not searched(planned)
    assert searched(found)
    assert not asked(found)
    told = directives(server)
    assert [each["heard"]["do"] for each in told] == ["propose", "show", "search", "show"]
    assert told[2]["pending_call"] == {"tool": SEARCH, "args": {"query": QUERY, "limit": 50}}
    declared = {t["name"] for t in server.requests[0]["tools"][0]["functionDeclarations"]}
    assert declared >= {
        "search_semantic_scholar",
        "search_arxiv",
        "search_acm_digital_library",
        "search_ieee_xplore",
        "search_pubmed",
        "search_openalex",
        "search_crossref",
        SEARCH,
    }


async def test_a_search_that_nobody_planned_is_asked_about(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It becomes the pending plan, so that the box shows what is asked."""
    with gemini(monkeypatch, calls(SEARCH, query="saliency", since=2019), says("Done.")):
        stage = AppRunner(research_app(0, environment={}))
        take = await stage.send("Just search for saliency, do not ask me")
        assert asked(take)
        assert not searched(take)
        plan = (await state_of(stage))["grounding:pending_search_plan"]
        assert (plan["query"], plan["filters"]) == ("saliency", {"year": ">=2019"})
        [call] = [call for call in take.calls if call.name == CONFIRMATION]
        answer = types.FunctionResponse(id=call.id, name=CONFIRMATION, response={"confirmed": True})
        found = await stage.answer(answer)
    assert searched(found)


@pytest.mark.parametrize(
    "other",
    [
        {"query": "something else"},
        {"query": QUERY, "since": 1990},
        {"query": QUERY, "kinds": ["book"]},
    ],
)
async def test_an_approval_is_of_one_search_only(
    monkeypatch: pytest.MonkeyPatch, other: dict[str, Any]
) -> None:
    """A model that searches for anything else after the ok has to ask, and the ok is used up."""
    replies = (
        calls("propose_search", question=QUERY),
        calls(SEARCH, query=QUERY),
        calls(SEARCH, **other),
    )
    with gemini(monkeypatch, *replies):
        stage = AppRunner(research_app(0, environment={}))
        await stage.send(QUERY)
        take = await stage.send("ok")
    assert asked(take)
    assert not searched(take)
    assert (await state_of(stage))["grounding:user_approval"] is None


async def test_one_approval_is_one_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same call again asks again."""
    replies = (
        calls("propose_search", question=QUERY),
        calls(SEARCH, query=QUERY),
        calls(SEARCH, query=QUERY),
        calls(SEARCH, query=QUERY),
    )
    with gemini(monkeypatch, *replies):
        stage = AppRunner(research_app(0, environment={}))
        await stage.send(QUERY)
        take = await stage.send("ok")
    assert searched(take)
    assert asked(take)
    assert len((await state_of(stage))["grounding:search_history"]) == 1


async def test_one_approval_is_one_search_also_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two calls of one turn run side by side; one of them has to ask."""
    call = {"functionCall": {"name": SEARCH, "args": {"query": QUERY}}}
    replies = (
        calls("propose_search", question=QUERY),
        calls(SEARCH, query=QUERY),
        [chunk(call, call, finish="STOP")],
    )
    with gemini(monkeypatch, *replies):
        stage = AppRunner(research_app(0, environment={}))
        await stage.send(QUERY)
        take = await stage.send("ok")
    assert asked(take)
    assert len((await state_of(stage))["grounding:search_history"]) == 1


async def test_a_short_run_stays_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever limit the model asks for."""
    replies = (
        calls("propose_search", question=QUERY),
        calls(SEARCH, query=QUERY),
        calls(SEARCH, query=QUERY, limit=200),
        says("Ten."),
    )
    with gemini(monkeypatch, *replies):
        stage = AppRunner(research_app(0, environment={}))
        await stage.send(QUERY)
        take = await stage.send("short run")
    assert take.response(SEARCH)["count"] == 10


async def test_a_database_out_of_reach_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer says how to enable it; the researcher is not asked."""
    with gemini(monkeypatch, calls("search_arxiv", query=QUERY), says("Sorry.")):
        take = await AppRunner(research_app(0, environment={})).send("Search arXiv")
    assert not asked(take)
    assert "ADK_PRISM_DATABASES=arxiv" in json.dumps(take.response("search_arxiv"))


@pytest.mark.parametrize(
    "args",
    [
        {},
        {"query": ""},
        {"query": 5},
        {"query": QUERY, "since": "soon"},
        {"query": QUERY, "limit": -3},
        {"query": QUERY, "fields": "all", "kinds": [5]},
        {"query": '"unbalanced'},
    ],
)
async def test_arguments_that_a_model_got_wrong(
    monkeypatch: pytest.MonkeyPatch, args: dict[str, Any]
) -> None:
    """It is told so or asked about; nothing is searched and nothing breaks."""
    with gemini(monkeypatch, calls(SEARCH, **args), says("Sorry.")):
        take = await AppRunner(research_app(0, environment={})).send("Search")
    assert take.error is None
    assert not searched(take)


async def test_a_model_s_own_synthesis_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Citations of papers that are not there do not count."""
    sentences = ["Trees are easy [1, 2].", "All is well.", "Nobody wrote this [999]."]
    replies = (
        calls("propose_search", question=QUERY),
        calls(SEARCH, query=QUERY),
        calls(SEARCH, query=QUERY),
        says("Found."),
        calls("synthesize_findings", sentences=sentences),
        says("Done."),
    )
    with gemini(monkeypatch, *replies):
        stage = AppRunner(research_app(0, environment={}))
        await stage.send(QUERY)
        await stage.send("ok")
        take = await stage.send("synthesise")
    text = str(take.response("synthesize_findings")["text"])
    assert "- Trees are easy [1, 2]." in text
    assert "- All is well [uncited]." in text
    assert "- Nobody wrote this [uncited]." in text
