"""One model call in a lane: what of it has been shown, and what each further part adds.

Decides how streamed fragments and the closing aggregate become blocks, each shown once. ADK sends every
streamed text twice: in partial events, and whole in the non-partial event that ends the model call, the
only one that it stores. The stored text is the answer: streamed text that is also stored stays, and blocks
that contradict the stored text are replaced by it. Trailing white space that was not stored is trimmed.
Media and code are counted per kind; the first occurrence of each is shown.

If a process dies during a model call, the next one repeats the call from its beginning. The repeated text
is compared as it grows: while it equals what was shown, nothing is added; text beyond that continues the
same block; at the first difference the blocks that were shown are replaced.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby, takewhile
from operator import itemgetter

import msgspec
from msgspec import Raw, Struct

from adk_prism.facts import model as fact
from adk_prism.facts.adk_event import MediaKind, Part
from adk_prism.log.entry import NOTHING, AgentEvent

Place = tuple[int, int]
"""Cursor and part number of the first occurrence; ids are derived from it."""

Lane = tuple[str, str]
"""Node path or author, and branch."""


def lane_of(speaker: fact.Speaker) -> Lane:
    """Return the lane of a speaker."""
    return speaker.path or speaker.author, speaker.branch


class OpenBlock(Struct, eq=False):
    """A block that grows, or that has ended."""

    block: str
    kind: fact.BlockKind
    pieces: list[str] = []
    """The streamed pieces. Joining once is linear, `+=` on a long text is not."""
    signature: str = ""
    """A signature that came after the block began; it is reported at its end."""
    trimmed: int = 0
    """Characters at its end that ADK did not store."""

    @property
    def text(self) -> str:
        """All that was streamed."""
        return "".join(self.pieces)


class ModelCall(Struct, eq=False):
    """The model call in flight in one lane."""

    name: str
    speaker: fact.Speaker
    event: str = ""
    """Id of the streamed events; the aggregate has the same one."""
    block: OpenBlock | None = None
    _blocks: list[OpenBlock] = []
    """The blocks that were streamed, in order."""
    _media: _MediaCounts | None = None
    _repeated: dict[fact.BlockKind, str] | None = None
    """Of a repeated call: the text so far, while it equals what was shown."""

    # -------------------------------------------------------------- blocks

    def say(
        self,
        kind: fact.BlockKind,
        text: str,
        signature: str,
        place: Place,
        out: list[fact.Fact],
        provisional: bool = False,
    ) -> OpenBlock:
        """Add a piece of text to the open block, or to a new one."""
        block = self.block
        if block is None or block.kind != kind:
            self.end_block(out, provisional=provisional)
            block = self._begin(kind, signature, place, out)
        elif signature:
            block.signature = signature
        out.append(fact.BlockGrew(block.block, kind, text))
        return block

    def _begin(
        self, kind: fact.BlockKind, signature: str, place: Place, out: list[fact.Fact]
    ) -> OpenBlock:
        block = self.block = OpenBlock(f"{kind}-{place[0]}.{place[1]}", kind)
        out.append(fact.BlockBegan(block.block, kind, self.speaker, self.name, signature))
        return block

    def sign(self, kind: fact.BlockKind, signature: str) -> None:
        """Take a signature without text for the open block of its kind."""
        if self.block is not None and self.block.kind == kind:
            self.block.signature = signature

    def end_block(
        self, out: list[fact.Fact], *, provisional: bool = False, replaced: bool = False
    ) -> None:
        """End the open block, if there is one; `provisional` if ADK has not stored it yet."""
        block = self.block
        if block is not None:
            out.append(
                fact.BlockEnded(
                    block.block,
                    block.kind,
                    self.speaker,
                    block.signature,
                    provisional,
                    replaced,
                    block.trimmed,
                )
            )
            self.block = None

    # -------------------------------------------------------------- fragments and aggregate

    def said(self) -> str:
        """Return the text that was streamed."""
        return self._shown("text")

    def _shown(self, kind: fact.BlockKind) -> str:
        return "".join(block.text for block in self._blocks if block.kind == kind)

    @property
    def streamed(self) -> bool:
        """Whether fragments of text have been shown."""
        return bool(self._blocks)

    @property
    def is_repeated(self) -> bool:
        """Whether another process repeats the call, and its text has not differed so far."""
        return self._repeated is not None

    def stream(
        self, kind: fact.BlockKind, text: str, signature: str, place: Place, out: list[fact.Fact]
    ) -> None:
        """Read a streamed fragment."""
        if self._repeated is not None:
            text = self._news(self._repeated, kind, text, out)
            if not text:
                return
        block = self.say(kind, text, signature, place, out, provisional=True)
        if not block.pieces:
            self._blocks.append(block)
        block.pieces.append(text)

    def restart(self) -> None:
        """Note that another process repeats the call from its beginning."""
        self._repeated = {}
        if self._media is not None:
            self._media.repeats = dict(self._media.previews)

    def _news(
        self,
        repeated: dict[fact.BlockKind, str],
        kind: fact.BlockKind,
        text: str,
        out: list[fact.Fact],
    ) -> str:
        """Return what a repeated fragment adds; replace the blocks that it contradicts."""
        shown = self._shown(kind)
        whole = repeated[kind] = repeated.get(kind, "") + text
        if shown.startswith(whole):
            return ""
        self._repeated = None
        if whole.startswith(shown) and (self.block is None or self.block.kind == kind):
            return whole[len(shown) :]
        # Blocks of other kinds that have been repeated stay; the rest will be repeated.
        self._replace([b for b in self._blocks if b.kind == kind or b.kind not in repeated], out)
        return whole

    def _replace(self, gone: Sequence[OpenBlock], out: list[fact.Fact]) -> None:
        """Replace blocks that were streamed."""
        if not gone:
            return
        if self.block in gone:
            self.end_block(out, replaced=True)
        out.append(fact.BlocksReplaced([block.block for block in gone]))
        self._blocks = [block for block in self._blocks if block not in gone]

    def grow(self, kind: fact.BlockKind, text: str) -> fact.BlockGrew | None:
        """Read a fragment that only extends the open block; None if it would do more."""
        block = self.block
        if block is None or block.kind != kind or not block.pieces or self._repeated is not None:
            return None
        block.pieces.append(text)
        return fact.BlockGrew(block.block, kind, text)

    @property
    def media(self) -> _MediaCounts:
        """How many media of each kind were shown. Most calls have none, so the counts are made on use."""
        if self._media is None:
            self._media = _MediaCounts()
        return self._media

    def remainder(
        self,
        stored: Mapping[fact.BlockKind, Sequence[str]],
        out: list[fact.Fact],
        *,
        is_all: bool = False,
    ) -> Remainder:
        """Compare the stored text with the streamed one; replace the blocks that it contradicts.

        `is_all`: what is not in `stored` is not stored at all; otherwise another event may hold it.
        """
        skip: dict[fact.BlockKind, int] = {}
        gone: set[OpenBlock] = set()
        for kind in dict.fromkeys(block.kind for block in self._blocks):
            texts = stored.get(kind, ())
            if not any(texts) and not is_all:
                continue
            blocks = [block for block in self._blocks if block.kind == kind]
            kept = self._kept(blocks, texts)
            skip[kind] = min(sum(len(block.text) for block in kept), len("".join(texts)))
            if kind != "transcript":
                gone.update(blocks[len(kept) :])
            elif len(kept) < len(blocks):
                # Audio cannot be replaced: the corrected transcript follows.
                self._end_block_of(kind, out)
        self._replace([block for block in self._blocks if block in gone], out)
        return Remainder(skip)

    def _end_block_of(self, kind: fact.BlockKind, out: list[fact.Fact]) -> None:
        if self.block is not None and self.block.kind == kind:
            self.end_block(out)

    def _kept(self, blocks: list[OpenBlock], texts: Sequence[str]) -> list[OpenBlock]:
        """Return the leading blocks, all of one kind, that equal the stored text."""
        shown, whole = "".join(block.text for block in blocks), "".join(texts)
        if whole.startswith(shown):
            return blocks
        left = len(shown) - len(whole)
        if whole and shown.startswith(whole) and shown[-left:].isspace():
            if blocks[-1] is self.block and left < len(blocks[-1].text):
                blocks[-1].trimmed = left
            return blocks
        same = takewhile(lambda pair: pair[0].text == pair[1], zip(blocks, texts, strict=False))
        return [block for block, _ in same]


class _MediaCounts(Struct, eq=False):
    """Media of one model call by kind: previews in partial events, and those in non-partial ones."""

    previews: dict[MediaKind, int] = {}
    stored: dict[MediaKind, int] = {}
    repeats: dict[MediaKind, int] = {}
    """Previews that a repeated call will send again."""

    def add_preview(self, kind: MediaKind) -> None:
        """Count media that a partial event has shown."""
        self.previews[kind] = self.previews.get(kind, 0) + 1

    def is_repeated_preview(self, kind: MediaKind) -> bool:
        """Return whether the next preview of this kind was shown before its call was repeated."""
        left = self.repeats.get(kind, 0)
        self.repeats[kind] = max(left - 1, 0)
        return left > 0

    def was_previewed(self, kind: MediaKind) -> bool:
        """Return whether the next media of this kind in a non-partial event was shown as a preview."""
        seen = self.stored.get(kind, 0)
        self.stored[kind] = seen + 1
        return seen < self.previews.get(kind, 0)


class Remainder:
    """The part of an aggregate's text that has not been shown yet."""

    __slots__ = ("_skip",)

    def __init__(self, skip: dict[fact.BlockKind, int]) -> None:
        self._skip = skip

    def of(self, kind: fact.BlockKind, text: str) -> str:
        """Return the part of `text` that has not been shown."""
        shown = min(self._skip.get(kind, 0), len(text))
        if shown:
            self._skip[kind] -= shown
        return text[shown:]


