"""The class of an event, as a client of ADK's own stream tells them apart: three, and everything else.

An event with a call in it is a *function call*, whatever it says besides; one with an answer to a call is
a *function response*; any other in which a model speaks or thinks is *model text*. A partial event only
announces calls and answers, which come again with the whole one: it is neither. The rest (changes of
state, usage, errors, the user's own words) is *other*. `finishReason` tells nothing here: ADK puts STOP on
the turns that call as well.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from adk_prism.facts.adk_event import AdkEvent, read_event
from adk_prism.facts.strict_json import repair

EventClass = Literal["function call", "function response", "model text", "other"]
CLASSES: tuple[EventClass, ...] = ("function call", "function response", "model text", "other")

_USER = "user"


def event_class(event: AdkEvent) -> EventClass:
    """Return the class of an event."""
    parts = (event.content.parts if event.content is not None else None) or ()
    if not event.partial:
        if any(part.function_call is not None for part in parts):
            return "function call"
        if any(part.function_response is not None for part in parts):
            return "function response"
    says = any(part.text for part in parts) and event.author != _USER
    return "model text" if says else "other"


def classify(raw: bytes) -> EventClass:
    """Return the class of an event as it stands in a log; what cannot be read is *other*."""
    try:
        return event_class(read_event(raw))
    except (msgspec.MsgspecError, RecursionError):
        sound = repair(raw)
        return "other" if sound is raw else classify(sound)
