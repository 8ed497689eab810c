"""A run cut at a cursor: what of it is kept, and how it can continue from there. Pure.

ADK keeps whole events only, so the cut is after the last whole one at or before the cursor: a sentence
that was streaming is not in the history, and is generated again. Of history that this server did not record,
only what a model may read as text is kept (`clean_record`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Literal

import pydantic_core
from msgspec import Raw, Struct, structs
from pydantic.alias_generators import to_camel

from adk_prism.adk.internals.log_lines import INTERNAL_PREFIX
from adk_prism.adk.plain_json import encode_strictly
from adk_prism.errors import BadPosition
from adk_prism.facts.adk_event import REQUESTS, AdkEvent, read_event
from adk_prism.facts.nodes import node_ends
from adk_prism.facts.pending import Pending
from adk_prism.facts.run_reader import Reader
from adk_prism.facts.state import StateFold
from adk_prism.log import entry as records

_OVER = frozenset(("finished", "failed", "incomplete"))
"""Outcomes after which nothing is pending."""

HowToContinue = Literal["again", "resume", "nothing"]
"""How a run continues from a cut without a new message: it is started again, since nothing of it had
happened; its invocation is resumed; or there was nothing left to do."""


class TruncatedRun(Struct, frozen=True):
    """A run up to a cursor."""

    head: records.RunStarted
    entries: Sequence[records.Entry]
    """What counts, the run's end not included."""
    until: float
    """The time at the cursor."""
    further: HowToContinue
    ended: records.RunEnded | None
    """The run's end, if nothing was left to do at the cursor."""
    later: frozenset[str]
    """Ids of whole events after the cut."""
    invocation: str
    """Of the last event that counts."""

    @property
    def whole(self) -> list[bytes]:
        """The whole events that count."""
        return [data for data, event in _events(self.entries) if not event.partial]

    def state(self) -> dict[str, Raw]:
        """Return the state at the cut, all scopes."""
        reader, fold = Reader(), StateFold()
        for entry in self.entries:
            for fact in reader.feed(entry):
                fold.feed(fact)
        return dict(fold)

    def closed(self) -> list[records.Record]:
        """Return the records that end what was running at the cut, and the run itself."""
        return [*node_ends(self.entries), self.ended or records.RunEnded(outcome="cancelled")]

    def continued(self, now: float) -> list[records.Entry]:
        """Return what counts as the beginning of a run that continues now: its nodes are of the past.

        The times are moved, so that the past ends now and its durations stay. The last entry is the
        seam. Calls without an answer are in doubt there: resumed, ADK runs them or does not.
        """
        moved = now - self.until
        past = [
            records.Entry(e.cursor, e.time + moved, _of_the_past(e.record)) for e in self.entries
        ]
        seam = [*node_ends(past), records.RunTakenOver(epoch=0, in_doubt=_open_calls(past))]
        return [*past, *(records.Entry(0, now, record) for record in seam)]


def close_truncated(cut: TruncatedRun, refused: RefusedKeys) -> TruncatedRun:
    """Return a cut in which nothing is pending, and which continues with a new message only.

    For a run that this server did not see happen, or whose history has one: `features/session_runs` says
    what of it counts. A call without a response was never answered.
    """
    cleaned = [(entry, clean_record(entry.record, refused)) for entry in cut.entries]
    kept = [
        records.Entry(entry.cursor, entry.time, record)
        for entry, record in cleaned
        if record is not None
    ]
    head = kept[0].record
    assert isinstance(head, records.RunStarted), "every log begins with its RunStarted"
    is_over = cut.ended is not None and cut.ended.outcome in _OVER and not _open_calls(kept)
    ended = cut.ended if is_over else records.RunEnded(outcome="cancelled")
    return structs.replace(cut, head=head, entries=kept, further="nothing", ended=ended)


def truncate_run(
    entries: Sequence[records.Entry], at: int, *, new_turn: bool = True
) -> TruncatedRun:
    """Cut a run, given whole, at a cursor. Raise `BadPosition` for one that it does not have.

    Without a new turn the run is to continue where it was. Then the error that ended it does not count:
    ADK would take it for the last word, and be done.
    """
    if not 1 <= at <= len(entries):
        raise BadPosition(f"Cursor {at} is not in this run, which has entries 1 to {len(entries)}.")
    ended = entries[-1].record if at == len(entries) else None
    if isinstance(ended, records.RunEnded):
        cut = _cut(entries, entries[:-1], at, ended)
    else:
        cut = _cut(entries, _without_unfinished(entries[: _last_whole(entries[:at])]), at)
    if new_turn or cut.further == "nothing":
        return cut
    last = _last_whole(entries[:at], errors=False)
    return _cut(entries, _without_unfinished(entries[:last]), at)


