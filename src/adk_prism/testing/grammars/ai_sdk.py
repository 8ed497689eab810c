"""What holds in every AI SDK stream of ours, stricter than any client: for `laws`.

Follows the order that the npm package `ai` expects (6.0.0 to 7.0.169), as `protocols/ai_sdk` writes it
for one run: `start`; steps that hold the output of models; calls, each made once and answered after it
was made; `finish`, `error` or `abort`; `[DONE]`. A live run is any number of such messages, with only
transient parts between them, and one `[DONE]`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from adk_prism.log.entry import Continues, Entry, RunEnded, RunStarted
from adk_prism.protocols.contract import Fault, Payload

Chunk = dict[str, Any]

DONE = "[DONE]"
_ENDS = ("finish", "error", "abort")
_IN_STEP = frozenset(
    """text-start reasoning-start tool-input-start tool-input-available source-url source-document
    file""".split()
)


def balanced(entries: Sequence[Entry], frames: Sequence[Sequence[Payload]]) -> Iterator[Fault]:
    """Yield what is not balanced: blocks, steps, calls, or anything outside the message."""
    started = entries[0].record if entries else None
    continues = started.continues if isinstance(started, RunStarted) else None
    stream = _Messages() if _is_live(entries) else _Message(continues)
    for position, chunk in _chunks(entries, frames):
        wrong = stream.take(chunk)
        if wrong:
            yield position, wrong


def terminated(entries: Sequence[Entry], frames: Sequence[Sequence[Payload]]) -> Iterator[Fault]:
    """Yield an end that is missing, repeated, early or not the last thing said."""
    if _is_live(entries):
        yield from _live_terminated(entries, frames)
        return
    ends: list[str] = []
    for entry, payloads in zip(entries, frames, strict=True):
        names = [_name(payload) for payload in payloads]
        found = [name for name in names if name in (*_ENDS, DONE)]
        if found and not isinstance(entry.record, RunEnded):
            yield str(entry.cursor), f"{found[0]} comes before the run's end"
        if names[len(names) - len(found) :] != found:
            yield str(entry.cursor), f"the message's end is not the last of {', '.join(names)}"
        ends += found
    over = bool(entries) and isinstance(entries[-1].record, RunEnded)
    if over and not (len(ends) == 2 and ends[0] in _ENDS and ends[1] == DONE):
        yield str(entries[-1].cursor), f"the message ends with {', '.join(ends) or 'nothing'}"


def _is_live(entries: Sequence[Entry]) -> bool:
    started = entries[0].record if entries else None
    return isinstance(started, RunStarted) and started.live


def _live_terminated(
    entries: Sequence[Entry], frames: Sequence[Sequence[Payload]]
) -> Iterator[Fault]:
    """Yield what is wrong with the end of a live run: its messages end where they end."""
    for entry, payloads in zip(entries, frames, strict=True):
        names = [_name(payload) for payload in payloads]
        is_end = isinstance(entry.record, RunEnded)
        if is_end and (names.count(DONE) != 1 or names[-1] != DONE):
            yield str(entry.cursor), f"the run ends with {', '.join(names) or 'nothing'}"
        early = [n for n in names if n in (DONE, "error", "abort") and not is_end]
        if early:
            yield str(entry.cursor), f"{early[0]} comes before the run's end"


def _name(payload: Payload) -> str:
    return DONE if payload.data == DONE.encode() else str(msgspec.json.decode(payload.data)["type"])


def _chunks(
    entries: Sequence[Entry], frames: Sequence[Sequence[Payload]]
) -> Iterator[tuple[str, Chunk]]:
    for entry, payloads in zip(entries, frames, strict=True):
        for part, payload in enumerate(payloads, 1):
            is_done = payload.data == DONE.encode()
            chunk = {"type": DONE} if is_done else msgspec.json.decode(payload.data)
            yield f"{entry.cursor}.{part}", chunk


class _Messages:
    """The messages of a live run, one after the other."""

    def __init__(self) -> None:
        self._message: _Message | None = None
        self._is_over = False
        self._ids: set[str] = set()

    def take(self, chunk: Chunk) -> str:
        """Take the next chunk; return what is wrong with it, or nothing."""
        kind = chunk["type"]
        if self._is_over:
            return f"{kind}: after {DONE}"
        if self._message is not None:
            return self._inside(self._message, chunk)
        if kind == "start":
            self._message = _Message(None)
            repeated = chunk.get("messageId") in self._ids
            self._ids.add(chunk.get("messageId", ""))
            return "start: a message with this id was sent before" if repeated else self.take(chunk)
        self._is_over = kind == DONE
        passing = kind.startswith("data-") and chunk.get("transient") is True
        return "" if passing or kind in (DONE, "error") else f"{kind}: outside a message"

    def _inside(self, message: _Message, chunk: Chunk) -> str:
        if chunk["type"] in _ENDS:
            self._message = None
        return message.take(chunk)


class _Message:
    """One message, as far as it has been read."""

    def __init__(self, continues: Continues | None) -> None:
        self._last = ""
        """The chunk before."""
        self._step = 0
        """Number of the open step; 0 outside."""
        self._steps = 0
        self._blocks: set[tuple[str, str]] = set()
        self._streaming: dict[str, int] = {}
        """Calls whose input still grows, and the step in which they began."""
        self._calls: set[str] = set(continues.open_calls) if continues else set()
        # What the client answered itself it knows already.
        answered = continues.answers if continues else {}
        self._unanswered = dict.fromkeys(sorted(self._calls - answered.keys()))
        self._preliminary: set[str] = set()
        """Calls whose output so far only says how far they are."""
        decisions = continues.decisions.values() if continues else ()
        self._approvals = {decision.approval for decision in decisions}

    def take(self, chunk: Chunk) -> str:
        """Take the next chunk; return what is wrong with it, or nothing."""
        kind = chunk["type"]
        wrong = self._check_place(kind)
        self._last = kind
        if not wrong:
            rule = _RULES.get(kind)
            wrong = rule(self, chunk) if rule is not None else ""
        return f"{kind}: {wrong}" if wrong else ""

    def _check_place(self, kind: str) -> str:
        if (kind == "start") != (not self._last):
            return "the first frame, and no other, is start"
        if self._last == DONE or (self._last in _ENDS and kind != DONE):
            return f"after {self._last}"
        if kind == DONE and self._last not in _ENDS:
            return f"after {self._last}, which ends no message"
        if kind in _IN_STEP and not self._step:
            return "outside a step"
        if kind not in _RULES and kind not in _IN_STEP and not kind.startswith("data-"):
            return "no such chunk"
        return ""

    # -------------------------------------------------------------- message and steps

    def _begin(self, chunk: Chunk) -> str:
        return "" if chunk.get("messageId") else "no messageId"

    def _begin_step(self, _: Chunk) -> str:
        if self._step:
            return "inside a step"
        self._steps += 1
        self._step = self._steps
        return ""

    def _end_step(self, _: Chunk) -> str:
        if not self._step:
            return "outside a step"
        self._step = 0
        return self._open_blocks()

    def _reset_step(self, _: Chunk) -> str:
        # Calls whose input was still streaming are removed, and may begin again.
        self._calls -= self._streaming.keys()
        self._streaming.clear()
        return self._open_blocks() if self._step else "outside a step"

    def _open_blocks(self) -> str:
        open_ones = ", ".join(sorted(f"{kind} {name}" for kind, name in self._blocks))
        return f"{open_ones} still open" if open_ones else ""

    def _end(self, chunk: Chunk) -> str:
        if self._step:
            return "inside a step"
        if self._streaming:
            return f"the input of {next(iter(self._streaming))} never ended"
        # Without a reason, as in dialect 5, calls may wait for the client.
        waits = chunk.get("finishReason", "tool-calls") == "tool-calls"
        if self._unanswered and not waits:
            return f"{next(iter(self._unanswered))} has no answer"
        return self._open_blocks()

    # -------------------------------------------------------------- blocks

    def _begin_block(self, chunk: Chunk) -> str:
        block = (chunk["type"].partition("-")[0], chunk["id"])
        if block in self._blocks:
            return f"{chunk['id']} is open already"
        self._blocks.add(block)
        return ""

    def _grow_block(self, chunk: Chunk) -> str:
        block = (chunk["type"].partition("-")[0], chunk["id"])
        return "" if block in self._blocks else f"{chunk['id']} is not open"

    def _end_block(self, chunk: Chunk) -> str:
        wrong = self._grow_block(chunk)
        self._blocks.discard((chunk["type"].partition("-")[0], chunk["id"]))
        return wrong

    # -------------------------------------------------------------- calls

    def _begin_input(self, chunk: Chunk) -> str:
        call = chunk["toolCallId"]
        if call in self._calls:
            return f"{call} was made before"
        self._calls.add(call)
        self._streaming[call] = self._step
        return ""

    def _grow_input(self, chunk: Chunk) -> str:
        call = chunk["toolCallId"]
        return "" if call in self._streaming else f"the input of {call} does not stream"

    def _end_input(self, chunk: Chunk) -> str:
        call = chunk["toolCallId"]
        began = self._streaming.pop(call, None)
        if call in self._preliminary:  # takes the output back: somebody is asked
            self._preliminary.discard(call)
        elif began is None and call in self._calls:
            return f"{call} was made before"
        self._calls.add(call)
        self._unanswered[call] = None
        return "" if began in (None, self._step) else f"the input of {call} crosses steps"

    def _answer(self, chunk: Chunk) -> str:
        call = chunk["toolCallId"]
        if call not in self._calls or call in self._streaming:
            return f"{call} was never made"
        if chunk.get("preliminary"):
            self._preliminary.add(call)
        else:
            self._preliminary.discard(call)
            self._unanswered.pop(call, None)
        return ""

    def _ask(self, chunk: Chunk) -> str:
        call, approval = chunk["toolCallId"], chunk["approvalId"]
        if call not in self._unanswered:
            return f"{call} does not wait for anything"
        if approval in self._approvals:
            return f"{approval} was asked before"
        self._approvals.add(approval)
        return ""

    def _decide(self, chunk: Chunk) -> str:
        known = chunk["approvalId"] in self._approvals
        return "" if known else f"{chunk['approvalId']} was never asked"

    def _accept(self, _: Chunk) -> str:
        return ""


_RULES: dict[str, Callable[[_Message, Chunk], str]] = {
    "start": _Message._begin,
    "start-step": _Message._begin_step,
    "finish-step": _Message._end_step,
    "reset-step": _Message._reset_step,
    "message-metadata": _Message._accept,
    "finish": _Message._end,
    "error": _Message._end,
    "abort": _Message._end,
    DONE: _Message._accept,
    **{f"{kind}-start": _Message._begin_block for kind in ("text", "reasoning")},
    **{f"{kind}-delta": _Message._grow_block for kind in ("text", "reasoning")},
    **{f"{kind}-end": _Message._end_block for kind in ("text", "reasoning")},
    "tool-input-start": _Message._begin_input,
    "tool-input-delta": _Message._grow_input,
    "tool-input-available": _Message._end_input,
    "tool-output-available": _Message._answer,
    "tool-output-error": _Message._answer,
    "tool-output-denied": _Message._answer,
    "tool-approval-request": _Message._ask,
    "tool-approval-response": _Message._decide,
}
