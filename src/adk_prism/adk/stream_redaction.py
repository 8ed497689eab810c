"""Secrets in what a run streams: a known value that is cut at the border of two deltas.

A delta whose text ends with the beginning of a known value is stored without that beginning, which comes
with the next delta of the same block, or before the end of the block: nothing is lost, and nothing waits that
could not become a known value. The first characters do not wait (`FEWEST_HELD`): too many words begin like
some value. If the value does come, they stay, in the whole text too, and the rest of it is redacted. Blocks
are kept apart (agent, branch, node, kind of part), so that agents that stream at the same time do not mix.

Nearly every event of a run is a delta, and differs from the one before in its text, its id and numbers. So
the *frame* of a delta, which is all the rest, is remembered once the whole rule has found nothing in it; of
the next one, only the text is looked at. The frame must be equal byte for byte: this decides that nothing can
be found, never that something is safe. `tests/security/test_stream_redaction.py` compares it with the whole
rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import msgspec
import pydantic_core

from adk_prism.adk.plain_json import encode_strictly
from adk_prism.adk.secret_forms import REDACTED, crossing_form, may_hold_forms
from adk_prism.adk.secrets import Secrets
from adk_prism.log.entry import EVENT

_CHILD, _END = "ChildEvent", "RunEnded"
_PARTIAL = b'"partial":true'
FEWEST_HELD = 4
"""Characters of a known value's beginning that wait for the rest. Fewer tell nothing, and are common."""

MOST_FRAMES = 32
"""Frames that are remembered of a run: more than agents stream at the same time."""

Packed = tuple[str, bytes]
"""A record's kind and payload."""
Lane = tuple[str, ...]
"""A block of streamed text: who streams it, and what kind of part it is."""
_encode = msgspec.json.Encoder().encode
_TEXT = b'"text":"'
_ID = b'"id":"'
_TAIL = re.compile(rb'[0-9a-f-]{36}","timestamp":[0-9.]{1,20}\}')
"""How ADK ends an event: nothing in it has the form of a secret."""
_END_OF_EVENT = re.compile(_ID + _TAIL.pattern)
_OF_TAILS = re.compile(r'[0-9a-fimpst",:.}-]+')
"""A text of nothing but the characters of such an end."""
_NUMBER = re.compile(rb'":-?[0-9][0-9.]*(?=[,}])')
"""Of a frame without escapes, so the quote ends a key."""
_MARK = "\x01"


class _Frame(NamedTuple):
    before: bytes
    text: bytes
    """As it is in JSON: with no escapes but that of a line break."""
    after: bytes
    tail: bytes


class _Held(NamedTuple):
    text: str
    """The beginning of a known value."""
    shown: int
    """Characters of it that are stored already."""
    rebuilt: Callable[[str], bytes]
    """Returns the last delta of the block with another text."""


