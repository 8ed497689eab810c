"""Answers matched with what is pending: the only way in for an approval or a client's result.

Everything that a client says about a call is compared with the server's own table. What was never asked,
a decision that was made before, and what comes with another name or other arguments than were shown, is
a `Conflict`, on every route. What does not fit its question (a schema, a payload's shape) is
`Unprocessable`, and the question stays open.

Results of long-running calls are taken as often as they come (decision 0016). A chat client sends its
whole message back, so there only a result that differs from the one shown is a new one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Raw, Struct

from adk_prism.commands import ToolAnswer
from adk_prism.errors import Conflict
from adk_prism.facts.adk_event import request_name
from adk_prism.facts.calls.pending import Pending, PendingApproval, PendingCall
from adk_prism.facts.json_value import same_json
from adk_prism.facts.outcome import UNANSWERED
from adk_prism.facts.strict_json import repair
from adk_prism.runlog.entry import Decision, is_absent, to_raw
from adk_prism.source.redaction import answer_json


class MatchedAnswers(Struct, frozen=True):
    """What is answered: approvals by approval id, calls and requests by their id."""

    decisions: dict[str, Decision]
    outputs: dict[str, Raw]


class AdkAnswer(Struct, frozen=True):
    """A function response of a message to ADK's routes."""

    adk_id: str
    name: str
    answer: Decision | Raw


def match_parts(pending: Pending, given: Sequence[ToolAnswer], *, is_whole: bool) -> MatchedAnswers:
    """Find what is new in what a client says of calls. Raise `Conflict` for what is forged.

    `is_whole`: the client sent its whole message, with what it was shown.
    """
    decisions: dict[str, Decision] = {}
    outputs: dict[str, Raw] = {}
    for answer in given:
        _check_known(pending, answer)
        if answer.decision is not None:
            _take_decision(pending, answer, answer.decision, decisions)
        elif answer.output is not None and _is_new(pending, answer.call, answer.output, is_whole):
            _check_input(_answerable(pending)[answer.call].input, answer)
            outputs[answer.call] = answer.output
        elif answer.output is not None and pending.approval_of(answer.call) is not None:
            raise Conflict(f"Call {answer.call[:80]!r} needs an approval, not a result.")
    if not decisions and not outputs:
        raise Conflict(
            "This request has expired: nothing in this message is waiting for an answer."
        )
    return MatchedAnswers(decisions, outputs)


def _check_known(pending: Pending, answer: ToolAnswer) -> None:
    made = pending.call(answer.call)
    if made is None:
        raise Conflict(f"Call {answer.call[:80]!r} is not part of this message.")
    if answer.name and answer.name != made.name:
        raise Conflict(f"Call {answer.call[:80]!r} is not a call of tool {answer.name[:80]!r}.")


def _is_new(pending: Pending, call: str, output: Raw, is_whole: bool) -> bool:
    if call not in _answerable(pending):
        return False
    late = pending.late_calls.get(call)
    return late is None or not is_whole or not _is_shown(late, pending.shown(call), output)


def _is_shown(call: PendingCall, shown: Raw, output: Raw) -> bool:
    """Return whether a result is what the client was shown, given back."""
    known = to_raw({"error": UNANSWERED}) if is_absent(shown) else Raw(repair(bytes(shown)))
    try:
        # What is in the log is redacted, what the client itself gave before is not.
        return same_json(known, answer_json(call.name, output))
    except (msgspec.MsgspecError, OverflowError, RecursionError):
        return True


def _take_decision(
    pending: Pending, answer: ToolAnswer, decision: Decision, into: dict[str, Decision]
) -> None:
    asked = pending.approvals.get(decision.approval)
    if asked is None and decision.approval in pending.approvals_asked:
        raise already_decided()
    if asked is None or asked.call.call != answer.call:
        if pending.approval_of(answer.call) is None:
            raise Conflict(f"No approval of call {answer.call[:80]!r} is pending.")
        raise Conflict(f"{decision.approval[:80]!r} is not the pending approval of that call.")
    held = pending.held_decisions.get(decision.approval)
    if held is not None:
        # A client sends its whole last message: an answer that is held comes again with the next.
        if held.approved != decision.approved:
            raise already_decided()
        return
    _check_input(asked.call.input, answer)
    into[decision.approval] = checked(asked, decision)


def already_decided() -> Conflict:
    """Return the refusal of a second decision: the first one counts."""
    return Conflict(
        "This was already decided, perhaps in another tab or by somebody else; the first decision counts."
        " Reload the conversation to see it."
    )


def checked(asked: PendingApproval, decision: Decision) -> Decision:
    """Return a decision that has the payload it needs. Raise `Unprocessable` for one that has not."""
    if decision.approved:
        # Imports jsonschema, a tenth of a second that a server's start need not take.
        from adk_prism.facts.calls.answer_schema import check_payload

        check_payload(asked.payload, decision.payload)
    return decision


