"""What an AI SDK client asks for: read leniently, and not trusted.

Follows what `DefaultChatTransport` of ai 5, 6 and 7 posts. Unknown keys and parts are passed over, since
clients and apps add their own. Of the history that comes along only the last message is looked at, and
of that only what it adds: the server's own session is the history. Whether an answer is wanted, and by
whom, is decided where the pending calls are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Raw, Struct, json, structs

from adk_prism.errors import Unprocessable
from adk_prism.facts.media import UNKNOWN_TYPE
from adk_prism.runlog.entry import NOTHING, Decision, to_raw

Json = dict[str, Any]


class NewMessage(Struct, frozen=True, kw_only=True):
    """A user's message; it takes back an earlier one if that has its id."""

    message_id: str
    content: Raw
    """A genai `Content`, as JSON."""
    text: str
    responses: dict[str, Raw] = {}
    """Answers to input and credential requests, by request id."""
    confirmed: list[Decision] = []
    """Approvals that are given with a payload, as parts of the message."""


class Regenerate(Struct, frozen=True, kw_only=True):
    """The last answer again, or the given one and all after it."""

    message_id: str


class ToolAnswer(Struct, frozen=True, kw_only=True):
    """What a client says about one call."""

    call: str
    input: Raw
    """Empty if the client did not send it back."""
    name: str = ""
    """Of the tool; empty if the client did not say."""
    decision: Decision | None = None
    output: Raw | None = None


class Continuation(Struct, frozen=True, kw_only=True):
    """Answers to what the last assistant message asked for."""

    message_id: str
    answers: list[ToolAnswer]


class ChatRequest(Struct, frozen=True, kw_only=True):
    """One POST of a chat client."""

    chat: str
    user: str
    action: NewMessage | Regenerate | Continuation


def read_request(body: Any) -> ChatRequest:
    """Read a request body. Raise `Unprocessable` for one that no client sends."""
    if not isinstance(body, dict):
        raise Unprocessable("The body is not a JSON object; expected {id, messages, trigger, …}.")
    chat, user = body.get("id"), body.get("userId", "user")
    if not isinstance(chat, str) or not chat:
        raise Unprocessable("`id`, the chat's id, is missing or no text.")
    if not isinstance(user, str):
        raise Unprocessable("`userId` is no text.")
    return ChatRequest(chat=chat, user=user, action=_read_action(body))


def _read_action(body: Json) -> NewMessage | Regenerate | Continuation:
    trigger = body.get("trigger", "submit-message")
    message_id = body.get("messageId") or ""
    if not isinstance(message_id, str):
        raise Unprocessable("`messageId` is no text.")
    if trigger == "regenerate-message":
        return Regenerate(message_id=message_id)
    if trigger != "submit-message":
        raise Unprocessable(
            f"Trigger {str(trigger)[:40]!r} is not known; expected submit-message or regenerate-message."
        )
    last = _last_message(body)
    if last.get("role") == "assistant":
        # Not by messageId: a continuation is whatever ends with the assistant's own message.
        return Continuation(message_id=_message_id(last), answers=list(_answers(last)))
    return _new_message(last)


def _last_message(body: Json) -> Json:
    messages = body.get("messages")
    if messages is None and isinstance(body.get("message"), dict):
        messages = [body["message"]]  # apps that send only the last one often name it so
    last = messages[-1] if isinstance(messages, list) and messages else None
    if not isinstance(last, dict):
        raise Unprocessable("`messages` is empty or no list; expected the chat's UI messages.")
    if last.get("role") not in ("user", "assistant"):
        raise Unprocessable("The last message has neither the role user nor assistant.")
    return last


def _message_id(message: Json) -> str:
    found = message.get("id") or ""
    if not isinstance(found, str):
        raise Unprocessable("A message's `id` is no text.")
    return found


def _parts(message: Json) -> Iterator[Json]:
    parts = message.get("parts")
    if parts is None and isinstance(message.get("content"), str):
        parts = [{"type": "text", "text": message["content"]}]
    if not isinstance(parts, list):
        raise Unprocessable("The last message has no list of `parts`.")
    for part in parts:
        if isinstance(part, dict) and isinstance(part.get("type"), str):
            yield part


# --------------------------------------------------------------------------- a user's message


def _new_message(message: Json) -> NewMessage:
    found: list[Json] = []
    responses: dict[str, Raw] = {}
    for part in _parts(message):
        if part["type"] == "text" and isinstance(part.get("text"), str):
            found.append({"text": part["text"]})
        elif part["type"] == "file":
            found.append(_file(part))
        elif part["type"] in ("data-input-response", "data-credential-response"):
            data = part.get("data")
            if isinstance(data, dict) and isinstance(data.get("id"), str):
                responses[data["id"]] = to_raw(data.get("response"))
    confirmed = [
        Decision(approval=approval, approved=True, payload=payload)
        for approval, payload in _payloads(message).items()
    ]
    if not found and not responses and not confirmed:
        raise Unprocessable("The message has neither text nor files.")
    return NewMessage(
        message_id=_message_id(message),
        content=to_raw({"role": "user", "parts": found}),
        text="".join(part.get("text", "") for part in found),
        responses=responses,
        confirmed=confirmed,
    )


