"""Heads and entries as Redis keeps them: fields and bytes in, summaries and entries out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from adk_prism.errors import LogError
from adk_prism.runlog.contract import RunSummary
from adk_prism.runlog.entry import Entry, Origin, Outcome, RunId, unpack
from adk_prism.runlog.recent_entries import BufferedRun
from adk_prism.runlog.run_state import Packed, RunState

Fields = Mapping[bytes, bytes]


class _Fixed(msgspec.Struct, frozen=True):
    """What of a run never changes."""

    origin: Origin
    invocation: str
    message: str
    started: float


class RedisRun(BufferedRun):
    """A run as this process knows it."""

    __slots__ = ("is_left", "new_owner")

    def __init__(self, summary: RunSummary, number: int, tail_bytes: int) -> None:
        super().__init__(summary, number, tail_bytes)
        self.new_owner = 0
        """Epoch of whoever took the run from this process."""
        self.is_left = False
        """Whether it grows no more here: what Redis has is to be looked up anew."""


_encode = msgspec.json.Encoder().encode
_decode_fixed = msgspec.json.Decoder(_Fixed).decode


def first_fields(head: RunState) -> dict[str, Any]:
    """Return the fields that a run begins with."""
    summary = head.summary()
    fixed = _Fixed(summary.origin, summary.invocation, summary.message, head.started)
    return {"fixed": _encode(fixed), "number": head.number, "outcome": "", "ended": ""}


def read_run(run: RunId, fields: Fields) -> tuple[int, RunSummary]:
    """Return a run's number and summary. Raise `LogError` for fields that are none of ours."""
    try:
        fixed = _decode_fixed(fields[b"fixed"])
        return int(fields[b"number"]), RunSummary(
            run=run,
            origin=fixed.origin,
            invocation=fixed.invocation,
            started=fixed.started,
            ended=float(fields[b"ended"]) if fields[b"ended"] else None,
            outcome=cast(Outcome, fields[b"outcome"].decode()) if fields[b"outcome"] else None,
            cursor=int(fields[b"cursor"]),
            bytes=int(fields[b"bytes"]),
            message=fixed.message,
            epoch=int(fields[b"epoch"]),
        )
    except (KeyError, ValueError) as error:
        raise LogError(f"Run {run[:60]!r} is kept in a form that cannot be read.") from error


Row = tuple[bytes, dict[bytes, bytes]]
"""An entry of a stream: id and fields."""


def read_rows(rows: Sequence[Row]) -> tuple[list[Entry], list[Packed]]:
    """Return entries and their stored forms. Raise `SourceError` for a record of a newer version."""
    entries, packed = [], []
    for name, fields in rows:
        kind, payload = fields[b"k"].decode(), fields[b"d"]
        cursor = int(name.partition(b"-")[0])
        entries.append(Entry(cursor, float(fields[b"t"]), unpack(kind, payload)))
        packed.append((kind, payload))
    return entries, packed
