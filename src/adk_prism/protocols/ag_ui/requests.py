"""What an AG-UI client asks for: `RunAgentInput` of 1.0 and of 0.0.59, read leniently and not trusted.

The end of the posted list says what is new:

    `resume`                    answers to interrupts
    ends with a user's message  a new message; one whose id is known replaces the old one (edit, regenerate)
    ends with tool messages     results of the client's own tools
    ends otherwise              a result beside a call further up that has none yet

Of everything before that only ids are read: the server's session is the history. An assistant's turn is many
AG-UI messages, so the user's messages alone say where in the conversation the client is. Unknown keys and
roles are passed over. Whether anybody waits for an answer is decided where the log is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Raw, Struct

from adk_prism import commands
from adk_prism.errors import Unprocessable
from adk_prism.facts.event_actions import UNKNOWN_TYPE
from adk_prism.facts.state import read_object
from adk_prism.log.entry import CLIENT_RUN, EXTRAS, NOTHING, Decision, RunStarted, given_raw, to_raw
from adk_prism.protocols import contract
from adk_prism.protocols.ag_ui.calls import call_of
from adk_prism.protocols.ag_ui.frames import fits, too_large
from adk_prism.protocols.contract import UPLOADED, FileLinks, Json, file_part, text_field

# ---------------------------------------------------------------------------
# The content of a user's AG-UI message as genai parts.
#
# Content is a string, or a list of parts: text, and image, audio, video and document with a source
# (`data`, `url`, or `file` for a handle that a model provider issued). Clients before 0.0.47 send
# `binary` instead. Whether a file may be used is decided where files are known; a link stays a
# reference.


MEDIA = ("image", "audio", "video", "document")


def genai_parts(content: Any) -> list[Json]:
    """Return the parts of a user's content. Raise `Unprocessable` for content that is neither form."""
    if isinstance(content, str):
        return [{"text": content}] if content else []
    if not isinstance(content, list):
        raise Unprocessable("A user message's `content` must be a string or a list of parts.")
    return [_part(part) for part in content]


def _part(part: Any) -> Json:
    if not isinstance(part, dict):
        raise Unprocessable("A part of a message's `content` must be an object with a `type`.")
    kind = part.get("type")
    if kind == "text":
        if not isinstance(part.get("text"), str):
            raise Unprocessable("A text part must have `text`, a string.")
        return {"text": part["text"]}
    if kind == "binary":
        return _binary(part)
    if kind in MEDIA:
        return _media(part)
    raise Unprocessable(
        f"A part's `type` must be text, {', '.join(MEDIA)} or binary, got {str(kind)[:40]!r}."
    )


def _media(part: Json) -> Json:
    source = part.get("source")
    read = _SOURCES.get(str(source.get("type"))) if isinstance(source, dict) else None
    if not isinstance(source, dict) or read is None or not _text_part(source, "value"):
        raise Unprocessable(
            "A media part must have a `source`: {type: data, url or file; value; mimeType}."
        )
    media_type = _text_part(source, "mimeType") or UNKNOWN_TYPE
    return read(_text_part(source, "value"), media_type, _name(part))


def _binary(part: Json) -> Json:
    media_type = _text_part(part, "mimeType") or UNKNOWN_TYPE
    if data := _text_part(part, "data"):
        return _inline(data, media_type, _name(part))
    if url := _text_part(part, "url"):
        return file_part(url, media_type, _name(part))
    if uploaded := _text_part(part, "id"):
        return file_part(UPLOADED + uploaded, media_type, _name(part))
    raise Unprocessable("A binary part must have `data`, `url` or the `id` of an uploaded file.")


def _inline(data: str, media_type: str, name: str) -> Json:
    if data.startswith("data:"):
        return file_part(data, media_type, name)
    about = {"displayName": name} if name else {}
    return {"inlineData": {"mimeType": media_type, "data": data, **about}}


_SOURCES: dict[str, Callable[[str, str, str], Json]] = {
    "data": _inline,
    "url": file_part,
    "file": file_part,
}


