"""What an AI SDK client asks for: read leniently, and not trusted.

Follows what `DefaultChatTransport` of ai 5, 6 and 7 posts. Unknown keys and parts are passed over, since
clients and apps add their own. Of the history that comes along only the last message is read, and of the
others their ids: the server's own session is the history, and the ids say where in it the client is.
Which turn they name, and whether an answer is wanted, is decided where the log is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Raw, structs

from adk_prism import commands
from adk_prism.errors import Unprocessable
from adk_prism.facts.event_actions import UNKNOWN_TYPE
from adk_prism.facts.state import read_object, read_value
from adk_prism.log import entry as records
from adk_prism.protocols import contract
from adk_prism.protocols.contract import FileLinks, Json, file_part, text_field


def read_request(body: Any) -> commands.ClientRequest:
    """Read a request body. Raise `Unprocessable` for one that no client sends."""
    if not isinstance(body, dict):
        raise Unprocessable("The body must be a JSON object: {id, messages, trigger, …}.")
    chat, user = body.get("id"), body.get("userId", "user")
    if not isinstance(chat, str) or not chat:
        raise Unprocessable("`id`, the chat's id, must be a non-empty string.")
    if not isinstance(user, str):
        raise Unprocessable("`userId` must be a string.")
    command = _read_command(body)
    said = isinstance(command, commands.Submit) and "system" in command.extras
    delta = body.get("stateDelta")
    return commands.ClientRequest(
        session=chat,
        user=user,
        command=command,
        state_delta=delta if isinstance(delta, dict) else {},
        tools=body.get("tools"),
        has_instructions=said or bool(body.get("system")),
    )


def _read_command(body: Json) -> commands.Command:
    trigger = body.get("trigger", "submit-message")
    message_id = text_field(body, "messageId")
    messages = _messages(body)
    if trigger == "regenerate-message":
        named = message_id or _named_by(messages)
        return commands.Regenerate(message_id=named, message=_last_of_user(body, messages))
    if trigger != "submit-message":
        raise Unprocessable(
            f"`trigger` must be submit-message or regenerate-message, got {str(trigger)[:40]!r}."
        )
    last = _last_message(messages)
    if last["role"] == "assistant":
        # Not by messageId: a continuation is whatever ends with the assistant's own message.
        return commands.Answer(message_id=_message_id(last), answers=list(_answers(last)))
    return _new_message(
        last, _before(body, messages[:-1]), contract.last_with_role(messages[:-1], ("system",))
    )


def _messages(body: Json) -> list[Any]:
    """Return the posted messages; none where the client sent no list."""
    messages = body.get("messages")
    if messages is None and isinstance(body.get("message"), dict):
        return [body["message"]]  # apps that send only the last one often name it so
    if messages is not None and not isinstance(messages, list):
        raise Unprocessable("`messages` must be a list of UI messages.")
    return messages or []


def _last_message(messages: list[Any]) -> Json:
    if not messages or not isinstance(messages[-1], dict):
        raise Unprocessable("`messages` must be a non-empty list of UI messages.")
    last: Json = messages[-1]
    if last.get("role") not in ("user", "assistant"):
        raise Unprocessable(
            "The last message must have the role user or assistant; a system message alone starts no run."
        )
    return last


def _spoken(messages: list[Any]) -> list[Json]:
    """Return the messages that are turns of the conversation: a system message is none."""
    return [m for m in messages if isinstance(m, dict) and m.get("role") != "system"]


def _named_by(messages: list[Any]) -> str:
    """Return the id of the message that a list ends with; empty where there is no list."""
    if not messages:
        return ""
    spoken = _spoken(messages)
    named = _message_id(spoken[-1]) if spoken else ""
    if not named:
        raise Unprocessable(
            "The last of `messages` has no `id`; send `messageId` to name the answer."
        )
    return named


def _last_of_user(body: Json, messages: list[Any]) -> commands.Submit | None:
    """Return the user's message that a list ends with; None for a list that ends otherwise.

    A client asks for a new answer also where its message never arrived, and then it is to be sent. One that
    the conversation has is not read again, so one that cannot be sent is no error here.
    """
    last = messages[-1] if messages else None
    if not isinstance(last, dict) or last.get("role") != "user" or not _known_id(last):
        return None
    try:
        return _new_message(
            last, _before(body, messages[:-1]), contract.last_with_role(messages[:-1], ("system",))
        )
    except Unprocessable:
        return None


def _before(body: Json, earlier: list[Any]) -> commands.Before:
    """Return what the client shows before its message: its list, and `parentId`, which names a branch."""
    ids = tuple(_known_id(message) for message in _spoken(earlier))
    parent, history = text_field(body, "parentId"), body.get("history")
    if history not in (None, "client"):
        raise Unprocessable('`history` must be "client" (the list is the whole history) or absent.')
    if "parentId" in body and body["parentId"] is None:
        return commands.Before(whole=True)  # it follows no message
    if parent and not (ids and ids[-1]):
        ids = (*ids, parent)
    return commands.Before(
        ids=ids, whole=history == "client", named=bool(parent) and ids[-1] == parent
    )


def _known_id(message: Json) -> str:
    found = message.get("id")
    return found if isinstance(found, str) else ""


def _message_id(message: Json) -> str:
    found = message.get("id") or ""
    if not isinstance(found, str):
        raise Unprocessable("A message's `id` must be a string.")
    return found


def _parts(message: Json) -> Iterator[Json]:
    parts = message.get("parts")
    if parts is None and isinstance(message.get("content"), str):
        parts = [{"type": "text", "text": message["content"]}]
    if not isinstance(parts, list):
        raise Unprocessable("The last message must have a list of `parts`.")
    for part in parts:
        if isinstance(part, dict) and isinstance(part.get("type"), str):
            yield part


# --------------------------------------------------------------------------- a user's message


def _new_message(message: Json, before: commands.Before, system: list[Json]) -> commands.Submit:
    found: list[Json] = []
    kept: list[Json] = []
    responses: dict[str, Raw] = {}
    for part in _parts(message):
        if part["type"] == "text" and isinstance(part.get("text"), str):
            found.append({"text": part["text"]})
        elif part["type"] == "file":
            found.append(_file(part))
        elif part["type"] in ("data-input-response", "data-credential-response"):
            data = part.get("data")
            if isinstance(data, dict) and isinstance(data.get("id"), str):
                responses[data["id"]] = records.to_raw(data.get("response"))
        elif part["type"].startswith("data-") and part["type"] != "data-confirmation-response":
            kept.append({"at": len(found) + len(kept), "part": part})
    confirmed = [
        records.Decision(approval=approval, approved=True, payload=payload)
        for approval, payload in _payloads(message).items()
    ]
    if not found and not responses and not confirmed:
        raise Unprocessable("The message has neither text nor files.")
    return commands.Submit(
        message_id=_message_id(message),
        content=records.to_raw({"role": "user", "parts": found}),
        text="".join(part.get("text", "") for part in found),
        responses=responses,
        before=before,
        extras=contract.read_extras(
            "metadata, data parts and system messages",
            {"metadata": message.get("metadata"), "parts": kept, "system": system},
        ),
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
            found[data["approvalId"]] = records.given_raw(data.get("payload"))
    return found


def _file(part: Json) -> Json:
    url, media_type = part.get("url"), part.get("mediaType")
    if not isinstance(url, str) or not url:
        raise Unprocessable("A file part must have a `url`.")
    media_type = media_type if isinstance(media_type, str) and media_type else UNKNOWN_TYPE
    filename = part.get("filename")
    return file_part(url, media_type, filename if isinstance(filename, str) else "")


# --------------------------------------------------------------------------- answers


def _answers(message: Json) -> Iterator[commands.ToolAnswer]:
    decisions, payloads = _decisions_beside(message), _payloads(message)
    for part in _parts(message):
        call = part.get("toolCallId")
        if isinstance(call, str) and not part.get("providerExecuted"):
            answer = _answer(call, part, decisions.get(call))
            if answer is not None and answer.decision is not None:
                payload = payloads.get(answer.decision.approval, records.NOTHING)
                decided = structs.replace(answer.decision, payload=payload)
                answer = structs.replace(answer, decision=decided)
            if answer is not None:
                yield answer


def _decisions_beside(message: Json) -> dict[str, records.Decision]:
    """Return decisions given as data parts, by call: a v5 client's tool parts have no approval."""
    asked: dict[str, str] = {}
    given: dict[str, records.Decision] = {}
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


