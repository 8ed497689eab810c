"""Answers matched with what is pending: the only way in for an approval or a client's result.

Everything that a client says about a call is compared with the server's own table. What was never asked,
has been answered, belongs to a message that the conversation has left behind, or comes with other
arguments than were shown, is a `Conflict`, on every route.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Raw, Struct, structs

from adk_prism.errors import Conflict
from adk_prism.facts.pending import Pending, PendingApproval, PendingCall
from adk_prism.projection.ai_sdk.requests import ToolAnswer, same_json
from adk_prism.runlog.entry import Continues, Decision, is_absent
from adk_prism.source.request import ApprovalAnswer, CallAnswer


class Answers(Struct, frozen=True):
    """What is answered: approvals by approval id, calls and requests by their id."""

    decisions: dict[str, Decision]
    outputs: dict[str, Raw]


def match_parts(pending: Pending, given: Sequence[ToolAnswer]) -> Answers:
    """Find what is new in the parts of an assistant's message. Raise `Conflict` for what is forged."""
    decisions: dict[str, Decision] = {}
    outputs: dict[str, Raw] = {}
    for answer in given:
        if not pending.knows(answer.call):
            raise Conflict(f"Call {answer.call[:80]!r} was never made in this message.")
        if answer.decision is not None:
            _take_decision(pending, answer, answer.decision, decisions)
        elif answer.output is not None and answer.call in pending.client_calls:
            _check_input(pending.client_calls[answer.call].input, answer)
            outputs[answer.call] = answer.output
        elif answer.output is not None and pending.approval_of(answer.call) is not None:
            raise Conflict(f"Call {answer.call[:80]!r} waits for an approval, not for a result.")
    if not decisions and not outputs:
        raise Conflict(
            "Nothing in this message waits for an answer; it may have been given before."
        )
    return Answers(decisions, outputs)


def _take_decision(
    pending: Pending, answer: ToolAnswer, decision: Decision, into: dict[str, Decision]
) -> None:
    asked = pending.approvals.get(decision.approval)
    if asked is None or asked.call.call != answer.call:
        if pending.approval_of(answer.call) is None:
            raise Conflict(f"No approval of call {answer.call[:80]!r} is pending.")
        raise Conflict(f"{decision.approval[:80]!r} is not the pending approval of that call.")
    held = pending.held_decisions.get(decision.approval)
    if held is not None:
        # A client sends its whole last message: an answer that is held comes again with the next.
        if held.approved != decision.approved:
            raise Conflict(f"Approval {decision.approval[:80]!r} has been answered otherwise.")
        return
    _check_input(asked.call.input, answer)
    into[decision.approval] = decision


def _check_input(asked: Raw, answer: ToolAnswer) -> None:
    if not is_absent(answer.input) and not same_json(asked, answer.input):
        raise Conflict(f"The arguments of call {answer.call[:80]!r} are not those that were shown.")


def match_adk(pending: Pending, given: Sequence[tuple[str, Decision | Raw]]) -> Answers:
    """Match answers that name ADK's own ids. Raise `Conflict` for one that nothing waits for."""
    decisions: dict[str, Decision] = {}
    outputs: dict[str, Raw] = {}
    calls = {c.adk_id: name for name, c in _answerable(pending).items()}
    for adk_id, answer in given:
        if isinstance(answer, Decision):
            if adk_id not in pending.approvals or adk_id in pending.held_decisions:
                raise Conflict(f"No approval {adk_id[:80]!r} is pending.")
            decisions[adk_id] = answer
        elif adk_id in pending.requests:
            outputs[adk_id] = answer
        elif adk_id in calls:
            outputs[calls[adk_id]] = answer
        else:
            raise Conflict(f"No call {adk_id[:80]!r} waits for an answer.")
    return Answers(decisions, outputs)


def _answerable(pending: Pending) -> dict[str, PendingCall]:
    calls = pending.late_calls | pending.client_calls
    return {name: call for name, call in calls.items() if name not in pending.held_answers}


def held(pending: Pending) -> Answers:
    """Return the answers that were given before and not yet passed on."""
    return Answers(dict(pending.held_decisions), dict(pending.held_answers))


def with_held(pending: Pending, answers: Answers) -> Answers:
    """Add the answers that were held before."""
    before = held(pending)
    return Answers(before.decisions | answers.decisions, before.outputs | answers.outputs)


def is_complete(pending: Pending, answers: Answers) -> bool:
    """Tell whether every open question has its answer."""
    return (
        pending.approvals.keys() <= answers.decisions.keys()
        and pending.client_calls.keys() - answers.outputs.keys() == set()
    )


def continues(message: str, pending: Pending, answers: Answers) -> Continues:
    """Return what a continuation run goes on with."""
    late = {name: c for name, c in pending.late_calls.items() if name in answers.outputs}
    calls = pending.open_calls | late
    return Continues(
        message=message,
        open_calls={name: call.name for name, call in calls.items()},
        adk_ids={name: c.adk_id for name, c in calls.items() if c.adk_id != name},
        decisions={_gated(pending, d).call.call: d for d in answers.decisions.values()},
        answers=answers.outputs,
        askers=_askers(pending, answers),
        delegated=pending.delegated,
    )


def _askers(pending: Pending, answers: Answers) -> dict[str, str]:
    """Return which node asked, for each decision (by its call) and each output."""
    calls = pending.open_calls | pending.late_calls
    asked = {
        _gated(pending, d).call.call: _gated(pending, d).call for d in answers.decisions.values()
    }
    found = {call: gated.node for call, gated in asked.items()}
    for name in answers.outputs:
        found[name] = (calls.get(name) or pending.requests[name]).node
    return found


def _gated(pending: Pending, decision: Decision) -> PendingApproval:
    return pending.approvals[decision.approval]


def call_answers(pending: Pending, answers: Answers) -> list[CallAnswer]:
    """Return the results as ADK takes them."""
    calls = pending.open_calls | pending.late_calls
    found = []
    for name, output in answers.outputs.items():
        if name in calls:
            found.append(
                CallAnswer(call=calls[name].adk_id, name=calls[name].name, response=output)
            )
        else:
            kind = pending.requests[name].kind
            found.append(CallAnswer(call=name, name=f"adk_request_{kind}", response=output))
    return found


def signed(answers: Answers, by: str) -> Answers:
    """Return answers whose decisions say who made them; nobody, where that is not known."""
    decisions = {name: structs.replace(d, by=by) for name, d in answers.decisions.items()}
    return Answers(decisions, answers.outputs)


def decided(pending: Pending, answers: Answers) -> list[tuple[bool, str]]:
    """Return what was decided: whether it was approved, and what it was."""
    return [
        (d.approved, f"{_gated(pending, d).call.name} {d.approval}")
        for d in answers.decisions.values()
    ]


def approval_answers(answers: Answers) -> list[ApprovalAnswer]:
    """Return the decisions as ADK takes them."""
    return [
        ApprovalAnswer(approval=d.approval, approved=d.approved, reason=d.reason)
        for d in answers.decisions.values()
    ]
