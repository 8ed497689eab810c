"""Citations in text: sources after a label (`Source: …`), in a list below one, or a law's number.

Decides where one source ends and the next begins. An item of a list is one source. On a line semicolons
and bars separate sources, and so do the quotes of a list (`"A", "B"`) and its numbers (`[1] A [2] B`). A
comma never does: names, titles and lists of authors contain commas. It separates a name from details of
the same source: a date, a page, a key with its value, a report's number. A source of water, of error or of
ignition is not a citation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from adk_prism.features.proof.prose.markdown_line import Line, closing_bracket

STEMS = (
    *"source reference citation basis authorit evidence bibliograph quelle fuente fonte fonti".split(),
    *("based on", "référence", "出典", "来源", "[^"),
)
"""What any label contains, in lower case."""
_MOST = 64
"""Sources behind one label."""
_LONGEST = 2_000
"""Characters after one label that are read."""

_WORD = re.compile(
    r"(?:source|reference|citation|basis|authorit(?:y|ies)|evidence|bibliography|quelle|fuente|fonte|fonti"
    r"|référence)(?:s|n|\(s\))?(?!\w)|based on(?=:)|出典|来源"
)
_KINDS = frozenset(
    """data primary secondary main key information official supporting additional other imagery regulatory
    legal statutory further relevant selected published scientific technical""".split()
)
"""Words that may precede it. A source of anything else (water, ignition) is not a citation."""
_LAWYERS = ("basis", "authority")
"""Without a legal word before them these are not sources: the basis of a price, a port authority."""
_LEGAL = frozenset(("regulatory", "legal", "statutory"))
_ENDS = "(|.;—–[{,\"'"
"""What ends the words before a label."""
_BEFORE = 60
"""Characters in which the words before a label are searched."""
_COLON = re.compile(
    r"[\"'”]?(?:\s(?:used|consulted|cited|reviewed|considered|include)(?:\s\w{1,20}){0,4})?\s{0,2}:\s{0,4}"
)
_ENDS_HEADING = re.compile(
    r"\s{0,4}(?:$|[^\w\s]|(?:and|und|et|y|e)\s|(?:used|consulted|cited|reviewed|considered)\b)"
)
"""What may follow a label in a heading: nothing, another subject, what was done with them."""
_NEXT_SENTENCE = re.compile(
    r"(?<=[^\W_])(?<!\bal)(?<!\s[A-Z])\.\s+"
    r"(?=(?:We|I|It|This|That|The|These|Those|They|Our|You|There|Both|Neither|No|If|But|And|In|See)\s[a-z])"
)
"""Where a sentence begins after a source. Initials and `et al.` do not end one."""
_CELL = re.compile(r"\s{0,20}\|\s{0,4}")
_DASH = re.compile(r"\s{1,2}[–—-]\s{1,2}")
_STRING = re.compile(r'"[^"\\]{0,600}"(?=\s{0,4}[,}\]]|\s*$)')
_OTHER = re.compile(r"\s{0,2}[\w ]{1,30}:\s")
"""Another label, after a bar: `Source: MTBS | Date: 2022-09-15`."""
_ROW = "|·•"
"""What separates labels on one line."""
_NOTE = re.compile(r"(?P<label>\[\^\w{1,12}\]):\s{0,4}")
_LINK = re.compile(r"\[(?P<name>[^\[\]]{1,300})\]\((?P<uri>[^()\s]{1,1000})\)")
_ADDRESS = re.compile(r"<?(?P<uri>https?://[^\s<>()\[\]\"']{1,1000})>?")
_QUOTE = re.compile(r"[\"“”«](?P<excerpt>[^\"“”«»]{3,600})[\"”»]")
_DETAIL = re.compile(
    r"\d|(?:pp?\.|page|sec|§|table|vol|chapter|accessed|imagery|version|v\d|dated|updated|as of|retrieved)"
    r"|[\w ]{1,40}:\s|(?=\S{1,40}$)\S*\d",
    re.I,
)
_DASH_BEHIND = re.compile(r"\s[—–-]\s")
_REMARK = re.compile(r"\s\((?P<remark>[^()]{1,300})\)$")
_COMMA = re.compile(r",\s{0,4}")
_QUOTED_LIST = re.compile(r"(?P<end>[\"'”])\s{0,4},\s{0,4}(?=[\"'“])")
_NUMBER = re.compile(r"(?:^|\s)(?:\[\d{1,3}\]|\(\d{1,3}\)):?\s+")
"""The number of a reference in a list on one line."""
_OPENS = re.compile(r"[\[(]")


class Cited(Struct, frozen=True, gc=False):
    """A source as a text names it."""

    source: str
    reference: str = ""
    uri: str = ""
    excerpt: str = ""
    label: str = ""
    """The label in the text."""


def label_of(line: Line) -> str:
    """Return the label that a heading or a column's head is; empty if there is none.

    `Evidence team` and `Sources of error` are headings of something else.
    """
    labels = _labels(line)
    return next((label for label, end in labels if _ENDS_HEADING.match(line.lowered, end)), "")


def read_labelled(line: Line) -> Iterator[tuple[str, str]]:
    """Yield each label of a line with the text after it; empty if a list follows."""
    text = line.text
    last = 0
    for label, end in _labels(line):
        start = end - len(label)
        sign = _sign(line, start, end)
        if sign is None or start < last:
            continue
        tail = text[sign.end() : sign.end() + _LONGEST]
        if tail.startswith(("{", "[{")):
            continue  # Data: the labels inside it name the sources.
        string = _STRING.match(tail) if sign[0].startswith('"') else None
        if string is not None:  # The other fields of the object describe this source.
            tail, end = string[0], text.find("}", sign.end(), sign.end() + _LONGEST)
        else:
            tail = _own(tail, in_brackets=text[max(0, start - 2) : start].rstrip().endswith("("))
        last = max(end, sign.end() + len(tail))
        yield label, tail
    note = _NOTE.match(text)
    if note is not None:
        yield note["label"], text[note.end() : note.end() + _LONGEST]


def _sign(line: Line, start: int, end: int) -> re.Match[str] | None:
    """Return what separates a label from its sources: a colon, a table's bar, or a dash if it is bold."""
    colon = _COLON.match(line.text, end)
    if colon is not None or start:
        return colon
    bold = len(line.marks) > 1 and line.marks[:2] == [0, end]
    return _CELL.match(line.text, end) or (_DASH.match(line.text, end) if bold else None)