def _answer(call: str, part: Json, beside: records.Decision | None) -> commands.ToolAnswer | None:
    given = records.given_raw(part.get("input"))
    name = _tool_name(part)
    match part.get("state"):
        case "approval-responded":
            decision = _decision(part.get("approval"), "id")
            return commands.ToolAnswer(call=call, input=given, name=name, decision=decision)
        case "input-available" if beside is not None:
            return commands.ToolAnswer(call=call, input=given, name=name, decision=beside)
        case "output-available" if not part.get("preliminary"):
            output = records.to_raw(part.get("output"))
            return commands.ToolAnswer(call=call, input=given, name=name, output=output)
        case "output-error":
            text = part.get("errorText")
            error = text if isinstance(text, str) and text else "The client's tool failed."
            output = records.to_raw({"error": error})
            return commands.ToolAnswer(call=call, input=given, name=name, output=output)
        case _:
            return None  # still open, or sent by the server itself


def _tool_name(part: Json) -> str:
    name = part.get("toolName")
    if part["type"] == "dynamic-tool":
        return name if isinstance(name, str) else ""
    return str(part["type"].removeprefix("tool-"))


def _decision(approval: Any, key: str) -> records.Decision:
    """Read an answered approval, whose id is under `key`."""
    if not isinstance(approval, dict) or not isinstance(approval.get(key), str):
        raise Unprocessable(f"An answered approval must have `{key}`, a string.")
    if not isinstance(approval.get("approved"), bool):
        raise Unprocessable("An answered approval must say `approved`: true or false.")
    reason = approval.get("reason")
    return records.Decision(
        approval=approval[key],
        approved=approval["approved"],
        reason=reason if isinstance(reason, str) else "",
    )


