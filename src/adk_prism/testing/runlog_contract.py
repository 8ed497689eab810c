"""The contract of run logs as checks, which every backend must pass.

A backend gives a `Store`: an empty place to keep runs, on which logs can be opened one after the
other. `CHECKS` are async functions of a store; each docstring is the rule that it proves. With
pytest and an event loop for async tests:

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    async def test_contract(check, my_store):
        await check(my_store)

`runlog_machine` plays random histories against a model besides; it needs Hypothesis.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing

from msgspec import Raw, structs

from adk_prism import errors
from adk_prism.log import entry as log_entry
from adk_prism.log.contract import LogObserver, Retention, RunLog, TrimmedRun
from adk_prism.testing import runlog_steps as steps

Check = Callable[[steps.Store], Awaitable[None]]

BURST = 10_000
"""Appends without a pause: more than a model sends in minutes, in one turn of the event loop."""


# --------------------------------------------------------------------------- order


async def cursors_are_dense_from_one(store: steps.Store) -> None:
    """Cursors are 1, 2, 3 …, however the records came, and a receipt names the last."""
    async with steps.opened(store) as log:
        assert (await log.append(steps.RUN, [steps.start()])).cursor == 1
        assert (await log.append(steps.RUN, steps.events(3))).cursor == 4
        assert (await log.append(steps.RUN, [])).cursor == 4
        assert (await log.append(steps.RUN, [steps.event(9), steps.END])).cursor == 6
        await log.commit(steps.RUN)
        assert steps.cursors(await steps.collect(log)) == [1, 2, 3, 4, 5, 6]


AWKWARD = 'é\u2028𝄞\u0000"\\'
"""Text that a store may damage."""

RECORDS: Sequence[log_entry.Record] = (
    log_entry.RunStarted(
        run=steps.RUN,
        origin=log_entry.Origin(app=AWKWARD, user="'; DROP TABLE runs; --", session=AWKWARD),
        message=Raw(b'{"parts":[]}'),
        state={AWKWARD: Raw(b"1")},
        continues=log_entry.Continues(message="m", open_calls={"c": "tool"}),
    ),
    log_entry.AgentEvent(b'{"big":"' + b"x" * 100_000 + b'"}'),
    log_entry.AgentEvent(b""),
    log_entry.ChildEvent(call="c", event=Raw(b"{}")),
    log_entry.NodeStarted(node="n", name=AWKWARD, kind="agent"),
    log_entry.NodeEnded(node="n", status="finished"),
    log_entry.ApprovalAsked(approval="a", call="c", name="tool"),
    log_entry.SpeakerInterrupted(reason="user_abort"),
    log_entry.ApprovalGiven(approval="a", approved=True),
    log_entry.ModelCalled(
        agent=AWKWARD, model="m", first_token=1, pieces=log_entry.CallPieces(contents=7)
    ),
    log_entry.RunTakenOver(epoch=1, in_doubt=["c"]),
    log_entry.RunEnded(outcome="failed", code="X", correlation="c"),
)
"""One of each kind, and some that are easily stored wrong."""


async def every_record_comes_back_as_it_was(store: steps.Store) -> None:
    """All kinds of records, with awkward text, survive storing."""
    async with steps.opened(store) as log:
        for record in RECORDS:
            await log.append(steps.RUN, [record])
        await log.commit(steps.RUN)
        live = await steps.collect(log)
        assert steps.packed(live) == [log_entry.pack(record) for record in RECORDS]
        assert [entry.time for entry in live] == sorted(entry.time for entry in live)
        assert (await log.summary(steps.RUN)).bytes == sum(
            len(payload) for _, payload in steps.packed(live)
        )
        assert (await log.summary(steps.RUN)).message == "m"


async def nothing_is_stored_before_it_is_redacted(store: steps.Store) -> None:
    """The attached redaction is given every record, alone or among others, and its answer is what is kept."""
    secret, hidden = b"the-secret", b"[redacted]"
    records: list[log_entry.Record] = [
        steps.start(),
        log_entry.AgentEvent(b'{"text":"the-secret"}'),
        log_entry.ChildEvent(call="c", event=Raw(b'{"text":"the-secret"}')),
        log_entry.NodeStarted(node="n", name="n", kind="tool", state={"key": Raw(b'"the-secret"')}),
        log_entry.NodeEnded(node="n", status="failed", error="the-secret"),
        log_entry.ApprovalAsked(approval="a", call="c", name="tool", hint="the-secret"),
        log_entry.ApprovalGiven(approval="a", approved=False, reason="the-secret"),
        log_entry.SpeakerInterrupted(reason="the-secret"),
        log_entry.ModelCalled(agent="a", error="the-secret"),
        log_entry.RunTakenOver(epoch=0, in_doubt=["the-secret"]),
        log_entry.RunEnded(outcome="failed", code="the-secret"),
    ]
    expected = [
        (kind, payload.replace(secret, hidden)) for kind, payload in map(log_entry.pack, records)
    ]
    async with steps.opened(store) as log:
        log.attach(redact=lambda _, payload: payload.replace(secret, hidden))
        follower = asyncio.create_task(_after_start(log))
        for record in records[:5]:
            await log.append(steps.RUN, [record])
        await log.append(steps.RUN, records[5:])
        await log.commit(steps.RUN)
        assert steps.packed(await steps.collect(log)) == expected
        assert steps.packed(await steps.eventually(follower)) == expected
    if store.durable:
        async with steps.opened(store) as log:
            assert steps.packed(await steps.collect(log)) == expected


class _Holding:
    """Holds back an event's text until the next record: one of two comes later, and nothing is lost."""

    def __init__(self) -> None:
        self._held: list[tuple[str, bytes]] = []

    def passes(self, data: bytes) -> bool:
        return not self._held and b"hold" not in data

    def feed(self, kind: str, data: bytes) -> list[tuple[str, bytes]]:
        before, self._held = self._held, []
        if b"hold" in data:
            self._held = [(kind, data.replace(b"hold", b"held"))]
            return [*before, (kind, b'{"empty":true}')]
        return [*before, (kind, data)]