class RunRedaction:
    """The redaction of the records of one run, which must come in order."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._frames: dict[tuple[bytes, bytes], Lane] = {}
        self._held: dict[Lane, dict[str, _Held]] = {}
        """By speaker, and then by block."""
        self._redacted: dict[Lane, dict[str, list[str]]] = {}
        """What stands before each redaction in a block's stream and is part of it; by speaker and block."""
        self._starts: re.Pattern[str] | None = None
        """Finds the first character of a known value; None: there are no known values."""
        self._longest = self._shortest = 0
        """Characters of known values."""
        self._inner: frozenset[str] = frozenset()
        """The characters with which the beginning of a known value can end."""
        self._in_tails: list[str] = []
        """The known values that could be in the end of an event."""
        self._last: _Frame | None = None
        """The last delta whose frame was known, and its block."""
        self._last_lane: Lane = ()
        self._refresh()

    def passes(self, data: bytes) -> bool:
        """Return whether an event can be stored as it is. True is certain; for False, ask `feed`."""
        if self._values is not self._secrets.values:
            self._refresh()
        frame = self._split(data)
        lane = self._lane_of(frame) if frame is not None else None
        if frame is None or lane is None or self._holds(lane):
            return False
        text = _text_of(frame)
        return not (may_hold_forms(text) or self._may_hold_value(text, frame.tail))

    def _may_hold_value(self, text: str, tail: bytes) -> bool:
        """Return whether a known value is in a text, may begin at its end, or is in the event's end."""
        if not self._values or not text:
            return bool(self._in_tails) and self._is_in_tail(tail)
        if len(text) >= self._shortest and self._secrets.holds_value(text):
            return True
        if text[-1] in self._inner and self._undecided(text) < len(text):
            return True
        return bool(self._in_tails) and self._is_in_tail(tail)

    def _is_in_tail(self, tail: bytes) -> bool:
        end = tail.decode()
        return any(value in end for value in self._in_tails)

    def feed(self, kind: str, data: bytes) -> list[Packed]:
        """Return what to store for a record: itself, changed or not, and before it what was held back."""
        if self._values is not self._secrets.values:
            self._refresh()
        if kind in (EVENT, _CHILD):
            return self._feed_event(kind, data)
        clean = self._secrets.payload(kind, data)
        return [*(self._flushed() if kind == _END else ()), (kind, clean)]

    # ----------------------------------------------------------------------- events

    def _feed_event(self, kind: str, data: bytes) -> list[Packed]:
        frame = self._split(data) if kind == EVENT else None
        lane = self._lane_of(frame) if frame is not None else None
        if frame is not None and lane is not None and not self._is_in_tail(frame.tail):
            text = _text_of(frame)
            said = self._stream(lane, text, lambda text: _joined(frame, text))
            return [(kind, data if said == text else _joined(frame, said))]
        return self._feed_parsed(kind, data, frame)

    def _feed_parsed(self, kind: str, data: bytes, frame: _Frame | None) -> list[Packed]:
        """Redact an event of any shape."""
        try:
            value = pydantic_core.from_json(data, cache_strings="none")
        except ValueError:
            return [(kind, self._secrets.payload(kind, data))]
        event = value.get("event") if kind == _CHILD and isinstance(value, dict) else value
        if not isinstance(event, dict):
            return [(kind, self._secrets.payload(kind, data))]
        call = str(value.get("call", "")) if kind == _CHILD else ""
        speaker = _speaker(event, call)
        before = []
        if event.get("partial") is True:
            slots = list(_slots(event))
            was = [holder[key] for _, holder, key in slots]
            for block, holder, key in slots:
                rebuilt = partial(self._rebuilt, value, block, holder, key)
                holder[key] = self._stream((*speaker, block), holder[key], rebuilt)
            is_same = all(
                holder[key] == text for (_, holder, key), text in zip(slots, was, strict=True)
            )
        else:
            slots, is_same = [], True
            if event.get("content"):
                before = list(self._flushed(speaker, kind))
        clean = self._secrets.value(value)
        if event.get("partial") is not True and event.get("content"):
            _begin_redactions(clean, self._redacted.pop(speaker, {}))
        if clean is not value or not is_same:
            return [*before, (kind, encode_strictly(clean))]
        if frame is not None and len(slots) == 1:
            self._learn(frame, (*speaker, slots[0][0]), value, slots[0])
        return [*before, (kind, data)]

    # ----------------------------------------------------------------------- frames

    def _split(self, data: bytes) -> _Frame | None:
        """Return the parts of an event that may be a delta; None for any other."""
        last = self._last
        if last is not None and data.startswith(last.before):
            begin = len(last.before) + len(_TEXT)
            end = data.find(b'"', begin)
            at = end + len(last.after)
            is_text = data.startswith(_TEXT, len(last.before))
            if is_text and data.startswith(last.after, end) and _END_OF_EVENT.fullmatch(data, at):
                text = data[begin:end]
                if b"\\" not in text or b"\\" not in text.replace(b"\\n", b""):
                    return _Frame(last.before, text, last.after, data[at + len(_ID) :])
        return _split(data)

    def _lane_of(self, frame: _Frame) -> Lane | None:
        last = self._last
        if last is not None and frame.before is last.before and frame.after is last.after:
            return self._last_lane
        lane = self._frames.get((frame.before, frame.after))
        if lane is None and self._frames and b"\\" not in frame.before and b"\\" not in frame.after:
            lane = self._frames.get(_without_numbers(frame))
        if lane is not None:
            self._last, self._last_lane = frame, lane
        return lane

    def _learn(self, frame: _Frame, lane: Lane, value: Any, slot: tuple[str, Any, str]) -> None:
        """Remember the frame of a delta in which nothing was found, if the text in it is the streamed one."""
        _, holder, key = slot
        text, holder[key] = holder[key], _MARK
        try:
            same = pydantic_core.from_json(_joined(frame, _MARK)) == value
        finally:
            holder[key] = text
        if not same or not _TAIL.fullmatch(frame.tail):
            return
        if len(self._frames) >= MOST_FRAMES:
            self._frames.clear()
            self._last = None
        self._frames[frame.before, frame.after] = lane
        if b"\\" not in frame.before and b"\\" not in frame.after:
            self._frames[_without_numbers(frame)] = lane

    # ----------------------------------------------------------------------- values across deltas

    def _stream(self, lane: Lane, text: str, rebuilt: Callable[[str], bytes]) -> str:
        """Return what to store of a delta's text, and hold back the rest."""
        speaker, block = lane[:-1], lane[-1]
        held = self._held.get(speaker, {}).pop(block, None)
        before, shown = (held.text, held.shown) if held is not None else ("", 0)
        whole = before + text
        at = self._undecided(whole)
        if at == len(whole):
            return self._not_shown(lane, whole, shown)
        # What has the form of a secret is not cut in two.
        at = crossing_form(whole, at)
        said, waits = self._not_shown(lane, whole[:at], shown), whole[at:]
        known = max(0, shown - at)
        if len(waits) < FEWEST_HELD:
            said, known = said + waits[known:], len(waits)
        self._held.setdefault(speaker, {})[block] = _Held(waits, known, rebuilt)
        return said

    def _not_shown(self, lane: Lane, text: str, shown: int) -> str:
        """Return a text without secrets, and without its first characters, which are stored already."""
        clean = self._secrets.text(text)
        is_same = clean.startswith(text[:shown])
        if count := clean.count(REDACTED):
            blocks = self._redacted.setdefault(lane[:-1], {})
            begun = "" if is_same else text[:shown]
            blocks.setdefault(lane[-1], []).extend([begun, *[""] * (count - 1)])
        return clean[shown:] if is_same else clean

    def _undecided(self, text: str) -> int:
        """Return where a text's end begins that is the beginning of a known value; its length if nowhere."""
        values, size = self._secrets.values, len(text)
        if self._starts is None:
            return size
        # Only a known value that is complete can begin before the last characters, and must not be cut.
        at = 0 if self._secrets.holds_value(text) else max(0, size - self._longest + 1)
        while (found := self._starts.search(text, at)) is not None:
            at = found.start()
            end = text[at:]
            for value in values:
                if value.startswith(end) and len(value) > len(end):
                    return at
            whole = next((value for value in values if end.startswith(value)), None)
            at += len(whole) if whole is not None else 1
        return size

    def _refresh(self) -> None:
        """Prepare for the known values, which can become more during a run."""
        self._values = values = self._secrets.values
        self._frames.clear()
        self._last = None
        firsts = "".join({re.escape(value[0]) for value in values})
        self._starts = re.compile(f"[{firsts}]") if firsts else None
        self._longest = len(values[0]) if values else 0
        self._shortest = len(values[-1]) if values else 0
        self._inner = frozenset(sign for value in values for sign in value[:-1])
        self._in_tails = [value for value in values if _OF_TAILS.fullmatch(value)]

    def _rebuilt(
        self, value: Any, block: str, holder: dict[str, Any], key: str, text: str
    ) -> bytes:
        """Return an event with nothing but a text of a block."""
        event = value["event"] if isinstance(value.get("event"), dict) else value
        bare = {name: event[name] for name in _OF_EVERY_DELTA if name in event}
        bare |= _holding(event, block, holder | {key: text})
        whole = value | {"event": bare} if event is not value else bare
        return encode_strictly(self._secrets.value(whole))

    def _holds(self, lane: Lane) -> bool:
        return bool(self._held) and lane[-1] in self._held.get(lane[:-1], ())

    def _flushed(self, speaker: Lane | None = None, kind: str = EVENT) -> Iterator[Packed]:
        """Yield what was held back of a speaker, or of all, as deltas."""
        for each in list(self._held) if speaker is None else [speaker]:
            for held in self._held.pop(each, {}).values():
                if left := held.text[held.shown :]:
                    yield _CHILD if each[0] else kind, held.rebuilt(self._secrets.text(left))