def _own(tail: str, *, in_brackets: bool) -> str:
    """Return the part of a tail that belongs to its label: to the end of its bracket, list or sentence."""
    if in_brackets:
        return tail[: closing_bracket(tail)]
    sentence = _NEXT_SENTENCE.search(tail)
    if sentence is not None:
        tail = tail[: sentence.start()]
    if tail.startswith("[") and not _NUMBER.match(tail):
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
    """Return whether a label is the key of a list in YAML: alone on its line, in lower case."""
    return not start and not line.is_item and line.text[end:].strip() == ":"


def read_citations(tail: str, label: str, *, one: bool = False) -> list[Cited]:
    """Return the sources after a label; `one`, if the text is an item of a list of sources."""
    found: list[Cited] = []
    for piece in _pieces(tail, "" if one else ";|"):
        citation = _citation(piece, label)
        if citation is not None:
            found.append(citation)
    return found[:_MOST]


# --------------------------------------------------------------------------- one after the other


def _pieces(tail: str, separators: str) -> Iterator[str]:
    """Separate sources by the structure of their list."""
    tail = _QUOTED_LIST.sub(r"\g<end>;", _of_label(tail))
    items = _NUMBER.split(tail) if _NUMBER.match(tail) else [tail]
    for item in items:
        for piece in _split(item, separators):
            if piece.strip():
                yield from _laws(piece.strip())


