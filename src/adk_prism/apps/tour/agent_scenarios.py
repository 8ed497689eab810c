"""The scenarios in which other agents, or a workflow, do a part of the work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adk_prism.models import Call, Say, Turn, say

from .scenario_input import ScenarioInput
from .specialists import CLERK, GUIDE, TRANSLATOR, TRIP_SPECIALISTS
from .tool_scenarios import one_call
from .workflows import BOOK_TABLE, LOOK_UP, PLAN_TRIP


def transfer(given: ScenarioInput) -> Turn:
    return Turn((Say("I hand you over."), Call("transfer_to_agent", {"agent_name": GUIDE})))


def parallel_specialists(given: ScenarioInput) -> Turn:
    if all(given.answer(name) is None for name in TRIP_SPECIALISTS):
        calls = (Call(name, {"request": "A weekend in Porto"}) for name in TRIP_SPECIALISTS)
        return Turn((Say("I ask three specialists at once."), *calls))
    return say("All three have answered: the weekend can begin (synthetic).")


def sub_agent_approval(given: ScenarioInput) -> Turn:
    answer = given.answer(CLERK)
    if answer is None:
        ask = Call(CLERK, {"request": "Refund 19.90 for order 7"})
        return Turn((Say("I ask the clerk, who needs your approval."), ask))
    return say(f"The clerk reports: {_report(answer)}")


def agent_tool(given: ScenarioInput) -> Turn:
    answer = given.answer(TRANSLATOR)
    if answer is None:
        ask = Call(TRANSLATOR, {"request": "Good morning"})
        return Turn((Say("I ask the translator."), ask))
    return say(f"The translator says: {_report(answer)}")


workflow = one_call(
    Call(PLAN_TRIP, {"destination": "Lisbon", "days": 3}),
    "I start the workflow.",
    "The workflow is done.",
)

recovered_error = one_call(
    Call(LOOK_UP, {"word": "prism"}),
    "I look it up in a place that fails at first.",
    "The first attempt failed, the second one worked, and the run goes on.",
)


def input_request(given: ScenarioInput) -> Turn:
    answer = given.answer(BOOK_TABLE)
    if answer is None:
        return Turn((Say("I book a table."), Call(BOOK_TABLE, {"restaurant": "Prisma"})))
    return say(f"The booking says: {_report(answer)}")


def _report(answer: Mapping[str, Any]) -> str:
    return str(answer.get("result", dict(answer)))
