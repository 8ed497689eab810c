"""History that this server did not record: what of it may become part of a session here.

An uploaded recording, a fork of one, events that a client gives a new session: the sender could have written
anything. So a model may read it as text, and no run continues from it. The rule is the one that
google-adk 2.13 has for a client's events (`cli/api_server.py`), applied by leaving out instead of refusing,
and completed: ADK's own calls, long-running marks and actions go; so does what would be looked up
elsewhere or choose what runs next (a cache, an interaction, a live session, an isolation scope).
State is held against what a client may write. Calls without a response are not planted.

ADK's own mark for restored events distinguishes such events in a session from those that ran here; callers
can neither set nor remove it. No invocation with such an event is resumed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import pydantic_core
from google.adk.events.event import Event
from google.adk.sessions.session import Session
from google.genai import types
from msgspec import Raw, structs
from pydantic.alias_generators import to_camel

from adk_prism.facts.adk_event import REQUESTS
from adk_prism.runlog.entry import (
    NOTHING,
    AgentEvent,
    ApprovalAsked,
    ApprovalGiven,
    ChildEvent,
    ModelCalled,
    NodeEnded,
    NodeStarted,
    Record,
    RunEnded,
    RunStarted,
    RunTakenOver,
    SpeakerInterrupted,
    is_absent,
    to_raw,
)
from adk_prism.source.adk.restored_events import INTERNAL_PREFIX, is_restored, mark_restored
from adk_prism.source.plain_json import encode_strictly

RefusedKeys = Callable[[Iterable[str]], Collection[str]]
"""Returns those state keys that a client may not write."""


def _spellings(*names: str) -> frozenset[str]:
    """Return field names as ADK writes them and as Python does: it reads both."""
    return frozenset(spelling for name in names for spelling in (name, to_camel(name)))


_KEPT = _spellings(
    "id", "invocation_id", "author", "timestamp", "branch", "node_info", "content", "output",
    "partial", "turn_complete", "turn_complete_reason", "interrupted", "finish_reason",
    "error_code", "error_message", "custom_metadata", "usage_metadata", "model_version",
    "grounding_metadata", "citation_metadata", "avg_logprobs", "logprobs_result",
    "input_transcription", "output_transcription", "actions",
)  # fmt: skip
"""Fields of an event that say what happened. All others are handles or marks of the server that ran it."""

_KEPT_ACTIONS = _spellings(
    "state_delta", "artifact_delta", "transfer_to_agent", "transfer_reason", "escalate"
)
"""Actions that say what happened. The others ask a person, or control what runs next."""

HANDLES: Mapping[str, None] = dict.fromkeys((
    "cache_metadata", "interaction_id", "environment_id", "live_session_id",
    "live_session_resumption_update", "isolation_scope",
))  # fmt: skip
"""Fields by which a later run would look up something at the provider, or be sent to another agent."""

_DELTA = _spellings("state_delta")
_ASKED = _spellings("requested_tool_confirmations")
_CALL = _spellings("function_call")
_RESPONSE = _spellings("function_response")


# --------------------------------------------------------------------------- in the log


def clean_record(record: Record, refused: RefusedKeys) -> Record | None:
    """Return a record as it may be copied into a conversation of this server; None to leave it out."""
    match record:
        case AgentEvent():
            return AgentEvent(_clean_event(record.event, refused))
        case ChildEvent():
            return structs.replace(record, event=Raw(_clean_event(record.event, refused)))
        case NodeStarted() | NodeEnded():
            return structs.replace(record, state=_allowed(record.state, refused))
        case RunStarted():
            return clean_head(record, refused)
        case ApprovalAsked() | ApprovalGiven() | ModelCalled():
            return None
        case SpeakerInterrupted() | RunTakenOver() | RunEnded():
            return record  # say nothing of state or calls that could be answered


def clean_head(head: RunStarted, refused: RefusedKeys) -> RunStarted:
    """Return a run's beginning with state that a client may write; of an untrusted run, no answers."""
    head = structs.replace(head, state=_allowed(head.state, refused))
    if not head.untrusted:
        return head
    return structs.replace(head, message=_said(head.message), continues=None, responses={})


def _said(message: Raw) -> Raw:
    """Return a message without function calls and responses, which a person does not write."""
    if is_absent(message):
        return NOTHING
    content = pydantic_core.from_json(bytes(message))
    parts = content.get("parts") if isinstance(content, dict) else None
    if not isinstance(parts, list):
        return message
    kept = [part for part in parts if not _has(part, _CALL | _RESPONSE)]
    return to_raw(content | {"parts": kept}) if kept else NOTHING


