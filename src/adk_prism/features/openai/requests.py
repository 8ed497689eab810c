"""What OpenAI's clients post: bodies of Chat Completions and Responses as one form, `Asked`.

Both send a list: of messages, or of input items. Here each becomes a `Said`, in order. Whose turn it is, and
which conversation the list belongs to, is decided in `matching.py`.

Parameters that steer a model (`temperature`, `max_tokens`, …) are the app's business: they are ignored, and
the answer's `x-prism-ignored` names them. What cannot be ignored without a wrong answer is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from msgspec import Raw, Struct

from adk_prism.commands import DEFAULT_USER, ToolAnswer
from adk_prism.errors import UsageError
from adk_prism.log.entry import Decision, to_raw
from adk_prism.protocols.contract import UPLOADED, Json, file_part, text_field

UNKNOWN_TYPE = "application/octet-stream"

_USED = {
    *("model", "messages", "input", "stream", "stream_options", "user", "tools", "conversation"),
    *("previous_response_id", "background", "metadata", "store", "n", "include", "approvals"),
    *("parallel_tool_calls", "tool_choice", "safety_identifier", "prompt_cache_key"),
    *("instructions", "truncation", "service_tier"),
}
"""Fields that have their effect here, or need none."""

_TASK = re.compile(
    r"### Task:\n(?:You are an autocompletion system|(?s:.*)<chat_history>)"
    r"|Provide a concise, 5-word-or-less title for the conversation"
    r"|Analyze this conversation and provide:\n1\. The detected language"
)
"""How Open WebUI's and LibreChat's own prompts for titles, tags, follow-ups and searches begin."""

_AUDIO = {"wav": "audio/wav", "mp3": "audio/mpeg"}


class Said(Struct, frozen=True, kw_only=True):
    """One message of a client's list."""

    role: Literal["user", "assistant"]
    parts: list[Json]
    """Of a genai `Content`."""

    @property
    def text(self) -> str:
        """Its words."""
        return "".join(part.get("text", "") for part in self.parts)


class Asked(Struct, frozen=True, kw_only=True):
    """One request, of either API."""

    model: str
    earlier: list[Said]
    """What was said before the new message."""
    new: Said | None
    """None: the request only answers."""
    answers: list[ToolAnswer]
    """Results of the client's tools, and decisions on approvals."""
    user: str
    session: str
    """The client's own name of the conversation; empty if it has none."""
    previous: str
    """The response that the message follows."""
    streams: bool
    background: bool
    tools: Json
    has_instructions: bool
    ignored: list[str]
    """Parameters without effect."""


def read_chat(body: Mapping[str, Any], session: str = "", user: str = "") -> Asked:
    """Read the body of a chat completion; headers named a session and a user. Raise `UsageError`."""
    messages = _objects(body, "messages")
    if not messages:
        raise UsageError("`messages` must be a non-empty list.")
    return _asked(body, [_as_item(message) for message in messages], session, user)


def read_responses(body: Mapping[str, Any]) -> Asked:
    """Read the body of a response. Raise `UsageError`."""
    given = body.get("input")
    if isinstance(given, str):
        items: list[Json] = [{"role": "user", "content": given}]
    else:
        items = _objects(body, "input")
    if not items:
        raise UsageError("`input` must be a text, or a non-empty list of items.")
    return _asked(body, items)


def _asked(body: Mapping[str, Any], items: list[Json], session: str = "", user: str = "") -> Asked:
    _refuse(body)
    said: list[Said] = []
    answers: list[ToolAnswer] = []
    has_instructions = bool(body.get("instructions"))
    for item in items:
        role = item.get("role")
        if role in ("system", "developer"):
            has_instructions = True
        elif role in ("user", "assistant"):
            said.append(Said(role=role, parts=list(_parts(item))))
            answers = [] if role == "assistant" else answers
        elif answer := _answer(item):
            answers.append(answer)
        elif item.get("type") not in _REPEATED:
            raise UsageError(f"There is no use for an item {str(item.get('type') or role)[:40]!r}.")
    answers += _decisions(body)
    new = said.pop() if said and said[-1].role == "user" and not _follows(items) else None
    if new is None and not answers:
        raise UsageError("The list must end with a message of the user, or with results of tools.")
    if new is not None and not new.parts:
        raise UsageError("The user's message has neither text nor files.")
    if new is not None and not said and _TASK.match(new.text):
        raise UsageError(
            "This asks a model for a title, tags or the like: it is no message of a conversation, and the"
            " models here are agents, whose tools would run. Choose another model for such tasks, or turn"
            " them off."
        )
    return Asked(
        model=_model(body),
        earlier=said,
        new=new,
        answers=answers,
        user=text_field(dict(body), "user") or user or DEFAULT_USER,
        session=_session(body) or session,
        previous=text_field(dict(body), "previous_response_id"),
        streams=body.get("stream") is True,
        background=body.get("background") is True,
        tools=_tools(body),
        has_instructions=has_instructions,
        ignored=sorted(name for name, value in body.items() if name not in _USED and value),
    )


_REPEATED = ("function_call", "reasoning", "mcp_call", "mcp_approval_request", "mcp_list_tools")
"""Items of our own output that clients send back; the server knows them."""


def _follows(items: list[Json]) -> bool:
    """Return whether results come after the last message: then they are what is new."""
    last = items[-1]
    return last.get("role") == "tool" or last.get("type") in (
        "function_call_output",
        "mcp_approval_response",
    )


def _as_item(message: Json) -> Json:
    """Return a message of Chat Completions; one without a known role is refused."""
    role = message.get("role")
    if role not in ("system", "developer", "user", "assistant", "tool", "function"):
        raise UsageError(f"A message has the role {str(role)[:40]!r}.")
    return message


