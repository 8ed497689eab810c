"""A server that speaks OpenAI's Chat Completions well, and what can be wrong with one."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import Any

from tests.features.conform.planted import Change, Frames, Planted, before, changed, in_frames
from tests.features.conform.stub_server import (
    Asked,
    Handler,
    Json,
    Reply,
    as_json,
    as_stream,
    refused,
)

DONE = "[DONE]"
MODEL = "one"
USAGE = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}


def good() -> Handler:
    """Return a server with one model, which says something, asks the client to run a tool, and fails."""
    numbers = count(1)

    def answer(asked: Asked) -> Reply:
        if asked.path.endswith("/models"):
            return as_json({"object": "list", "data": [{"id": MODEL, "object": "model"}]})
        wrong = refused(asked, "model", "messages")
        if wrong is not None:
            return error(wrong.status, "Send a model and messages.")
        if asked.json["model"] != MODEL:
            return error(404, "There is no such model.")
        number = next(numbers)
        if not asked.json.get("stream"):
            return as_json(whole(f"c{number}"))
        return as_stream(*chunks(f"c{number}", asked.json["messages"][-1]["content"]))

    return answer


def error(status: int, text: str) -> Reply:
    return as_json({"error": {"message": text, "type": "invalid_request_error"}}, status)


def whole(id: str) -> Json:
    message = {"role": "assistant", "content": "Hello"}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    about = {"id": id, "object": "chat.completion", "created": 1, "model": MODEL}
    return {**about, "choices": [choice], "usage": USAGE}


def chunk(id: str, finish: str | None = None, **delta: Any) -> Json:
    about = {"id": id, "object": "chat.completion.chunk", "created": 1, "model": MODEL}
    return {**about, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def chunks(id: str, text: str) -> Frames:
    """Return the answer to a text."""
    first = chunk(id, role="assistant", content="")
    if text == "error":
        return [first, {"error": {"message": "It failed.", "type": "server_error"}}, DONE]
    last = {**chunk(id), "choices": [], "usage": USAGE}
    if text == "approval":  # a call for the client
        function = {"name": "look", "arguments": '{"a"'}
        made = {"index": 0, "id": "k1", "type": "function", "function": function}
        rest = {"index": 0, "function": {"arguments": ": 1}"}}
        calls = [chunk(id, tool_calls=[made]), chunk(id, tool_calls=[rest])]
        return [first, *calls, chunk(id, "tool_calls"), last, DONE]
    return [first, chunk(id, content="Hel"), chunk(id, content="lo"), chunk(id, "stop"), last, DONE]


# ------------------------------------------------------------------ what can be wrong


def ordinary(change: Any) -> Change:
    """Change the frames of ordinary answers."""

    def changing(sent: Frames) -> None:
        if any(isinstance(each, dict) and "Hel" in str(each) for each in sent):
            change(sent)

    return in_frames(changing)


def calling(change: Any) -> Change:
    """Change the frames of answers with a call."""

    def changing(sent: Frames) -> None:
        if any(isinstance(each, dict) and "tool_calls" in str(each) for each in sent):
            change(sent)

    return in_frames(changing)


def _set(number: int, **values: Any) -> Change:
    return ordinary(lambda sent: sent[number].update(values))


def _choice(number: int, **values: Any) -> Change:
    return ordinary(lambda sent: sent[number]["choices"][0].update(values))


def _call(number: int, **values: Any) -> Change:
    def change(sent: Frames) -> None:
        made: Any = sent[number]
        made["choices"][0]["delta"]["tool_calls"][0].update(values)

    return calling(change)


def _same_id(asked: Asked, reply: Reply) -> Reply:
    body = reply.body.replace(b'"id": "c', b'"id": "x') if asked.method == "POST" else reply.body
    parts = body.split(b'"id": "x')
    kept = [part[part.index(b'"') :] for part in parts[1:]]
    return replace(reply, body=b'"id": "same'.join([parts[0], *kept]))


def _not_model(asked: Asked, reply: Reply) -> Reply:
    is_other = reply.status == 404 and asked.method == "POST"
    return replace(reply, status=400) if is_other else reply


def _unshaped(asked: Asked, reply: Reply) -> Reply:
    return as_json({"detail": "no"}, 404) if reply.status == 404 else reply


def _whole(asked: Asked, reply: Reply) -> Reply:
    is_whole = b'"chat.completion"' in reply.body
    return (
        replace(reply, body=reply.body.replace(b"finish_reason", b"finish")) if is_whole else reply
    )


def _is_second(asked: Asked) -> bool:
    messages = asked.json.get("messages", []) if isinstance(asked.json, dict) else []
    return len(messages) == 3


PLANTED = (
    Planted(
        "models",
        before(lambda asked: Reply(500) if "/models" in asked.path else None),
    ),
    Planted("json", ordinary(lambda sent: sent.insert(2, "{"))),
    Planted("chunk-values", _set(1, created="now")),
    Planted("chunk-values", _set(1, object="chunk")),
    Planted("chunk-values", _choice(1, delta={"content": 1})),
    Planted("chunk-values", _choice(1, index=None)),
    Planted("same-id", _set(1, model="two")),
    Planted("new-id", changed(_same_id)),
    Planted("role", _choice(0, delta={"content": ""})),
    Planted("calls", _call(1, id=""), also=("finish",)),
    Planted("calls", _call(2, function={"arguments": ": 1"})),
    Planted("finish", _choice(3, finish_reason=None)),
    Planted("finish", _choice(3, finish_reason="tool_calls")),
    Planted("after-end", ordinary(lambda sent: sent.insert(4, sent[2]))),
    Planted("usage", ordinary(lambda sent: sent.pop(4))),
    Planted("done", ordinary(lambda sent: sent.pop())),
    Planted("done", ordinary(lambda sent: sent.append(DONE))),
    Planted(
        "error-text",
        in_frames(
            lambda sent: (
                sent[1].update(error={"message": "at /site-packages/x.py"})
                if "error" in sent[1]
                else None
            )
        ),
    ),
    Planted(
        "error-shape",
        in_frames(lambda sent: sent[1].update(error="It failed.") if "error" in sent[1] else None),
    ),
    Planted("error-shape", changed(_unshaped)),
    Planted("history", before(lambda asked: Reply(400) if _is_second(asked) else None)),
    Planted("not-streamed", changed(_whole)),
    Planted("unknown-model", changed(_not_model)),
)
