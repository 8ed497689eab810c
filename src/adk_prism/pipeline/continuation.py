"""Matched answers with which a run continues, as the log stores them and as ADK takes them."""

from __future__ import annotations

from msgspec import Raw, structs

from adk_prism.facts.adk_event import request_name
from adk_prism.facts.calls.pending import Pending, PendingApproval, PendingCall
from adk_prism.pipeline.answer_matching import MatchedAnswers
from adk_prism.runlog.entry import Continues, Decision, Response
from adk_prism.source.redaction import answer_json
from adk_prism.source.request import ApprovalAnswer, CallAnswer

_NULL = Raw(b"null")


def continues(
    message: str, pending: Pending, answers: MatchedAnswers, *, late: bool = False
) -> Continues:
    """Return what a continuation run continues with.

    `late`: the conversation has continued since. Open questions of the message have expired.
    """
    updated = {name: c for name, c in pending.late_calls.items() if name in answers.outputs}
    calls = _going_on(pending, answers) if late else pending.open_calls
    calls = calls | updated
    return Continues(
        message=message,
        open_calls={name: call.name for name, call in calls.items()},
        adk_ids={name: c.adk_id for name, c in calls.items() if c.adk_id != name},
        decisions={_gated(pending, d).call.call: d for d in answers.decisions.values()},
        answers={name: _kept(pending, name, out) for name, out in answers.outputs.items()},
        askers=_askers(pending, answers),
        delegated=pending.delegated,
    )


def _kept(pending: Pending, name: str, output: Raw) -> Raw:
    """Return what the log keeps of an answer: of a credential, which is a secret, that there was one."""
    return _NULL if is_credential(pending, name) else output


def is_credential(pending: Pending, name: str) -> bool:
    """Tell whether an answer is a credential."""
    asked = pending.requests.get(name)
    return asked is not None and asked.kind == "credential"


def _going_on(pending: Pending, answers: MatchedAnswers) -> dict[str, PendingCall]:
    """Return the open calls that are answered or decided, and those that run agents."""
    decided = {_gated(pending, d).call.call for d in answers.decisions.values()}
    kept = {*answers.outputs, *decided, *pending.delegated}
    return {name: call for name, call in pending.open_calls.items() if name in kept}


def _askers(pending: Pending, answers: MatchedAnswers) -> dict[str, str]:
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


def call_answers(pending: Pending, answers: MatchedAnswers) -> list[CallAnswer]:
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
            found.append(CallAnswer(call=name, name=request_name(kind), response=output))
    return found


def signed(answers: MatchedAnswers, by: str) -> MatchedAnswers:
    """Return answers whose decisions name who made them, if that is known."""
    decisions = {name: structs.replace(d, by=by) for name, d in answers.decisions.items()}
    return MatchedAnswers(decisions, answers.outputs)


def decided(pending: Pending, answers: MatchedAnswers) -> list[tuple[bool, str]]:
    """Return what was decided: whether it was approved, and what it was."""
    return [
        (d.approved, f"{_gated(pending, d).call.name} {d.approval}")
        for d in answers.decisions.values()
    ]


def approval_answers(answers: MatchedAnswers) -> list[ApprovalAnswer]:
    """Return the decisions as ADK takes them."""
    return [
        ApprovalAnswer(approval=d.approval, approved=d.approved, reason=d.reason, payload=d.payload)
        for d in answers.decisions.values()
    ]


def responses(pending: Pending, answers: MatchedAnswers, *, typed: bool) -> dict[str, Response]:
    """Return what the log keeps of answers whose run is a turn of its own."""
    kept = {}
    for name, output in answers.outputs.items():
        kind = pending.requests[name].kind
        if kind == "credential":  # a secret
            kept[name] = Response(kind=kind)
        else:
            redacted = answer_json(request_name(kind), output)
            kept[name] = Response(kind=kind, response=redacted, typed=typed)
    for name, decision in answers.decisions.items():
        kept[name] = Response(kind="confirmation", decision=decision)
    return kept
