"""AI SDK frames as plain objects, for tables."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from tests.laws.events import Json, entries

from adk_prism.log.entry import Continues, Entry, Outcome, Record
from adk_prism.protocols.contract import WHOLE, FileLinks, Scope
from adk_prism.protocols.registry import protocol

DONE = "[DONE]"
STEP = {"type": "start-step"}
STEP_END = {"type": "finish-step"}
BY_AGENT = {"adk": {"author": "agent"}}


def chunks(
    *events: Json | bytes | Record,
    dialect: str = "",
    outcome: Outcome | None = None,
    continues: Continues | None = None,
    scope: Scope = WHOLE,
    files: FileLinks | None = None,
    code: str = "",
) -> list[Any]:
    """Return the chunks of a run of these events; `[DONE]` as text."""
    run = entries(events, outcome, continues, code)
    return chunks_of(run, dialect, scope, files)


def chunks_of(
    run: Iterable[Entry], dialect: str = "", scope: Scope = WHOLE, files: FileLinks | None = None
) -> list[Any]:
    reader = protocol("ai-sdk").format(dialect, files, scope).reader()
    data = [payload.data for entry in run for payload in reader.feed(entry)]
    return [DONE if piece == b"[DONE]" else json.loads(piece) for piece in data]


def inside(*events: Json | bytes, **how: Any) -> list[Any]:
    """Return what lies between `start` and the message's end."""
    return chunks(*events, **how)[1:-2]


def of_kind(kind: str, *events: Json | bytes, **how: Any) -> list[Any]:
    """Return the chunks of one type."""
    return [chunk for chunk in chunks(*events, **how) if chunk != DONE and chunk["type"] == kind]


def metadata(*events: Json | bytes, **how: Any) -> Json:
    """Return the metadata with which the message ends."""
    (finish,) = of_kind("finish", *events, **how)
    found: Json = finish["messageMetadata"]
    return found


def text(said: str, block: str = "text-2.0", about: Json | None = None) -> list[Json]:
    """The chunks of a whole text block."""
    return [
        {"type": "text-start", "id": block, "providerMetadata": about or BY_AGENT},
        {"type": "text-delta", "id": block, "delta": said},
        {"type": "text-end", "id": block},
    ]
