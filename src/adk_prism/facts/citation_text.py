"""Citations in text: what is named after a label (`Source: …`), in a list below one, or as a law's number.

Decides where one source ends and the next begins. Semicolons and bars part sources. A comma does so too,
unless what follows only says more of the same source: a date, a page, a key with its value, a report's
number. A source of water, of error or of ignition is none of the kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from adk_prism.facts.markdown_line import Line
from adk_prism.facts.proof_model import Citation

STEMS = (
    "source reference citation basis authority evidence quelle fuente fonte fonti référence bibliograph cfr"
    " fsm fsh u.s.c [^ 出典 来源"
).split()
"""What any citation that is read contains, in lower case."""

_MOST = 64
"""Sources behind one label."""
_LONGEST = 2_000
"""Characters behind one label that are looked at."""

LABEL = re.compile(
    r"(?<!\w)(?P<label>(?:(?:data|primary|secondary|main|key|information|official|supporting|additional|other"
    r"|imagery)\s)?(?:sources?|references?|citations?|(?:regulatory|legal|statutory)\s(?:basis|authority"
    r"|references?|citations?)|authority|evidence|bibliography|quellen?|fuentes?|fonte|fonti|références?)"
    r"|出典|来源)(?!\w)",
    re.I,
)
_COLON = re.compile(r"[\"'”]?\s{0,2}:\s{0,4}")
_LAW = re.compile(
    r"\b(?:\d{1,3}\s(?:CFR|C\.F\.R\.|FR|USC|U\.S\.C\.)\s(?:§{1,2}\s?|[Pp]art\s)?\d|(?:FSM|FSH)\s\d)"
    r"[\w.]*(?:\([a-z0-9]{1,4}\))*"
)
_NOTE = re.compile(r"(?P<label>\[\^\w{1,12}\]):\s{0,4}")
_LINK = re.compile(r"\[(?P<name>[^\[\]]{1,300})\]\((?P<uri>[^()\s]{1,1000})\)")
_ADDRESS = re.compile(r"<?(?P<uri>https?://[^\s<>()\[\]\"']{1,1000})>?")
_QUOTE = re.compile(r"[\"“”«](?P<excerpt>[^\"“”«»]{3,600})[\"”»]")
_DETAIL = re.compile(
    r"\d|(?:pp?\.|page|sec|§|table|vol|chapter|accessed|imagery|version|v\d|dated|updated|as of|retrieved)"
    r"|[A-Z]\.$|[\w ]{1,40}:\s|(?=\S{1,40}$)\S*\d",
    re.I,
)
_REFERENCE = re.compile(r"\s(?:—|–|-)\s|\s(?=\()")
_NONE = frozenset(
    "none n/a na unknown tbd unspecified keine ninguna aucune null – — - not_available".split()
)
_BEFORE_LABEL = frozenset('(|.;—–[{,"')


class Cited(Struct, frozen=True, gc=False):
    """The citations behind one label, and where they end."""

    citations: list[Citation]
    end: int


def label_of(text: str) -> str:
    """Return the label in a heading or a column's head; empty where there is none."""
    match = LABEL.search(text)
    return match["label"] if match else ""


def read_labelled(line: Line) -> Iterator[tuple[str, str]]:
    """Yield each label of a line with what stands behind it; nothing, if a list follows."""
    text = line.text
    end = 0
    for match in LABEL.finditer(text):
        colon = _COLON.match(text, match.end())
        if colon is None or match.start() < end or not _begins(line, match.start()):
            continue
        tail = text[colon.end() : colon.end() + _LONGEST]
        before = text[max(0, match.start() - 2) : match.start()].rstrip()
        if before.endswith("("):
            tail = tail[: _closing(tail)]
        end = colon.end() + len(tail)
        yield match["label"], tail
    note = _NOTE.match(text)
    if note is not None:
        yield note["label"], text[note.end() : note.end() + _LONGEST]


def _begins(line: Line, place: int) -> bool:
    """Tell whether a label begins here, and is not the end of another thing's name."""
    before = line.text[max(0, place - 3) : place].rstrip()
    return not before or before[-1] in _BEFORE_LABEL or line.mark_before(place) == place > 0


def read_citations(tail: str, label: str) -> list[Citation]:
    """Return the sources that are named behind a label."""
    found: list[Citation] = []
    for piece in _pieces(tail):
        citation = _citation(piece, label)
        if citation is not None:
            found.append(citation)
    return found[:_MOST]


def read_laws(text: str) -> Iterator[Citation]:
    """Yield the laws, rules and directives that a text names by their numbers."""
    for match in _LAW.finditer(text):
        yield Citation(match[0].rstrip("."))


# --------------------------------------------------------------------------- one after the other


def _pieces(tail: str) -> Iterator[str]:
    """Part sources; a detail stays with the source before it."""
    held = ""
    for piece, separator in _split(tail):
        is_detail = separator == "," and held and _DETAIL.match(piece.strip()) is not None
        if is_detail:
            held = f"{held}, {piece.strip()}"
            continue
        if held:
            yield held
        held = piece.strip()
    if held:
        yield held


def _split(tail: str) -> Iterator[tuple[str, str]]:
    """Yield pieces with the separator before each; brackets and quotes are not looked into."""
    depth, quoted, start, before = 0, False, 0, ""
    for place, letter in enumerate(tail):
        if letter == '"':
            quoted = not quoted
        elif letter in "([":
            depth += 1
        elif letter in ")]":
            depth = max(0, depth - 1)
        elif letter in ",;|" and not depth and not quoted:
            yield tail[start:place], before
            start, before = place + 1, letter
    yield tail[start:], before


def _closing(text: str) -> int:
    depth = 0
    for place, letter in enumerate(text):
        if letter == "(":
            depth += 1
        elif letter == ")":
            if not depth:
                return place
            depth -= 1
    return len(text)


# --------------------------------------------------------------------------- one source


def _citation(piece: str, label: str) -> Citation | None:
    uri = excerpt = ""
    link = _LINK.search(piece)
    address = _ADDRESS.search(piece)
    if link is not None:
        uri = link["uri"]
        piece = piece[: link.start()] + link["name"] + piece[link.end() :]
    elif address is not None:
        uri = address["uri"].rstrip(".,;:!?")
        piece = f"{piece[: address.start()]} {piece[address.end() :]}"
    quote = _QUOTE.search(piece)
    if quote is not None and piece[: quote.start()].strip(" :"):
        excerpt = quote["excerpt"].strip()
        piece = piece[: quote.start()]
    source, reference = _source(_bare(piece))
    source = source or uri
    if not any(letter.isalnum() for letter in source) or source.lower() in _NONE:
        return None
    return Citation(source, reference, uri, excerpt, label=label)


def _source(piece: str) -> tuple[str, str]:
    """Part what is named from what is said of it."""
    for match in _REFERENCE.finditer(piece):
        return _bare(piece[: match.start()]), _bare(piece[match.end() :].strip("() "))
    name, comma, detail = piece.partition(",")
    return (_bare(name), _bare(detail)) if comma else (piece, "")


def _bare(text: str) -> str:
    return text.strip(" \t\"'“”,;:*_").rstrip(".") if len(text) > 1 else text
