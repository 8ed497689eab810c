"""An earlier version of a conversation, brought back into its session.

ADK cannot undo a rewind, but the session keeps what was rewound. So the events are appended once more, as
copies (tried on ADK's in-memory, SQLite and database services):
- **invocations and calls keep their ids.** A rewind to such an invocation goes to its first event, the
  original; what came before that one is what comes before the copy, so the result is the same;
- **event ids and times are new**: services order events by time. The id of a copy contains the original's;
- **shared state is not written again** (`fork.copied`), and summaries of a compaction are left out: their
  ranges are times, so ADK shows the model what they summarised;
- **artifacts** get the content that they had at the end of the version, as a new version of each.

A last event ends the copies. Without it they are those of a process that died, and no version.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any
from uuid import uuid4

from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.runners import Runner
from msgspec import Struct

from adk_prism.errors import Conflict
from adk_prism.runlog.entry import Origin
from adk_prism.source.fork import copied
from adk_prism.source.history import COPY, apply_rewinds, is_copy
from adk_prism.source.sessions import load_session

_ENDED = "p-copied-"
"""How the invocation id of the event begins that ends the copies."""
_SHARED = "user:"
STEP = 1e-5
"""Seconds between copies: a database keeps microseconds."""


class EarlierVersion(Struct, frozen=True):
    """What a session lacks of an earlier version of its conversation."""

    events: Sequence[Event]
    artifacts: Mapping[str, int]
    """The session's artifacts that these events saved, and the version that was the latest at their end."""


def find_version(
    events: Sequence[Event], wanted: Collection[str], known: Collection[str], rewound: str
) -> EarlierVersion:
    """Find an earlier version among the events of a session. Raise `Conflict` if they are not there.

    `wanted` are the invocations that come back, `known` all those of the version; `rewound` is the
    invocation that the session is rewound to first, or empty. The version was valid before one of the
    rewinds: the last one before which all of it was.
    """
    first = next((i for i, event in enumerate(events) if event.invocation_id == rewound), None)
    here = {_original(event) for event in apply_rewinds(events[:first])}
    ends = [i for i, event in enumerate(events) if event.actions.rewind_before_invocation_id]
    for end in reversed([*ends, len(events)]):
        gone = [e for e in apply_rewinds(events[:end]) if _original(e) not in here]
        back = [*takewhile(lambda e: not _is_said(e) or e.invocation_id in known, gone)]
        if set(wanted) <= {e.invocation_id for e in back} and _is_whole(back, events[:end]):
            later = gone[len(back) :]
            return EarlierVersion(back, _latest(events[: _place(events, later) or end], back))
    raise Conflict(
        "That version of the conversation is not in the session any more; it can only be forked."
    )


def version_at(events: Sequence[Event], last: str, invocation: str) -> EarlierVersion | None:
    """Return what a session had from an invocation on when `last` was its last event.

    No events if that is so still. None if it is not to be had: another session has taken its name, or
    something was said since.
    """
    end = next((i for i, event in enumerate(events, 1) if event.id == last), 0)
    first = next((i for i, event in enumerate(events) if event.invocation_id == invocation), end)
    if first >= end or any(_is_said(event) and not is_copy(event) for event in events[end:]):
        return None
    here = {_original(event) for event in apply_rewinds(events[:first])}
    back = apply_rewinds(events[:end]) if end < len(events) else []
    # Artifacts of all that was rewound: a change that was cut off may have saved any of them.
    saving = [event for event in events[:end] if _original(event) not in here]
    artifacts = _latest(events[:end], saving)
    return EarlierVersion([event for event in back if _original(event) not in here], artifacts)


async def bring_back(runner: Runner, origin: Origin, version: EarlierVersion) -> None:
    """Append an earlier version to a session, which has been rewound to where it begins."""
    session = await load_session(runner, origin, None)
    batch = uuid4().hex[:12]
    actions = EventActions(artifact_delta=await _save_again(runner, origin, version.artifacts))
    if not version.events and not actions.artifact_delta:
        return
    last = Event(invocation_id=f"{_ENDED}{batch}", author="user", actions=actions)
    at = session.events[-1].timestamp if session.events else 0.0
    for event in [*_copies(version.events, batch), last]:
        at = event.timestamp = max(time.time(), at + STEP)
        await runner.session_service.append_event(session, event)


def _original(event: Event) -> str:
    """Return the id of the event that this one is, or is a copy of."""
    return event.id.split("-", 2)[2] if is_copy(event) else event.id


def _is_said(event: Event) -> bool:
    return event.content is not None or event.output is not None or bool(event.error_code)


def _is_whole(copies: Sequence[Event], events: Sequence[Event]) -> bool:
    """Return whether all copies among some events were ended."""
    ended = {event.invocation_id.removeprefix(_ENDED) for event in events}
    return all(event.id.split("-", 2)[1] in ended for event in copies if is_copy(event))


def _place(events: Sequence[Event], later: Sequence[Event]) -> int:
    """Return where the first of some events is; 0 if there is none."""
    return next((i for i, event in enumerate(events) if later and event is later[0]), 0)


def _latest(before: Sequence[Event], saving: Sequence[Event]) -> dict[str, int]:
    latest = {name: v for event in before for name, v in event.actions.artifact_delta.items()}
    names = dict.fromkeys(name for event in saving for name in event.actions.artifact_delta)
    return {name: latest[name] for name in names if not name.startswith(_SHARED)}


def _copies(events: Sequence[Event], batch: str) -> Iterator[Event]:
    for event in events:
        if event.actions.compaction is None and not event.invocation_id.startswith(_ENDED):
            yield copied(event).model_copy(update={"id": f"{COPY}{batch}-{_original(event)}"})


async def _save_again(
    runner: Runner, origin: Origin, artifacts: Mapping[str, int]
) -> dict[str, int]:
    """Make old versions of artifacts the latest; return the new numbers of those that were not."""
    service = runner.artifact_service
    if service is None:
        return {}
    where: dict[str, Any] = {
        "app_name": origin.app,
        "user_id": origin.user,
        "session_id": origin.session,
    }
    saved: dict[str, int] = {}
    for name, version in artifacts.items():
        if version == max(await service.list_versions(filename=name, **where), default=None):
            continue
        part = await service.load_artifact(filename=name, version=version, **where)
        if part is not None:  # Else somebody has deleted it since.
            saved[name] = await service.save_artifact(filename=name, artifact=part, **where)
    return saved
