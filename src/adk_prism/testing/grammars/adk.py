"""What holds in every stream of ADK's own protocol.

Nothing is lost, repeated, reordered or changed; a failed run ends with an error event.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from adk_prism.facts.state import read_object
from adk_prism.log.entry import AgentEvent, Entry, RunEnded
from adk_prism.protocols.contract import Fault, Payload


def balanced(entries: Sequence[Entry], frames: Sequence[Sequence[Payload]]) -> Iterator[Fault]:
    """Yield where the frames are not the agent's events, each once, as they are."""
    for entry, payloads in zip(entries, frames, strict=True):
        record = entry.record
        if isinstance(record, AgentEvent):
            if [payload.data for payload in payloads] != [record.event]:
                yield str(entry.cursor), "an event is not given once, as it is"
        elif payloads and not isinstance(record, RunEnded):
            yield str(entry.cursor), f"{type(record).__name__} gives a frame, and is not an event"


def terminated(entries: Sequence[Entry], frames: Sequence[Sequence[Payload]]) -> Iterator[Fault]:
    """Yield an end that does not report a failure, or reports one that did not happen."""
    ended = entries[-1].record if entries else None
    if not isinstance(ended, RunEnded):
        return
    last_frames = frames[-1]
    if ended.outcome != "failed":
        if last_frames:
            yield str(entries[-1].cursor), f"a run that is {ended.outcome} ends with a frame"
        return
    said = (payloads[-1] for payloads in reversed(frames) if payloads)
    last = next((event for payload in said if (event := _word(payload))), {})
    if not last.get("errorCode") or len(last_frames) > 1:
        yield str(entries[-1].cursor), "a failed run does not end with one error event"


def _word(payload: Payload) -> dict[str, Any]:
    """Return an event that says something; state, checkpoints and the unreadable say nothing."""
    event = read_object(payload.data)
    return event if event.get("errorCode") or event.get("content") else {}
