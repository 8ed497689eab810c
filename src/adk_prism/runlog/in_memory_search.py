"""A search that looks at every digest, for logs that keep digests in memory.

Looking into a text takes microseconds, so ten thousand of them take up to a tenth of a second. Therefore a
digest has a mark for the beginnings of its words (a Bloom filter): it tells most texts without a word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

from adk_prism.runlog.contract import FoundRun, RunSummary, SearchPage
from adk_prism.runlog.entry import Origin
from adk_prism.runlog.run_digest import NameKind, RunDigest
from adk_prism.runlog.run_query import ANY, RunQuery, name_pattern
from adk_prism.runlog.run_state import is_from
from adk_prism.runlog.search_text import search_terms

_BEGINNINGS = (2, 4)
"""Letters of a word that are marked."""

_BITS = 8192
"""Of a mark, a kilobyte: the five hundred words of a long digest leave nine of ten unset."""


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
