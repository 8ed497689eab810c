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

from typing import Any

import msgspec
from msgspec import Raw, Struct

from adk_prism.commands import (
    DEFAULT_USER,
    Answer,
    AnswerQuestions,
    Before,
    ClientRequest,
    Command,
    QuestionAnswer,
    Submit,
    ToolAnswer,
)
from adk_prism.errors import Unprocessable
from adk_prism.projection.ag_ui.call_ids import call_of
from adk_prism.projection.ag_ui.user_content import genai_parts
from adk_prism.runlog.entry import NOTHING, Decision, to_raw

Json = dict[str, Any]

LARGEST_EXTRAS = 64 * 1024
"""Bytes of what a message carries for its client's own use; it is in the log and in every history."""

CONTEXT_KEY = "_ag_ui_context"
"""State key of the input's `context`: the one that ag-ui-adk uses, so that its agents find it."""
PROPS_KEY = "_ag_ui_forwarded_props"
"""State key of `forwardedProps`, for apps that declare it: pages put tokens there, too."""

_TURNS = ("user", "assistant", "tool")
_INSTRUCTIONS = ("system", "developer")


def read_request(body: Any) -> ClientRequest:
    """Read a `RunAgentInput`. Raise `Unprocessable` for a body that is none."""
    if not isinstance(body, dict):
        raise Unprocessable("The body must be a JSON object: {threadId, runId, messages, …}.")
    props = _object(body, "forwardedProps")
    tail = _tail_of(_messages(body), props)
    return ClientRequest(
        session=_required(body, "threadId"),
        run=_required(body, "runId"),
        user=_text(props, "userId") or DEFAULT_USER,
        command=_read_command(body, tail),
        state=_state(body),
        declared_state={PROPS_KEY: props} if props else {},
        tools=_tools(body),
        has_instructions=bool(tail.instructions),
    )


def _read_command(body: Json, tail: _Tail) -> Command:
    answers = _resume(body)
    if answers:
        message = _submit(tail) if tail.user is not None else None
        return AnswerQuestions(answers=answers, results=tail.results, message=message)
    if tail.user is not None:
        return _submit(tail)
    if tail.results:
        return Answer(answers=tail.results, repeats=True, leaves_questions=False)
    if tail.earlier:
        return Answer(answers=tail.earlier, repeats=True, leaves_questions=False, earlier=True)
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


def _text(body: Json, key: str) -> str:
    found = body.get(key)
    if found is not None and not isinstance(found, str):
        raise Unprocessable(f"`{key}` must be a string.")
    return found or ""


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
    results: list[ToolAnswer]
    """The tool messages at the end, or right before the user's message."""
    earlier: list[ToolAnswer]
    """The tool messages further up, beside their calls."""
    before: Before
    """The user's messages before that."""
    instructions: list[Json]
    """System and developer messages right before the user's."""


def _tail_of(messages: list[Json], props: Json) -> _Tail:
    turns = [m for m in messages if m.get("role") in _TURNS]
    user = turns.pop() if turns and turns[-1]["role"] == "user" else None
    said = turns[:]
    results: list[ToolAnswer] = []
    while said and said[-1]["role"] == "tool":
        results.insert(0, _result(said.pop()))
    return _Tail(
        user=user,
        results=results,
        earlier=[_result(m) for m in said if m["role"] == "tool" and _is_whole(m)],
        before=_before(tuple(_text(m, "id") for m in turns if m["role"] == "user"), props),
        instructions=_instructions(messages, user) if user is not None else [],
    )


def _is_whole(result: Json) -> bool:
    """Tell a tool message from what is left of one that was too long to be kept."""
    call, content = result.get("toolCallId"), result.get("content")
    return isinstance(call, str) and bool(call) and isinstance(content, str | list)


def _before(ids: tuple[str, ...], props: Json) -> Before:
    """Return what the client shows; `parentId` of its properties names a user's message, or none."""
    if "parentId" not in props:
        return Before(ids=ids)
    parent = _text(props, "parentId")
    return Before(ids=(parent,), named=True) if parent else Before(whole=True)


def _instructions(messages: list[Json], user: Json) -> list[Json]:
    """Return what was to be told the model with the message: further up, it came with another."""
    found: list[Json] = []
    for message in reversed(messages[: messages.index(user)]):
        if message.get("role") not in _INSTRUCTIONS:
            break
        found.insert(0, message)
    return found


def _submit(tail: _Tail) -> Submit:
    assert tail.user is not None
    parts = genai_parts(tail.user.get("content"))
    if not parts:
        raise Unprocessable("The message has neither text nor files.")
    return Submit(
        message_id=_text(tail.user, "id"),
        content=to_raw({"role": "user", "parts": parts}),
        text="".join(part.get("text", "") for part in parts),
        before=tail.before,
        results=tail.results,
        earlier_results=tail.earlier,
        extras=_extras(tail),
        leaves_questions=False,
    )


def _extras(tail: _Tail) -> dict[str, Raw]:
    """Return what is kept of a message for its client. Raise `Unprocessable` for more than that may be."""
    metadata = (tail.user or {}).get("metadata")
    given = {"metadata": metadata, "system": tail.instructions}
    extras = {name: to_raw(value) for name, value in given.items() if value}
    if sum(len(bytes(value)) for value in extras.values()) > LARGEST_EXTRAS:
        raise Unprocessable(
            f"The message's metadata and system messages are larger than {LARGEST_EXTRAS} bytes together; "
            "keep them elsewhere and send their id."
        )
    return extras


def _result(message: Json) -> ToolAnswer:
    call, error = _required(message, "toolCallId"), _text(message, "error")
    output = to_raw({"error": error}) if error else _output(message.get("content"))
    return ToolAnswer(call=call_of(call), output=output)


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


def _resume(body: Json) -> list[QuestionAnswer]:
    answers = [
        _question(entry) for entry in _list(body, "resume", "{interruptId, status, payload}")
    ]
    ids = [answer.question for answer in answers]
    if len(ids) != len(set(ids)):
        raise Unprocessable("`resume` must answer each interrupt once.")
    return answers


def _question(entry: Json) -> QuestionAnswer:
    question, payload = _required(entry, "interruptId"), entry.get("payload")
    told = _decoded(payload) if isinstance(payload, str) else payload
    match entry.get("status"):
        case "cancelled":
            denial = Decision(approval=question, approved=False)
            return QuestionAnswer(question=question, decision=denial, is_cancelled=True)
        case "resolved":
            return QuestionAnswer(
                question=question,
                response=to_raw(payload),
                decision=_decision(question, told),
                input=_edited(told),
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
    reason, wanted = given.get("reason"), given.get("payload")
    return Decision(
        approval=approval,
        approved=given["approved"],
        reason=reason if isinstance(reason, str) else "",
        payload=NOTHING if wanted is None else to_raw(wanted),
    )


def _edited(payload: Any) -> Raw:
    edited = payload.get("editedArgs") if isinstance(payload, dict) else None
    return NOTHING if edited is None else to_raw(edited)
