"""Recordings and captures that somebody uploads, and all that is shown of them."""

from __future__ import annotations

import io
import json
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.fuzz.grown import grown
from tests.fuzz.target import Target, split

from adk_prism.errors import SourceError
from adk_prism.facts.run_reader import Reader
from adk_prism.features.captures.recording_file import read_part
from adk_prism.features.captures.routes import cleaned, read_upload
from adk_prism.features.page.film import Film, encode
from adk_prism.features.page.film_cache import EntryDetailReader
from adk_prism.log.entry import RunStarted
from adk_prism.protocols.ai_sdk.requests import user_message
from adk_prism.protocols.registry import protocol

RECORDINGS = Path(__file__).parents[2] / "recordings"
SHORT = 5_000
"""Bytes of a recording that is turned over some thousand times a minute; longer ones only hold more of it."""


_EVENT_WORDS = (
    "cursor time type RunStarted AgentEvent RunEnded ChildEvent NodeStarted NodeEnded run origin app user"
    " session event id invocationId author content role model parts text thought partial turnComplete"
    " inlineData mimeType data fileData fileUri functionCall functionResponse name args response"
    " longRunningToolIds actions stateDelta artifactDelta transferToAgent requestedToolConfirmations"
    " adk_request_confirmation toolConfirmation hint payload confirmed errorCode errorMessage finishReason"
    " usageMetadata totalTokenCount groundingMetadata groundingChunks citationMetadata citations startIndex"
    " executableCode code codeExecutionResult outcome timestamp branch proof_layer confidence node path"
    ""
    " message continues approvals answers open askers state"
    " grounding:plan temp:x outputTranscription finished interrupted customMetadata partialArgs jsonPath"
).split()


def _read_recording(data: bytes) -> None:
    """A file that is uploaded, then shown in every way there is."""
    how, rest = split(data, 4)
    lines = [rest] if how == 0 else [_line(piece) for piece in rest.split(b"\n")[:6]]
    if how == 3:
        deque(map(cleaned, read_part(b"\n".join(lines))), maxlen=0)  # what a recorder sends
        return
    readers = [protocol(name).format().reader() for name in ("adk", "ai-sdk", "studio")]
    film, reader, lens = Film(), Reader(), EntryDetailReader()
    for entry in read_upload(io.BytesIO(b"\n".join(lines) + b"\n")):
        film.feed(entry)
        if isinstance(entry.record, RunStarted):
            user_message("m", entry.record.message)
        reader.feed(entry)
        _check_json(lens.feed(entry))
        for each in readers:
            for payload in each.feed(entry):
                if not payload.event and payload.data != b"[DONE]":
                    _check_json(payload.data)
    _check_json(encode(film))


def _check_json(data: bytes) -> None:
    """Read it as a browser does: a number past any is infinite there, but NaN is no JSON."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    json.loads(data, parse_constant=refuse)


def _line(data: bytes) -> bytes:
    return json.dumps(grown(data, _EVENT_WORDS)).encode()


def _recording_seeds() -> list[bytes]:
    files = [file.read_bytes() for file in sorted(RECORDINGS.glob("*.jsonl"))]
    whole = [b"\0" + data for data in files if len(data) <= SHORT]
    lines = {line for data in files for line in data.splitlines()[1:] if len(line) < SHORT}
    kinds = {frozenset(_names(json.loads(line))): line for line in sorted(lines)}
    return whole + [b"\0" + line for line in kinds.values()] + [b"\1" + bytes(range(200))]


def _names(value: Any) -> Iterator[str]:
    """Yield the keys in a value: events with the same ones are of one kind."""
    if isinstance(value, dict):
        yield from value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for item in inner:
        yield from _names(item)


TARGET = Target(_read_recording, (SourceError,), _recording_seeds, _EVENT_WORDS, longest=SHORT)