NOTHING_SHOWN = Remainder({})
"""Of a model call that streamed no text."""


def stored_texts(parts: Sequence[Part]) -> dict[fact.BlockKind, list[str]]:
    """Return the texts of an aggregate by kind; adjacent parts of one kind are one text."""
    found: dict[fact.BlockKind, list[str]] = {}
    rows = groupby((_said_in(part) for part in parts if part.text != ""), itemgetter(0))
    for kind, row in rows:
        if kind is not None:
            found.setdefault(kind, []).append("".join(text for _, text in row))
    return found


def _said_in(part: Part) -> tuple[fact.BlockKind | None, str]:
    heard = heard_text(part)
    if heard:
        return "transcript", heard
    return (text_kind(part), part.text) if part.text is not None else (None, "")


def text_kind(part: Part) -> fact.BlockKind:
    """Return whether a text part is reasoning or an answer."""
    return "reasoning" if part.thought else "text"


def heard_text(part: Part) -> str:
    """Return the transcript of an audio part; empty if it has none."""
    said = part.audio_transcription
    return (said.text or "") if said is not None else ""


# ---------------------------------------------------------------------------
# The fast path for text deltas: an event that only extends the open block of its lane.
#
# Nearly every entry of a streamed run is one, so a small model reads it at half the cost of the whole
# event (`benchmarks/log_to_bytes.py`). The result always equals that of `event_reader`, which reads
# everything else: the first delta of a block, signatures, calls, transcripts, user messages, long texts.

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
_NO_DELTA = None, ""