async def the_redaction_of_a_run_can_add_records(store: steps.Store) -> None:
    """Each run has one of its own, which takes the records in order; what it adds has cursors and times."""
    async with steps.opened(store) as log:
        log.attach(streams=_Holding)
        held = log_entry.AgentEvent(b'{"hold":1}')
        await log.append(steps.RUN, [steps.start()], times=[1.0])
        await log.append(steps.RUN, [held, steps.event(1)], times=[2.0, 3.0])
        await log.append(steps.RUN, [held])
        receipt = await log.append(steps.RUN, [steps.END])
        await log.commit(steps.RUN)
        entries = await steps.collect(log)
        assert receipt.cursor == len(entries) == 7
        shown = [log_entry.pack(entry.record)[1] for entry in entries[1:6]]
        kept = b'{"held":1}'
        assert shown == [b'{"empty":true}', kept, steps.event(1).event, b'{"empty":true}', kept]
        assert [entry.time for entry in entries[:4]] == [1.0, 2.0, 3.0, 3.0]


async def _after_start(log: RunLog) -> list[log_entry.Entry]:
    """Follow a run as soon as it is there."""
    while True:
        try:
            return await steps.collect(log, follow=True)
        except errors.NotFound:
            await asyncio.sleep(0)


async def an_observer_hears_of_writes_commits_and_followers(store: steps.Store) -> None:
    """Each group and commit is reported with its time; a follower from its first entry to its end."""
    calls: list[str] = []
    observer = LogObserver(
        written=lambda seconds: calls.append("written" if seconds >= 0 else "?"),
        committed=lambda seconds: calls.append("committed" if seconds >= 0 else "?"),
        following=lambda run: calls.append(f"following {run}"),
        left=lambda run: calls.append(f"left {run}"),
    )
    async with steps.opened(store) as log:
        log.attach(observer=observer)
        await log.append(steps.RUN, [steps.start(), steps.event(1)])
        await log.commit(steps.RUN)
        assert calls == ["written", "committed"]
        calls.clear()
        await steps.collect(log)
        assert calls == []
        async with aclosing(log.read(steps.RUN, follow=True)) as batches:
            await anext(batches)
            assert calls == [f"following {steps.RUN}"]
        assert calls == [f"following {steps.RUN}", f"left {steps.RUN}"]


