"""From real ADK events to frames, as a run of ours would take them; and what stands in a frame.

Events are serialised by the source and projected entry by entry, so whatever loses a value on the
way loses it here too. `without` takes one kind of fact away: what a projection is that does not
handle it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
from google.adk.events.event import Event

from adk_prism.adk.redaction import serialise
from adk_prism.facts.model import Fact
from adk_prism.facts.run_reader import CaptureEnding, Reader
from adk_prism.log.entry import AgentEvent, Entry, Origin, Record, RunStarted
from adk_prism.protocols.adk.projection import AdkProjection
from adk_prism.protocols.ag_ui import SPEC as AG_UI
from adk_prism.protocols.ag_ui.projection import AgUiProjection
from adk_prism.protocols.ai_sdk import SPEC
from adk_prism.protocols.ai_sdk.projection import AiSdkProjection
from adk_prism.protocols.contract import WHOLE, FileLinks, Scope
from adk_prism.protocols.registry import protocol

Json = dict[str, Any]

RUN = "run-1"
STARTED = RunStarted(run=RUN, origin=Origin(app="app", user="user", session="session"))


def records(events: Iterable[Event]) -> list[Record]:
    """Return a whole run of these events."""
    return ended([STARTED, *(AgentEvent(serialise(event, _ignore)) for event in events)])


def ended(run: Sequence[Record]) -> list[Record]:
    """Add the end that the run itself tells."""
    ending = CaptureEnding()
    for entry in entries(run):
        ending.feed(entry)
    return [*run, ending.ended()]


def entries(run: Iterable[Record]) -> list[Entry]:
    """Give records their places."""
    return [Entry(cursor, float(cursor), record) for cursor, record in enumerate(run, 1)]


def ai_sdk(
    run: Iterable[Record],
    *,
    dialect: str = "6",
    base: str = "",
    scope: Scope = WHOLE,
    without: type[Any] | None = None,
) -> list[Json]:
    """Return the run's AI SDK chunks."""
    placed = entries(run)
    options = protocol("ai-sdk").format(dialect, FileLinks(base), scope).options
    projection = SPEC.make(options, placed[0])
    if without is not None:
        assert isinstance(projection, AiSdkProjection)
        projection._reader = _Deaf(without)
    frames = (frame for entry in placed for frame in projection.feed(entry))
    payloads = (SPEC.payload(frame).data for frame in frames)
    return [msgspec.json.decode(payload) for payload in payloads if payload != b"[DONE]"]


def ag_ui(
    run: Iterable[Record],
    *,
    dialect: str = "1.0",
    scope: Scope = WHOLE,
    raw: bool = False,
    without: type[Any] | None = None,
) -> list[Json]:
    """Return the run's AG-UI events."""
    placed = entries(run)
    projection = AG_UI.make(
        protocol("ag-ui").format(dialect, scope=scope, raw=raw).options, placed[0]
    )
    if without is not None:
        assert isinstance(projection, AgUiProjection)
        projection._reader = _Deaf(without)
    frames = (frame for entry in placed for frame in projection.feed(entry))
    return [msgspec.json.decode(AG_UI.payload(frame).data) for frame in frames]


def adk(run: Iterable[Record]) -> list[Json]:
    """Return the run's events in ADK's own protocol."""
    projection = AdkProjection()
    frames = (frame for entry in entries(run) for frame in projection.feed(entry))
    return [msgspec.json.decode(frame.data) for frame in frames]


class _Deaf(Reader):
    """A reader from which one kind of fact never comes."""

    def __init__(self, fact: type[Any]) -> None:
        super().__init__()
        self._unheard = fact

    def feed(self, entry: Entry) -> list[Fact]:
        return [fact for fact in super().feed(entry) if type(fact) is not self._unheard]


def _ignore(diagnostic: object) -> None:
    """Take an operator's diagnostic: exceptions are withheld from frames, and told there."""


# --------------------------------------------------------------------------- looking into frames


def values_at(chunks: Iterable[Json], frame: str, key: str) -> list[Any]:
    """Return what stands under `a.b[].c` in the chunks of a type; `[]` means each item."""
    found: list[Any] = [chunk for chunk in chunks if chunk["type"] == frame]
    for step in key.split("."):
        name, each, _ = step.partition("[]")
        found = [value[name] for value in found if isinstance(value, dict) and name in value]
        if each:
            found = [item for value in found for item in value]
    return found


def values_under(value: Any, key: str) -> Iterator[Any]:
    """Yield whatever stands under a key, at any depth."""
    if isinstance(value, dict):
        if key in value:
            yield value[key]
        for held in value.values():
            yield from values_under(held, key)
    elif isinstance(value, list):
        for held in value:
            yield from values_under(held, key)
