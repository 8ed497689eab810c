"""The contract of a search index (`features.search.index.SearchIndex`), as checks on a log and its index."""

from __future__ import annotations

from collections.abc import Sequence

from adk_prism.errors import LogError, UsageError
from adk_prism.features.search import digest as digests
from adk_prism.features.search.index import SearchIndex, index_of
from adk_prism.log.contract import LogObserver, RunLog
from adk_prism.log.entry import Origin, RunEnded, RunId
from adk_prism.testing import runlog_steps as steps

WEATHER, INVOICE, TOKYO = RunId("weather"), RunId("invoice"), RunId("tokyo")

DIGESTS: dict[RunId, digests.RunDigest] = {
    WEATHER: digests.RunDigest(
        user="What is the weather in Zürich?",
        agent="It is 21 degrees.",
        names={
            "tool": ["get_weather"],
            "agent": ["Forecaster"],
            "state": ["user:city"],
            "feedback": ["down"],
        },
        tokens=120,
        used={"m": {"input": 120}},
        duration=1.5,
        version=digests.DIGEST_VERSION,
    ),
    INVOICE: digests.RunDigest(
        user="Send the invoice 4711",
        calls='send_invoice {"to":"a@b.example"} RESOURCE_EXHAUSTED: try later',
        names={"tool": ["send_invoice", "odd*[name]"], "error": ["ValueError"], "model": ["m-1"]},
        tokens=9000,
        used={"m": {"input": 9000}},
        duration=30.0,
        version=digests.DIGEST_VERSION,
    ),
    TOKYO: digests.RunDigest(
        user="東京の天気は", agent="ｶﾅ 晴れです。สวัสดีครับ", tokens=5, version=digests.DIGEST_VERSION
    ),
}
"""Runs in the order of their start. The second one belongs to somebody else, and has failed."""


def _price(used: digests.Used) -> float | None:
    """Return what a run cost; of a run without a model nobody knows."""
    return used["m"]["input"] / 100 if "m" in used else None


OTHERS = Origin(app="app", user="other", session="session")

FINDS: Sequence[tuple[digests.RunQuery, Sequence[RunId]]] = (
    (digests.RunQuery(), (TOKYO, INVOICE, WEATHER)),
    (digests.RunQuery(text="weather"), (WEATHER,)),
    (digests.RunQuery(names={"feedback": "down"}), (WEATHER,)),
    (digests.RunQuery(names={"feedback": "up"}), ()),
    (digests.RunQuery(names={"feedback": "*"}), (WEATHER,)),
    (digests.RunQuery(without="feedback"), (TOKYO, INVOICE)),
    (digests.RunQuery(cost=digests.Bounds(1.0, 90.0), price=_price), (INVOICE, WEATHER)),
    (digests.RunQuery(cost=digests.Bounds(None, 1.1), price=_price), ()),
    (digests.RunQuery(text="weather", cost=digests.Bounds(1.3), price=_price), ()),
    (digests.RunQuery(text="WEATHER zurich"), (WEATHER,)),
    (digests.RunQuery(text="weat deg"), (WEATHER,)),
    (digests.RunQuery(text="eather"), ()),
    (digests.RunQuery(text='"weather in"'), (WEATHER,)),
    (digests.RunQuery(text='"in weather"'), ()),
    (digests.RunQuery(text="weather invoice"), ()),
    (digests.RunQuery(text="resource_exhausted"), (INVOICE,)),
    (digests.RunQuery(text="a@b.example"), (INVOICE,)),
    (digests.RunQuery(text="天気"), (TOKYO,)),
    (digests.RunQuery(text="京"), (TOKYO,)),
    (digests.RunQuery(text="気天"), ()),
    (digests.RunQuery(text="カナ"), (TOKYO,)),
    (digests.RunQuery(text="ครับ"), (TOKYO,)),
    (digests.RunQuery(names={"tool": "get_weather"}), (WEATHER,)),
    (digests.RunQuery(names={"tool": "GET_Weather"}), (WEATHER,)),
    (digests.RunQuery(names={"tool": "get"}), ()),
    (digests.RunQuery(names={"tool": "get*"}), (WEATHER,)),
    (digests.RunQuery(names={"tool": "*e*"}), (INVOICE, WEATHER)),
    (digests.RunQuery(names={"tool": "*invoice"}), (INVOICE,)),
    (digests.RunQuery(names={"tool": "odd*[name]"}), (INVOICE,)),
    (digests.RunQuery(names={"tool": "odd*[n*"}), (INVOICE,)),
    (digests.RunQuery(names={"tool": "odd?*"}), ()),
    (digests.RunQuery(names={"agent": "forecaster", "state": "user:city"}), (WEATHER,)),
    (digests.RunQuery(names={"agent": "get_weather"}), ()),
    (digests.RunQuery(names={"error": "*"}), (INVOICE,)),
    (digests.RunQuery(names={"model": "m-1"}), (INVOICE,)),
    (digests.RunQuery(outcome="failed"), (INVOICE,)),
    (digests.RunQuery(outcome="waiting"), ()),
    (digests.RunQuery(tokens=digests.Bounds(120, 120)), (WEATHER,)),
    (digests.RunQuery(tokens=digests.Bounds(most=119)), (TOKYO,)),
    (digests.RunQuery(duration=digests.Bounds(1.4)), (INVOICE, WEATHER)),
    (digests.RunQuery(started=digests.Bounds(steps.LATER)), ()),
    (digests.RunQuery(started=digests.Bounds(most=steps.LATER)), (TOKYO, INVOICE, WEATHER)),
    (digests.RunQuery(user="user"), (TOKYO, WEATHER)),
    (digests.RunQuery(user="user", text="invoice"), ()),
    (digests.RunQuery(app="app", session="other"), ()),
)
"""Queries, and what they find."""

