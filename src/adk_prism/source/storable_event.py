"""Make an event storable by every session service: models and tools may return anything.

PostgreSQL refuses U+0000, and no service takes a lone surrogate or a number that is not finite: the run
would fail on one database and not on another. Such characters are replaced, as in what clients send, and
such numbers become null, as in the log.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from google.adk.events.event import Event

from adk_prism.source.plain_json import replace_unstorable, storable


def make_storable(event: Event) -> None:
    """Replace what cannot be stored, in place: plugins and the run see what history will say."""
    for part in (event.content.parts if event.content is not None else None) or ():
        if part.text is not None and not _is_storable(part.text):
            part.text = replace_unstorable(part.text)
        response, call = part.function_response, part.function_call
        if response is not None and not _is_storable(response.response):
            response.response = storable(response.response)
        if call is not None and not _is_storable(call.args):
            call.args = storable(call.args)
    delta = event.actions.state_delta
    if delta and not _is_storable(delta):
        event.actions.state_delta = storable(delta)


def _is_storable(value: Any) -> bool:
    """Return whether there is nothing to replace; what is no plain data is for ADK to write."""
    waiting, seen = [value], set[int]()
    while waiting:
        found = waiting.pop()
        if isinstance(found, str):
            if replace_unstorable(found) != found:
                return False
        elif isinstance(found, float):
            if not math.isfinite(found):
                return False
        elif isinstance(found, Mapping | list | tuple) and id(found) not in seen:
            seen.add(id(found))
            waiting.extend(found)
            if isinstance(found, Mapping):
                waiting.extend(found.values())
    return True
