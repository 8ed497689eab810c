"""Runs read from an ADK session: what the session stored, as the records that a run log would hold.

For sessions that another server wrote (`adk api_server`, a script) and for runs that retention removed
from the log. One invocation is one run. ADK stores whole events only: streamed fragments, the moments at
which nodes began and ended, and the children of an `AgentTool` are not known, so the run is marked
`derived`, as one that is read from a capture.

The id of such a run names its session, its invocation and how many of its events it holds. It can be
read again from the id alone, in any process, and a run that has grown since is another run.
"""

from __future__ import annotations

import asyncio
import binascii
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec
import pydantic_core
from google.adk.events.event import Event
from google.adk.sessions.session import Session
from msgspec import Raw, Struct, structs
from pydantic.alias_generators import to_camel

from adk_prism.adk.internals.log_lines import INTERNAL_PREFIX, is_restored, mark_restored
from adk_prism.adk.plain_json import encode_strictly
from adk_prism.adk.redaction import Serialiser
from adk_prism.adk.session_store import is_copy, live_events, user_responses
from adk_prism.adk.sessions import Sessions
from adk_prism.errors import RemoteFailed, Report
from adk_prism.facts.adk_event import REQUESTS
from adk_prism.facts.run_reader import CaptureEnding
from adk_prism.log import entry as records

T = TypeVar("T")

PREFIX = "session-"

USER = "user"

StoredEvents = Sequence[Event]
"""The events of one invocation, in the order in which they are stored."""


class SessionRunId(Struct, frozen=True, array_like=True):
    """The contents of such a run's id."""

    app: str
    user: str
    session: str
    invocation: str
    events: int

    @property
    def origin(self) -> records.Origin:
        """Where the run belongs."""
        return records.Origin(app=self.app, user=self.user, session=self.session)

    def encode(self) -> records.RunId:
        """Return the id."""
        packed = urlsafe_b64encode(msgspec.json.encode(self)).decode().rstrip("=")
        return records.RunId(PREFIX + packed)

    @classmethod
    def decode(cls, run: str) -> SessionRunId | None:
        """Read an id; None if it is another run's."""
        if not run.startswith(PREFIX):
            return None
        packed = run.removeprefix(PREFIX)
        try:
            data = urlsafe_b64decode(packed + "=" * (-len(packed) % 4))
            return msgspec.json.decode(data, type=cls)
        except (binascii.Error, msgspec.MsgspecError, UnicodeDecodeError, ValueError):
            return None


def stored_invocations(session: Session) -> dict[str, StoredEvents]:
    """Return the session's events by invocation, oldest first, without what a rewind took back.

    Only invocations with content, output or an error: a change of state is not a run. An event without an
    invocation, as ADK stores those of agents that do not name it, belongs to the one before it.
    """
    found: dict[str, list[Event]] = {}
    last = ""
    for event in live_events(session):
        if event.actions.compaction is None:
            last = event.invocation_id or last
            found.setdefault(last, []).append(event)
    return {name: events for name, events in found.items() if any(map(_is_said, events))}


def _is_said(event: Event) -> bool:
    return event.content is not None or event.output is not None or bool(event.error_code)


def session_run(run: SessionRunId, events: Sequence[Event], report: Report) -> list[records.Entry]:
    """Return the entries of an invocation's first `run.events` events, its end included."""
    return list(_with_end(_entries(run, events[: run.events], report)))


def _entries(run: SessionRunId, events: Sequence[Event], report: Report) -> Iterator[records.Entry]:
    name = run.encode()
    serialiser = Serialiser(report, run=name, app=run.app)
    begins = _is_message(events[0])
    head = records.RunStarted(
        run=name,
        origin=run.origin,
        invocation=run.invocation,
        message=_content(serialiser.event(events[0])) if begins else records.NOTHING,
        message_id=events[0].id if begins else "",
        labels=records.labels(
            records.DERIVED(True), records.FOREIGN(any(map(is_restored, events)))
        ),
    )
    yield records.Entry(1, events[0].timestamp, head)
    for cursor, event in enumerate(events[1 if begins else 0 :], 2):
        yield records.Entry(cursor, event.timestamp, records.AgentEvent(serialiser.event(event)))


def _is_message(event: Event) -> bool:
    """Return whether an event is a user's message, and not an answer to a call."""
    said = event.author == USER and event.content is not None
    return said and not event.get_function_responses()


def _content(event: bytes) -> Raw:
    return msgspec.json.decode(event, type=dict[str, Raw])["content"]


def _with_end(entries: Iterator[records.Entry]) -> Iterator[records.Entry]:
    ending = CaptureEnding()
    last = None
    for last in entries:
        ending.feed(last)
        yield last
    assert last is not None, "an invocation has events"
    yield records.Entry(last.cursor + 1, last.time, ending.ended())


# ---------------------------------------------------------------------- events that the log does not have


USER = "user"


class Stored(NamedTuple):
    """What a session knows of a run."""

    is_asked: bool
    """The message, or the answers, that began the run are stored."""
    missing: list[records.AgentEvent]
    """The run's events that are not in the log, in order."""
    last: Event | None = None
    """The run's last event, if that is stored and not the user's."""
    answered: frozenset[str] = frozenset()
    """The calls of the session that the user has answered."""
    is_passed: bool = False
    """The user has said something else since, in another invocation."""


