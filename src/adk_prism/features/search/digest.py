"""What a run is found by, without reading it: a digest, stored beside the log when the run has ended.

Folded from facts (`features.search.index`), and small whatever the run was. It contains nothing that the log
does not, so what was redacted stays redacted.
"""

from __future__ import annotations

import fnmatch
import glob
import heapq
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Literal, get_args

import msgspec
from msgspec import Struct, structs

from adk_prism.errors import Gone, NotFound, UsageError
from adk_prism.log.contract import RunLog, RunSummary
from adk_prism.log.entry import Origin, RunId
from adk_prism.log.memory import MemoryLog
from adk_prism.log.run_state import is_from

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
    confidence: float | None = None
    """How sure the whole answer is, from 0 to 1; None: nothing says it."""
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


def name_glob(text: str) -> str:
    """Return a pattern, as SQLite's GLOB reads it, for a name that may begin or end with a `*`.

    Only the stars at the ends are patterns: what else would be one stands in brackets.
    """
    folded = text.casefold()
    part = glob.escape(folded.strip("*"))
    return f"{'*' * folded.startswith('*')}{part}{'*' * folded.endswith('*')}"


Price = Callable[[Used], float | None]

Measured = Literal["started", "duration", "tokens", "cost"]


class Order(Struct, frozen=True):
    """What comes first among the runs that fit."""

    by: Measured = "started"
    is_ascending: bool = False


NEWEST = Order()


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
    order: Order = NEWEST

    def cost_of(self, used: Used) -> float:
        """Return what a run cost, to be put in an order; unknown comes below all else."""
        cost = self.price(used)
        return -1.0 if cost is None else cost

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
    """Some of the runs that a search found, in the order that was asked for."""

    found: Sequence[FoundRun]
    before: int | None
    """Where the next page begins; None: there are no more."""
    complete: bool
    """Every ended run was looked at: none waits for its digest, and none is beyond what the store keeps."""


# ---------------------------------------------------------------------- memory
#
# A search that looks at every digest in memory: of a log in memory, and of any log without an index.


_ROOM = 16
"""Digests of deleted runs that may be kept, at least."""


class KeptDigest(Struct, frozen=True):
    """A digest and what it is compared by."""

    number: int
    """The run's place in the order of starts."""
    summary: RunSummary
    digest: RunDigest
    text: str
    names: dict[NameKind, list[str]]
    """In the form in which they are compared."""


def keep(number: int, summary: RunSummary, digest: RunDigest) -> KeptDigest:
    """Return a digest as it is kept."""
    names: dict[NameKind, list[str]] = {}
    for kind, name in digest.folded_names():
        names.setdefault(kind, []).append(name)
    return KeptDigest(number, summary, digest, digest.text, names)


def scan(
    kept: Iterable[KeptDigest], query: RunQuery, limit: int, before: int | None, *, complete: bool
) -> SearchPage:
    """Return the first runs that fit, after the one with the number `before`. The digests come newest first.

    Raise `UsageError` for a bad text, or if that run is gone and the order needs it.
    """
    wanted = Origin(app=query.app, user=query.user, session=query.session)
    fits = _test(query)
    place = _place(query)
    ordered = list(kept) if query.order != NEWEST else kept
    after: tuple[float, ...] | None = None
    if before is not None and query.order == NEWEST:
        after = (-float(before),)
    elif before is not None:
        after = next((place(each) for each in ordered if each.number == before), None)
        if after is None:
            raise page_is_gone()
    found: Iterable[KeptDigest] = (
        each
        for each in ordered
        if (after is None or place(each) > after)
        and is_from(each.summary.origin, wanted)
        and query.outcome in ("", each.summary.outcome)
        and query.started.hold(each.summary.started)
        and fits(each)
    )
    if query.order != NEWEST:
        found = heapq.nsmallest(limit + 1, found, key=place)
    first = [FoundRun(e.summary, e.digest, e.number) for e in islice(found, limit + 1)]
    return page_of(first, limit, complete=complete)


def page_is_gone() -> UsageError:
    """Return the refusal of a page that follows on a run which was deleted."""
    return UsageError("The run at which the next page begins was deleted. Search again.")


