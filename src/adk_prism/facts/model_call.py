"""One model call in a lane: what of it has been shown, and what a part of it adds.

Decides how streamed fragments and the closing aggregate become blocks, each shown once. ADK sends
every streamed text twice: as partial events, and whole in the non-partial event that closes the model
call, which alone it stores. What ADK stored is the answer: the texts of each kind are compared, what was
streamed and is stored stays, and the blocks that the stored text contradicts are replaced by it. White
space at the end that was not stored is cut off. Media and code are counted per kind; the first sight of
each wins.

A call that was cut off by the death of its process is made again from its beginning. What comes is then
compared as it grows: as long as it is what was shown, there is nothing to show; what goes beyond it goes on
in the same block; at the first difference the blocks that were shown are replaced.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby, takewhile
from operator import itemgetter
from typing import Final

from adk_prism.facts.adk_event import Part
from adk_prism.facts.media import MediaKind
from adk_prism.facts.model import (
    BlockBegan,
    BlockEnded,
    BlockGrew,
    BlockKind,
    BlocksReplaced,
    Fact,
    Speaker,
)

Place = tuple[int, int]
"""Cursor and part number: where in the log a thing was first seen. Ids are made of it."""

Lane = tuple[str, str]
"""Node path or author, and branch."""


def lane_of(speaker: Speaker) -> Lane:
    """Return where a speaker speaks."""
    return speaker.path or speaker.author, speaker.branch


class OpenBlock:
    """A block that grows, or has grown."""

    __slots__ = ("block", "kind", "pieces", "signature", "trimmed")

    def __init__(self, block: str, kind: BlockKind) -> None:
        self.block = block
        self.kind = kind
        self.pieces: list[str] = []
        """What was streamed. Joining once is linear, `+=` on a long text is not."""
        self.signature = ""
        """Came after the block began, so it is told at its end."""
        self.trimmed = 0
        """Characters at its end that ADK did not store."""

    @property
    def text(self) -> str:
        """What was streamed, in one piece."""
        return "".join(self.pieces)


class ModelCall:
    """The model call in flight in one lane."""

    __slots__ = (
        "_previews",
        "_repeats",
        "_retold",
        "_said",
        "block",
        "event",
        "name",
        "sights",
        "speaker",
    )

    def __init__(self, name: str, speaker: Speaker) -> None:
        self.name: Final = name
        self.speaker: Final = speaker
        self.event = ""
        """Id of the events that it streams; its aggregate has the same one."""
        self.block: OpenBlock | None = None
        self._said: list[OpenBlock] = []
        """The blocks that were streamed, in order."""
        self.sights: dict[MediaKind, int] = {}
        self._previews: dict[MediaKind, int] = {}
        self._retold: dict[BlockKind, str] | None = None
        """Of a call that is made again: what has come of it, as long as it is no news."""
        self._repeats: dict[MediaKind, int] = {}
        """Media that will be shown again."""

    # -------------------------------------------------------------- blocks

    def say(
        self,
        kind: BlockKind,
        text: str,
        signature: str,
        place: Place,
        out: list[Fact],
        provisional: bool = False,
    ) -> OpenBlock:
        """Show a further piece of text, in the open block or in a new one."""
        block = self.block
        if block is None or block.kind != kind:
            self.end_block(out, provisional=provisional)
            block = self._begin(kind, signature, place, out)
        elif signature:
            block.signature = signature
        out.append(BlockGrew(block.block, kind, text))
        return block

    def _begin(self, kind: BlockKind, signature: str, place: Place, out: list[Fact]) -> OpenBlock:
        block = self.block = OpenBlock(f"{kind}-{place[0]}.{place[1]}", kind)
        out.append(BlockBegan(block.block, kind, self.speaker, self.name, signature))
        return block

    def sign(self, kind: BlockKind, signature: str) -> None:
        """Take a signature that came without new text, for the block of its kind."""
        if self.block is not None and self.block.kind == kind:
            self.block.signature = signature

    def end_block(
        self, out: list[Fact], *, provisional: bool = False, replaced: bool = False
    ) -> None:
        """Close the open block, if there is one; `provisional` where ADK has not stored it yet."""
        block = self.block
        if block is not None:
            out.append(
                BlockEnded(
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
        """Return the text that was streamed so far."""
        return self._shown("text")

    def _shown(self, kind: BlockKind) -> str:
        return "".join(block.text for block in self._said if block.kind == kind)

    @property
    def streamed(self) -> bool:
        """Whether fragments of a text have been shown."""
        return bool(self._said)

    @property
    def is_made_again(self) -> bool:
        """Whether another process makes the call anew, and nothing of it differs so far."""
        return self._retold is not None

    def stream(
        self, kind: BlockKind, text: str, signature: str, place: Place, out: list[Fact]
    ) -> None:
        """Take a streamed fragment."""
        if self._retold is not None:
            text = self._news(self._retold, kind, text, out)
            if not text:
                return
        block = self.say(kind, text, signature, place, out, provisional=True)
        if not block.pieces:
            self._said.append(block)
        block.pieces.append(text)

    def tell_again(self) -> None:
        """Note that the call is made anew: what was shown of it will come again, or something else."""
        self._retold, self._repeats = {}, dict(self._previews)

    def _news(
        self, retold: dict[BlockKind, str], kind: BlockKind, text: str, out: list[Fact]
    ) -> str:
        """Return what a fragment adds to what was shown; replace the blocks that it contradicts."""
        shown = self._shown(kind)
        told = retold[kind] = retold.get(kind, "") + text
        if shown.startswith(told):
            return ""
        self._retold = None
        if told.startswith(shown) and (self.block is None or self.block.kind == kind):
            return told[len(shown) :]
        # Of the other kinds that have come again, what was shown stands; the rest is to come.
        self._replace([b for b in self._said if b.kind == kind or b.kind not in retold], out)
        return told

    def _replace(self, gone: Sequence[OpenBlock], out: list[Fact]) -> None:
        """Give up blocks that were streamed."""
        if not gone:
            return
        if self.block in gone:
            self.end_block(out, replaced=True)
        out.append(BlocksReplaced([block.block for block in gone]))
        self._said = [block for block in self._said if block not in gone]

    def grow(self, kind: BlockKind, text: str) -> BlockGrew | None:
        """Take a fragment that only makes the open block longer; None where it would do more."""
        block = self.block
        if block is None or block.kind != kind or not block.pieces or self._retold is not None:
            return None
        block.pieces.append(text)
        return BlockGrew(block.block, kind, text)

    def is_shown_again(self, kind: MediaKind) -> bool:
        """Tell whether a preview of this kind was shown before its call was made anew."""
        left = self._repeats.get(kind, 0)
        self._repeats[kind] = max(left - 1, 0)
        return left > 0

    def preview(self, kind: MediaKind) -> None:
        """Count media that a partial event has already shown."""
        self._previews[kind] = self._previews.get(kind, 0) + 1

    def is_repeat(self, kind: MediaKind) -> bool:
        """Tell whether the aggregate's next media of this kind has been shown as a preview."""
        seen = self.sights.get(kind, 0)
        self.sights[kind] = seen + 1
        return seen < self._previews.get(kind, 0)

    def remainder(
        self, stored: Mapping[BlockKind, Sequence[str]], out: list[Fact], *, is_all: bool = False
    ) -> Remainder:
        """Compare what is stored with what was streamed; replace the blocks that it contradicts.

        `is_all`: what is not in `stored` is not stored at all. Otherwise it may come in another event.
        """
        skip: dict[BlockKind, int] = {}
        gone: set[OpenBlock] = set()
        for kind in dict.fromkeys(block.kind for block in self._said):
            texts = stored.get(kind, ())
            if not any(texts) and not is_all:
                continue
            blocks = [block for block in self._said if block.kind == kind]
            kept = self._kept(blocks, texts)
            skip[kind] = min(sum(len(block.text) for block in kept), len("".join(texts)))
            if kind != "transcript":
                gone.update(blocks[len(kept) :])
            elif len(kept) < len(blocks):
                # What was heard is not taken back: it is said again, corrected.
                self._end_block_of(kind, out)
        self._replace([block for block in self._said if block in gone], out)
        return Remainder(skip)

    def _end_block_of(self, kind: BlockKind, out: list[Fact]) -> None:
        if self.block is not None and self.block.kind == kind:
            self.end_block(out)

    def _kept(self, blocks: list[OpenBlock], texts: Sequence[str]) -> list[OpenBlock]:
        """Return the leading blocks, all of one kind, that say what is stored."""
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


