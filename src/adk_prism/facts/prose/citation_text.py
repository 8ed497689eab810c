"""Citations in text: what is named after a label (`Source: …`), in a list below one, or as a law's number.

Decides where one source ends and the next begins. Semicolons and bars part sources. A comma does so too,
unless what follows only says more of the same source: a date, a page, a key with its value, a report's
number. A source of water, of error or of ignition is none of the kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from adk_prism.facts.prose.markdown_line import Line, closing_bracket

STEMS = (
    "source",
    "reference",
    "citation",
    "basis",
    "authorit",
    "evidence",
    "based on",
    "bibliograph",
    "quelle",
    "fuente",
    "fonte",
    "fonti",
    "référence",
    "出典",
    "来源",
    "[^",
)
"""What any label contains, in lower case."""
LAWS = ("CFR", "C.F.R.", " FR ", "USC", "U.S.C.", "FSM", "FSH")
"""What the number of any law that is read contains."""

_MOST = 64
"""Sources behind one label."""
_LONGEST = 2_000
"""Characters behind one label that are looked at."""

_WORD = re.compile(
    r"(?:source|reference|citation|basis|authorit(?:y|ies)|evidence|bibliography|quelle|fuente|fonte|fonti"
    r"|référence)(?:s|n|\(s\))?(?!\w)|based on(?=:)|出典|来源"
)
_KINDS = frozenset(
    """data primary secondary main key information official supporting additional other imagery regulatory
    legal statutory""".split()
)
"""Words that may stand before it. A source of anything else (water, ignition) is no citation."""
_LAWYERS = ("basis", "authority")
"""Of anything else, these are no sources: the basis of a price, an authority in uniform."""
_LEGAL = frozenset(("regulatory", "legal", "statutory"))
_ENDS = "(|.;—–[{,\"'"
"""What ends the words before a label."""
_BEFORE = 60
"""Characters in which the words before a label are looked for."""
_COLON = re.compile(
    r"[\"'”]?(?:\s(?:used|consulted|cited|reviewed|considered|include)(?:\s\w{1,20}){0,4})?\s{0,2}:\s{0,4}"
)
_CELL = re.compile(r"\s{0,20}\|\s{0,4}")
_DASH = re.compile(r"\s{1,2}[–—-]\s{1,2}")
_STRING = re.compile(r'"[^"\\]{0,600}"(?=\s{0,4}[,}\]]|\s*$)')
_OTHER = re.compile(r"\s{0,2}[\w ]{1,30}:\s")
"""Another label, behind a bar: `Source: MTBS | Date: 2022-09-15`."""
_ROW = "|·•"
"""What parts labels that share a line."""
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
_OPENS = re.compile(r"[\[(]")
_NONE = frozenset(
    "none n/a na unknown tbd unspecified keine ninguna aucune null – — - not_available".split()
)


class Cited(Struct, frozen=True, gc=False):
    """A source as a text names it."""

    source: str
    reference: str = ""
    uri: str = ""
    excerpt: str = ""
    label: str = ""
    """What the text called it."""


def label_of(line: Line) -> str:
    """Return the label that a heading or a column's head begins with; empty where there is none."""
    return next((label for label, _ in _labels(line)), "")


def read_labelled(line: Line) -> Iterator[tuple[str, str]]:
    """Yield each label of a line with what stands behind it; nothing, if a list follows."""
    text = line.text
    last = 0
    for label, end in _labels(line):
        start = end - len(label)
        sign = _sign(line, start, end)
        if sign is None or start < last:
            continue
        tail = text[sign.end() : sign.end() + _LONGEST]
        if tail.startswith(("{", "[{")):
            continue  # Data: the labels inside name the sources.
        string = _STRING.match(tail) if sign[0].startswith('"') else None
        if string is not None:  # The other fields of an object say more of this source.
            tail, end = string[0], text.find("}", sign.end(), sign.end() + _LONGEST)
        else:
            tail = _own(tail, in_brackets=text[max(0, start - 2) : start].rstrip().endswith("("))
        last = max(end, sign.end() + len(tail))
        yield label, tail
    note = _NOTE.match(text)
    if note is not None:
        yield note["label"], text[note.end() : note.end() + _LONGEST]