def _name(part: Json) -> str:
    """Return the name of a part's file: a field of old parts, metadata of new ones."""
    metadata = part.get("metadata")
    data = _text_part(metadata, "filename") if isinstance(metadata, dict) else ""
    return data or _text_part(part, "filename")


def _text_part(holder: Json, key: str) -> str:
    value = holder.get(key)
    if value is not None and not isinstance(value, str):
        raise Unprocessable(f"`{key}` of a part must be a string.")
    return value or ""


# ---------------------------------------------------------------------------

CONTEXT_KEY = "_ag_ui_context"
"""State key of the input's `context`: the one that ag-ui-adk uses, so that its agents find it."""
PROPS_KEY = "_ag_ui_forwarded_props"
"""State key of `forwardedProps`, for apps that declare it: pages put tokens there, too."""

_TURNS = ("user", "assistant", "tool")
_INSTRUCTIONS = ("system", "developer")


def read_request(body: Any) -> commands.ClientRequest:
    """Read a `RunAgentInput`. Raise `Unprocessable` for a body that is none."""
    if not isinstance(body, dict):
        raise Unprocessable("The body must be a JSON object: {threadId, runId, messages, …}.")
    props = _object(body, "forwardedProps")
    tail = _tail_of(_messages(body), props)
    return commands.ClientRequest(
        session=_required(body, "threadId"),
        run=_required(body, "runId"),
        user=text_field(props, "userId") or commands.DEFAULT_USER,
        command=_read_command(body, tail),
        state=_state(body),
        declared_state={PROPS_KEY: props} if props else {},
        tools=_tools(body),
        has_instructions=bool(tail.instructions),
    )


def _read_command(body: Json, tail: _Tail) -> commands.Command:
    answers = _resume(body)
    if answers:
        message = _submit(tail) if tail.user is not None else None
        return commands.AnswerQuestions(answers=answers, results=tail.results, message=message)
    if tail.user is not None:
        return _submit(tail)
    if tail.results:
        return commands.Answer(answers=tail.results, repeats=True, leaves_questions=False)
    if tail.earlier:
        return commands.Answer(
            answers=tail.earlier, repeats=True, leaves_questions=False, earlier=True
        )
    raise Unprocessable(
        "There is nothing to answer: `messages` must end with a user's message or with tool results, or "
        "`resume` must answer interrupts. To answer a message again, end the list with it."
    )


# --------------------------------------------------------------------------- fields


def _required(body: Json, key: str) -> str:
    found = body.get(key)
    if not isinstance(found, str) or not found:
        raise Unprocessable(f"`{key}` must be a non-empty string.")
    return found


def _object(body: Json, key: str) -> Json:
    found = body.get(key)
    if found is not None and not isinstance(found, dict):
        raise Unprocessable(f"`{key}` must be an object.")
    return found or {}


def _list(body: Json, key: str, of: str) -> list[Json]:
    found = body.get(key)
    if found is None:
        return []
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise Unprocessable(f"`{key}` must be a list of {of}.")
    return found


def _messages(body: Json) -> list[Json]:
    if body.get("messages") is None:
        raise Unprocessable("`messages` must be a list of AG-UI messages.")
    return _list(body, "messages", "AG-UI messages")


def _state(body: Json) -> Json:
    """Return the client's copy of the state, with the input's context in it."""
    state = _object(body, "state")
    context = _list(body, "context", "{description, value}")
    return {**state, CONTEXT_KEY: context} if context or CONTEXT_KEY in state else state


def _tools(body: Json) -> Json:
    """Return the client's tools by name; what a tool may be is decided where the app is known."""
    found: Json = {}
    for tool in _list(body, "tools", "{name, description, parameters}"):
        name = _required(tool, "name")
        found[name] = {k: tool[k] for k in ("description", "parameters") if tool.get(k) is not None}
    return found


# --------------------------------------------------------------------------- the end of the list


