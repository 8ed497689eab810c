"""The contract of a side store (`adk_prism.log.contract.SideStore`), as checks that any backend can run.

Each check takes an empty place, opens logs on it, and fails with an `AssertionError`.
"""

from __future__ import annotations

from msgspec import structs

from adk_prism.errors import Conflict, Gone, NotFound, TooLarge, UsageError
from adk_prism.log.contract import OWNER_VALUES, VALUE_BYTES, Owner
from adk_prism.log.entry import RunId
from adk_prism.testing.runlog_contract import AWKWARD
from adk_prism.testing.runlog_steps import (
    END,
    EVERYTHING,
    LATER,
    ORIGIN,
    OTHER,
    RUN,
    Store,
    collect,
    opened,
    packed,
    refused,
    start,
)

# --------------------------------------------------------------------------- texts


async def texts_are_stored_once_per_session(store: Store) -> None:
    """Equal texts of a session have one number, whichever of its runs puts them; numbers are found again."""
    elsewhere = structs.replace(ORIGIN, session="another")
    long = b'"' + b"long " * 500 + b'"'
    async with opened(store) as log:
        await log.append(RUN, [start()])
        await log.append(OTHER, [start(OTHER)])
        await log.append(RunId("run-3"), [start(RunId("run-3"), elsewhere)])
        one, two, again = await log.side.add(RUN, [b'"one"', long, b'"one"'])
        assert one == again != two
        assert 0 not in (one, two)
        assert await log.side.add(OTHER, [long, b'"three"', b'"one"']) != [0, 0, 0]
        assert (await log.side.add(OTHER, [long, b'"one"'])) == [two, one]
        assert await log.side.get(OTHER, [one, two, 10**12]) == {one: b'"one"', two: long}
        assert await log.side.get(RunId("run-3"), [one, two]) == {}
        (apart,) = await log.side.add(RunId("run-3"), [b'"one"'])
        assert apart not in (one, two)
        assert await log.side.add(RUN, []) == []
        await refused(NotFound, log.side.add(RunId("none"), [b"1"]))
        await refused(NotFound, log.side.get(RunId("none"), [one]))
        for run in (RUN, OTHER, RunId("run-3")):
            await log.append(run, [END])
            await log.commit(run)
    if store.durable:
        async with opened(store) as log:
            assert await log.side.get(RUN, [one, two]) == {one: b'"one"', two: long}


async def texts_are_redacted(store: Store) -> None:
    """The attached redaction is given every text before it is stored."""
    async with opened(store) as log:
        log.attach(redact=lambda _, payload: payload.replace(b"the-secret", b"[redacted]"))
        await log.append(RUN, [start()])
        (number,) = await log.side.add(RUN, [b'"the-secret"'])
        assert await log.side.get(RUN, [number]) == {number: b'"[redacted]"'}


async def texts_go_with_the_last_run_of_their_session(store: Store) -> None:
    """Trimming or deleting the last run of a session removes its texts, and no number is used again."""
    async with opened(store) as log:
        await log.append(RUN, [start()])
        await log.append(OTHER, [start(OTHER)])
        (number,) = await log.side.add(RUN, [b'"one"'])
        await log.append(RUN, [END])
        await log.commit(RUN)
        assert (await log.summary(RUN)).bytes > sum(
            len(payload) for _, payload in packed(await collect(log))
        )
        assert await log.trim(EVERYTHING, LATER) == [RUN]
        await refused(Gone, log.side.add(RUN, [b'"one"']))
        assert await log.side.get(OTHER, [number]) == {number: b'"one"'}
        await log.delete(ORIGIN)
        await refused(Gone, log.side.get(OTHER, [number]))
        last = RunId("run-3")
        await log.append(last, [start(last)])
        assert await log.side.get(last, [number]) == {}
        (new,) = await log.side.add(last, [b'"one"'])
        assert new > number


# --------------------------------------------------------------------------- values


async def the_last_value_counts(store: Store) -> None:
    """A value replaces an earlier one of its owner, space and key; owners are separate; redaction applies."""
    run: Owner = RUN
    async with opened(store) as log:
        log.attach(redact=lambda _, payload: payload.replace(b"the-secret", b"[redacted]"))
        await log.append(RUN, [start()])
        first = await log.side.put(RUN, "score", AWKWARD, b"1")
        await log.side.put(RUN, "score", "a", b'{"of":"the-secret"}')
        await log.side.put(ORIGIN, "name", "", b'"A"')
        again = await log.side.put(RUN, "score", AWKWARD, b"2")
        assert again.time >= first.time > 0
        found = await log.side.list([RUN, ORIGIN, OTHER])
        assert set(found) == {RUN, ORIGIN}
        assert [(n.key, n.value) for n in found[run]] == [
            ("a", b'{"of":"[redacted]"}'),
            (AWKWARD, b"2"),
        ]
        await log.side.delete(RUN, "score", "a")
        await log.side.delete(RUN, "score", "a")
        await log.side.delete(RUN, "other", AWKWARD)
        assert await log.side.owners("name") == [ORIGIN]
        assert await log.side.owners("score") == []
    if store.durable:
        async with opened(store) as log:
            found = await log.side.list([ORIGIN, RUN])
            assert found[run] == [again]
            assert [(n.space, n.value) for n in found[ORIGIN]] == [("name", b'"A"')]


async def values_are_bounded(store: Store) -> None:
    """A large value, one too many, and one of a run that is not there are refused, and change nothing."""
    async with opened(store) as log:
        await log.append(RUN, [start()])
        await refused(TooLarge, log.side.put(RUN, "k", "k", b"1" * (VALUE_BYTES + 1)))
        await refused(UsageError, log.side.put(RUN, "k", "\ud800", b"1"))
        await refused(UsageError, log.side.put(RUN, "k", "k" * 10_000, b"1"))
        await refused(NotFound, log.side.put(OTHER, "k", "k", b"1"))
        for number in range(OWNER_VALUES):
            await log.side.put(RUN, "k", str(number), b"1")
        await refused(Conflict, log.side.put(RUN, "k", "more", b"1"))
        await log.side.put(RUN, "k", "0", b"2")
        assert len((await log.side.list([RUN]))[RUN]) == OWNER_VALUES


async def values_go_with_their_owners(store: Store) -> None:
    """Those of a run go with it, those of a session with its last run, or when it is deleted."""
    empty = structs.replace(ORIGIN, session="without runs")
    async with opened(store) as log:
        await log.append(RUN, [start()])
        await log.append(OTHER, [start(OTHER)])
        for owner in (RUN, OTHER, ORIGIN, empty):
            await log.side.put(owner, "k", "k", b"1")
        await log.side.put(empty, "removed", "k", b"1")
        await log.side.delete(empty, "removed", "k")
        await log.append(RUN, [END])
        await log.commit(RUN)
        assert await log.trim(EVERYTHING, LATER) == [RUN]
        await refused(Gone, log.side.put(RUN, "k", "k", b"1"))
        assert set(await log.side.list([RUN, OTHER, ORIGIN, empty])) == {OTHER, ORIGIN, empty}
        await log.append(OTHER, [END])
        await log.commit(OTHER)
        assert await log.trim(EVERYTHING, LATER) == [OTHER]
        assert set(await log.side.list([RUN, OTHER, ORIGIN, empty])) == {empty}
        assert await log.side.owners("k") == [empty]
        await log.delete(empty)
        assert await log.side.list([RUN, OTHER, ORIGIN, empty]) == {}
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
