"""What holds in every OpenAI stream of ours, stricter than any client: for `laws`.

Chat Completions: the role first and once; then texts, calls, annotations; one chunk with a finish reason, or
an `error`; `[DONE]`. Responses: `response.created` and `response.in_progress` first; items that begin in the
order of their index, get nothing after they are done, and are all done before the last event; numbers that
grow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from adk_prism.log.entry import Entry, RunEnded
from adk_prism.protocols.contract import Fault, Json, Payload

_DONE = b"[DONE]"
_LAST = ("response.completed", "response.failed", "response.incomplete")

Frames = Sequence[Sequence[Payload]]


def _placed(entries: Sequence[Entry], frames: Frames) -> Iterator[tuple[str, Json]]:
    for entry, payloads in zip(entries, frames, strict=True):
        for part, payload in enumerate(payloads, 1):
            data = {"done": True} if payload.data == _DONE else msgspec.json.decode(payload.data)
            yield f"{entry.cursor}.{part}", data


def _ends_rightly(entries: Sequence[Entry], frames: Frames, ends: Any) -> Iterator[Fault]:
    """Yield an end that is missing, early or repeated; `ends` tells whether a frame is one."""
    found = [place for place, data in _placed(entries, frames) if ends(data)]
    is_over = bool(entries) and isinstance(entries[-1].record, RunEnded)
    if len(found) != is_over:
        yield str(entries[-1].cursor), f"{len(found)} ends of a run that is over: {is_over}"
    elif is_over and found[0] != f"{entries[-1].cursor}.{len(frames[-1])}":
        yield found[0], "the end is not the last frame"


class ChatGrammar:
    """The grammar of Chat Completions."""

    def balanced(self, entries: Sequence[Entry], frames: Frames) -> Iterator[Fault]:
        """Yield what is out of order."""
        finished = False
        for number, (place, data) in enumerate(_placed(entries, frames)):
            if "choices" not in data:
                continue
            choice = data["choices"][0]
            if ("role" in choice["delta"]) != (number == 0):
                yield place, "the role is in the first chunk, and in no other"
            if finished:
                yield place, "a chunk comes after the finish reason"
            finished = finished or choice["finish_reason"] is not None

    def terminated(self, entries: Sequence[Entry], frames: Frames) -> Iterator[Fault]:
        """Yield an end that is not `[DONE]`, or not after a finish reason or an error."""
        yield from _ends_rightly(entries, frames, lambda data: "done" in data)
        shown = [data for _, data in _placed(entries, frames)]
        if entries and isinstance(entries[-1].record, RunEnded):
            before = shown[-2] if len(shown) > 1 else {}
            is_broken = entries[-1].record.outcome in ("failed", "incomplete")
            if is_broken != ("error" in before):
                yield str(entries[-1].cursor), f"a run that is {entries[-1].record.outcome} ends so"


class ResponsesGrammar:
    """The grammar of Responses."""

    def balanced(self, entries: Sequence[Entry], frames: Frames) -> Iterator[Fault]:
        """Yield items that do not begin and end once, and numbers that do not grow."""
        begun, done, last = 0, set[int](), -1
        for place, data in _placed(entries, frames):
            kind, index = data["type"], data.get("output_index", -1)
            if data["sequence_number"] <= last:
                yield place, "the number does not grow"
            last = data["sequence_number"]
            if kind == "response.output_item.added":
                if index != begun:
                    yield place, f"item {index} begins after {begun} items"
                begun += 1
            elif index >= begun or index in done:
                yield place, f"{kind} of item {index}, which is not open"
            if kind == "response.output_item.done":
                done.add(index)
            if kind in _LAST and len(done) != begun:
                yield place, "an item is still open"

    def terminated(self, entries: Sequence[Entry], frames: Frames) -> Iterator[Fault]:
        """Yield an end that is not the last event."""
        return _ends_rightly(entries, frames, lambda data: data["type"] in _LAST)
