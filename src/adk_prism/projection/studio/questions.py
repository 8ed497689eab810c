"""What a person is asked: the `interrupt` of an approval, an input request or a sign-in.

`data` holds everything that an answer needs: `id`, by which it is given, and what is asked about.
"""

from __future__ import annotations

from typing import Any

from msgspec import Raw, Struct

from adk_prism.facts.adk_event import MADE_UP_HINT
from adk_prism.facts.calls.question_schema import payload_schema
from adk_prism.facts.json_value import read_object
from adk_prism.facts.model import ApprovalRequested, CallRequested, InputRequested
from adk_prism.projection.studio.frames import Interrupt, milliseconds
from adk_prism.projection.studio.snapshots import sound
from adk_prism.runlog.entry import to_raw

_NULL = Raw(b"null")


class Moment(Struct, frozen=True, gc=False):
    """When and where something is asked."""

    run: str
    session: str
    cursor: int
    time: float

    @property
    def milliseconds(self) -> int:
        """The time as the protocol has it."""
        return milliseconds(self.time)


def ask_approval(
    item: ApprovalRequested, call: CallRequested | None, node: str, now: Moment
) -> Interrupt:
    """Return the question whether a call may be made."""
    about: dict[str, Any] = {"id": item.approval, "call": item.call}
    name = call.name if call is not None else ""
    if call is not None:
        about |= {"name": name, "args": safe(call.input)}
    if bytes(item.payload):
        about["payload"] = safe(item.payload)
        about["schema"] = safe(to_raw(payload_schema(item.payload)))
    hint = "" if item.hint.startswith(MADE_UP_HINT) else item.hint
    message = hint or f"{name or 'A call'} waits for your approval."
    return _interrupt("approval", node, message, about, now)


def ask_input(item: InputRequested, now: Moment) -> Interrupt:
    """Return a question to be answered in words or values, or by signing in."""
    about: dict[str, Any] = {"id": item.call}
    if item.for_call:
        about["call"] = item.for_call
    if bytes(item.request):
        about["request"] = safe(item.request)
    asked = read_object(item.request).get("message") if item.kind == "input" else None
    message = asked if isinstance(asked, str) and asked else _MESSAGES[item.kind]
    return _interrupt(item.kind, item.speaker.node, message, about, now)


_MESSAGES = {"input": "An answer is needed.", "credential": "A sign-in is needed."}


def _interrupt(kind: Any, node: str, message: str, about: dict[str, Any], now: Moment) -> Interrupt:
    return Interrupt(
        type=kind,
        node_id=node,
        message=message,
        data=to_raw(about),
        thread_id=now.session,
        checkpoint_id=f"{now.run}:{now.cursor}",
        timestamp=now.milliseconds,
    )


def safe(raw: Raw) -> Raw:
    """Return a tool's or model's value as JSON that every client reads; null where there is none."""
    return sound(raw) if bytes(raw) else _NULL
