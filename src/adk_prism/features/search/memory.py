"""A search that looks at every digest in memory: of a log in memory, of Redis, and of any other log.

Looking into a text takes microseconds, so ten thousand of them take up to a tenth of a second. Therefore a
digest has a mark for the beginnings of its words (a Bloom filter): it tells most texts without a word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice

from msgspec import Struct, structs

from adk_prism.errors import Gone, NotFound
from adk_prism.features.search.digest import (
    ANY,
    DIGEST_VERSION,
    FoundRun,
    NameKind,
    RunDigest,
    RunQuery,
    SearchPage,
    name_pattern,
    search_terms,
)
from adk_prism.log.contract import RunLog, RunSummary
from adk_prism.log.entry import Origin, RunId
from adk_prism.log.memory import MemoryLog
from adk_prism.log.run_state import is_from

_BEGINNINGS = (2, 4)
"""Letters of a word that are marked."""

_BITS = 8192
"""Of a mark, a kilobyte: the five hundred words of a long digest leave nine of ten unset."""

_ROOM = 16
"""Digests of deleted runs that may be kept, at least."""


class KeptDigest(Struct, frozen=True):
    """A digest and what it is compared by."""

    number: int
    """The run's place in the order of starts."""
    summary: RunSummary
    digest: RunDigest
    text: str
    mark: int
    names: dict[NameKind, list[str]]
    """In the form in which they are compared."""


def keep(number: int, summary: RunSummary, digest: RunDigest) -> KeptDigest:
    """Return a digest as it is kept."""
    text = digest.text
    words = {word[:letters] for word in text.split() for letters in _BEGINNINGS}
    names: dict[NameKind, list[str]] = {}
    for kind, name in digest.folded_names():
        names.setdefault(kind, []).append(name)
    return KeptDigest(number, summary, digest, text, _mark(words), names)


def _mark(beginnings: Iterable[str]) -> int:
    marked = bytearray(_BITS // 8)
    for each in beginnings:
        place = hash(each) % _BITS
        marked[place >> 3] |= 1 << (place & 7)
    return int.from_bytes(marked, "little")


def _beginnings(terms: Iterable[str]) -> Iterator[str]:
    """Yield the beginnings that a text with these terms has. Only the last word of a term may go on."""
    for term in terms:
        *whole, last = term.split()
        yield from (word[:letters] for word in whole for letters in _BEGINNINGS)
        yield from (last[:letters] for letters in _BEGINNINGS if len(last) >= letters)


def scan(
    kept: Iterable[KeptDigest], query: RunQuery, limit: int, before: int | None, *, complete: bool
) -> SearchPage:
    """Return the newest runs that fit. The digests come newest first. Raise `UsageError`."""
    wanted = Origin(app=query.app, user=query.user, session=query.session)
    fits = _test(query)
    found: list[FoundRun] = []
    for each in kept:
        run = each.summary
        if (
            (before is None or each.number < before)
            and is_from(run.origin, wanted)
            and query.outcome in ("", run.outcome)
            and query.started.hold(run.started)
            and fits(each)
        ):
            found.append(FoundRun(run, each.digest, each.number))
            if len(found) > limit:
                break
    return page_of(found, limit, complete=complete)


def _test(query: RunQuery) -> Callable[[KeptDigest], bool]:
    """Return a test of digests. Raise `UsageError` for a bad text."""
    terms = search_terms(query.text)
    mark = _mark(_beginnings(terms))
    patterns = {kind: name_pattern(text) for kind, text in query.names.items() if text}

    def fits(each: KeptDigest) -> bool:
        if each.mark & mark != mark:
            return False
        for kind, pattern in patterns.items():
            if not any(map(pattern.fits, each.names.get(kind, ()))):
                return False
        digest, text = each.digest, each.text
        if not (query.tokens.hold(digest.tokens) and query.duration.hold(digest.duration)):
            return False
        if query.without and digest.names.get(query.without):
            return False
        if not all(term in text for term in terms):
            return False
        return query.cost == ANY or query.fits_cost(digest.used)

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
