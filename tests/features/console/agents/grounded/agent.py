"""A researcher's app without a model: it keeps a grounding, asks before it searches, and finds too little.

Synthetic throughout. It knows the grounding keys and nothing of any panel, so what a panel shows of it is
what it would show of anybody's app.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from google.adk.agents import BaseAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events import Event, EventActions
from google.genai import types

PLAN = {
    "database": "Card index",
    "query": "explainable AI clinical",
    "filters": {"year": ">=2020"},
    "rationale": "The only one there is",
    "expected_results": "12-20 papers",
}
FAILURE = {
    "type": "database_coverage_gap",
    "context": {"database": "Card index", "results_count": 3, "expected_count": 12},
    "remedies": {
        "primary": "Try synonyms",
        "fallback": "Ask elsewhere",
        "ask_researcher": "Which?",
    },
}
RECEIPT = {
    "timestamp": "2026-03-01T14:23:05+00:00",
    "database": "Card index",
    "query": "explainable AI clinical",
    "results_count": 3,
    "new_count": 3,
    "filters_applied": ["year>=2020"],
}
_G = "grounding:"


class Grounded(BaseAgent):
    """Answers by what was said and what the state holds."""

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        said = "".join(
            part.text or "" for part in (ctx.user_content or types.Content()).parts or []
        )
        text, delta = _answer(said, dict(ctx.session.state))
        yield Event(
            author=self.name,
            invocation_id=ctx.invocation_id,
            content=types.Content(role="model", parts=[types.Part(text=text)]),
            actions=EventActions(state_delta=delta),
        )


def _answer(said: str, state: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    if state.get(f"{_G}pending_search_plan"):
        return _decide(state)
    if state.get(f"{_G}selected_remedy"):
        chosen = state[f"{_G}selected_remedy"]
        return f"Remedy {chosen}.", _plan() | {
            f"{_G}selected_remedy": None,
            f"{_G}last_search_failure": None,
        }
    return "I propose a search.", _plan() | {
        f"{_G}research_question": said,
        f"{_G}stage": "scoping",
        f"{_G}search_assumptions": ["English only"],
        f"{_G}papers_found": 0,
    }


def _plan() -> dict[str, Any]:
    waits = {"owner": "researcher", "action": "approve_search", "target": "Card index"}
    return {f"{_G}pending_search_plan": PLAN, f"{_G}next_action": waits}


def _decide(state: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    decision = state.get(f"{_G}user_approval")
    cleared = {f"{_G}pending_search_plan": None, f"{_G}user_approval": None}
    if decision in ("ok", "short_run"):
        preview = bool(state.get(f"{_G}preview_mode"))
        history = state.get(f"{_G}search_history") or []
        return f"Searched, decision {decision}.", cleared | {
            f"{_G}stage": "retrieval",
            f"{_G}papers_found": 3,
            f"{_G}databases_searched": ["Card index"],
            f"{_G}search_history": [*history, RECEIPT | {"preview": preview}],
            f"{_G}last_search_failure": FAILURE,
            f"{_G}next_action": {"owner": "researcher", "action": "choose_remedy"},
        }
    return f"Not searched, decision {decision}.", cleared


root_agent = Grounded(name="grounded")
