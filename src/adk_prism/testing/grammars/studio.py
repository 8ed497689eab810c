"""What holds in every Studio stream of ours, stricter than any client: for `laws`.

`session` first and once; nodes that start and end once, with steps in order; snapshots whose keys are
told as they are, nowhere deeper than the schema allows; calls made once and answered after they were
made; `done`, then `end`; or `error`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from adk_prism.facts.state import DEPTH
from adk_prism.log.entry import Entry, RunEnded, RunStarted
from adk_prism.protocols.contract import Fault, Payload

Data = dict[str, Any]

_TEXTS = ("session", "chunk", "end")
_ENDS = ("end", "error")


def balanced(entries: Sequence[Entry], frames: Sequence[Sequence[Payload]]) -> Iterator[Fault]:
    """Yield what is not balanced: nodes, steps, snapshots, calls, or anything outside the run."""
    started = entries[0].record if entries else None
    continues = started.continues if isinstance(started, RunStarted) else None
    stream = _Stream(continues.open_calls if continues else ())
    for entry, payloads in zip(entries, frames, strict=True):
        for part, payload in enumerate(payloads, 1):
            wrong = stream.take(*_frame(payload))
            if wrong:
                yield f"{entry.cursor}.{part}", wrong


def terminated(entries: Sequence[Entry], frames: Sequence[Sequence[Payload]]) -> Iterator[Fault]:
    """Yield an end that is missing, repeated, early, of the wrong kind or not the last thing said."""
    for entry, payloads in zip(entries, frames, strict=True):
        names = [_frame(payload)[0] for payload in payloads]
        if not isinstance(entry.record, RunEnded):
            early = [name for name in names if name in (*_ENDS, "done")]
            if early:
                yield str(entry.cursor), f"{early[0]} comes before the run's end"
            continue
        is_broken = entry.record.outcome in ("failed", "incomplete")
        expected = ["error"] if is_broken else ["done", "end"]
        ends = [name for name in names if name in (*_ENDS, "done")]
        if ends != expected or names[-len(expected) :] != expected:
            yield str(entry.cursor), f"a run that is {entry.record.outcome} ends with {names}"


def _frame(payload: Payload) -> tuple[str, Data]:
    """Return a frame's name, for a trace the trace's own, and what it says."""
    if payload.event in _TEXTS:
        return payload.event, {"text": payload.data.decode()}
    data: Data = msgspec.json.decode(payload.data)
    return (data["type"] if payload.event == "trace" else payload.event), data


class _Stream:
    """One stream, as far as it has been read."""

    def __init__(self, open_calls: Sequence[str] | dict[str, str]) -> None:
        self._last = ""
        self._steps = 0
        self._nodes: dict[str, Data] = {}
        """Nodes that run, by id."""
        self._calls = set(open_calls)

    def take(self, name: str, data: Data) -> str:
        """Take the next frame; return what is wrong with it, or nothing."""
        before, self._last = self._last, name
        wrong = _misplaced(before, name)
        if not wrong:
            rule = _RULES.get(name)
            wrong = "no such event" if rule is None else rule(self, data)
        return f"{name}: {wrong}" if wrong else ""

    # -------------------------------------------------------------- traces

    def _start(self, data: Data) -> str:
        self._steps += 1
        if data["step"] != self._steps:
            return f"step {data['step']} after {self._steps - 1} steps"
        if data["id"] in self._nodes:
            return f"{data['id']} runs already"
        self._nodes[data["id"]] = data
        return _check_snapshot(data, "input") or _check_empty(data, "output")

    def _end(self, data: Data) -> str:
        start = self._nodes.pop(data["id"], None)
        if start is None:
            return f"{data['id']} does not run"
        differs = [key for key in ("node", "step", "kind") if data[key] != start[key]]
        if differs:
            return f"{differs[0]} is not as at its start"
        if data["state_snapshot"]["input"] != start["state_snapshot"]["input"]:
            return "its input is not as at its start"
        if data["duration_ms"] < 0:
            return "it took less than no time"
        return _check_snapshot(data, "output")

    def _change(self, data: Data) -> str:
        return _check_snapshot(data, "output") or _check_empty(data, "input")

    def _finish(self, data: Data) -> str:
        if data["total_steps"] != self._steps:
            return f"{data['total_steps']} steps in all, and {self._steps} were sent"
        return self._close(data) or _check_snapshot(data, "output")

    def _close(self, _: Data) -> str:
        return f"{next(iter(self._nodes))} still runs" if self._nodes else ""

    # -------------------------------------------------------------- calls and all else

    def _call(self, data: Data) -> str:
        if data["id"] in self._calls:
            return f"{data['id']} was made before"
        self._calls.add(data["id"])
        return ""

    def _answer(self, data: Data) -> str:
        return "" if data["id"] in self._calls else f"{data['id']} was never made"

    def _speak(self, data: Data) -> str:
        return "" if data["text"] else "nothing is said"

    def _accept(self, _: Data) -> str:
        return ""


def _misplaced(before: str, name: str) -> str:
    if (name == "session") != (not before):
        return "the first frame, and no other, is session"
    if before in _ENDS:
        return f"after {before}"
    if (before == "done") != (name == "end"):
        return f"after {before}; done and end belong together"
    return ""


def _check_snapshot(data: Data, side: str) -> str:
    state = data["state_snapshot"][side]
    if data["state_keys"] != list(state):
        return f"state_keys are not the keys of the {side}"
    laid = data.get("overlay", {})
    if any(set(keys) - data["state_snapshot"][of].keys() for of, keys in laid.items()):
        return "the overlay names a key that is not there"
    return "the state is too deep" if _depth(state) > DEPTH else ""


def _check_empty(data: Data, side: str) -> str:
    return f"its {side} is not empty" if data["state_snapshot"][side] else ""


def _depth(value: Any) -> int:
    """Return how many levels of objects and lists are inside each other; empty ones do not count."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max(map(_depth, inside)) if inside else 0


_RULES: dict[str, Callable[[_Stream, Data], str]] = {
    "session": _Stream._speak,
    "chunk": _Stream._speak,
    "node_start": _Stream._start,
    "node_end": _Stream._end,
    "state": _Stream._change,
    "done": _Stream._finish,
    "tool_call": _Stream._call,
    "tool_result": _Stream._answer,
    "end": _Stream._accept,
    "error": _Stream._close,
    **{name: _Stream._accept for name in ("thinking", "log", "interrupt", "resume")},
}
