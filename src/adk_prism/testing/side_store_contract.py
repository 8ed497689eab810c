"""The contract of a side store (`adk_prism.log.contract.SideStore`), as checks that any backend can run.

Each check takes an empty place, opens logs on it, and fails with an `AssertionError`.
"""

from __future__ import annotations

from msgspec import structs

from adk_prism.errors import Conflict, Gone, NotFound, TooLarge, UsageError
from adk_prism.log.contract import OWNER_VALUES, VALUE_BYTES, Owner
from adk_prism.log.entry import RunId
from adk_prism.testing import runlog_contract
from adk_prism.testing import runlog_steps as steps
from adk_prism.testing.runlog_contract import AWKWARD

# --------------------------------------------------------------------------- texts


async def texts_are_stored_once_per_session(store: steps.Store) -> None:
    """Equal texts of a session have one number, whichever of its runs puts them; numbers are found again."""
    elsewhere = structs.replace(steps.ORIGIN, session="another")
    long = b'"' + b"long " * 500 + b'"'
    async with steps.opened(store) as log:
        await log.append(steps.RUN, [steps.start()])
        await log.append(steps.OTHER, [steps.start(steps.OTHER)])
        await log.append(RunId("run-3"), [steps.start(RunId("run-3"), elsewhere)])
        one, two, again = await log.side.add(steps.RUN, [b'"one"', long, b'"one"'])
        assert one == again != two
        assert 0 not in (one, two)
        assert await log.side.add(steps.OTHER, [long, b'"three"', b'"one"']) != [0, 0, 0]
        assert (await log.side.add(steps.OTHER, [long, b'"one"'])) == [two, one]
        assert await log.side.get(steps.OTHER, [one, two, 10**12]) == {one: b'"one"', two: long}
        assert await log.side.get(RunId("run-3"), [one, two]) == {}
        (apart,) = await log.side.add(RunId("run-3"), [b'"one"'])
        assert apart not in (one, two)
        assert await log.side.add(steps.RUN, []) == []
        await steps.refused(NotFound, log.side.add(RunId("none"), [b"1"]))
        await steps.refused(NotFound, log.side.get(RunId("none"), [one]))
        for run in (steps.RUN, steps.OTHER, RunId("run-3")):
            await log.append(run, [steps.END])
            await log.commit(run)
    if store.durable:
        async with steps.opened(store) as log:
            assert await log.side.get(steps.RUN, [one, two]) == {one: b'"one"', two: long}


async def texts_are_redacted(store: steps.Store) -> None:
    """The attached redaction is given every text before it is stored."""
    async with steps.opened(store) as log:
        log.attach(redact=lambda _, payload: payload.replace(b"the-secret", b"[redacted]"))
        await log.append(steps.RUN, [steps.start()])
        (number,) = await log.side.add(steps.RUN, [b'"the-secret"'])
        assert await log.side.get(steps.RUN, [number]) == {number: b'"[redacted]"'}


async def texts_go_with_the_last_run_of_their_session(store: steps.Store) -> None:
    """Trimming or deleting the last run of a session removes its texts, and no number is used again."""
    async with steps.opened(store) as log:
        await log.append(steps.RUN, [steps.start()])
        await log.append(steps.OTHER, [steps.start(steps.OTHER)])
        (number,) = await log.side.add(steps.RUN, [b'"one"'])
        await log.append(steps.RUN, [steps.END])
        await log.commit(steps.RUN)
        assert (await log.summary(steps.RUN)).bytes > sum(
            len(payload) for _, payload in steps.packed(await steps.collect(log))
        )
        assert await log.trim(steps.EVERYTHING, steps.LATER) == [steps.RUN]
        await steps.refused(Gone, log.side.add(steps.RUN, [b'"one"']))
        assert await log.side.get(steps.OTHER, [number]) == {number: b'"one"'}
        await log.delete(steps.ORIGIN)
        await steps.refused(Gone, log.side.get(steps.OTHER, [number]))
        last = RunId("run-3")
        await log.append(last, [steps.start(last)])
        assert await log.side.get(last, [number]) == {}
        (new,) = await log.side.add(last, [b'"one"'])
        assert new > number


# --------------------------------------------------------------------------- values