AWKWARD = ('"', "'); DROP TABLE runs; --", "NEAR(a b)", "a OR b", "text: x", "a* -b ^c {d}", "x\0y")
"""Texts that a query language might understand."""


async def runs_are_found_by_what_their_digests_say(store: steps.Store) -> None:
    """Every field of a query narrows the search; what is empty does not. The newest run comes first."""
    async with steps.opened(store) as log:
        search = await fill(log)
        for query, expected in FINDS:
            page = await search.search(query, limit=10)
            assert tuple(each.summary.run for each in page.found) == tuple(expected), query
            assert (page.before, page.complete) == (None, True)
            assert all(each.digest == DIGESTS[each.summary.run] for each in page.found)


async def no_text_breaks_a_search(store: steps.Store) -> None:
    """Text is words and nothing else; one without a letter or digit is refused."""
    async with steps.opened(store) as log:
        search = await fill(log)
        for text in AWKWARD[1:]:
            assert (await search.search(digests.RunQuery(text=text), limit=1)).found == []
        await steps.refused(UsageError, search.search(digests.RunQuery(text=AWKWARD[0]), limit=1))
        assert len((await search.search(digests.RunQuery(), limit=10)).found) == len(DIGESTS)


ORDERS: Sequence[tuple[digests.Order, Sequence[RunId]]] = (
    (digests.NEWEST, (TOKYO, INVOICE, WEATHER)),
    (digests.Order("started", is_ascending=True), (WEATHER, INVOICE, TOKYO)),
    (digests.Order("duration"), (INVOICE, WEATHER, TOKYO)),
    (digests.Order("tokens", is_ascending=True), (TOKYO, WEATHER, INVOICE)),
    (digests.Order("cost"), (INVOICE, WEATHER, TOKYO)),
)
"""Orders, and what comes first. Of the run without a model the cost is unknown."""


async def pages_of_a_search_follow_each_other(store: steps.Store) -> None:
    """In every order each page begins where the last one ended; the last has no next."""
    async with steps.opened(store) as log:
        search = await fill(log)
        for order, expected in ORDERS:
            seen: list[RunId] = []
            before: int | None = None
            for _ in DIGESTS:
                query = digests.RunQuery(order=order, price=_price)
                page = await search.search(query, limit=1, before=before)
                seen += [each.summary.run for each in page.found]
                before = page.before
            assert (tuple(seen), before) == (tuple(expected), None), order