def _allowed(state: Mapping[str, Any], refused: RefusedKeys) -> dict[str, Any]:
    out = refused(state)
    return {key: value for key, value in state.items() if key not in out}


def _clean_event(data: bytes | Raw, refused: RefusedKeys) -> bytes:
    """Return an event's JSON with what happened, without anything that could be answered or continued."""
    event = pydantic_core.from_json(bytes(data))
    if not isinstance(event, dict):
        return bytes(data)
    kept = {key: value for key, value in event.items() if key in _KEPT}
    actions = kept.get("actions")
    asked = _values(actions, _ASKED)
    kept["actions"] = _clean_actions(actions, refused)
    content = kept.get("content")
    if isinstance(content, dict) and isinstance(content.get("parts"), list):
        waits = {call for each in asked if isinstance(each, dict) for call in each}
        parts = [part for part in content["parts"] if not _asks(part, waits)]
        # Empty content would count as a message.
        kept["content"] = content | {"parts": parts} if parts or not content["parts"] else None
    for name in ("customMetadata", "custom_metadata"):
        if isinstance(metadata := kept.get(name), dict):
            kept[name] = {k: v for k, v in metadata.items() if not k.startswith(INTERNAL_PREFIX)}
    return encode_strictly(kept)


def _clean_actions(actions: Any, refused: RefusedKeys) -> dict[str, Any]:
    if not isinstance(actions, dict):
        return {}
    kept = {key: value for key, value in actions.items() if key in _KEPT_ACTIONS}
    for key in _DELTA & kept.keys():
        kept[key] = _allowed(kept[key], refused) if isinstance(kept[key], dict) else {}
    return kept


def _asks(part: Any, waits: Collection[str]) -> bool:
    """Return whether a part is a question to a person, an answer to one, or a placeholder for a result."""
    calls = _values(part, _CALL) + _values(part, _RESPONSE)
    if any(isinstance(c, dict) and c.get("name") in REQUESTS for c in calls):
        return True
    return any(isinstance(r, dict) and r.get("id") in waits for r in _values(part, _RESPONSE))


def _values(holder: Any, names: Iterable[str]) -> list[Any]:
    return [holder[name] for name in names if name in holder] if isinstance(holder, dict) else []


def _has(part: Any, names: Iterable[str]) -> bool:
    return any(value is not None for value in _values(part, names))


# --------------------------------------------------------------------------- in a session


def restored(events: Sequence[Event]) -> list[Event]:
    """Return events as a session may begin with them: every call has its response, all are marked."""
    kept = _answered_calls(events)
    return [mark_restored(_without_open(event, index, kept)) for index, event in enumerate(events)]


def _answered_calls(events: Sequence[Event]) -> frozenset[tuple[int, str]]:
    """Return the calls, and the one response of each, that follow each other: event and call id."""
    made: dict[str, int] = {}
    kept: set[tuple[int, str]] = set()
    done: set[str] = set()
    for index, event in enumerate(events):
        for response in event.get_function_responses():
            call = response.id or ""
            if call in made and call not in done:
                done.add(call)
                kept |= {(made[call], call), (index, call)}
        for made_call in event.get_function_calls():
            if made_call.id:
                made.setdefault(made_call.id, index)
    return frozenset(kept)


def _without_open(event: Event, index: int, kept: frozenset[tuple[int, str]]) -> Event:
    parts = event.content.parts if event.content is not None else None
    if not parts:
        return event
    parts_kept: list[types.Part] = []
    seen: set[str] = set()
    for part in parts:
        about = part.function_call or part.function_response
        if about is None:
            parts_kept.append(part)
        elif (index, about.id or "") in kept and about.id not in seen:
            seen.add(about.id or "")
            parts_kept.append(part)
    if len(parts_kept) == len(parts):
        return event
    content = (
        event.content.model_copy(update={"parts": parts_kept})
        if parts_kept and event.content
        else None
    )
    return event.model_copy(update={"content": content})


def as_client_event(event: Event) -> Event:
    """Return an event that a client gives a new session, marked and without handles."""
    return mark_restored(event.model_copy(update=dict(HANDLES)))


def restored_invocations(session: Session) -> frozenset[str]:
    """Return the invocations that were restored, in whole or in part."""
    return frozenset(event.invocation_id for event in session.events if is_restored(event))