def _sign(line: Line, start: int, end: int) -> re.Match[str] | None:
    """Return what parts a label from its sources: a colon, a table's bar, or a dash if it is bold."""
    colon = _COLON.match(line.text, end)
    if colon is not None or start:
        return colon
    bold = len(line.marks) > 1 and line.marks[:2] == [0, end]
    return _CELL.match(line.text, end) or (_DASH.match(line.text, end) if bold else None)


def _own(tail: str, *, in_brackets: bool) -> str:
    """Return what of a tail belongs to its label: to the end of its bracket, or of its list."""
    if in_brackets:
        return tail[: closing_bracket(tail)]
    if tail.startswith("["):
        inside, bracket, rest = tail[1:].partition("]")
        return tail if rest.startswith("(") else inside if bracket else tail[1:]
    return tail


def _labels(line: Line) -> Iterator[tuple[str, int]]:
    """Yield the labels of a line, each with its end."""
    for match in _WORD.finditer(line.lowered):
        at = match.start()
        start = max(0, at - _BEFORE, line.mark_before(at))
        for end in _ENDS if start < at else ():
            start = max(start, line.text.rfind(end, start, at) + 1)
        words = [word for word in line.lowered[start:at].split() if word[-1].isalnum()]
        if _KINDS.issuperset(words) and (match[0] not in _LAWYERS or _LEGAL.intersection(words)):
            first = line.lowered.index(words[0], start) if words else at
            if not line.is_label(first) and not _is_key(line, first, match.end()):
                continue
            yield line.text[first : match.end()], match.end()


def _is_key(line: Line, start: int, end: int) -> bool:
    """Tell the key of a list in YAML: it stands alone, in small letters."""
    return not start and not line.is_item and line.text[end:].strip() == ":"


def read_citations(tail: str, label: str, *, one: bool = False) -> list[Cited]:
    """Return the sources that are named behind a label; `one`, if commas do not part them."""
    found: list[Cited] = []
    for piece in _pieces(tail, ";" if one else ",;|"):
        citation = _citation(piece, label)
        if citation is not None:
            found.append(citation)
    return found[:_MOST]


def read_laws(text: str) -> Iterator[Cited]:
    """Yield the laws, rules and directives that a text names by their numbers."""
    for match in _LAW.finditer(text):
        yield Cited(match[0].rstrip("."))


# --------------------------------------------------------------------------- one after the other


def _pieces(tail: str, separators: str) -> Iterator[str]:
    """Part sources; a detail stays with the source before it."""
    held = ""
    for piece, separator in _split(_of_label(tail), separators):
        is_detail = separator == "," and held and _DETAIL.match(piece.strip()) is not None
        if is_detail:
            held = f"{held}, {piece.strip()}"
            continue
        if held:
            yield held
        held = piece.strip()
    if held:
        yield held


def _of_label(tail: str) -> str:
    """Return a tail up to another label that shares the line."""
    for place, letter in enumerate(tail):
        if letter in _ROW and _OTHER.match(tail, place + 1):
            return tail[:place]
    return tail


def _split(tail: str, separators: str) -> Iterator[tuple[str, str]]:
    """Yield pieces with the separator before each; brackets and quotes are not looked into."""
    depth, quoted, start, before = 0, False, 0, ""
    for place, letter in enumerate(tail):
        if letter == '"':
            quoted = not quoted
        elif letter in "([":
            depth += 1
        elif letter in ")]":
            depth = max(0, depth - 1)
        elif letter in separators and not depth and not quoted:
            yield tail[start:place], before
            start, before = place + 1, letter
    yield tail[start:], before


# --------------------------------------------------------------------------- one source


def _citation(piece: str, label: str) -> Cited | None:
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
    if not any(letter.isalpha() for letter in source) or source.lower() in _NONE:
        return None
    return Cited(source, reference, uri, excerpt, label)


def _source(piece: str) -> tuple[str, str]:
    """Part what is named from what is said of it."""
    for match in _REFERENCE.finditer(piece):
        return _bare(piece[: match.start()]), _bare(piece[match.end() :].strip("() "))
    name, comma, detail = piece.partition(",")
    return (_bare(name), _bare(detail)) if comma else (piece, "")


def _bare(text: str) -> str:
    bare = text.strip(" \t\"'“”,;:*_").rstrip(".")
    # The bracket around a whole remark, which opened before its label.
    return bare.rstrip("])") if bare.endswith(("]", ")")) and not _OPENS.search(bare) else bare