async def a_page_after_a_deleted_run_is_refused_where_it_cannot_be_found(
    store: steps.Store,
) -> None:
    """By a measure, the next page follows on a run that is still there; in the order of starts on any."""
    async with steps.opened(store) as log:
        search = await fill(log)
        by_tokens = digests.RunQuery(order=digests.Order("tokens"))
        page = await search.search(by_tokens, limit=1)
        await log.delete(OTHERS)
        await steps.refused(UsageError, search.search(by_tokens, limit=1, before=page.before))
        found = (await search.search(digests.RunQuery(), limit=1, before=page.before)).found
        assert [each.summary.run for each in found] == [WEATHER]


async def digests_are_read_by_their_runs(store: steps.Store) -> None:
    """Of runs that are not there nothing is returned."""
    async with steps.opened(store) as log:
        search = await fill(log)
        await search.search(digests.RunQuery(), limit=1)
        found = await search.digests_of([TOKYO, RunId("nobody")])
        assert found == {TOKYO: DIGESTS[TOKYO]}
        assert await search.digests_of([]) == {}


async def only_ended_runs_have_digests(store: steps.Store) -> None:
    """A run without one is listed as unindexed once it has ended, and a search says that one is missing."""
    ended: list[RunId] = []
    async with steps.opened(store) as log:
        log.attach(observer=LogObserver(ended=ended.append))
        search = await fill(log)
        await log.append(steps.RUN, [steps.start()])
        await log.commit(steps.RUN)
        await search.index(steps.RUN, digests.RunDigest(version=digests.DIGEST_VERSION))
        await search.index(RunId("nobody"), digests.RunDigest(version=digests.DIGEST_VERSION))
        assert len((await search.search(digests.RunQuery(), limit=10)).found) == len(DIGESTS)
        assert list(await search.unindexed(5)) == []
        await log.append(steps.RUN, [steps.END])
        await log.commit(steps.RUN)
        assert list(await search.unindexed(5)) == [steps.RUN]
        assert not (await search.search(digests.RunQuery(), limit=10)).complete
        assert ended == [*DIGESTS, steps.RUN]
        await search.index(steps.RUN, digests.RunDigest(user="old", version=digests.DIGEST_VERSION))
        await search.index(steps.RUN, digests.RunDigest(user="new", version=digests.DIGEST_VERSION))
        assert (await search.search(digests.RunQuery(text="old"), limit=10)).found == []
        assert len((await search.search(digests.RunQuery(text="new"), limit=10)).found) == 1


async def digests_go_with_their_runs(store: steps.Store) -> None:
    """What was trimmed, or deleted with its session, is not found; nor is it after the log was closed."""
    async with steps.opened(store) as log:
        search = await fill(log)
        await log.delete(OTHERS)
        found = (await search.search(digests.RunQuery(), limit=10)).found
        assert [each.summary.run for each in found] == [TOKYO, WEATHER]
        await log.trim(steps.EVERYTHING, steps.LATER)
        assert (await search.search(digests.RunQuery(), limit=10)).found == []
        assert (await search.search(digests.RunQuery(text="weather"), limit=10)).found == []
        await log.close()
        await steps.refused(LogError, search.search(digests.RunQuery(), limit=1))
        await steps.refused(LogError, search.unindexed(1))


async def fill(log: RunLog) -> SearchIndex:
    """Store the runs and their digests; return the index."""
    search = index_of(log)
    for run, digest in DIGESTS.items():
        failed = run == INVOICE
        end = RunEnded(outcome="failed", code="ValueError") if failed else steps.END
        await log.append(run, [steps.start(run, OTHERS if failed else steps.ORIGIN), end])
        await log.commit(run)
        await search.index(run, digest)
    return search


CHECKS = (
    runs_are_found_by_what_their_digests_say,
    no_text_breaks_a_search,
    pages_of_a_search_follow_each_other,
    a_page_after_a_deleted_run_is_refused_where_it_cannot_be_found,
    digests_are_read_by_their_runs,
    only_ended_runs_have_digests,
    digests_go_with_their_runs,
)