# ---------------------------------------------------------------------------
# A user's own turn as UI messages, from how its run began.
#
# The content is what ADK was given. What the client sent for its own use comes back as it was:
# metadata, data parts at their places, and the system messages before it.


FIRST = 1
"""Cursor of the record in which a run has what the user said."""


def user_messages(
    message_id: str, head: records.RunStarted, time: float, files: FileLinks
) -> list[Json]:
    """Return what the user's client sent to begin a run; nothing where it was neither words nor files.

    `files` links what is large in it to the run's file route.
    """
    parts = _message_parts(head.message, head.run, files)
    extras = {name: read_value(value) for name, value in records.EXTRAS.read(head).items()}
    for kept in extras.get("parts", ()):
        parts.insert(kept["at"], kept["part"])
    parts += [
        _answered_part(name, given)
        for name, given in records.RESPONSES.read(head).items()
        if not given.typed
    ]
    if not parts:
        return []
    shown = {"id": message_id, "role": "user", "parts": parts}
    return [*extras.get("system", ()), _dated(shown, extras.get("metadata"), time)]


def user_message(message_id: str, content: Raw, time: float = 0.0) -> Json | None:
    """Return a content as a UI message; None where it has neither words nor files."""
    parts = _message_parts(content, "", FileLinks())
    return _dated({"id": message_id, "role": "user", "parts": parts}, None, time) if parts else None


def _message_parts(content: Raw, run: str, files: FileLinks) -> list[Json]:
    tree = read_object(content) if bytes(content) else {}
    given = enumerate(tree.get("parts") or ())
    return [shown for at, part in given if (shown := _part(part, run, at, files)) is not None]


def _dated(message: Json, metadata: Any, time: float) -> Json:
    """Add what the client said of a message, and when it came, if the client did not say when."""
    if metadata is None:
        metadata = {}
    if isinstance(metadata, dict) and time > 0:
        metadata = {"createdAt": contract.milliseconds(time), **metadata}
    return {**message, "metadata": metadata} if metadata else message


def _answered_part(name: str, given: records.Response) -> dict[str, Any]:
    """Return the part with which the client answered; a credential is a secret, and not in it."""
    data: dict[str, Any] = {"id": name}
    if given.decision is not None:
        payload = given.decision.payload
        data = {"approvalId": name, "payload": None if records.is_absent(payload) else payload}
    elif not records.is_absent(given.response):
        data["response"] = given.response
    return {"type": f"data-{given.kind}-response", "data": data}


def _part(part: Json, run: str, at: int, links: FileLinks) -> Json | None:
    if isinstance(part.get("text"), str):
        return {"type": "text", "text": part["text"]}
    blob, file = part.get("inlineData"), part.get("fileData")
    held = blob or file
    if not held:
        return None
    media_type = held.get("mimeType") or UNKNOWN_TYPE
    if blob:
        url = links.url(run, FIRST, str(at), media_type, blob.get("data") or "", "")
    else:
        url = held.get("fileUri") or ""
    shown = {"type": "file", "mediaType": media_type, "url": url}
    filename = held.get("displayName")
    return {**shown, "filename": filename} if filename else shown