_LAW = re.compile(
    r"(?P<base>\d{1,3}\s(?:CFR|C\.F\.R\.|FR|USC|U\.S\.C\.)\s(?:§+\s?|[Pp]art\s)?[\dA-Za-z.\-]*\w|FS[MH]\s[\d.]*\d"
    r"|§{1,2}\s?\d{1,4}[a-z]?(?:\s(?:Abs\.|Satz|Nr\.|lit\.|Alt\.)\s?\w{1,4}){0,4}|Art(?:\.|icle)\s\d{1,4}[a-z]?)"
    r"(?P<paragraphs>(?:\(\w{1,5}\))*)(?:\s[A-Z][A-Za-z]*[A-Z]\b(?!\s\d))?"
)
_BETWEEN_LAWS = re.compile(r"\s*(?:,|;|/|&|\+|,?\s+and|,?\s+or|,?\s+und)\s+")
_PARAGRAPHS = re.compile(r"(?:\(\w{1,5}\))+")
_PARAGRAPH = re.compile(r"\(\w{1,5}\)")
_LAST_PARAGRAPH = re.compile(r"\(\w{1,5}\)$")


def _laws(piece: str) -> Iterator[str]:
    """Yield each rule of a piece that names several: `36 CFR 220.6(e)(11) and (13)` are two."""
    law = _LAW.match(piece)
    if law is None:
        yield piece
        return
    found, place = [law.group()], law.end()
    while between := _BETWEEN_LAWS.match(piece, place):
        following = _LAW.match(piece, between.end())
        paragraphs = _PARAGRAPHS.match(piece, between.end())
        if following is not None:
            law = following
            found.append(law.group())
        elif paragraphs is not None and law["paragraphs"]:
            kept = law["paragraphs"]
            for _ in _PARAGRAPH.findall(paragraphs.group()):
                kept = _LAST_PARAGRAPH.sub("", kept)
            found.append(law["base"] + kept + paragraphs.group())
        else:
            break
        place = (following or paragraphs).end()  # type: ignore[union-attr] # one of them matched
    if len(found) < 2:
        yield piece
        return
    yield from found[:-1]
    yield found[-1] + piece[place:]


def _of_label(tail: str) -> str:
    """Return a tail up to another label that shares the line."""
    for place, letter in enumerate(tail):
        if letter in _ROW and _OTHER.match(tail, place + 1):
            return tail[:place]
    return tail


def _split(tail: str, separators: str) -> Iterator[str]:
    """Split at the separators, except inside brackets and quotes."""
    depth, quoted, start = 0, False, 0
    for place, letter in enumerate(tail):
        if letter == '"':
            quoted = not quoted
        elif letter in "([":
            depth += 1
        elif letter in ")]":
            depth = max(0, depth - 1)
        elif letter in separators and not depth and not quoted and _is_end(tail, place):
            yield tail[start:place]
            start = place + 1
    yield tail[start:]


def _is_end(tail: str, place: int) -> bool:
    """Return whether a separator is one, and not a sign inside a number: `2019;393:407`."""
    return not tail[place + 1 : place + 2].isalnum()


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
    # A URL is enough; otherwise the words must be a name.
    if not (uri and any(map(str.isalpha, source))) and not is_source(piece, label):
        return None
    return Cited(source, reference, uri, excerpt, label)


def _source(piece: str) -> tuple[str, str]:
    """Split a name from its details: after a dash, in brackets at the end, after a comma."""
    dash = _DASH_BEHIND.search(piece)
    if dash is not None:
        return _bare(piece[: dash.start()]), _bare(piece[dash.end() :])
    remark = _REMARK.search(piece)
    if remark is not None and "(" not in piece[: remark.start()]:
        return _bare(piece[: remark.start()]), remark["remark"].strip()
    for comma in _COMMA.finditer(piece):
        if _DETAIL.match(piece, comma.end()):
            return _bare(piece[: comma.start()]), _bare(piece[comma.end() :])
    return piece, ""


def _bare(text: str) -> str:
    bare = text.strip(" \t\"'“”,;:*_").rstrip(".")
    # The closing bracket of a remark that opened before the label.
    return bare.rstrip("])") if bare.endswith(("]", ")")) and not _OPENS.search(bare) else bare


# ---------------------------------------------------------------------- names of sources


