"""The directive: what the agent has to do now, for the offline script and a real model alike.

It is one line of JSON in the instruction, written for every call of the model: what the researcher's
message means (decided in `intent`, not by the model), and what matters of the grounding box.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from .intent.reader import Intent
from .search_runner import call_of
from .session_state import SessionState
from .writing.plans import cost_text, spent_text

INTENT = "research:heard"
"""State key of the current intent. It is in the session, so that a run that continues after an answer,
or after its process died, has it and does not read the same message twice."""
_MARK = "Directive: "


def intent_value(intent: Intent, invocation: str) -> dict[str, Any]:
    """Return the intent of an invocation's message as a value for the state."""
    return {"invocation": invocation, "do": intent.do, **intent.about}


def shown_value(invocation: str) -> dict[str, Any]:
    """Return the intent after a tool has answered: show the answer."""
    return {"invocation": invocation, "do": "show"}


def was_read(state: Mapping[str, Any], invocation: str) -> bool:
    """Return whether the message of an invocation has been read."""
    intent = state.get(INTENT)
    return isinstance(intent, dict) and intent.get("invocation") == invocation


def directive_line(state: Mapping[str, Any]) -> str:
    """Return the line of the instruction."""
    box = SessionState(state).situation
    plan = box.pending_search_plan
    intent = {name: each for name, each in state.get(INTENT, {}).items() if name != "invocation"}
    told: dict[str, Any] = {"heard": intent}
    if plan is not None:
        told |= {
            "pending_call": call_of(plan),
            "approval": state.get("grounding:user_approval"),
            "cost": cost_text(plan),
        }
    if box.last_search_failure is not None:
        told["remedies"] = [each.name for each in box.last_search_failure.actions]
    told |= {
        "research_question": box.research_question,
        "papers_found": box.papers_found,
        "searches": len(box.search_history),
    }
    if box.search_history:
        told["last_cost"] = spent_text(box.search_history[-1])
    return _MARK + json.dumps(told, ensure_ascii=False)


def read_directive(instruction: str) -> dict[str, Any]:
    """Return the directive in an instruction; empty if there is none."""
    for line in reversed(instruction.splitlines()):
        if line.startswith(_MARK):
            found: dict[str, Any] = json.loads(line.removeprefix(_MARK))
            return found
    return {}