# --------------------------------------------------------------------------- the shape of deltas


def _split(data: bytes) -> _Frame | None:
    """Return the parts of an event that may be a delta; None for any other."""
    before, found, rest = data.partition(_TEXT)
    end = rest.find(b'"')
    if not found or end < 0 or _PARTIAL not in rest:
        return None
    text = rest[:end]
    if b"\\" in text and b"\\" in text.replace(b"\\n", b""):
        return None
    after, found, tail = rest[end:].rpartition(_ID)
    if not found or not _TAIL.fullmatch(tail):
        return None
    return _Frame(before, text, after, tail)


def _text_of(frame: _Frame) -> str:
    text = frame.text.decode("utf-8", "surrogatepass")
    return text.replace("\\n", "\n") if "\\" in text else text


def _joined(frame: _Frame, text: str) -> bytes:
    return b"%b%b%b%b%b%b" % (
        frame.before,
        _TEXT[:-1],
        _encode(text),
        frame.after[1:],
        _ID,
        frame.tail,
    )


def _without_numbers(frame: _Frame) -> tuple[bytes, bytes]:
    return _NUMBER.sub(b'":0', frame.before), _NUMBER.sub(b'":0', frame.after)


def _speaker(event: dict[str, Any], call: str) -> Lane:
    node = event.get("nodeInfo") or event.get("node_info")
    path = node.get("path") if isinstance(node, dict) else None
    names = (call, event.get("author"), event.get("branch"), path)
    return tuple("" if name is None else str(name) for name in names)