class _Tail(Struct, frozen=True, kw_only=True):
    """What the list of messages ends with."""

    user: Json | None
    """The last message, if it is a user's."""
    results: list[commands.ToolAnswer]
    """The tool messages at the end, or right before the user's message."""
    earlier: list[commands.ToolAnswer]
    """The tool messages further up, beside their calls."""
    before: commands.Before
    """The user's messages before that."""
    instructions: list[Json]
    """System and developer messages right before the user's."""


def _tail_of(messages: list[Json], props: Json) -> _Tail:
    turns = [m for m in messages if m.get("role") in _TURNS]
    user = turns.pop() if turns and turns[-1]["role"] == "user" else None
    said = turns[:]
    results: list[commands.ToolAnswer] = []
    while said and said[-1]["role"] == "tool":
        results.insert(0, _result(said.pop()))
    return _Tail(
        user=user,
        results=results,
        earlier=[_result(m) for m in said if m["role"] == "tool" and _is_whole(m)],
        before=_before(tuple(text_field(m, "id") for m in turns if m["role"] == "user"), props),
        # Further up, they came with another message.
        instructions=contract.last_with_role(messages[: messages.index(user)], _INSTRUCTIONS)
        if user
        else [],
    )


def _is_whole(result: Json) -> bool:
    """Tell a tool message from what is left of one that was too long to be kept."""
    call, content = result.get("toolCallId"), result.get("content")
    return isinstance(call, str) and bool(call) and isinstance(content, str | list)


def _before(ids: tuple[str, ...], props: Json) -> commands.Before:
    """Return what the client shows; `parentId` of its properties names a user's message, or none."""
    if "parentId" not in props:
        return commands.Before(ids=ids)
    parent = text_field(props, "parentId")
    return commands.Before(ids=(parent,), named=True) if parent else commands.Before(whole=True)


def _submit(tail: _Tail) -> commands.Submit:
    assert tail.user is not None
    parts = genai_parts(tail.user.get("content"))
    if not parts:
        raise Unprocessable("The message has neither text nor files.")
    return commands.Submit(
        message_id=text_field(tail.user, "id"),
        content=to_raw({"role": "user", "parts": parts}),
        text="".join(part.get("text", "") for part in parts),
        before=tail.before,
        results=tail.results,
        earlier_results=tail.earlier,
        extras=contract.read_extras(
            "metadata and system messages",
            {"metadata": tail.user.get("metadata"), "system": tail.instructions},
        ),
        leaves_questions=False,
    )


def _result(message: Json) -> commands.ToolAnswer:
    call, error = _required(message, "toolCallId"), text_field(message, "error")
    output = to_raw({"error": error}) if error else _output(message.get("content"))
    return commands.ToolAnswer(call=call_of(call), output=output)


def _output(content: Any) -> Raw:
    """Return a tool's result. Clients encode one that is no string as JSON; a JSON scalar stays a string."""
    if isinstance(content, list):
        if not all(
            isinstance(part, dict) and isinstance(part.get("text"), str) for part in content
        ):
            return to_raw(content)
        content = "".join(part["text"] for part in content)
    if not isinstance(content, str):
        raise Unprocessable("A tool message's `content` must be a string or a list of parts.")
    value = _decoded(content)
    return to_raw(value if isinstance(value, dict | list) else content)


def _decoded(content: str) -> Any:
    try:
        return msgspec.json.decode(content)
    except (msgspec.MsgspecError, RecursionError):
        return content


# --------------------------------------------------------------------------- interrupts


def _resume(body: Json) -> list[commands.QuestionAnswer]:
    answers = [
        _question(entry) for entry in _list(body, "resume", "{interruptId, status, payload}")
    ]
    ids = [answer.question for answer in answers]
    if len(ids) != len(set(ids)):
        raise Unprocessable("`resume` must answer each interrupt once.")
    return answers


def _question(entry: Json) -> commands.QuestionAnswer:
    question, payload = _required(entry, "interruptId"), entry.get("payload")
    data = _decoded(payload) if isinstance(payload, str) else payload
    match entry.get("status"):
        case "cancelled":
            denial = Decision(approval=question, approved=False)
            return commands.QuestionAnswer(question=question, decision=denial, is_cancelled=True)
        case "resolved":
            return commands.QuestionAnswer(
                question=question,
                response=to_raw(payload),
                decision=_decision(question, data),
                input=_edited(data),
            )
        case status:
            raise Unprocessable(
                f"The `status` of a resume entry must be resolved or cancelled, got {str(status)[:40]!r}."
            )