def _check_input(asked: Raw, answer: ToolAnswer) -> None:
    if is_absent(asked) or is_absent(answer.input):
        return
    if not same_json(asked, answer.input):
        raise Conflict(
            f"The arguments of call {answer.call[:80]!r} were changed; send them as they were shown."
        )


# --------------------------------------------------------------------------- ADK's own ids


def asks_for(pending: Pending, given: Sequence[AdkAnswer]) -> bool:
    """Return whether an answer may be meant for this message."""
    known = {call.adk_id for call in pending.calls.values()}
    return any(
        a.adk_id in known or a.adk_id in pending.approvals or a.adk_id in pending.requests
        for a in given
    )


def match_adk(pending: Pending, given: Sequence[AdkAnswer]) -> MatchedAnswers:
    """Match answers that name ADK's own ids. Raise `Conflict` for one that nothing waits for.

    A confirmation is passed on unchanged, with its payload: ADK's contract has no schema for it.
    """
    decisions: dict[str, Decision] = {}
    outputs: dict[str, Raw] = {}
    calls = {c.adk_id: c for c in _answerable(pending).values()}
    for each in given:
        adk_id, answer = each.adk_id, each.answer
        if isinstance(answer, Decision):
            if adk_id in pending.held_decisions or (
                adk_id in pending.approvals_asked and adk_id not in pending.approvals
            ):
                raise already_decided()
            if adk_id not in pending.approvals:
                raise Conflict(f"No approval {adk_id[:80]!r} is pending.")
            decisions[adk_id] = answer
        elif adk_id in pending.requests:
            asked = pending.requests[adk_id]
            _check_name(each, request_name(asked.kind))
            outputs[adk_id] = fit_request(pending, adk_id, answer)
        elif adk_id in calls:
            _check_name(each, calls[adk_id].name)
            outputs[calls[adk_id].call] = answer
        else:
            raise Conflict(f"No call {adk_id[:80]!r} is waiting for an answer.")
    return MatchedAnswers(decisions, outputs)


def _check_name(given: AdkAnswer, name: str) -> None:
    if given.name and given.name != name:
        raise Conflict(
            f"Call {given.adk_id[:80]!r} is a call of {name[:80]!r}, not of {given.name[:80]!r}."
        )


def _answerable(pending: Pending) -> dict[str, PendingCall]:
    calls = pending.late_calls | pending.client_calls
    gated = {a.call.call for a in pending.approvals.values()}
    return {
        name: call
        for name, call in calls.items()
        if name not in pending.held_answers and name not in gated
    }


# --------------------------------------------------------------------------- requests


def fit_request(pending: Pending, request: str, response: Raw) -> Raw:
    """Return the answer to a question as it was asked for. Raise `Unprocessable` for a wrong one."""
    asked = pending.requests[request]
    if asked.kind != "input":
        return _object_in_text(response)
    from adk_prism.facts.calls.answer_schema import fit_response

    return fit_response(asked.request, response)


def _object_in_text(response: Raw) -> Raw:
    """Return an object that some clients send as JSON text; anything else as it is."""
    try:
        text = msgspec.json.decode(bytes(response)) if bytes(response) else None
        value = msgspec.json.decode(text) if isinstance(text, str) else None
    except (msgspec.MsgspecError, RecursionError):
        return response
    return to_raw(value) if isinstance(value, dict) else response


def match_responses(
    pending: Pending, responses: Mapping[str, Raw], confirmed: Sequence[Decision]
) -> MatchedAnswers:
    """Match what a user's message answers. What nothing waits for is passed over."""
    outputs = {
        name: fit_request(pending, name, response)
        for name, response in responses.items()
        if name in pending.requests
    }
    decisions = {
        d.approval: checked(pending.approvals[d.approval], d)
        for d in confirmed
        if d.approval in pending.approvals and d.approval not in pending.held_decisions
    }
    return MatchedAnswers(decisions, outputs)


# --------------------------------------------------------------------------- held answers


def held(pending: Pending) -> MatchedAnswers:
    """Return the answers that were given before and not yet passed on."""
    return MatchedAnswers(dict(pending.held_decisions), dict(pending.held_answers))


def with_held(pending: Pending, answers: MatchedAnswers) -> MatchedAnswers:
    """Add the answers that were held before."""
    before = held(pending)
    return MatchedAnswers(before.decisions | answers.decisions, before.outputs | answers.outputs)


def is_complete(pending: Pending, answers: MatchedAnswers) -> bool:
    """Return whether every open question has its answer."""
    return (
        pending.approvals.keys() <= answers.decisions.keys()
        and pending.client_calls.keys() - answers.outputs.keys() == set()
    )
