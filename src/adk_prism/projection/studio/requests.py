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

from msgspec import Raw

from adk_prism.commands import DEFAULT_USER, Answer, ClientRequest, Submit, ToolAnswer
from adk_prism.errors import Unprocessable
from adk_prism.runlog.entry import NOTHING, Decision, to_raw

Json = dict[str, Any]


def read_request(body: Any) -> ClientRequest:
    """Read a request body. Raise `Unprocessable` for one that asks for nothing, or for two things."""
    if not isinstance(body, dict):
        raise Unprocessable("The body must be a JSON object: {input, session_id, answers, …}.")
    given: list[ToolAnswer] = []
    results: dict[str, Raw] = {}
    for answer in _answers(body):
        name, call = _text(answer, "id"), _text(answer, "call")
        if "approved" in answer:
            given.append(_approval(name, call, answer))
        elif "result" not in answer or not (name or call):
            raise Unprocessable("An answer must have `id` or `call`, and `approved` or `result`.")
        elif name:
            results[name] = to_raw(answer["result"])
        else:
            given.append(ToolAnswer(call=call, output=to_raw(answer["result"])))
    said = _text(body, "input")
    if bool(said) + bool(given) + bool(results) != 1:
        raise Unprocessable(
            "Send exactly one of: `input`, `answers` to calls, `answers` to requests."
        )
    return ClientRequest(
        session=_text(body, "session_id"),
        user=_text(body, "user_id") or DEFAULT_USER,
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
        reason=_text(answer, "reason"),
        payload=to_raw(answer["payload"]) if answer.get("payload") is not None else NOTHING,
    )
    return ToolAnswer(call=call, decision=decision)


def _text(body: Json, key: str) -> str:
    value = body.get(key)
    if value is not None and not isinstance(value, str):
        raise Unprocessable(f"`{key}` must be a string.")
    return value or ""