def _slots(event: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield each text of a partial event that goes on in the next one: its kind, its holder, and the key."""
    content = event.get("content")
    parts = content.get("parts") if isinstance(content, dict) else None
    for part in parts if isinstance(parts, list) else ():
        if not isinstance(part, dict):
            continue
        if isinstance(part.get("text"), str):
            yield "thought" if part.get("thought") else "text", part, "text"
        call = part.get("functionCall") or part.get("function_call")
        if isinstance(call, dict):
            yield from _argument_slots(call)
    for kind in (
        "inputTranscription",
        "outputTranscription",
        "input_transcription",
        "output_transcription",
    ):
        said = event.get(kind)
        if isinstance(said, dict) and isinstance(said.get("text"), str):
            yield kind, said, "text"


def _argument_slots(call: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any], str]]:
    pieces = call.get("partialArgs") or call.get("partial_args")
    for piece in pieces if isinstance(pieces, list) else ():
        for key in ("stringValue", "string_value"):
            if isinstance(piece, dict) and isinstance(piece.get(key), str):
                place = piece.get("jsonPath") or piece.get("json_path")
                yield f"{call.get('id')} {place}", piece, key


def _begin_redactions(value: dict[str, Any], begun: dict[str, list[str]]) -> None:
    """Put what was streamed of redacted values before their redactions in the whole text, too."""
    event = value["event"] if isinstance(value.get("event"), dict) else value
    for block, beginnings in begun.items():
        holders = [(holder, key) for name, holder, key in _slots(event) if name == block]
        count = sum(holder[key].count(REDACTED) for holder, key in holders)
        if not any(beginnings) or count != len(beginnings):
            continue
        left = iter(beginnings)
        for holder, key in holders:
            first, *rest = holder[key].split(REDACTED)
            holder[key] = first + "".join(f"{next(left)}{REDACTED}{each}" for each in rest)


_OF_EVERY_DELTA = (
    *("author", "branch", "id", "timestamp", "partial"),
    *("invocationId", "invocation_id", "nodeInfo", "node_info"),
)


def _holding(event: dict[str, Any], block: str, slot: dict[str, Any]) -> dict[str, Any]:
    """Return the part of an event that holds a text of a block."""
    if block in event:
        return {block: slot}  # a transcript
    content = event["content"]
    if "text" in slot:
        return {"content": content | {"parts": [slot]}}
    called = next(
        call
        for part in content["parts"]
        if isinstance(call := part.get("functionCall") or part.get("function_call"), dict)
        if block.startswith(f"{call.get('id')} ")
    )
    pieces = "partialArgs" if "partialArgs" in called else "partial_args"
    return {"content": content | {"parts": [{"functionCall": called | {pieces: [slot]}}]}}
