"""What a run is found by, without reading it: a digest, stored beside the log when the run has ended.

Folded from facts (`features.search.index`), and small whatever the run was. It contains nothing that the log
does not, so what was redacted stays redacted.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal, get_args

import msgspec
from msgspec import Struct

from adk_prism.errors import UsageError
from adk_prism.log.contract import RunSummary

DIGEST_VERSION = 2
"""Of the fold: digests of a lower one are made again."""

NameKind = Literal["tool", "agent", "model", "error", "state", "feedback"]
NAME_KINDS: tuple[NameKind, ...] = get_args(NameKind)


Used = dict[str, dict[str, int]]
"""Model → tokens by kind, with `calls` and `ms`; under the empty name: calls that failed, and of models
beyond the bound."""


class RunDigest(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One run, in short."""

    user: str = ""
    """What the user said, from the beginning."""
    agent: str = ""
    """What the agents said."""
    calls: str = ""
    """Arguments and results of tools, and the texts of errors."""
    names: dict[NameKind, list[str]] = {}
    """Tools and agents that ran, models that answered, codes of errors, state keys that were set, and
    what people said about it in one word (`feedback_label`)."""
    tokens: int = 0
    used: Used = {}
    duration: float = 0.0
    """Seconds from the first entry to the last."""
    version: int = 0
    """The fold's; always written, since the default is no fold's."""

    @property
    def text(self) -> str:
        """All of its text, as it is searched."""
        return "".join(map(searchable, (self.user, self.agent, self.calls)))

    def folded_names(self) -> Iterator[tuple[NameKind, str]]:
        """Yield the names as they are compared, each once."""
        for kind, names in self.names.items():
            yield from ((kind, name) for name in dict.fromkeys(map(str.casefold, names)))


encode_digest = msgspec.json.Encoder().encode
decode_digest = msgspec.json.Decoder(RunDigest).decode


class _UsedOnly(Struct):
    used: Used = {}


_decode_used = msgspec.json.Decoder(_UsedOnly).decode


def decode_used(text: bytes) -> Used:
    """Return what a stored digest says was used: all else is passed over, which is several times as fast."""
    return _decode_used(text).used


# --------------------------------------------------------------------------- words

# Text is searched as words in a folded form, the same in every store: case, width and accents do not matter.
# In scripts that are written without spaces (Chinese, Japanese, Thai) every character is a word, so a search
# finds any sequence of them. The result contains nothing but letters, digits and spaces, so no query can have
# a syntax of its own.

MOST_TERMS = 16
"""Of one search: more do not make it more precise."""

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Thai and Lao, Burmese, Khmer, kana, and the characters of Chinese."""

_WORD = re.compile(rf"(?=\w)[{_UNSPACED}]|[^\W_{_UNSPACED}]+")
_ACCENTS = re.compile("[\u0300-\u036f]+")
_TERM = re.compile(r'"([^"]*)"|(\S+)')


def searchable(text: str) -> str:
    """Return the words of a text, each after a space."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    if not folded.isascii():
        bare = _ACCENTS.sub("", unicodedata.normalize("NFD", folded))
        folded = unicodedata.normalize("NFC", bare)
    return "".join(f" {word}" for word in _WORD.findall(folded))


def split_terms(text: str) -> list[str]:
    """Return the terms of a search as they were written: words, and words in quotes together."""
    return [quoted or word for quoted, word in _TERM.findall(text)]


def search_terms(text: str) -> list[str]:
    """Return what a search asks for: each term must begin a word of the text, or several in a row.

    Terms are separated by spaces; quotes keep words together. Raise `UsageError` for a text in which there is
    nothing to search for.
    """
    terms = list(dict.fromkeys(filter(None, map(searchable, split_terms(text)))))[:MOST_TERMS]
    if text.strip() and not terms:
        raise UsageError("The text to search for has no letter and no digit; expected words.")
    return terms


# ---------------------------------------------------------------------------
# Which runs are wanted: the same questions for every backend.
#
# Everything in a query may come from a stranger. Text becomes words without syntax (`searchable`); a
# name may begin or end with `*`, and no other pattern exists, so no query takes longer than a look at
# every digest.


class Bounds(Struct, frozen=True):
    """From and to, both included; None: no limit."""

    least: float | None = None
    most: float | None = None

    def hold(self, value: float) -> bool:
        """Return whether a value is inside."""
        low, high = self.least, self.most
        return (low is None or value >= low) and (high is None or value <= high)


ANY = Bounds()


class NamePattern(Struct, frozen=True):
    """A name, or a part of one."""

    part: str
    """In the form in which names are compared."""
    begins: bool = False
    """The name may go on before it."""
    ends: bool = False
    """The name may go on after it."""

    def fits(self, name: str) -> bool:
        """Return whether a folded name is meant."""
        if self.begins:
            return self.part in name if self.ends else name.endswith(self.part)
        return name.startswith(self.part) if self.ends else name == self.part


def name_pattern(text: str) -> NamePattern:
    """Read a name in which a `*` at the beginning or the end stands for any characters."""
    folded = text.casefold()
    part = folded.strip("*")
    return NamePattern(part, folded.startswith("*"), folded.endswith("*"))


Price = Callable[[Used], float | None]


class RunQuery(Struct, frozen=True, kw_only=True):
    """Which runs are wanted. What is empty matches any."""

    app: str = ""
    user: str = ""
    session: str = ""
    text: str = ""
    names: Mapping[NameKind, str] = {}
    without: NameKind | None = None
    """Runs that have no name of this kind."""
    outcome: str = ""
    tokens: Bounds = ANY
    duration: Bounds = ANY
    cost: Bounds = ANY
    price: Price = lambda _: None
    """What a run cost; None: unknown, and such a run fits no bounds of cost."""
    started: Bounds = ANY
    """Seconds since 1970."""

    def fits_cost(self, used: Used) -> bool:
        """Return whether a run cost as much as is wanted."""
        cost = self.price(used)
        return cost is not None and self.cost.hold(cost)


class FoundRun(Struct, frozen=True):
    """A run that a search found."""

    summary: RunSummary
    digest: RunDigest
    number: int
    """Its place in the order of starts."""


class SearchPage(Struct, frozen=True):
    """Some of the runs that a search found, newest first."""

    found: Sequence[FoundRun]
    before: int | None
    """Where the next page begins; None: there are no more."""
    complete: bool
    """Every ended run was looked at: none waits for its digest, and none is beyond what the store keeps."""
