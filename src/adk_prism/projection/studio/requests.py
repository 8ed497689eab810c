"""What a Studio client asks for: something to say, or answers to what it was asked.

    {"input": "…", "session_id": "…", "user_id": "…"}
    {"session_id": "…", "answers": [{"id": …, "call": …, "approved": true, "reason": "…", "payload": …}]}
    {"session_id": "…", "answers": [{"id": …, "result": …}]}
    {"session_id": "…", "answers": [{"call": …, "result": …}]}

`id` and `call` are those in an `interrupt`'s `data`; a `call` alone is one that the client itself ran.
Whether anybody waits for an answer is decided where the pending calls are. Unknown keys are passed
over.
"""

from __future__ import annotations

from typing import Any

from msgspec import Raw, Struct

from adk_prism.errors import Unprocessable
from adk_prism.runlog.entry import NOTHING, to_raw

Json = dict[str, Any]
USER = "user"


class Approval(Struct, frozen=True, kw_only=True):
    """A person's decision about a call."""

    id: str
    call: str
    approved: bool
    reason: str
    payload: Raw = NOTHING
    """What the tool asked for beyond yes or no."""


class StudioRequest(Struct, frozen=True, kw_only=True):
    """One request for a run."""

    input: str
    session: str
    """Empty: a new one."""
    user: str
    approvals: list[Approval]
    outputs: dict[str, Raw]
    """Results of tools that the client ran, by call."""
    results: dict[str, Raw]
    """Answers to input and credential requests, by request id."""


def read_request(body: Json) -> StudioRequest:
    """Read a request body. Raise `Unprocessable` for one that asks for nothing, or for two things."""
    approvals: list[Approval] = []
    outputs: dict[str, Raw] = {}
    results: dict[str, Raw] = {}
    for answer in _answers(body):
        name, call = _text(answer, "id"), _text(answer, "call")
        if "approved" in answer:
            approvals.append(_approval(name, call, answer))
        elif "result" not in answer or not (name or call):
            raise Unprocessable("An answer must have `id` or `call`, and `approved` or `result`.")
        elif name:
            results[name] = to_raw(answer["result"])
        else:
            outputs[call] = to_raw(answer["result"])
    said = _text(body, "input")
    if bool(said) + bool(approvals or outputs) + bool(results) != 1:
        raise Unprocessable(
            "Send exactly one of: `input`, `answers` to calls, `answers` to requests."
        )
    user = _text(body, "user_id") or USER
    session = _text(body, "session_id")
    return StudioRequest(
        input=said,
        session=session,
        user=user,
        approvals=approvals,
        outputs=outputs,
        results=results,
    )


def _answers(body: Json) -> list[Json]:
    answers = body.get("answers") or []
    if not isinstance(answers, list) or not all(isinstance(each, dict) for each in answers):
        raise Unprocessable("`answers` must be a list of objects.")
    return answers


def _approval(name: str, call: str, answer: Json) -> Approval:
    if not isinstance(answer["approved"], bool):
        raise Unprocessable("An answer's `approved` must be true or false.")
    return Approval(
        id=name,
        call=call,
        approved=answer["approved"],
        reason=_text(answer, "reason"),
        payload=to_raw(answer["payload"]) if answer.get("payload") is not None else NOTHING,
    )


def _text(body: Json, key: str) -> str:
    value = body.get(key)
    if value is not None and not isinstance(value, str):
        raise Unprocessable(f"`{key}` must be a string.")
    return value or ""
