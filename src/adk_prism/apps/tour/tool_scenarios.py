"""The scenarios in which the root agent calls its own tools, and what it says of their answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adk_prism.models import Call, Say, Turn, say

from .scenario_input import Act, ScenarioInput


def one_call(call: Call, before: str, after: str) -> Act:
    """Return the act that says `before`, calls, and says `after` of the answer."""

    def act(given: ScenarioInput) -> Turn:
        answer = given.answer(call.name)
        return Turn((Say(before), call)) if answer is None else say(after)

    return act


tool = one_call(
    Call("get_weather", {"city": "Lisbon"}),
    "I look at the weather.",
    "It is sunny in Lisbon, 21 degrees (synthetic).",
)

streamed_arguments = one_call(
    Call(
        "write_report",
        {
            "title": "Light and prisms",
            "body": "A prism bends each colour by its own angle, and so the colours part.",
            "tags": ["optics", "synthetic"],
            "copies": 2,
            "draft": True,
        },
        streamed=True,
    ),
    "I write a report; watch its arguments grow.",
    "The report is written.",
)

tool_error = one_call(
    Call("find_order", {"number": 4711}),
    "I look the order up.",
    "The tool answered with an error: there is no such order. The run goes on.",
)

exception = one_call(
    Call("always_fail"), "I call a tool that raises.", "This is never said: the run has failed."
)

progress = one_call(
    Call("copy_files", {"count": 3}),
    "I copy some files; the tool reports each one.",
    "All files are copied (synthetic).",
)


def slow(given: ScenarioInput) -> Turn:
    seconds = given.number(60)
    if given.answer("keep_silent") is None:
        return Turn((Say("I keep silent for a while."), Call("keep_silent", {"seconds": seconds})))
    return say("The silence is over.")


def approval(given: ScenarioInput) -> Turn:
    answer = given.answer("send_invoice")
    if answer is None:
        invoice = Call("send_invoice", {"customer": "Ada", "amount": 120.5})
        return Turn((Say("I need your approval to send this invoice."), invoice))
    return say(f"The invoice {_fate(answer, 'was sent')}.")


def two_approvals(given: ScenarioInput) -> Turn:
    invoice, draft = given.answer("send_invoice"), given.answer("delete_draft")
    if invoice is None or draft is None:
        calls = (
            Call("send_invoice", {"customer": "Grace", "amount": 80.0}),
            Call("delete_draft", {"name": "old-offer"}),
        )
        return Turn((Say("I need your approval for two things."), *calls))
    sent, deleted = _fate(invoice, "was sent"), _fate(draft, "was deleted")
    return say(f"The invoice {sent}, and the draft {deleted}.")


def client_tool(given: ScenarioInput) -> Turn:
    answer = given.answer("get_location")
    if answer is None:
        return Turn((Say("I ask your device."), Call("get_location", {"accuracy": "city"})))
    return say(f"Your device answered: {_brief(answer)}.")


def mixed_batch(given: ScenarioInput) -> Turn:
    place, invoice = given.answer("get_location"), given.answer("send_invoice")
    weather = given.answer("get_weather")
    if place is None and invoice is None and weather is None:
        calls = (
            Call("get_location", {"accuracy": "city"}),
            Call("send_invoice", {"customer": "Ada", "amount": 42.0}),
            Call("get_weather", {"city": "Porto"}),
        )
        return Turn((Say("One tool of yours, one to approve, one of mine, all at once."), *calls))
    where = _brief(place) if place is not None else "no answer"
    fate = _fate(invoice, "was sent") if invoice is not None else "waits"
    return say(f"Your device: {where}. The invoice {fate}. The weather is sunny.")


def long_running(given: ScenarioInput) -> Turn:
    answer = given.answer("order_print")
    if answer is None:
        return Turn((Say("I order the print."), Call("order_print", {"pages": 12})))
    if answer.get("status") == "pending":
        return say("The print is ordered; the result comes later, in a message of its own.")
    return say(f"The print is done: {_brief(answer)}.")


def state(given: ScenarioInput) -> Turn:
    if given.answer("note_trip") is None:
        return Turn((Say("I note the trip."), Call("note_trip", {"destination": "Hamburg"})))
    if given.answer("note_budget") is None:
        return Turn((Say("And its budget."), Call("note_budget", {"amount": 1200})))
    return say("Both are in the session's state now.")


artifact = one_call(
    Call("save_note", {"name": "note.txt", "text": "A synthetic note."}),
    "I save a note.",
    "The note is saved as an artifact.",
)


def credential_request(given: ScenarioInput) -> Turn:
    answer = given.answer("read_calendar")
    if answer is None:
        return Turn((Say("I need you to sign in."), Call("read_calendar", {"day": "today"})))
    return say(f"The calendar says: {_brief(answer)}.")


def _fate(answer: Mapping[str, Any], done: str) -> str:
    return "was not approved" if "error" in answer else done


def _brief(answer: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in answer.items() if key != "synthetic")
