"""A run as one HTML file: the page with the film in it, which opens from disk with no server or network.

The file is the built page (`web/`, built as one script and one style sheet), and a block of data. Its
policy names the script and the style by their hashes and lets nothing else in: no request leaves it, and
nothing that an agent said can run. What was streamed and then replaced, by a callback for instance, is not
in it.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import html
import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw, Struct, structs

from adk_prism.cli import RECORDING_FILE
from adk_prism.cli.terminal import counted, progress
from adk_prism.errors import NotBuilt, SourceError
from adk_prism.facts import model
from adk_prism.facts.event_actions import UNKNOWN_TYPE
from adk_prism.facts.run_reader import CaptureEnding, Reader
from adk_prism.features.captures.recording_file import read_run
from adk_prism.features.model_calls.calls import calls_in_file, without_calls
from adk_prism.features.page.film import Film, encode
from adk_prism.features.page.film_cache import EntryDetailReader, emptied
from adk_prism.log.entry import NOTHING, CallPieces, Entry, ModelCalled, is_absent
from adk_prism.version import VERSION

PAGE = Path(__file__).parents[2] / "web" / "dist" / "share"
CLOSEUPS = 8 * 1024**2
"""Bytes of entries with their facts and frames in one file. A few thousand entries; of a longer run the
rest are left out, and the page says so. The film itself is always whole."""

NOT_STORED = "ADK did not store what this entry streamed, so it is not in this file."

FILES = 16 * 1024**2
"""Characters of embedded files, so that the page can still be sent by mail. Others are only named."""

_KEPT = CallPieces()
"""Says that request and response of a model call are in the file."""

_MEDIA_TYPE = re.compile(r"[\w.+-]{1,80}/[\w.+-]{1,80}", re.ASCII)
_STANDARD = str.maketrans("-_", "+/")
"""ADK writes base64 in the alphabet of addresses; data addresses use the other."""
_LINE_ENDS = {"\u2028": "\\u2028", "\u2029": "\\u2029"}


class Page(Struct, frozen=True):
    """The built page."""

    script: str
    style: str


def read_page(folder: Path = PAGE) -> Page:
    """Return the page that was built. Raise `NotBuilt` where there is none."""
    try:
        script = (folder / "page.js").read_text(encoding="utf-8")
        style = (folder / "page.css").read_text(encoding="utf-8")
    except FileNotFoundError:
        raise NotBuilt(
            "A shared file contains the web page, which is not built here. In a checkout `make serve` builds "
            "it, or `npm ci && npm run build` in the folder web."
        ) from None
    return Page(_in_script(script), _in_style(style))


def shared_file(
    entries: Iterable[Entry], page: Page, graph: bytes = b"null", *, with_calls: bool = False
) -> str:
    """Return a run as an HTML file; `graph` is its app's graph as JSON, if it is known.

    Model calls are left out unless they are asked for. They are as files have them, with their requests.
    """
    entries = list(entries if with_calls else without_calls(entries))
    film, entry_details, files, replaced = Film(), _EntryDetails(), _Files(), ReplacedEntries()
    reader = Reader()
    for entry in map(_without_texts, entries):
        film.feed(entry)
        entry_details.feed(entry)
        facts = reader.feed(entry)
        files.feed(entry.cursor, facts)
        replaced.feed(entry.cursor, facts)
    entry_details.leave_out(replaced.cursors)
    data = {
        "writer": VERSION,
        "film": Raw(encode(film)),
        "entries": entry_details.kept,
        "files": files.kept,
        "graph": Raw(graph),
        "modelCalls": calls_in_file(entries),
    }
    return _document(_title(film), page, _data_block(data))


def _without_texts(entry: Entry) -> Entry:
    record = entry.record
    if not isinstance(record, ModelCalled):
        return entry
    # They are in the file once, by themselves.
    pieces = None if is_absent(record.request) else _KEPT
    bare = structs.replace(record, request=NOTHING, response=NOTHING, pieces=pieces)
    return Entry(entry.cursor, entry.time, bare)


class _EntryDetails:
    """The first entries of a run, as far as there is room."""

    def __init__(self) -> None:
        self.kept: dict[str, Raw] = {}
        self._lens = EntryDetailReader()
        self._room = CLOSEUPS

    def feed(self, entry: Entry) -> None:
        if self._room > 0:
            row = self._lens.feed(entry)
            self._room -= len(row)
            self.kept[str(entry.cursor)] = Raw(row)

    def leave_out(self, cursors: Iterable[int]) -> None:
        """Forget what entries say that only streamed what ADK did not store."""
        for cursor in cursors:
            row = self.kept.get(str(cursor))
            if row is not None:
                self.kept[str(cursor)] = Raw(emptied(row, NOT_STORED))


class _Files:
    """The files that a run shows, by cursor and part; those for which there is room."""

    def __init__(self) -> None:
        self.kept: dict[str, str] = {}
        self._room = FILES

    def feed(self, cursor: int, facts: Iterable[model.Fact]) -> None:
        for found in facts:
            fact = found.fact if isinstance(found, model.Nested) else found
            if isinstance(fact, model.FileShown) and fact.data and len(fact.data) <= self._room:
                self._room -= len(fact.data)
                self.kept[f"{cursor}/{fact.part}"] = _data_url(fact)


def _data_url(file: model.FileShown) -> str:
    media_type = file.media_type if _MEDIA_TYPE.fullmatch(file.media_type) else UNKNOWN_TYPE
    return f"data:{media_type};base64,{file.data.translate(_STANDARD)}"


def _title(film: Film) -> str:
    started = film.started
    return f"{started.origin.app} · {started.run}" if started is not None else "adk-prism"


def _document(title: str, page: Page, data: str) -> str:
    policy = (
        f"default-src 'none'; script-src '{_hash(page.script)}'; style-src '{_hash(page.style)}'; "
        "img-src data: blob:; media-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta name="generator" content="adk-prism {VERSION}">
<title>{html.escape(title)}</title>
<style>{page.style}</style>
</head>
<body>
<div id="root"></div>
<noscript>A run, written by adk-prism {VERSION}. It is shown with JavaScript, which is off here.</noscript>
<script type="application/json" id="prism-film">{data}</script>
<script type="module">{page.script}</script>
</body>
</html>
"""


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _data_block(value: Any) -> str:
    """Return JSON that cannot end a script or open a comment: in JSON, `<` is in strings only."""
    text = msgspec.json.encode(value).decode().replace("<", "\\u003c")
    return _without_line_ends(text)


