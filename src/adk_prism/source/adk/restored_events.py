"""ADK's mark for events that were put into a session and did not happen there.

google-adk reserves `custom_metadata` keys with a prefix, and removes them from what callers send and
see. It marks restored events with one of them.
"""

from __future__ import annotations

from typing import Any

from google.adk.events.event import Event

from adk_prism.source.adk.capability import Capability, require

INTERNAL_PREFIX = "__adk_internal_"
RESTORED = f"{INTERNAL_PREFIX}restored_event"


def mark_restored(event: Event) -> Event:
    """Mark an event, in place, as restored; other internal keys are removed."""
    event.custom_metadata = {**_public(event.custom_metadata), RESTORED: True}
    return event


def is_restored(event: Event) -> bool:
    """Return whether an event was put into its session and did not happen there."""
    return bool((event.custom_metadata or {}).get(RESTORED))


def public_event(event: Event) -> Event:
    """Return the event without internal metadata; a copy if it had any."""
    metadata = event.custom_metadata or {}
    kept = _public(metadata)
    if len(kept) == len(metadata):
        return event
    return event.model_copy(update={"custom_metadata": kept or None})


def _public(metadata: dict[str, Any] | None) -> dict[str, Any]:
    kept = (metadata or {}).items()
    return {key: value for key, value in kept if not str(key).startswith(INTERNAL_PREFIX)}


def _probe() -> None:
    from google.adk.events import _internal_metadata

    require(
        _internal_metadata.RESTORED_EVENT_KEY == RESTORED, "ADK marks restored events otherwise."
    )


CAPABILITY = Capability(
    name="restored events",
    summary="mark events of uploads and forks as ADK itself marks restored ones",
    without="the mark is ours alone: ADK treats such events like its own",
    probe=_probe,
)