def _refuse(body: Mapping[str, Any]) -> None:
    """Raise `UsageError` for what would give the client something other than it asked for."""
    if body.get("n") not in (None, 1):
        raise UsageError("`n` must be 1: a run gives one answer.")
    modalities = body.get("modalities")
    if isinstance(modalities, list) and "audio" in modalities:
        raise UsageError("Answers are text; for voice use WS /api/live/{app}.")


def _model(body: Mapping[str, Any]) -> str:
    model = text_field(dict(body), "model")
    if not model:
        raise UsageError("`model` is missing: the name of an app, see GET /v1/models.")
    return model


def _session(body: Mapping[str, Any]) -> str:
    """Return the client's name of the conversation: `conversation`, or `metadata.session_id`."""
    given = body.get("conversation")
    if isinstance(given, dict):
        given = given.get("id")
    metadata = body.get("metadata")
    if given is None and isinstance(metadata, dict):
        given = metadata.get("session_id")
    if given is not None and not isinstance(given, str):
        raise UsageError("`conversation` must be an id, or an object with an `id`.")
    return given or ""


def _objects(body: Mapping[str, Any], key: str) -> list[Json]:
    given = body.get(key)
    if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
        raise UsageError(f"`{key}` must be a list of objects.")
    return given


def _tools(body: Mapping[str, Any]) -> Json:
    """Return the client's functions by name; a tool of OpenAI's own is none that a client can run."""
    found: Json = {}
    for tool in _objects(body, "tools") if body.get("tools") else ():
        function = tool.get("function") if isinstance(tool.get("function"), dict) else tool
        assert isinstance(function, dict)
        if tool.get("type") != "function" or not isinstance(function.get("name"), str):
            raise UsageError("A tool must be a function with a `name`; other kinds are the app's.")
        about = {key: function[key] for key in ("description", "parameters") if function.get(key)}
        found[function["name"]] = about
    return found


# --------------------------------------------------------------------------- contents


def _parts(item: Json) -> Iterator[Json]:
    content = item.get("content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    for part in content if isinstance(content, list) else ():
        if isinstance(part, dict) and (shown := _part(part)) is not None:
            yield shown


def _part(part: Json) -> Json | None:
    match part.get("type"):
        case "text" | "input_text" | "output_text" if isinstance(part.get("text"), str):
            return {"text": part["text"]} if part["text"] else None
        case "image_url" | "input_image":
            url = part.get("image_url")
            url = url.get("url") if isinstance(url, dict) else url
            if url is None and isinstance(part.get("file_id"), str):
                return file_part(UPLOADED + part["file_id"], "image/*", "")
            return _file(url, "image/*", "")
        case "input_audio":
            audio = part.get("input_audio")
            if not isinstance(audio, dict):
                raise UsageError("`input_audio` must be an object with `data` and `format`.")
            kind = _AUDIO.get(str(audio.get("format")), UNKNOWN_TYPE)
            return _file(f"data:{kind};base64,{audio.get('data') or ''}", kind, "")
        case "file" | "input_file":
            file = part.get("file") if isinstance(part.get("file"), dict) else part
            assert isinstance(file, dict)
            name = str(file.get("filename") or "")
            if isinstance(file.get("file_id"), str):
                return file_part(UPLOADED + file["file_id"], UNKNOWN_TYPE, name)
            return _file(file.get("file_data") or file.get("file_url"), UNKNOWN_TYPE, name)
        case "refusal":
            return None
        case kind:
            raise UsageError(f"There is no use for a part {str(kind)[:40]!r} of a message.")


def _file(url: Any, media_type: str, name: str) -> Json:
    if not isinstance(url, str) or not url:
        raise UsageError(
            "A file must come as a data URL, an address, or the `file_id` of an uploaded file."
        )
    if not url.startswith(("data:", "http://", "https://")):
        url = f"data:{media_type};base64,{url}"
    return file_part(url, media_type, name)


# --------------------------------------------------------------------------- answers


def _answer(item: Json) -> ToolAnswer | None:
    if item.get("role") == "tool":
        return _result(item.get("tool_call_id"), item.get("content"))
    if item.get("type") == "function_call_output":
        return _result(item.get("call_id"), item.get("output"))
    if item.get("type") == "mcp_approval_response":
        return _decision(item.get("approval_request_id"), item.get("approve"), item.get("reason"))
    return None


def _result(call: Any, output: Any) -> ToolAnswer:
    if not isinstance(call, str) or not call:
        raise UsageError("A tool's result must name its call.")
    if isinstance(output, list):
        texts = (part.get("text") for part in output if isinstance(part, dict))
        output = "".join(text for text in texts if isinstance(text, str))
    return ToolAnswer(call=call, output=_value(output))


def _value(output: Any) -> Raw:
    """Return a result as the tool's value: ADK takes an object, and wraps a text."""
    return to_raw(output if isinstance(output, dict) else {"result": output})


def _decisions(body: Mapping[str, Any]) -> Iterator[ToolAnswer]:
    """Yield decisions that a program sends beside the messages: `approvals: [{id, approved, reason}]`."""
    for given in _objects(body, "approvals") if body.get("approvals") else ():
        yield _decision(given.get("id"), given.get("approved"), given.get("reason"))


def _decision(approval: Any, approved: Any, reason: Any) -> ToolAnswer:
    if not isinstance(approval, str) or not isinstance(approved, bool):
        raise UsageError("An approval must be answered with its id and true or false.")
    reason = reason if isinstance(reason, str) else ""
    # Which call it is about, the conversation knows.
    return ToolAnswer(
        call="", decision=Decision(approval=approval, approved=approved, reason=reason)
    )
