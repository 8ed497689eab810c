"""The fast path for text deltas: an event that only extends the open block of its lane.

Nearly every entry of a streamed run is one, so a small model reads it at half the cost of the whole event
(`benchmarks/log_to_bytes.py`). The result always equals that of `event_reader`, which reads everything
else: the first delta of a block, signatures, calls, transcripts, user messages, long texts.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec import Raw, Struct

from adk_prism.facts.model import BlockGrew
from adk_prism.facts.model_call import Lane, ModelCall
from adk_prism.runlog.entry import NOTHING

LONGEST = 1024
"""Bytes. An event with a delta has some hundred; longer ones are read in full."""


class _Piece(Struct, rename="camel", gc=False):
    text: str | None = None
    thought: bool | None = None
    thought_signature: str | None = None


class _Content(Struct, gc=False):
    parts: tuple[_Piece]
    """One piece; anything else is refused by the decoder."""


class _Node(Struct, gc=False):
    path: str = ""


class _Delta(Struct, rename="camel", gc=False):
    """The fields that decide whether an event is a text delta."""

    author: str = ""
    partial: bool | None = None
    content: _Content | None = None
    node_info: _Node | None = None
    branch: str | None = None
    interrupted: bool | None = None
    input_transcription: Raw = NOTHING
    output_transcription: Raw = NOTHING


_read = msgspec.json.Decoder(_Delta).decode


def text_delta(lanes: Mapping[Lane, ModelCall], raw: bytes) -> BlockGrew | None:
    """Return the growth of a lane's open block, if the event `raw` holds nothing else."""
    if not lanes or len(raw) > LONGEST:
        return None  # nothing is being streamed: saves tool events a decode
    try:
        event = _read(raw)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return None
    content = event.content
    if not event.partial or content is None or event.interrupted:
        return None
    if event.input_transcription is not NOTHING or event.output_transcription is not NOTHING:
        return None
    node = event.node_info
    path = "" if node is None else node.path
    call = lanes.get((path or event.author, event.branch or ""))
    if call is None or call.speaker.author != event.author or call.speaker.path != path:
        return None
    piece = content.parts[0]
    if not piece.text or piece.thought_signature:
        return None
    return call.grow("reasoning" if piece.thought else "text", piece.text)
