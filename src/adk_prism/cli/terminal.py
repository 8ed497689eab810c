"""What a terminal shows beside plain text: colour, and progress of what takes long.

A pipe or a file gets neither. `NO_COLOR` (any text) and `TERM=dumb` switch colour off; a dumb terminal has no
progress either, since it cannot clear a line. A colour only repeats what the text says.
"""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TextIO

import msgspec

from adk_prism.console.rows import Row, Style, clean

PATIENCE = 1.0
"""Seconds after which a command says what it is doing: before that a reader has not begun to wonder."""
STEP = 0.5
"""Seconds between two updates of the line."""

CLEAR = "\r\x1b[K"
"""Goes to the start of the line and empties it."""
_CONTROLS = re.compile("[\x7f-\x9f]")
_PLAIN = "\x1b[0m"
_CODES: dict[Style, str] = {
    "": "",
    "title": "\x1b[1m",
    "strong": "\x1b[1m",
    "dim": "\x1b[2m",
    "changed": "\x1b[33m",
    "good": "\x1b[32m",
    "ask": "\x1b[1;35m",
    "error": "\x1b[31m",
    "user": "\x1b[1;36m",
}


def is_screen(stream: TextIO) -> bool:
    """Return whether a stream is a terminal that can move its cursor."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def has_colour(stream: TextIO) -> bool:
    """Return whether a stream shows colour, and the user wants it."""
    return is_screen(stream) and not os.environ.get("NO_COLOR")


def painted(text: str, style: Style, *, colour: bool) -> str:
    """Return text in a style, if there is colour."""
    code = _CODES[style]
    return f"{code}{text}{_PLAIN}" if colour and code else text


def write_rows(rows: Iterable[Row]) -> None:
    """Print rows on stdout, in their styles if it has colour; what its encoding lacks becomes `?`."""
    out = sys.stdout
    colour = has_colour(out)
    text = "".join(f"{painted(printable(row.text), row.style, colour=colour)}\n" for row in rows)
    out.flush()
    out.buffer.write(text.encode(out.encoding, "replace"))
    out.buffer.flush()


def write_json(value: object) -> None:
    """Print a value as JSON on stdout."""
    text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    # JSON escapes control characters, but not those that some terminals obey as well.
    sys.stdout.write(_CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n")


def write_text(text: str) -> None:
    """Print a text of some lines on stdout, without control characters: it may quote what others wrote."""
    sys.stdout.write(clean(text))


def printable(text: str) -> str:
    """Return a text without control characters, which a terminal would obey."""
    return "".join(c if c.isprintable() else " " for c in text)


@contextmanager
def progress(doing: str, *, after: float = PATIENCE) -> Iterator[None]:
    """Say on stderr what a block is doing, once it takes long; the line is gone when the block ends."""
    stream = sys.stderr
    if not is_screen(stream):
        yield
        return
    over = threading.Event()
    ticker = threading.Thread(target=_tick, args=(stream, doing, after, over), daemon=True)
    ticker.start()
    try:
        yield
    finally:
        over.set()
        ticker.join()


def _tick(stream: TextIO, doing: str, after: float, over: threading.Event) -> None:
    waited = after
    if over.wait(after):
        return
    while True:
        stream.write(f"{CLEAR}{doing} {waited:.0f} s")
        stream.flush()
        if over.wait(STEP):
            break
        waited += STEP
    stream.write(CLEAR)
    stream.flush()