def _payloads(message: Json) -> dict[str, Raw]:
    """Return the payloads that come with approvals, by approval id."""
    found: dict[str, Raw] = {}
    for part in _parts(message):
        if part["type"] == "data-confirmation-response":
            data = part.get("data")
            if not isinstance(data, dict) or not isinstance(data.get("approvalId"), str):
                raise Unprocessable(
                    "A `data-confirmation-response` must have `data.approvalId`, a string."
                )
            payload = data.get("payload")
            found[data["approvalId"]] = NOTHING if payload is None else to_raw(payload)
    return found


def _file(part: Json) -> Json:
    url, media_type = part.get("url"), part.get("mediaType")
    if not isinstance(url, str) or not url:
        raise Unprocessable("A file part has no `url`.")
    media_type = media_type if isinstance(media_type, str) and media_type else UNKNOWN_TYPE
    filename = part.get("filename")
    named: Json = {"displayName": filename} if isinstance(filename, str) and filename else {}
    if not url.startswith("data:"):
        return {"fileData": {"fileUri": url, "mimeType": media_type, **named}}
    head, comma, data = url.partition(",")
    if not comma or not head.endswith(";base64"):
        raise Unprocessable("A file's data URL is not base64.")
    told = head.removeprefix("data:").removesuffix(";base64").partition(";")[0]
    return {"inlineData": {"mimeType": told or media_type, "data": data, **named}}


# --------------------------------------------------------------------------- answers


def _answers(message: Json) -> Iterator[ToolAnswer]:
    decisions, payloads = _decisions_beside(message), _payloads(message)
    for part in _parts(message):
        call = part.get("toolCallId")
        if isinstance(call, str) and not part.get("providerExecuted"):
            answer = _answer(call, part, decisions.get(call))
            if answer is not None and answer.decision is not None:
                payload = payloads.get(answer.decision.approval, NOTHING)
                decided = structs.replace(answer.decision, payload=payload)
                answer = structs.replace(answer, decision=decided)
            if answer is not None:
                yield answer


def _decisions_beside(message: Json) -> dict[str, Decision]:
    """Return decisions given as data parts, by call: a v5 client's tool parts have no approval."""
    asked: dict[str, str] = {}
    given: dict[str, Decision] = {}
    for part in _parts(message):
        data = part.get("data")
        if part["type"] == "data-approval-request" and isinstance(data, dict):
            asked[str(data.get("approvalId"))] = str(data.get("toolCallId"))
        elif part["type"] == "data-approval-response":
            decision = _decision(data, "approvalId")
            if decision.approval not in asked:
                raise Unprocessable(
                    "A `data-approval-response` must follow the `data-approval-request` "
                    "with the same `approvalId` in the same message."
                )
            given[asked[decision.approval]] = decision
    return given


def _answer(call: str, part: Json, beside: Decision | None) -> ToolAnswer | None:
    given = to_raw(part["input"]) if part.get("input") is not None else Raw(b"")
    name = _tool_name(part)
    match part.get("state"):
        case "approval-responded":
            decision = _decision(part.get("approval"), "id")
            return ToolAnswer(call=call, input=given, name=name, decision=decision)
        case "input-available" if beside is not None:
            return ToolAnswer(call=call, input=given, name=name, decision=beside)
        case "output-available":
            output = to_raw(part.get("output"))
            return ToolAnswer(call=call, input=given, name=name, output=output)
        case "output-error":
            text = part.get("errorText")
            told = text if isinstance(text, str) and text else "The client's tool failed."
            output = to_raw({"error": told})
            return ToolAnswer(call=call, input=given, name=name, output=output)
        case _:
            return None  # still open, or told by the server itself


def _tool_name(part: Json) -> str:
    name = part.get("toolName")
    if part["type"] == "dynamic-tool":
        return name if isinstance(name, str) else ""
    return str(part["type"].removeprefix("tool-"))


def _decision(approval: Any, key: str) -> Decision:
    """Read an answered approval, whose id is under `key`."""
    if not isinstance(approval, dict) or not isinstance(approval.get(key), str):
        raise Unprocessable(f"An answered approval must have `{key}`, a string.")
    if not isinstance(approval.get("approved"), bool):
        raise Unprocessable("An answered approval must say `approved`: true or false.")
    reason = approval.get("reason")
    return Decision(
        approval=approval[key],
        approved=approval["approved"],
        reason=reason if isinstance(reason, str) else "",
    )


def same_json(ours: Raw, theirs: Raw) -> bool:
    """Compare values as a JavaScript client can keep them: every number is a double."""
    return bool(_doubles(json.decode(bytes(ours))) == _doubles(json.decode(bytes(theirs))))


def _doubles(value: Any) -> Any:
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, list):
        return [_doubles(item) for item in value]
    if isinstance(value, dict):
        return {key: _doubles(item) for key, item in value.items()}
    return float(value)