def _cut(
    entries: Sequence[records.Entry],
    kept: Sequence[records.Entry],
    at: int,
    ended: records.RunEnded | None = None,
) -> TruncatedRun:
    head = entries[0].record
    assert isinstance(head, records.RunStarted), "every log begins with its RunStarted"
    whole = [event for _, event in _events(kept) if not event.partial]
    after = entries[kept[-1].cursor :]
    rest = [event for _, event in _events(after) if not event.partial]
    over = _over(kept, after, any(map(_says_something, rest)))
    return TruncatedRun(
        head=head,
        # What was sent to models stays with the run that sent it.
        entries=[entry for entry in kept if not isinstance(entry.record, records.ModelCalled)],
        until=entries[at - 1].time,
        further=_further(head, begun=bool(whole) or ended is not None, over=over is not None),
        ended=ended or over,
        later=frozenset(event.id for event in rest),
        invocation=whole[-1].invocation_id if whole else head.invocation,
    )


def _over(
    kept: Sequence[records.Entry], rest: Sequence[records.Entry], goes_on: bool
) -> records.RunEnded | None:
    """Return the end of a run at a cut after which nothing was left to do, or a person was waited for."""
    if _waits(kept, rest):
        return records.RunEnded(outcome="waiting")
    ended = rest[-1].record if rest else None
    is_good = isinstance(ended, records.RunEnded) and ended.outcome in ("finished", "waiting")
    return ended if isinstance(ended, records.RunEnded) and is_good and not goes_on else None


def _waits(kept: Sequence[records.Entry], rest: Sequence[records.Entry]) -> bool:
    """Return whether a question was open and nothing else was in progress."""
    reader, pending = Reader(), Pending()
    for entry in kept:
        pending.feed(reader.feed(entry))
    if not (pending.approvals or pending.requests or pending.client_calls):
        return False
    asked = set(pending.open_calls)
    for entry in rest:
        pending.feed(reader.feed(entry))
    return asked <= pending.open_calls.keys()


def _says_something(event: AdkEvent) -> bool:
    """Tell a step of the run from ADK's own marks, such as the end of an agent."""
    return event.content is not None or bool(event.error_code) or bool(bytes(event.output))


def _further(head: records.RunStarted, *, begun: bool, over: bool) -> HowToContinue:
    if head.kind != "turn":
        return "nothing"
    if not begun:
        return "again"
    return "nothing" if over else "resume"


def _events(entries: Iterable[records.Entry]) -> Iterable[tuple[bytes, AdkEvent]]:
    for entry in entries:
        if isinstance(entry.record, records.AgentEvent):
            yield entry.record.event, read_event(entry.record.event)


def _last_whole(entries: Sequence[records.Entry], *, errors: bool = True) -> int:
    """Return the cursor of the last whole event, of the start if there is none."""
    for entry in reversed(entries):
        if isinstance(entry.record, records.AgentEvent):
            event = read_event(entry.record.event)
            is_error = bool(event.error_code) and event.content is None
            if not event.partial and (errors or not is_error):
                return entry.cursor
    return 1


def _without_unfinished(entries: Sequence[records.Entry]) -> list[records.Entry]:
    """Return entries without pieces of what was never said to its end."""
    whole = {event.id for _, event in _events(entries) if not event.partial}
    return [entry for entry in entries if not _is_piece_of_other(entry.record, whole)]


def _is_piece_of_other(record: records.Record, whole: set[str]) -> bool:
    if not isinstance(record, records.AgentEvent):
        return False
    event = read_event(record.event)
    return bool(event.partial) and event.id not in whole


def _of_the_past(record: records.Record) -> records.Record:
    """Return a record whose nodes have other ids than those that a run gives."""
    match record:
        case records.NodeStarted():
            return structs.replace(record, node=_past(record.node), parent=_past(record.parent))
        case records.NodeEnded() | records.ChildEvent():
            return structs.replace(record, node=_past(record.node))
        case _:
            return record  # names no node


def _past(node: str) -> str:
    return f"past-{node}" if node else ""


def _open_calls(entries: Iterable[records.Entry]) -> list[str]:
    """Return the calls that the server owes an answer; a long-running one ADK waits for, resumed too."""
    reader, pending = Reader(), Pending()
    for entry in entries:
        pending.feed(reader.feed(entry))
    return [name for name, call in pending.open_calls.items() if not call.long_running]


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

_DELTA = _spellings("state_delta")

_ASKED = _spellings("requested_tool_confirmations")

_CALL = _spellings("function_call")

_RESPONSE = _spellings("function_response")


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
