"""The findings of a run, in the session's state, one key per finding.

Skills write their brief under `specialist.skill`; the coordinator reads those of its own run. Specialists
that work at the same time write different keys. A finding of an earlier run stays in the state; its
invocation id distinguishes it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.adk.tools.tool_context import ToolContext

from .agent_names import COORDINATOR, SKILLS, SPECIALISTS
from .finding import Finding
from .library import DataProblem

_INCIDENT = f"{COORDINATOR}.find_fire"
LAST_FIRE = "fire_id"


def answer(context: ToolContext, key: str, skill: Callable[[], Finding]) -> dict[str, Any]:
    """Run a skill, note what it found, and return the tool's answer.

    Data that cannot be used is an answer too: an error with its file and field.
    """
    try:
        finding = skill()
    except DataProblem as problem:
        _note(context, key, {"problem": problem.message})
        return {"error": problem.message, "data": {"problem": problem.data()}}
    _note(context, key, finding.brief())
    return finding.response(key)


def note_fire(context: ToolContext, finding: Finding) -> None:
    """Remember the fire that the run is about."""
    brief = finding.brief() | {"as_of": finding.data.get("as_of", "")}
    _note(context, _INCIDENT, brief)
    context.state[LAST_FIRE] = finding.data["fire_id"]


def incident_brief(context: ToolContext) -> dict[str, Any] | None:
    """Return what this run has noted of the fire itself."""
    return _of_this_run(context).get(_INCIDENT)


def briefs(context: ToolContext) -> dict[str, dict[str, Any]]:
    """Return the specialists' findings of this run, in the order of a briefing."""
    found = _of_this_run(context)
    keys = [key for key in found if key.partition(".")[0] in SPECIALISTS]
    return {key: found[key] for key in sorted(keys, key=_place)}


def _place(key: str) -> tuple[int, int, str]:
    specialist, skill, *_ = key.split(".")
    place = SKILLS.index(skill) if skill in SKILLS else len(SKILLS)
    return SPECIALISTS.index(specialist), place, key


def _note(context: ToolContext, key: str, brief: dict[str, Any]) -> None:
    context.state[key] = brief | {"invocation": context.invocation_id}


def _of_this_run(context: ToolContext) -> dict[str, dict[str, Any]]:
    return {
        key: value
        for key, value in context.state.to_dict().items()
        if isinstance(value, dict) and value.get("invocation") == context.invocation_id
    }
