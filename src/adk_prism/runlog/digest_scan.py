"""A search that looks at every digest, for logs that keep digests in memory."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from adk_prism.runlog.contract import FoundRun, RunSummary, SearchPage
from adk_prism.runlog.digest import RunDigest
from adk_prism.runlog.entry import Origin
from adk_prism.runlog.run_query import RunQuery
from adk_prism.runlog.run_state import is_from


class KeptDigest(Struct, frozen=True):
    """A digest and what it is compared by."""

    number: int
    """The run's place in the order of starts."""
    summary: RunSummary
    digest: RunDigest
    text: str


def scan(
    kept: Iterable[KeptDigest], query: RunQuery, limit: int, before: int | None, *, complete: bool
) -> SearchPage:
    """Return the newest runs that fit. The digests come newest first. Raise `UsageError`."""
    wanted = Origin(app=query.app, user=query.user, session=query.session)
    fits = query.test()
    found: list[FoundRun] = []
    for each in kept:
        run = each.summary
        if (
            (before is None or each.number < before)
            and is_from(run.origin, wanted)
            and query.outcome in ("", run.outcome)
            and query.started.hold(run.started)
            and fits(each.digest, each.text)
        ):
            found.append(FoundRun(run, each.digest, each.number))
            if len(found) > limit:
                break
    return page_of(found, limit, complete=complete)


def page_of(found: list[FoundRun], limit: int, *, complete: bool) -> SearchPage:
    """Return a page of what was found, which is one more than the limit if there are more."""
    page = found[:limit]
    return SearchPage(page, page[-1].number if len(found) > limit else None, complete)
