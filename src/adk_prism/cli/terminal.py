"""What a terminal shows beside plain text: colour, and progress of what takes long.

A pipe or a file gets neither. `NO_COLOR` (any text) and `TERM=dumb` switch colour off; a dumb terminal has no
progress either, since it cannot clear a line. A colour only repeats what the text says.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import sys
import textwrap
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple, TextIO
from xml.etree import ElementTree

import msgspec

from adk_prism.errors import UsageError

# ---------------------------------------------------------------------------
# Rows: lines of text with a style.
#
# The text alone must be enough: a style only repeats what a mark or a word says. No control character
# from a model or a tool reaches the terminal.

Style = Literal["", "title", "dim", "strong", "changed", "good", "ask", "error", "user"]

SHORT = 200
"""Most characters of a value in a row."""


class Row(NamedTuple):
    """One line."""

    text: str
    style: Style = ""


def clean(text: str) -> str:
    """Return text without control characters."""
    if text.isprintable():
        return text
    kept = (c if c.isprintable() or c == "\n" else " " if c == "\t" else "\ufffd" for c in text)
    return "".join(kept)


def one_line(text: str, most: int = SHORT) -> str:
    """Return text on one line, shortened to a length."""
    joined = " ".join(clean(text).split())
    return joined if len(joined) <= most else f"{joined[: most - 1]}…"


def short_json(value: Any, most: int = SHORT) -> str:
    """Return a JSON value on one line, shortened to a length."""
    return one_line(msgspec.json.encode(value).decode(), most)


def wrapped(text: str, width: int, style: Style = "", hang: int = 2) -> Iterator[Row]:
    """Yield text wrapped to a width, indented as the text is, later rows by `hang`."""
    margin = " " * (len(text) - len(text.lstrip(" ")))
    lines = textwrap.wrap(
        one_line(text, SHORT * 10),
        max(width, 20),
        initial_indent=margin,
        subsequent_indent=" " * hang,
    )
    for line in lines:
        yield Row(line, style)


def counted(number: int, noun: str) -> str:
    """Return `1 paper`, `2 papers`, `2 searches`."""
    plural = "es" if noun.endswith("h") else "s"
    return f"{number} {noun}{'' if number == 1 else plural}"


def seconds(value: float) -> str:
    """Return a duration with its unit."""
    return f"{value * 1000:.0f} ms" if value < 1 else f"{value:.1f} s"


# ---------------------------------------------------------------------------

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


LEAST = 20
"""Columns that the last cell of a table keeps before others are left out for it."""


def table(rows: Sequence[Sequence[str]], spare: Sequence[str] = ()) -> list[str]:
    """Return the lines of a table, whose first row has the headings.

    On a terminal they fit its width: the columns named by `spare` are left out in that order as far as
    needed, and what is still too long is cut at its end.
    """
    width = shutil.get_terminal_size().columns if is_screen(sys.stdout) else sys.maxsize
    kept = list(range(len(rows[0])))
    size = [max(len(row[column]) for row in rows) for column in kept]
    for name in spare:
        needed = sum(size[column] + 2 for column in kept[:-1]) + min(size[kept[-1]], LEAST)
        if needed <= width:
            break
        kept = [column for column in kept if rows[0][column] != name]
    lines = ("  ".join(row[column].ljust(size[column]) for column in kept).rstrip() for row in rows)
    return [line if len(line) <= width else f"{line[: width - 1]}…" for line in lines]


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


# ---------------------------------------------------------------------- output that nobody reads any more
#
# What a command prints where nothing may be able to take it: a pipe whose reader is gone, a full disk.
#
# A line that cannot be written must neither end a run nor keep a server from starting. So stderr, and a
# server's stdout, to which agent code prints, drop what cannot be written, and say how much that was once
# they can be written again. A stream that was closed before the process began takes everything and keeps
# nothing.


class _Lossy(io.RawIOBase):
    """A file descriptor. Writing to it never fails."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lost = 0
        self._why = ""

    def writable(self) -> bool:
        """Return that it can be written."""
        return True

    def fileno(self) -> int:
        """Return the descriptor."""
        return self._descriptor

    def isatty(self) -> bool:
        """Return whether it is a terminal."""
        return os.isatty(self._descriptor)

    def write(self, data: Any) -> int:
        """Write bytes, or drop them. Return how many there were."""
        given = bytes(data)
        try:
            if self._lost:
                note = f"adk-prism: {self._lost} bytes could not be written ({self._why}).\n"
                os.write(self._descriptor, note.encode())
                self._lost = 0
            written = os.write(self._descriptor, given)
        except OSError as error:
            self._lost += len(given)
            self._why = error.strerror or type(error).__name__
            return len(given)
        return written


def keep_printing(*names: str) -> None:
    """Make `stdout`, `stderr` or both streams that never fail, in this process."""
    for name in names:
        setattr(sys, name, _lossy(getattr(sys, name)))


def _lossy(stream: TextIO | None) -> TextIO:
    if stream is None:  # it was closed before the process began
        return open(os.devnull, "w", encoding="utf-8")  # for as long as the process runs
    if type(stream) is not io.TextIOWrapper:
        return stream  # somebody has replaced it
    if isinstance(getattr(stream.buffer, "raw", None), _Lossy):
        return stream
    with suppress(OSError):
        stream.flush()
    descriptor = stream.fileno()
    return io.TextIOWrapper(
        io.BufferedWriter(_Lossy(descriptor)),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=True,
    )


def write_suite(path: Path, suite: ElementTree.Element) -> None:
    """Write a suite of tests. Raise `UsageError` if the file cannot be written."""
    try:
        ElementTree.ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)
    except OSError as error:
        raise UsageError(f"{path.name} cannot be written: {error.strerror}.") from None
