"""What a Studio client asks for: something to say, or answers to what it was asked.

    {"input": "…", "session_id": "…", "user_id": "…"}
    {"session_id": "…", "answers": [{"id": …, "call": …, "approved": true, "reason": "…", "payload": …}]}
    {"session_id": "…", "answers": [{"id": …, "result": …}]}
    {"session_id": "…", "answers": [{"call": …, "result": …}]}

`id` and `call` are those in an `interrupt`'s `data`; a `call` alone is one that the client itself ran.
Whether an answer is pending is decided elsewhere. Unknown keys are passed
over.
"""

from __future__ import annotations

from typing import Any

from msgspec import Raw, Struct

from adk_prism.commands import DEFAULT_USER, Answer, ClientRequest, Submit, ToolAnswer
from adk_prism.errors import Unprocessable
from adk_prism.facts.model import ApprovalRequested, CallRequested, InputRequested
from adk_prism.facts.pending import payload_schema
from adk_prism.facts.state import read_object, sound
from adk_prism.log.entry import Decision, given_raw, to_raw
from adk_prism.protocols.contract import Json, milliseconds, text_field
from adk_prism.protocols.studio.frames import Interrupt


def read_request(body: Any) -> ClientRequest:
    """Read a request body. Raise `Unprocessable` for one that asks for nothing, or for two things."""
    if not isinstance(body, dict):
        raise Unprocessable("The body must be a JSON object: {input, session_id, answers, …}.")
    given: list[ToolAnswer] = []
    results: dict[str, Raw] = {}
    for answer in _answers(body):
        name, call = text_field(answer, "id"), text_field(answer, "call")
        if "approved" in answer:
            given.append(_approval(name, call, answer))
        elif "result" not in answer or not (name or call):
            raise Unprocessable("An answer must have `id` or `call`, and `approved` or `result`.")
        elif name:
            results[name] = to_raw(answer["result"])
        else:
            given.append(ToolAnswer(call=call, output=to_raw(answer["result"])))
    said = text_field(body, "input")
    if bool(said) + bool(given) + bool(results) != 1:
        raise Unprocessable(
            "Send exactly one of: `input`, `answers` to calls, `answers` to requests."
        )
    return ClientRequest(
        session=text_field(body, "session_id"),
        user=text_field(body, "user_id") or DEFAULT_USER,
        command=Answer(answers=given) if given else _message(said, results),
    )


def _message(said: str, results: dict[str, Raw]) -> Submit:
    parts = [{"text": said}] if said else []
    content = to_raw({"role": "user", "parts": parts})
    return Submit(content=content, text=said, responses=results)


def _answers(body: Json) -> list[Json]:
    answers = body.get("answers") or []
    if not isinstance(answers, list) or not all(isinstance(each, dict) for each in answers):
        raise Unprocessable("`answers` must be a list of objects.")
    return answers


def _approval(name: str, call: str, answer: Json) -> ToolAnswer:
    if not isinstance(answer["approved"], bool):
        raise Unprocessable("An answer's `approved` must be true or false.")
    decision = Decision(
        approval=name,
        approved=answer["approved"],
        reason=text_field(answer, "reason"),
        payload=given_raw(answer.get("payload")),
    )
    return ToolAnswer(call=call, decision=decision)


# ---------------------------------------------------------------------------
# What a person is asked: the `interrupt` of an approval, an input request or a sign-in.
#
# `data` holds everything that an answer needs: `id`, by which it is given, and what is asked about.

_NULL = Raw(b"null")


class Moment(Struct, frozen=True, gc=False):
    """When and where something is asked."""

    run: str
    session: str
    cursor: int
    time: float

    @property
    def milliseconds(self) -> int:
        """The time as the protocol has it."""
        return milliseconds(self.time)


def ask_approval(
    item: ApprovalRequested, call: CallRequested | None, node: str, now: Moment
) -> Interrupt:
    """Return the question whether a call may be made."""
    about: dict[str, Any] = {"id": item.approval, "call": item.call}
    name = call.name if call is not None else ""
    if call is not None:
        about |= {"name": name, "args": safe(call.input)}
    if bytes(item.payload):
        about["payload"] = safe(item.payload)
        about["schema"] = safe(to_raw(payload_schema(item.payload)))
    message = item.hint or f"{name or 'A call'} waits for your approval."
    return _interrupt("approval", node, message, about, now)


def ask_input(item: InputRequested, now: Moment) -> Interrupt:
    """Return a question to be answered in words or values, or by signing in."""
    about: dict[str, Any] = {"id": item.call}
    if item.for_call:
        about["call"] = item.for_call
    if bytes(item.request):
        about["request"] = safe(item.request)
    asked = read_object(item.request).get("message") if item.kind == "input" else None
    message = asked if isinstance(asked, str) and asked else _MESSAGES[item.kind]
    return _interrupt(item.kind, item.speaker.node, message, about, now)


_MESSAGES = {"input": "An answer is needed.", "credential": "A sign-in is needed."}


def _interrupt(kind: Any, node: str, message: str, about: dict[str, Any], now: Moment) -> Interrupt:
    return Interrupt(
        type=kind,
        node_id=node,
        message=message,
        data=to_raw(about),
        thread_id=now.session,
        checkpoint_id=f"{now.run}:{now.cursor}",
        timestamp=now.milliseconds,
    )


def safe(raw: Raw) -> Raw:
    """Return a tool's or model's value as JSON that every client reads; null where there is none."""
    return sound(raw) if bytes(raw) else _NULL