async def the_last_value_counts(store: steps.Store) -> None:
    """A value replaces an earlier one of its owner, space and key; owners are separate; redaction applies."""
    run: Owner = steps.RUN
    async with steps.opened(store) as log:
        log.attach(redact=lambda _, payload: payload.replace(b"the-secret", b"[redacted]"))
        await log.append(steps.RUN, [steps.start()])
        first = await log.side.put(steps.RUN, "score", AWKWARD, b"1")
        await log.side.put(steps.RUN, "score", "a", b'{"of":"the-secret"}')
        await log.side.put(steps.ORIGIN, "name", "", b'"A"')
        again = await log.side.put(steps.RUN, "score", AWKWARD, b"2")
        assert again.time >= first.time > 0
        found = await log.side.list([steps.RUN, steps.ORIGIN, steps.OTHER])
        assert set(found) == {steps.RUN, steps.ORIGIN}
        assert [(n.key, n.value) for n in found[run]] == [
            ("a", b'{"of":"[redacted]"}'),
            (AWKWARD, b"2"),
        ]
        await log.side.delete(steps.RUN, "score", "a")
        await log.side.delete(steps.RUN, "score", "a")
        await log.side.delete(steps.RUN, "other", AWKWARD)
        assert await log.side.owners("name") == [steps.ORIGIN]
        assert await log.side.owners("score") == []
    if store.durable:
        async with steps.opened(store) as log:
            found = await log.side.list([steps.ORIGIN, steps.RUN])
            assert found[run] == [again]
            assert [(n.space, n.value) for n in found[steps.ORIGIN]] == [("name", b'"A"')]


async def values_are_bounded(store: steps.Store) -> None:
    """A large value, one too many, and one of a run that is not there are refused, and change nothing."""
    async with steps.opened(store) as log:
        await log.append(steps.RUN, [steps.start()])
        await steps.refused(TooLarge, log.side.put(steps.RUN, "k", "k", b"1" * (VALUE_BYTES + 1)))
        await steps.refused(UsageError, log.side.put(steps.RUN, "k", "\ud800", b"1"))
        await steps.refused(UsageError, log.side.put(steps.RUN, "k", "k" * 10_000, b"1"))
        await steps.refused(NotFound, log.side.put(steps.OTHER, "k", "k", b"1"))
        for number in range(OWNER_VALUES):
            await log.side.put(steps.RUN, "k", str(number), b"1")
        await steps.refused(Conflict, log.side.put(steps.RUN, "k", "more", b"1"))
        await log.side.put(steps.RUN, "k", "0", b"2")
        assert len((await log.side.list([steps.RUN]))[steps.RUN]) == OWNER_VALUES


async def values_go_with_their_owners(store: steps.Store) -> None:
    """Those of a run go with it, those of a session with its last run, or when it is deleted."""
    empty = structs.replace(steps.ORIGIN, session="without runs")
    async with steps.opened(store) as log:
        await log.append(steps.RUN, [steps.start()])
        await log.append(steps.OTHER, [steps.start(steps.OTHER)])
        for owner in (steps.RUN, steps.OTHER, steps.ORIGIN, empty):
            await log.side.put(owner, "k", "k", b"1")
        await log.side.put(empty, "removed", "k", b"1")
        await log.side.delete(empty, "removed", "k")
        await log.append(steps.RUN, [steps.END])
        await log.commit(steps.RUN)
        assert await log.trim(steps.EVERYTHING, steps.LATER) == [steps.RUN]
        await steps.refused(Gone, log.side.put(steps.RUN, "k", "k", b"1"))
        found = await log.side.list([steps.RUN, steps.OTHER, steps.ORIGIN, empty])
        assert found.keys() == {steps.OTHER, steps.ORIGIN, empty}
        await log.append(steps.OTHER, [steps.END])
        await log.commit(steps.OTHER)
        assert await log.trim(steps.EVERYTHING, steps.LATER) == [steps.OTHER]
        assert set(await log.side.list([steps.RUN, steps.OTHER, steps.ORIGIN, empty])) == {empty}
        assert await log.side.owners("k") == [empty]
        await log.delete(empty)
        assert await log.side.list([steps.RUN, steps.OTHER, steps.ORIGIN, empty]) == {}
        assert await log.side.owners("k") == await log.side.owners("removed") == []


CHECKS = (
    texts_are_stored_once_per_session,
    texts_are_redacted,
    texts_go_with_the_last_run_of_their_session,
    the_last_value_counts,
    values_are_bounded,
    values_go_with_their_owners,
)
"""Every check."""

LOG_CHECKS = (*runlog_contract.CHECKS, *CHECKS)
"""What a run log keeps, with its side store."""