async def stored_events(
    sessions: Sessions,
    origin: records.Origin,
    invocation: str,
    *,
    since: float,
    known: Collection[str],
    report: Report,
    run: str,
) -> Stored:
    """Return what a session has of a run and the log does not: to take over the run of a dead process.

    ADK stores an event before it yields it, and the user's message before anything else. `since` is when the
    run began, `known` the ids of the events that the log has. Without an `invocation`, it is the newest one.
    Raise `NotFound` if the session is gone.
    """
    serialiser = Serialiser(report, run=run, app=origin.app)
    asked, missing, last = False, [], None
    has_begun = is_passed = False
    events = live_events(await sessions.get(origin))
    invocation = invocation or _newest_invocation(events, since, known)
    for event in events:
        if event.invocation_id != invocation:
            is_passed = is_passed or (has_begun and _is_message(event) and not is_copy(event))
            continue
        has_begun, is_passed = True, False
        if event.author == USER:
            asked, last = asked or event.timestamp >= since, None
            continue
        last = event
        if event.id not in known and not is_copy(event) and event.actions.compaction is None:
            missing.append(records.AgentEvent(serialiser.event(event)))
    return Stored(asked, missing, last, user_responses(events), is_passed)


CLOCK_SKEW = 60.0
"""Seconds by which the clocks of two servers may differ."""


def _newest_invocation(events: Sequence[Event], since: float, known: Collection[str]) -> str:
    """Return the last invocation of a session if it began at a time, by the writer's clock, or after.

    Empty if it did not, or if one of its events is `known`: then it is that of an earlier run.
    """
    last = events[-1].invocation_id if events else ""
    own = [event for event in events if event.invocation_id == last]
    is_new = bool(own) and own[0].timestamp >= since - CLOCK_SKEW
    return last if is_new and not any(event.id in known for event in own) else ""


# --------------------------------------------------------------------------- sessions on other servers

RECOVERY = 30.0
"""Seconds in which a server that was lost in the middle of a run may come back: a restart takes ten."""

FIRST_PAUSE, LONGEST_PAUSE = 0.25, 4.0
"""Seconds between two attempts."""


async def until_back(
    ask: Callable[[], Awaitable[T]],
    seconds: float = RECOVERY,
    *,
    is_wanted: Callable[[], bool] = lambda: True,
) -> T:
    """Return what the remote answers. Raise `RemoteFailed` if it is not back in time, or not wanted."""
    until, pause = time.monotonic() + seconds, FIRST_PAUSE
    while True:
        try:
            return await ask()
        except RemoteFailed:
            if time.monotonic() + pause > until or not is_wanted():
                raise
        await asyncio.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)


# ---------------------------------------------------------------------------
# History that this server did not record: what of it may become part of a session here.
#
# An uploaded recording, a fork of one, events that a client gives a new session: the sender could
# have written anything. So a model may read it as text, and no run continues from it. The rule is the
# one that google-adk 2.13 has for a client's events (`cli/api_server.py`), applied by leaving out
# instead of refusing, and completed: ADK's own calls, long-running marks and actions go; so does what
# would be looked up elsewhere or choose what runs next (a cache, an interaction, a live session, an
# isolation scope). State is held against what a client may write. Calls without a response are not
# planted.
#
# ADK's own mark for restored events distinguishes such events in a session from those that ran here;
# callers can neither set nor remove it. No invocation with such an event is resumed.

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


def clean_record(record: records.Record, refused: RefusedKeys) -> records.Record | None:
    """Return a record as it may be copied into a conversation of this server; None to leave it out."""
    match record:
        case records.AgentEvent():
            return records.AgentEvent(_clean_event(record.event, refused))
        case records.ChildEvent():
            return structs.replace(record, event=Raw(_clean_event(record.event, refused)))
        case records.NodeStarted() | records.NodeEnded():
            return structs.replace(record, state=_allowed(record.state, refused))
        case records.RunStarted():
            return clean_head(record, refused)
        case records.ApprovalAsked() | records.ApprovalGiven() | records.ModelCalled():
            return None
        case records.SpeakerInterrupted() | records.RunTakenOver() | records.RunEnded():
            return record  # say nothing of state or calls that could be answered


def clean_head(head: records.RunStarted, refused: RefusedKeys) -> records.RunStarted:
    """Return a run's beginning with state that a client may write; of an untrusted run, no answers."""
    head = structs.replace(head, state=_allowed(head.state, refused))
    if not records.is_untrusted(head):
        return head
    clean = structs.replace(head, message=_said(head.message), continues=None)
    return records.relabelled(clean, records.RESPONSES({}))


def _said(message: Raw) -> Raw:
    """Return a message without function calls and responses, which a person does not write."""
    if records.is_absent(message):
        return records.NOTHING
    content = pydantic_core.from_json(bytes(message))
    parts = content.get("parts") if isinstance(content, dict) else None
    if not isinstance(parts, list):
        return message
    kept = [part for part in parts if not _has(part, _CALL | _RESPONSE)]
    return records.to_raw(content | {"parts": kept}) if kept else records.NOTHING


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


def as_client_event(event: Event) -> Event:
    """Return an event that a client gives a new session, marked and without handles."""
    return mark_restored(event.model_copy(update=dict(HANDLES)))


def restored_invocations(session: Session) -> frozenset[str]:
    """Return the invocations that were restored, in whole or in part."""
    return frozenset(event.invocation_id for event in session.events if is_restored(event))