class TextDeltas:
    """Reads the text deltas of one run."""

    __slots__ = ("_call", "_kind", "_lanes")

    def __init__(self, lanes: Mapping[Lane, ModelCall]) -> None:
        self._lanes = lanes
        self._call: ModelCall | None = None
        """Whose text the last entry extended, if it was a delta."""
        self._kind: fact.BlockKind = "text"

    def read(self, record: AgentEvent) -> fact.BlockGrew | None:
        """Return the growth of a lane's open block, if the event holds nothing else."""
        call, text = self._call, record.more
        if call is None or not text:
            call, text = self._decode(record.event)
        grown = call.grow(self._kind, text) if call is not None else None
        self._call = call if grown is not None else None
        return grown

    def interrupt(self) -> None:
        """Note that something else was read."""
        self._call = None

    def _decode(self, raw: bytes) -> tuple[ModelCall | None, str]:
        """Return whose text an event extends, and with what."""
        if not self._lanes or len(raw) > LONGEST:
            return _NO_DELTA  # nothing is being streamed: saves tool events a decode
        try:
            event = _read(raw)
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
            return _NO_DELTA
        content = event.content
        if not event.partial or content is None or event.interrupted:
            return _NO_DELTA
        if event.input_transcription is not NOTHING or event.output_transcription is not NOTHING:
            return _NO_DELTA
        node = event.node_info
        path = "" if node is None else node.path
        call = self._lanes.get((path or event.author, event.branch or ""))
        if call is None or call.speaker.author != event.author or call.speaker.path != path:
            return _NO_DELTA
        piece = content.parts[0]
        if not piece.text or piece.thought_signature:
            return _NO_DELTA
        self._kind = "reasoning" if piece.thought else "text"
        return call, piece.text
