"""What the agent is to do now, as the model is told: the same for the offline script and a real model.

It stands in the instruction as one line of JSON, made anew for every call of the model: what the
researcher's message means (decided in `hearing`, not by the model), and what the box holds that matters.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from .desk import Desk
from .hearing.hearing import Heard
from .searching import call_of
from .writing.plans import cost_text, spent_text

HEARD = "research:heard"
"""State key of what was heard. It is the session's, so that a run that goes on after an answer, or
after its process died, neither forgets it nor hears the same words twice."""
_MARK = "Directive: "


def heard_value(heard: Heard, invocation: str) -> dict[str, Any]:
    """Return what was heard in an invocation, as the state keeps it."""
    return {"invocation": invocation, "do": heard.do, **heard.about}


def shown_value(invocation: str) -> dict[str, Any]:
    """Return what is left to do once a tool has answered: to show it."""
    return {"invocation": invocation, "do": "show"}


def was_heard(state: Mapping[str, Any], invocation: str) -> bool:
    """Tell whether the message of an invocation has been heard."""
    heard = state.get(HEARD)
    return isinstance(heard, dict) and heard.get("invocation") == invocation


def directive_line(state: Mapping[str, Any]) -> str:
    """Return the line of the instruction."""
    box = Desk(state).situation
    plan = box.pending_search_plan
    heard = {name: each for name, each in state.get(HEARD, {}).items() if name != "invocation"}
    told: dict[str, Any] = {"heard": heard}
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