async def a_burst_is_kept_whole(store: steps.Store) -> None:
    """Many appends in one turn of the loop lose nothing; reading can continue after any of them."""
    async with steps.opened(store) as log:
        await log.append(steps.RUN, [steps.start()])
        for number in range(BURST):
            await log.append(steps.RUN, [steps.event(number)])
        await log.append(steps.RUN, [steps.END])
        await log.commit(steps.RUN)
        whole = await steps.collect(log)
        assert steps.cursors(whole) == list(range(1, BURST + 3))
        assert [entry.record for entry in whole[1:-1]] == steps.events(BURST)
        for after in range(0, BURST + 2, BURST // 50):
            async with aclosing(log.read(steps.RUN, after)) as batches:
                batch = await anext(batches)
                assert list(batch) == whole[after : after + len(batch)]


async def what_happened_elsewhere_keeps_its_times(store: steps.Store) -> None:
    """Entries have the times they came with; the run is as old as its stay in the log."""
    async with steps.opened(store) as log:
        await log.append(steps.RUN, [steps.start(), steps.event(1)], times=[5.0, 7.5])
        await log.append(steps.RUN, [steps.END], times=[9.0])
        await log.append(steps.OTHER, [steps.start(steps.OTHER)])
        await log.commit(steps.RUN)
        assert [entry.time for entry in await steps.collect(log)] == [5.0, 7.5, 9.0]
        found, other = await log.summary(steps.RUN), await log.summary(steps.OTHER)
        assert found.ended is not None
        assert 9.0 < found.started <= found.ended <= other.started
        assert await log.trim(Retention(max_age=3600), found.ended + 60) == []
    if store.durable:
        async with steps.opened(store) as log:
            assert (await log.summary(steps.RUN)).ended == found.ended
            assert [entry.time for entry in await steps.collect(log)] == [5.0, 7.5, 9.0]


# --------------------------------------------------------------------------- reading


async def reading_goes_on_after_any_cursor(store: steps.Store) -> None:
    """What was seen and what is read after it are together the whole, at every cursor."""
    async with steps.opened(store) as log:
        await log.append(steps.RUN, [steps.start(), *steps.events(20), steps.END])
        await log.commit(steps.RUN)
        whole = await steps.collect(log)
        for after in range(len(whole) + 1):
            for follow in (False, True):
                rest = await steps.eventually(steps.collect(log, steps.RUN, after, follow=follow))
                assert rest == whole[after:]


async def a_follower_sees_no_seam(store: steps.Store) -> None:
    """Followers that come at any time get everything once, in order, and end with the run."""
    async with steps.opened(store) as log:
        await log.append(steps.RUN, [steps.start()])
        followers = []
        for number in range(30):
            followers.append(asyncio.create_task(steps.collect(log, steps.RUN, follow=True)))
            await log.append(steps.RUN, [steps.event(number)])
            if number % 3 == 0:
                await log.commit(steps.RUN)
        await log.append(steps.RUN, [steps.END])
        seen = [await steps.eventually(follower) for follower in followers]
        whole = await steps.collect(log)
        assert steps.cursors(whole) == list(range(1, 33))
        assert all(entries == whole for entries in seen)


async def a_follower_is_given_entries_as_they_come(store: steps.Store) -> None:
    """A follower need not wait for the run's end, nor for anyone to ask for a commit."""
    async with steps.opened(store) as log:
        await log.append(steps.RUN, [steps.start()])
        async with aclosing(log.read(steps.RUN, follow=True)) as batches:
            for number in range(1, 6):
                assert steps.cursors(await asyncio.wait_for(anext(batches), steps.PATIENCE)) == [
                    number
                ]
                await log.append(steps.RUN, [steps.event(number)])


async def a_reader_that_leaves_disturbs_nobody(store: steps.Store) -> None:
    """Cancelling or closing one follower leaves the others and the run alone."""
    async with steps.opened(store) as log:
        await log.append(steps.RUN, [steps.start()])
        stays, leaves = (
            asyncio.create_task(steps.collect(log, steps.RUN, follow=True)) for _ in range(2)
        )
        closes = log.read(steps.RUN, follow=True)
        await anext(closes)
        leaves.cancel()
        await asyncio.wait([leaves])
        await closes.aclose()
        await log.append(steps.RUN, [steps.event(1), steps.END])
        assert steps.cursors(await steps.eventually(stays)) == [1, 2, 3]


async def plain_reading_does_not_wait(store: steps.Store) -> None:
    """Without `follow` the iteration ends with what is committed."""
    async with steps.opened(store) as log:
        await log.append(steps.RUN, [steps.start(), steps.event(1)])
        await log.commit(steps.RUN)
        assert steps.cursors(await steps.eventually(steps.collect(log))) == [1, 2]
        assert await steps.eventually(steps.collect(log, steps.RUN, 2)) == []


async def cursors_that_are_not_there_are_refused(store: steps.Store) -> None:
    """A cursor past the end is an error, never an empty result."""
    async with steps.opened(store) as log:
        await log.append(steps.RUN, [steps.start(), steps.event(1)])
        await log.commit(steps.RUN)
        for after in (-1, 3, 10**15):
            for follow in (False, True):
                await steps.refused(
                    errors.BadPosition, steps.collect(log, steps.RUN, after, follow=follow)
                )
        await log.append(steps.RUN, [steps.END])
        await log.commit(steps.RUN)
        await steps.refused(errors.BadPosition, steps.collect(log, steps.RUN, 4, follow=True))


async def unknown_runs_are_not_found(store: steps.Store) -> None:
    """A run that was never started is `NotFound`, whatever is asked of it."""
    async with steps.opened(store) as log:
        await steps.refused(errors.NotFound, log.append(steps.RUN, [steps.event(1)]))
        await steps.refused(errors.NotFound, log.append(steps.RUN, []))
        await steps.refused(errors.NotFound, log.commit(steps.RUN))
        await steps.refused(errors.NotFound, log.summary(steps.RUN))
        await steps.refused(errors.NotFound, steps.collect(log))
        await steps.refused(errors.NotFound, steps.collect(log, follow=True))
        assert await log.list() == []


# --------------------------------------------------------------------------- what may be appended


async def a_run_starts_once_and_ends_once(store: steps.Store) -> None:
    """A run begins with its start, holds no other, and takes nothing after its end."""
    async with steps.opened(store) as log:
        await steps.refused(errors.UsageError, log.append(steps.OTHER, [steps.start(steps.RUN)]))
        await log.append(steps.RUN, [steps.start()])
        await steps.refused(errors.Conflict, log.append(steps.RUN, [steps.start()]))
        await steps.refused(errors.Conflict, log.append(steps.RUN, [steps.event(1), steps.start()]))
        await steps.refused(errors.Conflict, log.append(steps.RUN, [steps.END, steps.event(1)]))
        await log.append(steps.RUN, [steps.END])
        for record in (steps.event(1), steps.END, steps.start()):
            await steps.refused(errors.Conflict, log.append(steps.RUN, [record]))
        await log.commit(steps.RUN)
        for record in (steps.event(1), steps.END, steps.start()):
            await steps.refused(errors.Conflict, log.append(steps.RUN, [record]))
        assert steps.cursors(await steps.collect(log)) == [1, 2]


async def a_refused_append_leaves_nothing(store: steps.Store) -> None:
    """All records of an append are taken, or none, also of the first."""
    async with steps.opened(store) as log:
        await steps.refused(
            errors.Conflict, log.append(steps.RUN, [steps.start(), steps.event(1), steps.start()])
        )
        await steps.refused(
            errors.Conflict, log.append(steps.RUN, [steps.start(), steps.END, steps.event(1)])
        )
        await steps.refused(errors.NotFound, log.summary(steps.RUN))
        await steps.refused(
            errors.UsageError,
            log.append(
                steps.RUN, [steps.start(), log_entry.NodeEnded(node="\ud800", status="finished")]
            ),
        )
        await steps.refused(errors.NotFound, log.summary(steps.RUN))
        assert (await log.append(steps.RUN, [steps.start(), steps.event(1), steps.END])).cursor == 3
        await log.commit(steps.RUN)
        assert steps.cursors(await steps.collect(log)) == [1, 2, 3]


async def of_two_starts_one_wins(store: steps.Store) -> None:
    """Two starts at the same moment make one run."""
    async with steps.opened(store) as log:
        answers = await asyncio.gather(
            *(log.append(steps.RUN, [steps.start()]) for _ in range(3)), return_exceptions=True
        )
        assert sorted(type(answer).__name__ for answer in answers) == [
            "Conflict",
            "Conflict",
            "Receipt",
        ]
        await log.commit(steps.RUN)
        assert steps.cursors(await steps.collect(log)) == [1]


async def an_old_owner_is_fenced(store: steps.Store) -> None:
    """Once a higher epoch has written, a lower one cannot, also after the end."""
    async with steps.opened(store) as log:
        await log.append(steps.RUN, [steps.start()], epoch=1)
        await steps.refused(errors.Fenced, log.append(steps.RUN, [steps.event(1)]))
        await log.append(steps.RUN, [log_entry.RunTakenOver(epoch=3)], epoch=3)
        await steps.refused(errors.Fenced, log.append(steps.RUN, [steps.event(2)], epoch=2))
        await steps.refused(errors.Fenced, log.append(steps.RUN, [steps.END], epoch=1))
        await log.append(steps.RUN, [steps.END], epoch=3)
        await log.commit(steps.RUN)
        await steps.refused(errors.Fenced, log.append(steps.RUN, [steps.event(2)], epoch=2))
        assert (await log.summary(steps.RUN)).epoch == 3
        assert steps.cursors(await steps.collect(log)) == [1, 2, 3]


# --------------------------------------------------------------------------- lists


async def a_commit_is_what_summaries_show(store: steps.Store) -> None:
    """After `commit`, cursor, size, end and outcome are those of what was appended."""
    async with steps.opened(store) as log:
        receipt = await log.append(steps.RUN, [steps.start(), steps.event(1)])
        await log.commit(steps.RUN)
        summary = await log.summary(steps.RUN)
        assert (summary.run, summary.origin, summary.invocation) == (
            steps.RUN,
            steps.ORIGIN,
            f"e-{steps.RUN}",
        )
        assert (summary.cursor, summary.message) == (receipt.cursor, steps.RUN)
        assert (summary.ended, summary.outcome) == (None, None)
        await log.append(steps.RUN, [log_entry.RunEnded(outcome="waiting")])
        await log.commit(steps.RUN)
        summary = await log.summary(steps.RUN)
        last = (await steps.collect(log))[-1]
        assert (summary.cursor, summary.outcome, summary.ended) == (3, "waiting", last.time)
        assert summary.started <= last.time


async def lists_are_in_order_of_start(store: steps.Store) -> None:
    """Runs are listed oldest first, by what is asked for, ended or not."""
    async with steps.opened(store) as log:
        for number in range(12):
            run = log_entry.RunId(f"run-{number}")
            origin = log_entry.Origin(app=f"a{number % 2}", user="u", session=f"s{number % 3}")
            await log.append(run, [steps.start(run, origin)])
        for number in (7, 2):
            await log.append(log_entry.RunId(f"run-{number}"), [steps.END])
            await log.commit(log_entry.RunId(f"run-{number}"))

        async def numbers(app: str = "", user: str = "", session: str = "") -> list[int]:
            found = await log.list(app=app, user=user, session=session)
            return [int(summary.run[4:]) for summary in found]

        assert await numbers() == list(range(12))
        assert await numbers(app="a1") == [1, 3, 5, 7, 9, 11]
        assert await numbers(app="a0", session="s2") == [2, 8]
        assert await numbers(user="nobody") == []
        unended = [found.run for found in await log.list(session="s1", unended=True)]
        assert unended == ["run-1", "run-4", "run-10"]


# --------------------------------------------------------------------------- removing


async def trimming_takes_whole_ended_runs(store: steps.Store) -> None:
    """Old runs go, then the longest ended until the rest fits; runs without an end stay."""
    async with steps.opened(store) as log:
        runs = [log_entry.RunId(f"run-{number}") for number in range(5)]
        for run in runs:
            await log.append(run, [steps.start(run), log_entry.AgentEvent(b"x" * 1000)])
        for run in (runs[3], runs[1], runs[2]):
            await log.append(run, [steps.END])
            await log.commit(run)
        assert list(await log.trim(Retention(), now=0)) == []
        kept = sum(found.bytes for found in await log.list()) - 1
        first = list(await log.trim(Retention(max_age=steps.LATER, max_bytes=kept), now=0))
        assert len(first) == 1
        assert list(await log.trim(steps.EVERYTHING, steps.LATER)) == [
            run for run in (runs[3], runs[1], runs[2]) if run not in first
        ]
        assert [found.run for found in await log.list()] == [runs[0], runs[4]]
        assert steps.cursors(await steps.collect(log, runs[4])) == [1, 2]


async def what_is_too_much_goes_from_who_has_most(store: steps.Store) -> None:
    """One user's runs do not push out those of another who has less, whatever times were given with them."""
    async with steps.opened(store) as log:
        told: list[TrimmedRun] = []
        log.attach(observer=LogObserver(trimmed=told.append))
        sizes = [("ann", 1000), ("bob", 3000), ("bob", 3000), ("cy", 500), ("bob", 3000)]
        for number, (user, size) in enumerate(sizes):
            run, origin = (
                log_entry.RunId(f"run-{number}"),
                log_entry.Origin(app="app", user=user, session="s"),
            )
            records: list[log_entry.Record] = [
                steps.start(run, origin),
                log_entry.AgentEvent(b"x" * size),
                steps.END,
            ]
            # From elsewhere, with a date that has not come yet.
            await log.append(run, records, times=[4e9] * 3 if user == "bob" else None)
            await log.commit(run)
        kept = sum(found.bytes for found in await log.list()) - 4000
        removed = list(await log.trim(Retention(max_age=2 * steps.LATER, max_bytes=kept), now=0))
        assert removed == ["run-1", "run-2"]
        assert [(each.run, each.origin.user, each.cause) for each in told] == [
            ("run-1", "bob", "size"),
            ("run-2", "bob", "size"),
        ]


async def only_so_many_go_for_their_age(store: steps.Store) -> None:
    """A bound holds for what is old; what is too much goes all the same."""
    async with steps.opened(store) as log:
        for number in range(4):
            run = log_entry.RunId(f"{steps.RUN}-{number}")
            await log.append(run, [steps.start(run), steps.event(1), steps.END])
            await log.commit(run)
        await log.append(steps.RUN, [steps.start()])
        await log.commit(steps.RUN)
        await log.probe()
        bounded = structs.replace(steps.EVERYTHING, max_bytes=2**40, most_aged=1)
        assert list(await log.trim(bounded, steps.LATER)) == [f"{steps.RUN}-0"]
        assert list(await log.trim(structs.replace(bounded, most_aged=0), steps.LATER)) == []
        full = Retention(max_age=2 * steps.LATER, max_bytes=0, most_aged=0)
        assert len(await log.trim(full, steps.LATER)) == 3


async def what_was_trimmed_is_gone(store: steps.Store) -> None:
    """A trimmed run answers `Gone`, cannot be appended to and cannot be started again."""
    async with steps.opened(store) as log:
        await log.append(steps.RUN, [steps.start(), steps.END])
        await log.commit(steps.RUN)
        assert list(await log.trim(steps.EVERYTHING, steps.LATER)) == [steps.RUN]
        await steps.refused(errors.Gone, steps.collect(log))
        await steps.refused(errors.Gone, steps.collect(log, steps.RUN, 1, follow=True))
        await steps.refused(errors.Gone, log.summary(steps.RUN))
        await steps.refused(errors.Gone, log.commit(steps.RUN))
        await steps.refused(errors.Gone, log.append(steps.RUN, [steps.event(1)]))
        await steps.refused(errors.Conflict, log.append(steps.RUN, [steps.start()]))
        await steps.refused(errors.NotFound, log.summary(steps.OTHER))
        assert await log.list() == []


async def trimming_leaves_no_silent_gap(store: steps.Store) -> None:
    """A reader whose run is trimmed between two batches gets all of it, or `Gone`."""
    async with steps.opened(store) as log:
        await log.append(steps.RUN, [steps.start(), *steps.events(5000), steps.END])
        await log.commit(steps.RUN)
        async with aclosing(log.read(steps.RUN)) as batches:
            seen = list(await anext(batches))
            await log.trim(steps.EVERYTHING, steps.LATER)
            try:
                async for batch in batches:
                    seen += batch
            except errors.Gone:
                pass
            else:
                assert len(seen) == 5002
        assert steps.cursors(seen) == list(range(1, len(seen) + 1))


async def deleting_a_session_takes_all_its_runs(store: steps.Store) -> None:
    """Every run of the session is removed, also an active one; followers and writers get an error."""
    async with steps.opened(store) as log:
        elsewhere = log_entry.Origin(app="app", user="user", session="other")
        ended = log_entry.RunId("run-3")
        await log.append(ended, [steps.start(ended), steps.END])
        await log.append(steps.RUN, [steps.start()])
        await log.append(steps.OTHER, [steps.start(steps.OTHER, elsewhere)])
        follower = await steps.begin(steps.collect(log, follow=True))
        await log.commit(steps.RUN)
        await log.append(steps.RUN, [steps.event(1)])
        nobody = log_entry.Origin(app="app", user="", session="")
        assert list(await log.delete(nobody)) == []
        assert list(await log.delete(steps.ORIGIN)) == [ended, steps.RUN]
        await steps.refused(errors.Gone, follower)
        await steps.refused(errors.Gone, log.append(steps.RUN, [steps.event(2)]))
        await steps.refused(errors.Gone, steps.collect(log, ended))
        await steps.refused(errors.Gone, log.summary(steps.RUN))
        assert [found.run for found in await log.list()] == [steps.OTHER]
        assert list(await log.delete(steps.ORIGIN)) == []


# --------------------------------------------------------------------------- closing, opening again


async def closing_ends_followers(store: steps.Store) -> None:
    """A log that closes commits first, ends its followers, and then takes and gives nothing."""
    async with steps.opened(store) as log:
        await log.append(steps.RUN, [steps.start()])
        follower = await steps.begin(steps.collect(log, follow=True))
        await log.commit(steps.RUN)
        await log.append(steps.RUN, [steps.event(1)])
        await log.close()
        assert steps.cursors(await steps.eventually(follower)) == [1, 2]
        await steps.refused(errors.LogError, log.append(steps.RUN, [steps.event(2)]))
        await steps.refused(errors.LogError, log.commit(steps.RUN))
        await steps.refused(errors.LogError, steps.collect(log))
        await steps.refused(errors.LogError, log.summary(steps.RUN))
        await steps.refused(errors.LogError, log.list())
        await steps.refused(errors.LogError, log.trim(steps.EVERYTHING, steps.LATER))
        await steps.refused(errors.LogError, log.delete(steps.ORIGIN))


async def a_durable_log_goes_on_where_it_was(store: steps.Store) -> None:
    """Opened again, a durable log has every entry, owner, unended run and removed name."""
    if not store.durable:
        return
    gone = log_entry.RunId("run-3")
    async with steps.opened(store) as log:
        await log.append(gone, [steps.start(gone), steps.END])
        await log.commit(gone)
        await log.trim(steps.EVERYTHING, steps.LATER)
        await log.append(steps.RUN, [steps.start(), *steps.events(3)], epoch=2)
        await log.append(steps.OTHER, [steps.start(steps.OTHER), steps.END])
        await log.commit(steps.RUN)
        before = await steps.collect(log)
        summary = await log.summary(steps.RUN)
    async with steps.opened(store) as log:
        assert [found.run for found in await log.list(unended=True)] == [steps.RUN]
        assert await log.summary(steps.RUN) == summary
        assert steps.packed(await steps.collect(log)) == steps.packed(before)
        await steps.refused(errors.Fenced, log.append(steps.RUN, [steps.event(1)], epoch=1))
        await steps.refused(errors.Gone, log.summary(gone))
        await steps.refused(errors.Conflict, log.append(steps.OTHER, [steps.event(1)]))
        follower = asyncio.create_task(steps.collect(log, steps.RUN, 2, follow=True))
        assert (await log.append(steps.RUN, [steps.END], epoch=2)).cursor == 5
        assert steps.cursors(await steps.eventually(follower)) == [3, 4, 5]
        assert [found.run for found in await log.list()] == [steps.RUN, steps.OTHER]


CHECKS: Sequence[Check] = (
    cursors_are_dense_from_one,
    every_record_comes_back_as_it_was,
    nothing_is_stored_before_it_is_redacted,
    the_redaction_of_a_run_can_add_records,
    an_observer_hears_of_writes_commits_and_followers,
    a_burst_is_kept_whole,
    what_happened_elsewhere_keeps_its_times,
    reading_goes_on_after_any_cursor,
    a_follower_sees_no_seam,
    a_follower_is_given_entries_as_they_come,
    a_reader_that_leaves_disturbs_nobody,
    plain_reading_does_not_wait,
    cursors_that_are_not_there_are_refused,
    unknown_runs_are_not_found,
    a_run_starts_once_and_ends_once,
    a_refused_append_leaves_nothing,
    of_two_starts_one_wins,
    an_old_owner_is_fenced,
    a_commit_is_what_summaries_show,
    lists_are_in_order_of_start,
    trimming_takes_whole_ended_runs,
    what_is_too_much_goes_from_who_has_most,
    only_so_many_go_for_their_age,
    what_was_trimmed_is_gone,
    trimming_leaves_no_silent_gap,
    deleting_a_session_takes_all_its_runs,
    closing_ends_followers,
    a_durable_log_goes_on_where_it_was,
)
"""Every check, in the order of the contract's promises."""
