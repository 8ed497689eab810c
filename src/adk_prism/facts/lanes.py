"""One model call in a lane: what of it has been shown, and what a part of it adds.

Decides how streamed fragments and the closing aggregate become blocks, each shown once. ADK sends
every streamed text twice: as partial events, and whole in the non-partial event that closes the model
call. The totals of each kind are compared: what was streamed is a prefix of the whole, or the whole was
rewritten (by a callback) and is shown again as a new block. Media and code are counted per kind; the
first sight of each wins.

A call that was cut off by the death of its process is told again from its beginning. What is told is then
compared as it grows: as long as it is what was shown, there is nothing to show; what goes beyond it goes on
in the same block; at the first difference that block is abandoned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from adk_prism.facts.adk_event import Part
from adk_prism.facts.media import MediaKind
from adk_prism.facts.model import BlockBegan, BlockEnded, BlockGrew, BlockKind, Fact, Speaker

Place = tuple[int, int]
"""Cursor and part number: where in the log a thing was first seen. Ids are made of it."""

Lane = tuple[str, str]
"""Node path or author, and branch."""


def lane_of(speaker: Speaker) -> Lane:
    """Return where a speaker speaks."""
    return speaker.path or speaker.author, speaker.branch


class OpenBlock:
    """The block that grows now."""

    __slots__ = ("block", "kind", "signature")

    def __init__(self, block: str, kind: BlockKind) -> None:
        self.block = block
        self.kind = kind
        self.signature = ""
        """Came after the block began, so it is told at its end."""


class ModelCall:
    """The model call in flight in one lane."""

    __slots__ = ("_previews", "_repeats", "_retold", "_said", "block", "name", "sights", "speaker")

    def __init__(self, name: str, speaker: Speaker) -> None:
        self.name: Final = name
        self.speaker: Final = speaker
        self.block: OpenBlock | None = None
        # Pieces in a list: joining once is linear, `+=` on a long text is not.
        self._said: dict[BlockKind, list[str]] = {}
        self.sights: dict[MediaKind, int] = {}
        self._previews: dict[MediaKind, int] = {}
        self._retold: dict[BlockKind, str] | None = None
        """Of a call that is told again: what has come of it, as long as it is no news."""
        self._repeats: dict[MediaKind, int] = {}
        """Media that will be shown again."""

    # -------------------------------------------------------------- blocks

    def say(
        self, kind: BlockKind, text: str, signature: str, place: Place, out: list[Fact]
    ) -> None:
        """Show a further piece of text, in the open block or in a new one."""
        block = self.block
        if block is None or block.kind != kind:
            block = self._begin(kind, signature, place, out)
        elif signature:
            block.signature = signature
        out.append(BlockGrew(block.block, kind, text))

    def _begin(self, kind: BlockKind, signature: str, place: Place, out: list[Fact]) -> OpenBlock:
        self.end_block(out)
        block = self.block = OpenBlock(f"{kind}-{place[0]}.{place[1]}", kind)
        out.append(BlockBegan(block.block, kind, self.speaker, self.name, signature))
        return block

    def sign(self, kind: BlockKind, signature: str) -> None:
        """Take a signature that came without new text, for the block of its kind."""
        if self.block is not None and self.block.kind == kind:
            self.block.signature = signature

    def end_block(self, out: list[Fact], *, abandoned: bool = False) -> None:
        """Close the open block, if there is one."""
        if self.block is not None:
            block, speaker = self.block, self.speaker
            out.append(BlockEnded(block.block, block.kind, speaker, block.signature, abandoned))
            self.block = None

    # -------------------------------------------------------------- fragments and aggregate

    def said(self) -> str:
        """Return the text that was streamed so far."""
        return "".join(self._said.get("text", ()))

    @property
    def streamed(self) -> bool:
        """Whether fragments of a text have been shown."""
        return bool(self._said)

    def stream(
        self, kind: BlockKind, text: str, signature: str, place: Place, out: list[Fact]
    ) -> None:
        """Take a streamed fragment."""
        if self._retold is not None:
            text = self._news(self._retold, kind, text, out)
            if not text:
                return
        self._said.setdefault(kind, []).append(text)
        self.say(kind, text, signature, place, out)

    def tell_again(self) -> None:
        """Note that the call is made anew: what was shown of it will come again, or something else."""
        self._retold, self._repeats = {}, dict(self._previews)

    def _news(
        self, retold: dict[BlockKind, str], kind: BlockKind, text: str, out: list[Fact]
    ) -> str:
        """Return what a fragment adds to what was shown; abandon the block that it contradicts."""
        shown = "".join(self._said.get(kind, ()))
        told = retold[kind] = retold.get(kind, "") + text
        if shown.startswith(told):
            return ""
        self._retold = None
        if told.startswith(shown) and (self.block is None or self.block.kind == kind):
            return told[len(shown) :]
        self.end_block(out, abandoned=True)
        # Of the kinds that have come again, what was shown stands; the others are to come.
        self._said = {other: said for other, said in self._said.items() if other in retold}
        self._said.pop(kind, None)
        return told

    def grow(self, kind: BlockKind, text: str) -> BlockGrew | None:
        """Take a fragment that only makes the open block longer; None where it would do more."""
        block, said = self.block, self._said.get(kind)
        if block is None or block.kind != kind or said is None or self._retold is not None:
            return None
        said.append(text)
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

    def remainder(self, whole: Mapping[BlockKind, str], out: list[Fact]) -> Remainder:
        """Compare the aggregate with what was streamed; close the block that it contradicts."""
        skip: dict[BlockKind, int] = {}
        for kind in whole:
            if not whole[kind]:
                continue  # nothing is said of that kind, so nothing is said otherwise
            said = "".join(self._said.get(kind, ()))
            if whole[kind].startswith(said):
                skip[kind] = len(said)
            elif self.block is not None and self.block.kind == kind:
                self.end_block(out, abandoned=self._retold is not None)
        return Remainder(skip)


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


def whole_text(parts: Sequence[Part]) -> dict[BlockKind, str]:
    """Join an aggregate's text by kind."""
    pieces: dict[BlockKind, list[str]] = {"text": [], "reasoning": []}
    for part in parts:
        if part.text:
            pieces[text_kind(part)].append(part.text)
        if heard_text(part):
            pieces.setdefault("transcript", []).append(heard_text(part))
    return {kind: "".join(texts) for kind, texts in pieces.items()}


def text_kind(part: Part) -> BlockKind:
    """Tell thinking from speaking."""
    return "reasoning" if part.thought else "text"


def heard_text(part: Part) -> str:
    """Return what is said in a part that sounds; empty where nobody wrote it down."""
    said = part.audio_transcription
    return (said.text or "") if said is not None else ""
