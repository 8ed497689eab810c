"""The app with services: real HTTP on the loopback, garbage included, and no network at all."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.app_runner import SESSION, USER, AppRun, AppRunner
from tests.apps.research.databases.asking import Clock
from tests.apps.research.databases.loopback import Answer, loopback, synthetic

from adk_prism_apps.research.agent import research_app
from adk_prism_apps.research.session_state import FAILED

SEARCH = "search_semantic_scholar"
ONLINE = {"ADK_PRISM_DATABASES": "semantic_scholar"}
LIBRARY = "search_sample_library"


def found(count: int, total: int | None = None) -> Answer:
    """Return an answer of the service with so many papers (synthetic)."""
    papers = [
        {
            "paperId": f"p{n}",
            "title": f"Explainable AI number {n} (synthetic)",
            "year": 2020 + n % 5,
        }
        for n in range(count)
    ]
    return synthetic(200, {"total": count if total is None else total, "offset": 0, "data": papers})


async def conversation(url: str, *words: str) -> tuple[AppRun, dict[str, Any]]:
    """Say some things to the app with that service; return the last run and the state."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ADK_PRISM_SEMANTIC_SCHOLAR_URL", url)
        stage = AppRunner(research_app(0, environment=ONLINE, timer=Clock()))
        for text in words:
            take = await stage.send(text)
            assert take.error is None
    session = await stage.sessions.get_session(
        app_name="research", user_id=USER, session_id=SESSION
    )
    assert session is not None
    return take, dict(session.state)


async def test_a_service_is_asked_once_it_is_approved() -> None:
    """Not before; the receipt has the request as curl, and the expectation was unknown."""
    async with loopback([found(7)]) as service:
        planned, state = await conversation(service.url, "explainable AI")
        assert service.asked == []
        plan = state["grounding:pending_search_plan"]
        assert (plan["database"], plan["tool"], plan["mode"]) == (
            "Semantic Scholar",
            SEARCH,
            "online",
        )
        assert plan["expected_results"].startswith("unknown")
        assert "short run finds out" in planned.text
        _, state = await conversation(service.url, "explainable AI", "ok")
        assert len(service.asked) == 1
    [receipt] = state["grounding:search_history"]
    assert receipt["request"].startswith("curl ")
    assert receipt["mode"] == "online"
    assert state["grounding:papers_found"] == 7
    assert state.get("grounding:last_search_failure") is None


async def test_a_short_run_counts_and_the_full_search_is_held_against_it() -> None:
    """The total of the short run is the expectation of the whole."""
    async with loopback([found(10, total=34), found(34)]) as service:
        take, state = await conversation(service.url, "explainable AI", "short run")
        assert "Proceed with full search? 34 papers" in take.text
        assert service.asked[0].parameters["limit"] == "10"
        _, state = await conversation(service.url, "explainable AI", "short run", "ok")
    assert state["grounding:papers_found"] == 34


TROUBLES: dict[str, tuple[Answer, str]] = {
    "html": (Answer(200, b"<html>busy</html>", (("content-type", "text/html"),)), "service_error"),
    "garbage": (synthetic(200, b"\x00\xff not JSON"), "service_error"),
    "wrong types": (synthetic(200, {"total": "many", "data": 5}), "service_error"),
    "forbidden": (synthetic(403, {"message": "Forbidden"}), "auth_failed"),
    "bad request": (synthetic(400, {"error": "bad query"}), "malformed_query"),
    "nothing": (synthetic(200, {"total": 0, "offset": 0}), "empty_results"),
}


@pytest.mark.parametrize("name", TROUBLES)
async def test_a_service_that_answers_badly(name: str) -> None:
    """Help with the class of failure. Without an answer nothing was searched; it is listed as failed."""
    answer, kind = TROUBLES[name]
    async with loopback([answer]) as service:
        take, state = await conversation(service.url, "explainable AI", "ok")
    failure = state["grounding:last_search_failure"]
    assert failure["type"] == kind
    assert failure["context"]["rule"]
    assert "SEARCH HELP" in take.text
    answered = kind == "empty_results"
    assert state.get("grounding:papers_found", 0) == 0
    assert len(state.get("grounding:search_history", ())) == answered
    assert len(state.get("grounding:databases_searched", ())) == answered
    assert [each["reason"] for each in state.get(FAILED, ())] == ([] if answered else [kind])
    assert state["grounding:pending_search_plan"] is None


async def test_without_a_network_the_library_is_offered_and_named() -> None:
    """Nobody listens there; the remedy searches the sample library, and says that it does."""
    take, state = await conversation("http://127.0.0.1:9", "explainable AI", "ok")
    failure = state["grounding:last_search_failure"]
    assert failure["type"] == "network_error"
    assert "127.0.0.1" not in json.dumps(failure)
    offered = [each["database"] for each in failure["actions"]]
    assert any(label.startswith("sample library") for label in offered)
    choice = 1 + next(n for n, label in enumerate(offered) if label.startswith("sample library"))
    take, state = await conversation(
        "http://127.0.0.1:9", "explainable AI", "ok", str(choice), "ok"
    )
    assert take.response(LIBRARY)["mode"] == "offline"
    assert state["grounding:databases_searched"][-1].startswith("sample library")
    assert state["grounding:papers_found"] == take.response(LIBRARY)["count"]
    assert "Semantic Scholar" not in json.dumps(take.response(LIBRARY)["papers"])


async def test_papers_of_two_databases_count_once() -> None:
    """Known by DOI, arXiv id or title."""
    first = synthetic(
        200,
        {
            "total": 2,
            "offset": 0,
            "data": [
                {
                    "paperId": "a",
                    "title": "Adversarial Counterfactual Visual Explanations",
                    "year": 2019,
                },
                {
                    "paperId": "b",
                    "title": "A paper that the library lacks (synthetic)",
                    "year": 2020,
                },
            ],
        },
    )
    async with loopback([first]) as service:
        _, state = await conversation(
            service.url,
            "visual explanations",
            "ok",
            "visual explanations in the sample library",
            "ok",
        )
    one, two = state["grounding:search_history"]
    assert (one["database"], one["new_count"]) == ("Semantic Scholar", 2)
    assert two["new_count"] == two["results_count"] - 1
    assert state["grounding:papers_found"] == 2 + two["new_count"]


@pytest.mark.parametrize(
    ("environment", "tool"),
    [
        ({}, LIBRARY),
        ({"ADK_PRISM_OFFLINE": "1", "SEMANTIC_SCHOLAR_API_KEY": "k"}, LIBRARY),
        ({"SEMANTIC_SCHOLAR_API_KEY": "k"}, SEARCH),
        ({"ADK_PRISM_DATABASES": "crossref"}, "search_crossref"),
        ({"ADK_PRISM_DATABASES": "nonsense"}, LIBRARY),
    ],
)
async def test_which_database_is_planned(environment: dict[str, str], tool: str) -> None:
    """The environment decides; with nothing set it is the sample library."""
    stage = AppRunner(research_app(0, environment=environment))
    take = await stage.send("explainable AI")
    assert take.response("propose_search")["plan"]["tool"] == tool  # type: ignore[index]


async def test_another_database_than_the_one_that_was_asked_for_is_said_to_be_one() -> None:
    """With how the other could be reached."""
    take = await AppRunner(research_app(0, environment={})).send(
        "Search Semantic Scholar for saliency"
    )
    assert "Semantic Scholar is not asked from here" in take.text
    assert "SEMANTIC_SCHOLAR_API_KEY" in take.text