_NONE = frozenset(
    "none n/a na unknown tbd unspecified keine ninguna aucune null – — - not_available".split()
)
_DEFINITION = re.compile(
    r"(?:the|an?|how|what|where|see)\s\S+(?:\s\S+){2}"
    r"|\S+(?:\s\S+){0,9}\s(?:that|which|who|whose|when|where)\s"
)
_SENTENCE = re.compile(
    r"(?:\S+\s){1,30}(?:is|are|was|were|has|have|had|will|would|can|could|must|should|does|did)\s\S"
)
_OTHERWISE = re.compile(r"yours?\s|(?:confidence|certainty)\b")
"""The subject of a letter, and a confidence in the same bracket as a source."""
_WEAK = "evidence"
"""A label that introduces observations as often as sources."""
_SHORTEST_SENTENCE = 5
"""Words."""


def is_source(source: str, label: str) -> bool:
    """Return whether words behind a label name a source: they have a capital or a number, or are short.

    `The deck is cracked and both beams are rotten` is an observation, `the place where a river begins` a
    definition, `your letter` the subject of a letter.
    """
    low = source.strip().lower()
    if low in _NONE or not any(map(str.isalpha, source)) or _OTHERWISE.match(low):
        return False
    if any(map(str.isdigit, source)):
        return True
    if len(low.split()) >= _SHORTEST_SENTENCE and _SENTENCE.match(low):
        return False
    if any(map(str.isupper, source)):
        return True
    return label.lower() != _WEAK and _DEFINITION.match(low) is None


# ---------------------------------------------------------------------------
# Citations inside sentences, without a label: laws by their numbers, authors with a year, DOIs.
#
# `36 CFR 220.6(e)(13)`, `FSM 2523`, `Art. 33 GDPR`, `Civ. Code § 1671(b)`; `(Hood & Bentz, 2007; Ryan
# et al., 1988)`, `Lowell et al. (1992)`; `doi:10.2737/PNW-GTR-292`. One name with a year in brackets
# is an author only after a lower-case word, in a text that also cites several authors: otherwise it
# is a place and a date (`the Bootleg Fire (Oregon, 2021)`, `the agreement (Paris, 2015)`).
#
# Patterns are bounded and not nested: the cost of a line is linear in its length.

LAWS = ("CFR", "C.F.R.", " FR ", "USC", "U.S.C.", "FSM", "FSH", "Art", "§")
"""Every law number that is read contains one of these."""

_INLINE_LAW = re.compile(
    r"\b(?:\d{1,3}\s(?:CFR|C\.F\.R\.|FR|USC|U\.S\.C\.)\s(?:§{1,2}\s?|[Pp]art\s)?\d|(?:FSM|FSH)\s\d)"
    r"[\w.]*(?:\([a-zA-Z0-9]{1,4}\))*"
)
_ARTICLE = re.compile(r"\bArt(?:\.|icle)\s\d{1,4}[a-z]?(?:\(\w{1,4}\)){0,4}\s[A-Z][A-Za-z]*[A-Z]\b")
_SECTION = re.compile(
    r"(?<![\w.])(?!(?:Under|See|By|In|Per|The|With|Nach|Laut|As|And|Or|If|Both|Pursuant)\s)"
    r"(?:[A-Z][\w.]{1,20}\s(?:&\s)?){1,6}§{1,2}\s?\d[\w.]*(?:\([a-zA-Z0-9]{1,4}\))*"
)
_INLINE_PARAGRAPH = re.compile(
    r"§{1,2}\s?\d{1,4}[a-z]?(?:\s(?:Abs\.|Satz|Nr\.|lit\.|Alt\.)\s?\w{1,4}){0,4}\s[A-Z][A-Za-z]*[A-Z]\b"
)
"""As German law is cited: `§ 543 Abs. 2 Nr. 3 BGB`."""
_YEAR = r"(?:1[5-9]|20)\d\d[a-z]?"
_NAME = r"[^\W\d_a-zß-öø-ÿ][\w'’-]{1,40}"
_SEVERAL = rf"{_NAME}(?:,?\set\sal\.?|(?:,\s{_NAME}){{0,4}},?\s(?:&|and|und|et|y)\s{_NAME})"
_LEAD = r"(?:(?:see|cf\.|e\.g\.,?|vgl\.)\s)?"
_PAGES = r"(?:,\s(?:pp?\.\s?)?\d{1,5}(?:[-–]\d{1,5})?)?"
_BRACKETS = re.compile(r"\((?P<inside>[^()]{4,300})\)")
_AUTHORS = re.compile(rf"{_LEAD}(?P<who>{_SEVERAL}),?\s(?P<year>{_YEAR}){_PAGES}")
_AUTHOR = re.compile(rf"{_LEAD}(?P<who>{_NAME}),\s(?P<year>{_YEAR}){_PAGES}")
_IN_TEXT = re.compile(rf"(?<!\w)(?P<who>{_SEVERAL})\s\((?P<year>{_YEAR})\)")
_WORD_BEFORE = re.compile(r"(?P<word>[\w'’-]{1,40})[^\w\s]?$")
_DATES = frozenset(
    """january february march april may june july august september october november december jan feb mar apr
    jun jul aug sep sept oct nov dec spring summer autumn fall winter early mid late since""".split()
)
_DOI = re.compile(
    r"(?:https?://(?:dx\.)?doi\.org/|\bdoi:\s?)(?P<doi>10\.\d{4,9}/[^\s<>()\[\]\"',;]{1,200})", re.I
)
_MAY_HOLD = re.compile(rf"\({_YEAR}\)|\s{_YEAR}(?:,[^()]{{0,20}})?[);]|doi[:.]", re.I)