class Remainder:
    """What of an aggregate's text has not been shown yet."""

    __slots__ = ("_skip",)

    def __init__(self, skip: dict[BlockKind, int]) -> None:
        self._skip = skip

    def of(self, kind: BlockKind, text: str) -> str:
        """Return the part of `text` that is news."""
        shown = min(self._skip.get(kind, 0), len(text))
        if shown:
            self._skip[kind] -= shown
        return text[shown:]


def stored_texts(parts: Sequence[Part]) -> dict[BlockKind, list[str]]:
    """Return the texts of an aggregate by kind; parts of one kind in a row are one text."""
    found: dict[BlockKind, list[str]] = {}
    rows = groupby((_said_in(part) for part in parts if part.text != ""), itemgetter(0))
    for kind, row in rows:
        if kind is not None:
            found.setdefault(kind, []).append("".join(text for _, text in row))
    return found


def _said_in(part: Part) -> tuple[BlockKind | None, str]:
    heard = heard_text(part)
    if heard:
        return "transcript", heard
    return (text_kind(part), part.text) if part.text is not None else (None, "")


def text_kind(part: Part) -> BlockKind:
    """Tell thinking from speaking."""
    return "reasoning" if part.thought else "text"


def heard_text(part: Part) -> str:
    """Return what is said in a part that sounds; empty where nobody wrote it down."""
    said = part.audio_transcription
    return (said.text or "") if said is not None else ""