def _place(query: RunQuery) -> Callable[[KeptDigest], tuple[float, ...]]:
    """Return what puts digests in the order that is asked for."""
    sign = 1 if query.order.is_ascending else -1
    measures: dict[Measured, Callable[[KeptDigest], float]] = {
        "duration": lambda each: each.digest.duration,
        "tokens": lambda each: each.digest.tokens,
        "cost": lambda each: query.cost_of(each.digest.used),
    }
    measure = measures.get(query.order.by)
    if measure is None:
        return lambda each: (sign * each.number,)
    return lambda each: (sign * measure(each), sign * each.number)


def _test(query: RunQuery) -> Callable[[KeptDigest], bool]:
    """Return a test of digests. Raise `UsageError` for a bad text."""
    terms = search_terms(query.text)
    patterns = {
        kind: re.compile(fnmatch.translate(name_glob(text))).match
        for kind, text in query.names.items()
        if text
    }

    def fits(each: KeptDigest) -> bool:
        digest = each.digest
        return (
            all(any(map(is_it, each.names.get(kind, ()))) for kind, is_it in patterns.items())
            and query.tokens.hold(digest.tokens)
            and query.duration.hold(digest.duration)
            and not (query.without and digest.names.get(query.without))
            and all(term in each.text for term in terms)
            and (query.cost == ANY or query.fits_cost(digest.used))
        )

    return fits


def page_of(found: list[FoundRun], limit: int, *, complete: bool) -> SearchPage:
    """Return a page of what was found, which is one more than the limit if there are more."""
    page = found[:limit]
    return SearchPage(page, page[-1].number if len(found) > limit else None, complete)


class MemorySearch:
    """Is a `SearchIndex`: keeps the digests of a log in this process."""

    def __init__(self, log: RunLog) -> None:
        self._log = log
        self._kept: dict[RunId, KeptDigest] = {}
        self._numbers: dict[RunId, int] = {}
        """Places in the order of starts, of the runs that were seen."""
        self._last = 0
        self._unnumbered: set[RunId] = set()
        """Runs that were indexed before they were seen."""
        self._room = _ROOM
        """How many digests may be kept until those of deleted runs are looked for."""

    async def index(self, run: RunId, digest: RunDigest) -> None:
        with suppress(NotFound, Gone):
            summary = await self._log.summary(run)
            if summary.outcome is not None:
                self._kept[run] = keep(self._numbers.get(run, 0), summary, digest)
                if run not in self._numbers:
                    self._unnumbered.add(run)
        if len(self._kept) > self._room:
            await self._ended()
            self._room = 2 * len(self._kept) + _ROOM

    async def unindexed(self, limit: int) -> Sequence[RunId]:
        missing = (run for run in reversed(await self._ended()) if not self._has(run))
        return list(islice(missing, limit))

    async def search(self, query: RunQuery, *, limit: int, before: int | None = None) -> SearchPage:
        ended = await self._ended()
        kept = (self._kept[run] for run in reversed(ended) if run in self._kept)
        complete = all(map(self._has, ended))
        return scan(kept, query, limit, before, complete=complete)

    async def digests_of(self, runs: Sequence[RunId]) -> dict[RunId, RunDigest]:
        return {run: self._kept[run].digest for run in runs if run in self._kept}

    def _has(self, run: RunId) -> bool:
        return run in self._kept and self._kept[run].digest.version >= DIGEST_VERSION

    async def _ended(self) -> list[RunId]:
        """Return the ended runs, oldest first, and forget those that are gone."""
        found = await self._starts()
        for run, _ in found:
            if run not in self._numbers:
                self._last += 1
                self._numbers[run] = self._last
        if self._unnumbered or len(self._numbers) > len(found):
            names = {run for run, _ in found}
            self._numbers = {run: at for run, at in self._numbers.items() if run in names}
            self._kept = {run: kept for run, kept in self._kept.items() if run in names}
        for run in self._unnumbered & self._kept.keys():
            self._kept[run] = structs.replace(self._kept[run], number=self._numbers[run])
        self._unnumbered.clear()
        return [run for run, is_ended in found if is_ended]

    async def _starts(self) -> Sequence[tuple[RunId, bool]]:
        if isinstance(self._log, MemoryLog):
            return self._log.starts()
        return [(each.run, each.outcome is not None) for each in await self._log.list()]
