"""How runs and entries are stored in Redis: hash fields and bytes in, summaries and entries out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from adk_prism.errors import LogError
from adk_prism.runlog.contract import RunSummary
from adk_prism.runlog.entry import Entry, Origin, Outcome, RunId, unpack
from adk_prism.runlog.log_store import StoredRun
from adk_prism.runlog.run_state import Packed, RunState

Fields = Mapping[bytes, bytes]


class _Fixed(msgspec.Struct, frozen=True):
    """The part of a run that never changes."""

    origin: Origin
    invocation: str
    message: str
    started: float


_encode = msgspec.json.Encoder().encode
_decode_fixed = msgspec.json.Decoder(_Fixed).decode


def first_fields(state: RunState) -> dict[str, Any]:
    """Return the hash fields of a run that starts."""
    summary = state.summary()
    fixed = _Fixed(summary.origin, summary.invocation, summary.message, state.started)
    return {"fixed": _encode(fixed), "number": state.number, "outcome": "", "ended": ""}


def read_run(run: RunId, fields: Fields) -> StoredRun:
    """Return a run. Raise `LogError` for fields that cannot be read."""
    try:
        fixed = _decode_fixed(fields[b"fixed"])
        number = int(fields[b"number"])
        summary = RunSummary(
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
        return StoredRun(number, summary)
    except (KeyError, ValueError) as error:
        raise LogError(
            f"Run {run[:60]!r} is stored in a form that this version cannot read."
        ) from error


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