def _in_script(text: str) -> str:
    """Return a script without what the HTML parser would take for its end, or for a comment."""
    text = re.sub(r"</(script)", r"<\\/\1", text.replace("\r\n", "\n"), flags=re.IGNORECASE)
    # In a string, a template and any regular expression this is the same character.
    return _without_line_ends(text.replace("<!--", "\\x3c!--"))


def _in_style(text: str) -> str:
    return re.sub(r"</(style)", r"<\\/\1", text.replace("\r\n", "\n"), flags=re.IGNORECASE)


def _without_line_ends(text: str) -> str:
    for character, escaped in _LINE_ENDS.items():
        text = text.replace(character, escaped)
    return text


class ReplacedEntries:
    """The entries of one run that do not count."""

    def __init__(self) -> None:
        self.cursors: set[int] = set()
        self._streamed: dict[str, list[int]] = {}
        """Cursors of the entries that streamed a block or a call, as long as it may be replaced."""

    def feed(self, cursor: int, facts: Iterable[model.Fact]) -> None:
        """Read the facts of an entry."""
        for item in facts:
            if isinstance(item, model.Nested):
                self._take(cursor, item.fact, f"{item.node} {item.call} ")
            else:
                self._take(cursor, item, "")

    def _take(self, cursor: int, item: model.Fact, within: str) -> None:
        match item:
            case model.BlockGrew(block=name) | model.CallInputGrew(call=name):
                self._streamed.setdefault(within + name, []).append(cursor)
            case (
                model.BlockEnded(provisional=False, replaced=False, block=name)
                | model.CallRequested(call=name)
            ):
                self._streamed.pop(within + name, None)
            case model.BlocksReplaced():
                for block in item.blocks:
                    self.cursors.update(self._streamed.pop(within + block, ()))
            case model.CallAbandoned(withdrawn=True):
                # The entry itself may send again what was streamed of the call.
                self.cursors.update((cursor, *self._streamed.pop(within + item.call, ())))
            case _:
                pass  # nothing that can be replaced


# ---------------------------------------------------------------------------
# `adk-prism share`: writes a recording as one HTML file.


def register(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("file", metavar="FILE", help=RECORDING_FILE)
    parser.add_argument(
        "-o", "--output", metavar="HTML", required=True, help="file to write; - writes to stdout"
    )
    parser.add_argument(
        "--model-calls",
        action="store_true",
        help="include what was sent to models, if the recording has it",
    )


def execute(args: argparse.Namespace) -> int:
    """Write the file. Raise `SourceError` if it cannot be read or written, `NotBuilt` without the page."""
    page = read_page()
    source = sys.stdin.buffer if args.file == "-" else args.file
    with progress(f"Reading {args.file}…"):
        entries = list(read_run(source, end=CaptureEnding()))
        text = shared_file(entries, page, with_calls=args.model_calls)
    if args.output == "-":
        sys.stdout.write(text)
        return 0
    path = Path(args.output)
    _write(path, text)
    size = f"{path.stat().st_size / 1e6:.1f} MB"
    print(
        f"Wrote {path}: {size}, 1 run with {counted(len(entries), 'event')}. Open it in any"
        " browser."
    )
    return 0


def _write(path: Path, text: str) -> None:
    """Write the whole file or nothing."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise SourceError(f"{path} cannot be written: {error.strerror or error}.") from None