_LAWS = (
    (LAWS[:-2], _INLINE_LAW),
    (LAWS[-2:-1], _ARTICLE),
    (LAWS[-1:], _SECTION),
    (LAWS[-1:], _INLINE_PARAGRAPH),
)
"""Each pattern with what any match of it contains."""


class Inline(Struct, frozen=True, gc=False):
    """A source that a sentence names."""

    source: str
    uri: str = ""
    by_author: bool = False
    """It may be the short form of a source that a list gives in full."""
    is_single: bool = False
    """One name, which counts only if other authors are cited."""


def may_cite(text: str) -> bool:
    """Return whether a text may name a source. A false positive only costs time."""
    return has_any(text, LAWS) or _MAY_HOLD.search(text) is not None


def has_any(text: str, signs: tuple[str, ...]) -> bool:
    """Return whether a text contains one of some signs."""
    for sign in signs:  # noqa: SIM110 - runs for every line: a generator takes twice as long
        if sign in text:
            return True
    return False


def read_inline(text: str) -> Iterator[Inline]:
    """Yield the sources that a line names inside its sentences."""
    for signs, pattern in _LAWS:
        if has_any(text, signs):
            for law in pattern.finditer(text):
                yield Inline(law[0].rstrip("."))
    if _MAY_HOLD.search(text) is None:
        return
    for match in _IN_TEXT.finditer(text):
        yield _authored(match)
    for match in _BRACKETS.finditer(text):
        yield from _bracketed(match["inside"], text[: match.start("inside") - 1].rstrip())
    for match in _DOI.finditer(text):
        address = f"https://doi.org/{match['doi'].rstrip('.:')}"
        yield Inline(address, address)


def _bracketed(inside: str, before: str) -> Iterator[Inline]:
    """Yield the authors of a bracket; one name alone only if all its pieces are authors."""
    pieces = [piece.strip() for piece in inside.split(";")]
    several = [_AUTHORS.fullmatch(piece) for piece in pieces]
    single = [_AUTHOR.fullmatch(piece) for piece in pieces]
    is_list = all(one or other for one, other in zip(several, single, strict=True))
    for authors, author in zip(several, single, strict=True):
        if authors is not None:
            yield _authored(authors)
        elif author is not None and is_list and _is_author(author["who"], before):
            yield _authored(author, is_single=True)


def _is_author(name: str, before: str) -> bool:
    """Return whether a name is an author's, and not a place or month that belongs to the name before."""
    word = _WORD_BEFORE.search(before[-60:])
    return name.lower() not in _DATES and word is not None and word["word"].islower()


def _authored(match: re.Match[str], *, is_single: bool = False) -> Inline:
    who = match["who"].replace(", et", " et")
    return Inline(f"{who}, {match['year']}", by_author=True, is_single=is_single)