def _decision(approval: str, payload: Any) -> Decision | None:
    """Read `{approved, payload?, reason?}` or a boolean, also as JSON text; None for what is neither."""
    given = {"approved": payload} if isinstance(payload, bool) else payload
    if not isinstance(given, dict) or not isinstance(given.get("approved"), bool):
        return None
    reason = given.get("reason")
    return Decision(
        approval=approval,
        approved=given["approved"],
        reason=reason if isinstance(reason, str) else "",
        payload=given_raw(given.get("payload")),
    )


def _edited(payload: Any) -> Raw:
    return given_raw(payload.get("editedArgs") if isinstance(payload, dict) else None)


# ---------------------------------------------------------------------------
# What the user sent to begin a run, as AG-UI's input: by it a client that comes back knows the question.
#
# Small files are in it, large ones are linked to the run's file route; a reference stays as it is.

FIRST = 1
"""Cursor of the record in which a run has what the user said."""

_KINDS = ("image", "audio", "video")


def run_input(head: RunStarted, files: FileLinks) -> Json:
    """Return the input of a run: its thread, and the message that began it."""
    message = user_message(head.message_id or f"{head.run}-user", head, files)
    return {
        "threadId": head.origin.session,
        "runId": run_id(head),
        "messages": [message] if message else [],
        "tools": [],
        "context": [],
        "forwardedProps": {},
    }


def run_id(head: RunStarted) -> str:
    """Return the id under which a client knows a run: its own, where it gave one."""
    return CLIENT_RUN.read(head) or head.run


def parent_run(head: RunStarted) -> str:
    """Return the run that a run goes on with; empty where the client knows that one by a name of its own."""
    return head.continues.message if head.continues and not CLIENT_RUN.read(head) else ""


def user_message(message_id: str, head: RunStarted, files: FileLinks) -> Json | None:
    """Return what the user sent as a message; None where it was neither words nor files."""
    given = read_object(head.message).get("parts") if bytes(head.message) else ()
    parts = [
        shown
        for at, part in enumerate(given if isinstance(given, list) else ())
        if isinstance(part, dict) and (shown := _input_part(part, head.run, at, files)) is not None
    ]
    if not parts:
        return None
    texts = [part["text"] for part in parts if part["type"] == "text"]
    content = "".join(texts) if len(texts) == len(parts) else parts
    message: Json = {"id": message_id, "role": "user", "content": content}
    metadata = read_object(EXTRAS.read(head).get("metadata", NOTHING))
    return {**message, "metadata": metadata} if metadata else message


def _input_part(part: Json, run: str, at: int, files: FileLinks) -> Json | None:
    if isinstance(part.get("text"), str):
        return {"type": "text", "text": part["text"]}
    blob, file = part.get("inlineData"), part.get("fileData")
    held = blob or file
    if not isinstance(held, dict):
        return None
    media_type = str(held.get("mimeType") or UNKNOWN_TYPE)
    kind = media_type.partition("/")[0]
    shown: Json = {"type": kind if kind in _KINDS else "document"}
    data = str(held.get("data") or "") if blob else ""
    if not fits(len(data)) and not files.base:
        return {"type": "text", "text": too_large(len(data) * 3 // 4)}
    if blob and not (files.base and len(data) > contract.INLINE_LIMIT):
        shown["source"] = {
            "type": "data",
            "value": contract.plain_base64(data),
            "mimeType": media_type,
        }
    else:
        uri = str(held.get("fileUri") or "")
        link = uri or files.url(run, FIRST, str(at), media_type, data, "")
        shown["source"] = {"type": "url", "value": link, "mimeType": media_type}
    if held.get("displayName"):
        shown["metadata"] = {"filename": held["displayName"]}
    return shown
