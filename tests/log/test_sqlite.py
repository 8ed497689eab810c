"""What a run log in a SQLite file promises beyond the contract: about the file and its failures."""

from __future__ import annotations

import asyncio
import gzip
import resource
import sqlite3
import stat
import subprocess
import sys
import threading
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from adk_prism.errors import Conflict, Fenced, Gone, LogError, LogUnavailable, NotFound
from adk_prism.features.captures.stored_runs import SqliteLogReader
from adk_prism.log import group_commit
from adk_prism.log.contract import MAX_TOMBSTONES, Retention
from adk_prism.log.entry import AgentEvent, Record, RunEnded, RunId
from adk_prism.log.sqlite import queries, store
from adk_prism.log.sqlite.file import APPLICATION_ID, MIGRATIONS, Synchronous, prepare
from adk_prism.log.sqlite.store import SqliteLog
from adk_prism.testing.runlog_steps import (
    END,
    EVERYTHING,
    LATER,
    OTHER,
    PATIENCE,
    RUN,
    begin,
    collect,
    cursors,
    event,
    events,
    eventually,
    refused,
    start,
)

STORED = Path(__file__).parent / "stored_by_0_1"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "runs.db"


@pytest.fixture
async def log(path: Path) -> AsyncIterator[SqliteLog]:
    log = SqliteLog(path)
    await log.open()
    yield log
    await log.close()


# --------------------------------------------------------------------------- crashes

CHILD = """
import asyncio, sys
from adk_prism.log.entry import AgentEvent, Origin, RunEnded, RunStarted
from adk_prism.log.sqlite.store import SqliteLog

async def follow(log, run):
    async for batch in log.read(run, follow=True):
        print(run, batch[-1].cursor, flush=True)

async def main():
    log = SqliteLog(sys.argv[1])
    await log.open()
    followers = []
    for run in ("run-1", "run-2"):
        await log.append(run, [RunStarted(run=run, origin=Origin(app="a", user="u", session="s"))])
        followers.append(asyncio.create_task(follow(log, run)))
    number = 0
    while True:
        number += 1
        for run in ("run-1", "run-2"):
            await log.append(run, [AgentEvent(b'{"n":%d}' % number)] * (number % 3 + 1))
        if number % 10 == 0:
            await asyncio.sleep(0)

asyncio.run(main())
"""


async def spawn(code: str, path: Path) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, path, stdout=PIPE, stderr=PIPE
    )


@pytest.mark.parametrize("lines", [1, 7, 40])
async def test_what_a_follower_saw_survives_kill_9(path: Path, lines: int) -> None:
    """A process killed while it appends loses nothing that anyone was shown, and no order."""
    child = await spawn(CHILD, path)
    assert child.stdout is not None
    printed = [await child.stdout.readline() for _ in range(lines)]
    child.kill()
    printed += (await child.communicate())[0].splitlines(keepends=True)
    seen: dict[str, int] = {"run-1": 0, "run-2": 0}
    for line in printed:
        if line.endswith(b"\n"):
            run, cursor = line.decode().split()
            seen[run] = int(cursor)
    assert max(seen.values()) > 0
    log = SqliteLog(path)
    await log.open()
    found = [summary.run for summary in await log.list(unended=True)]
    assert {run for run, cursor in seen.items() if cursor} <= set(found)
    for run in found:
        entries = await collect(log, run)
        assert len(entries) >= seen[run]
        assert cursors(entries) == list(range(1, len(entries) + 1))
        assert (await log.append(run, [END])).cursor == len(entries) + 1
    await log.close()


async def test_one_process_per_file(path: Path, log: SqliteLog) -> None:
    """A second log on the same file is refused, from this process and from another."""
    with pytest.raises(
        LogError,
        match=r"Another process uses the run log .*: SQLite is for one process\. Stop the other one",
    ):
        await SqliteLog(path).open()
    code = CHILD.replace("followers = []", "return")
    child = await spawn(code, path)
    assert b"LogError: Another process uses the run log" in (await child.communicate())[1]
    await log.append(RUN, [start(), END])
    await log.commit(RUN)
    await log.close()
    child = await spawn(code, path)
    assert await child.communicate() == (b"", b"")


# --------------------------------------------------------------------------- the file


async def test_file_and_folder_are_private(path: Path, log: SqliteLog) -> None:
    """A run log holds conversations: nobody else may read it."""
    await log.append(RUN, [start()])
    await log.commit(RUN)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()} == {0o600}


async def test_a_relative_path_stays_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that changes its working directory keeps its log."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    log = SqliteLog("runs.db")
    await log.open()
    monkeypatch.chdir(tmp_path / "elsewhere")
    await log.append(RUN, [start(), END])
    await log.commit(RUN)
    assert cursors(await collect(log)) == [1, 2]
    await log.close()
    assert (tmp_path / "runs.db").stat().st_size > 0


def write(path: Path, script: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path)
    connection.executescript(script)
    connection.close()


VERSION_1 = f"""
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = 1;
CREATE TABLE runs (
    number INTEGER PRIMARY KEY, run TEXT NOT NULL UNIQUE, app TEXT NOT NULL, user TEXT NOT NULL,
    session TEXT NOT NULL, invocation TEXT NOT NULL, message TEXT NOT NULL, started REAL NOT NULL,
    epoch INTEGER NOT NULL, ended REAL, outcome TEXT, cursor INTEGER NOT NULL DEFAULT 0,
    bytes INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE entries (
    run INTEGER NOT NULL, cursor INTEGER NOT NULL, time REAL NOT NULL, kind TEXT NOT NULL,
    payload BLOB NOT NULL, PRIMARY KEY (run, cursor)
) WITHOUT ROWID;
CREATE TABLE tombstones (number INTEGER PRIMARY KEY, run TEXT NOT NULL UNIQUE);
INSERT INTO runs VALUES (7, 'run-1', 'app', 'user', 'session', 'e-1', 'run-1', 5.0, 2, NULL, NULL, 0, 0);
INSERT INTO entries VALUES
    (7, 1, 5.0, 'RunStarted', CAST('{{"type":"RunStarted","run":"run-1","origin":{{"app":"app",'
        || '"user":"user","session":"session"}},"later":1}}' AS BLOB)),
    (7, 2, 6.0, 'AgentEvent', CAST('{{}}' AS BLOB));
INSERT INTO tombstones (run) VALUES ('run-2');
"""


async def test_a_file_of_version_1_is_opened(path: Path) -> None:
    """A file that the first version wrote keeps its runs, owners and tombstones."""
    write(path, VERSION_1)
    log = SqliteLog(path)
    await log.open()
    (found,) = await log.list()
    assert (found.run, found.cursor, found.epoch, found.started) == (RUN, 2, 2, 5.0)
    await refused(Fenced, log.append(RUN, [event(1)], epoch=1))
    await refused(Gone, log.summary(OTHER))
    await log.append(RUN, [END], epoch=2)
    third = RunId("run-3")
    await log.append(third, [start(third)])
    assert [entry.time for entry in await eventually(collect(log, follow=True))][:2] == [5.0, 6.0]
    assert [found.run for found in await log.list()] == [RUN, third]
    await log.close()


async def test_notes_are_read_without_the_lock(path: Path, log: SqliteLog) -> None:
    """A command reads notes beside the server that writes them."""
    await log.append(RUN, [start()])
    note = await log.side.put(RUN, "kind", "key", b"1")
    reader = SqliteLogReader(path)
    await reader.open()
    assert await reader.side.list([RUN, OTHER]) == {RUN: [note]}
    await reader.close()


async def test_a_file_of_an_older_version_is_not_read_beside_its_server(path: Path) -> None:
    """A command says what to do, and changes nothing; once the file was migrated, it reads it."""
    write(path, VERSION_1)
    before = path.read_bytes()
    with pytest.raises(LogError, match=r"older adk-prism \(schema 1; this one reads \d+\)\. Start"):
        await SqliteLogReader(path).open()
    assert path.read_bytes() == before
    log = SqliteLog(path)
    await log.open()
    await log.close()
    reader = SqliteLogReader(path)
    await reader.open()
    assert await reader.side.list([RUN]) == {}
    await reader.close()


def test_a_file_is_migrated_step_by_step(path: Path) -> None:
    """Steps that a file has not had are made, in order, and only once."""
    write(path, VERSION_1)

    def add_note(connection: sqlite3.Connection) -> None:
        connection.execute("ALTER TABLE runs ADD COLUMN note TEXT NOT NULL DEFAULT 'none'")

    def fill_note(connection: sqlite3.Connection) -> None:
        connection.execute("UPDATE runs SET note = run")

    connection = sqlite3.connect(path, isolation_level=None)
    for _ in range(2):
        prepare(connection, [*MIGRATIONS, add_note, fill_note])
        done = connection.execute("PRAGMA user_version").fetchone()
        assert done == (len(MIGRATIONS) + 2,)
        assert connection.execute("SELECT note FROM runs").fetchall() == [("run-1",)]
        connection.execute("UPDATE runs SET note = 'run-1'")
    connection.close()


def test_a_migration_that_fails_leaves_the_file_as_it_was(path: Path) -> None:
    """All steps are made or none, so that the older version can still open the file."""
    write(path, VERSION_1)

    def add_note(connection: sqlite3.Connection) -> None:
        connection.execute("ALTER TABLE runs ADD COLUMN note TEXT")

    def stumble(connection: sqlite3.Connection) -> None:
        connection.execute("SELECT * FROM nowhere")

    connection = sqlite3.connect(path, isolation_level=None)
    with pytest.raises(sqlite3.OperationalError):
        prepare(connection, [*MIGRATIONS, add_note, stumble])
    assert connection.execute("PRAGMA user_version").fetchone() == (1,)
    with pytest.raises(sqlite3.OperationalError):
        connection.execute("SELECT note FROM runs")
    connection.close()


FOREIGN = {
    "newer": (
        f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = 99; CREATE TABLE runs (x)",
        r"schema version 99; this adk-prism supports up to \d+\. Use a newer adk-prism",
    ),
    "another program's": ("CREATE TABLE sessions (x)", "database of another program"),
}


@pytest.mark.parametrize(("script", "message"), FOREIGN.values(), ids=FOREIGN)
async def test_files_that_are_not_ours_are_refused(path: Path, script: str, message: str) -> None:
    """A newer file, or somebody else's, is left alone and the lock is let go."""
    write(path, script)
    for _ in range(2):
        with pytest.raises(LogError, match=message):
            await SqliteLog(path).open()
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT count(*) FROM sqlite_schema").fetchone() == (1,)
    connection.close()


async def test_what_cannot_be_opened_is_said_without_a_path(path: Path) -> None:
    """Garbage, a folder, a folder that is a file: `LogError`, and no path in it."""
    path.parent.mkdir()
    path.write_bytes(b"not a database, " * 100)
    folder, below = path.parent / "folder", path / "runs.db"
    folder.mkdir()
    for bad in (path, folder, below):
        with pytest.raises(LogError, match="cannot be opened") as caught:
            await SqliteLog(bad).open()
        assert str(path.parent) not in caught.value.detail


# --------------------------------------------------------------------------- failures of the store


@contextmanager
def full_disk(path: Path) -> Iterator[None]:
    """Let no file of this process grow: the kernel refuses, as a full disk does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    size = max(file.stat().st_size for file in path.parent.iterdir())
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


LARGE = AgentEvent(b"x" * 200_000)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log that cannot be written is unavailable soon."""
    monkeypatch.setattr(group_commit, "PATIENCE", 0.3)
    monkeypatch.setattr(group_commit, "LAST_PATIENCE", 0.3)


@pytest.mark.usefixtures("impatient")
async def test_a_full_disk_is_told_to_everyone(path: Path, log: SqliteLog) -> None:
    """Entries that are not stored are shown to nobody and not lost; meanwhile runs take their end only."""
    await log.append(RUN, [start()])
    await log.append(OTHER, [start(OTHER)])
    await log.commit(OTHER)
    follower = await begin(collect(log, follow=True))
    seen = log.read(RUN, follow=True)
    await anext(seen)
    with full_disk(path):
        await log.append(RUN, [LARGE])
        await refused(LogUnavailable, log.commit(RUN))
        await refused(LogUnavailable, log.append(RUN, [event(1)]))
        await refused(LogUnavailable, log.append(OTHER, [event(1)]))
        await refused(LogUnavailable, follower)
        await refused(LogUnavailable, anext(seen))
        await refused(LogUnavailable, log.commit(RUN))
        assert (await log.append(RUN, [RunEnded(outcome="failed", code="any")])).cursor == 3
        await refused(LogUnavailable, log.commit(RUN))
        assert cursors(await collect(log)) == [1]
    assert await eventually(stored(log)) == [start(), LARGE, RunEnded(outcome="failed", code="any")]
    await log.append(OTHER, [event(1), END])
    assert cursors(await eventually(collect(log, OTHER, follow=True))) == [1, 2, 3]


async def stored(log: SqliteLog, run: RunId = RUN) -> list[Record]:
    """Return a run's records once its end is stored; the log may be unavailable until then."""
    while (await log.summary(run)).outcome is None:  # noqa: ASYNC110 - no follower may wait for it
        await asyncio.sleep(0.05)
    return [entry.record for entry in await collect(log, run)]


async def test_a_locked_file_is_waited_for(path: Path, log: SqliteLog) -> None:
    """As long as a backup takes: everybody waits, reads go on, and nothing fails."""
    await log.append(RUN, [start()])
    await log.commit(RUN)
    follower = await begin(collect(log, follow=True))
    with closing(sqlite3.connect(path, isolation_level=None)) as backup:
        backup.execute("BEGIN EXCLUSIVE")
        for number in range(3):
            await log.append(RUN, [event(number)])
            noting = await begin(log.side.put(start().origin, "kind", str(number), b"1"))
            assert cursors(await collect(log)) == [1]
            assert not noting.done()
        backup.execute("ROLLBACK")
    await log.append(RUN, [END])
    assert cursors(await eventually(follower)) == [1, 2, 3, 4, 5]
    await eventually(noting)


@pytest.mark.usefixtures("impatient")
async def test_a_start_that_comes_too_late_is_ended(
    path: Path, log: SqliteLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was stored after its writer had been told that it was not: there is no run that nobody drives."""
    reached, goes_on = threading.Event(), threading.Event()
    insert = queries.insert_entries

    def slowly(*given: Any) -> None:
        reached.set()
        goes_on.wait()
        insert(*given)

    monkeypatch.setattr(store, "QUICK_BYTES", 0)
    monkeypatch.setattr(queries, "insert_entries", slowly)
    await log.append(RUN, [start()])
    await refused(LogUnavailable, log.commit(RUN))
    assert reached.is_set()
    await log.leave(RUN)
    goes_on.set()
    ended = RunEnded(outcome="failed", code="log_unavailable")
    while not await log.list():  # noqa: ASYNC110 - nobody is told when it is there
        await asyncio.sleep(0.01)
    assert await eventually(stored(log)) == [start(), ended]


@pytest.mark.usefixtures("impatient")
async def test_a_start_that_was_not_stored_is_told(path: Path, log: SqliteLog) -> None:
    """Its run is nowhere once its writer has given up."""
    await log.append(OTHER, [start(OTHER)])
    await log.commit(OTHER)
    with full_disk(path):
        await log.append(RUN, [start(), LARGE])
        await refused(LogUnavailable, log.commit(RUN))
        await refused(LogUnavailable, collect(log, follow=True))
        await refused(LogUnavailable, log.append(RUN, [event(1)]))
        await log.leave(RUN)
        await refused(NotFound, log.summary(RUN))
    await log.append(OTHER, [END])
    await eventually(stored(log, OTHER))
    assert [found.run for found in await log.list()] == [OTHER]


@pytest.mark.usefixtures("impatient")
async def test_a_start_that_was_not_stored_can_be_tried_again(path: Path, log: SqliteLog) -> None:
    """Once its writer has given up, nothing is left of it."""
    await log.append(OTHER, [start(OTHER)])
    await log.commit(OTHER)
    with full_disk(path):
        await log.append(RUN, [start(), LARGE])
        await refused(LogError, log.commit(RUN))
        await log.leave(RUN)
        await refused(NotFound, log.summary(RUN))
    await eventually(available(log))
    await log.append(RUN, [start(), END])
    await log.commit(RUN)
    assert cursors(await collect(log)) == [1, 2]
    await log.leave(OTHER)  # which nobody else could continue
    await log.append(OTHER, [END])
    await log.commit(OTHER)


async def available(log: SqliteLog) -> None:
    """Wait until a log is."""
    while True:
        try:
            await log.append(OTHER, [event(1)])
        except LogUnavailable:
            await asyncio.sleep(0.05)
        else:
            return


async def test_one_bad_run_does_not_break_the_others(path: Path, log: SqliteLog) -> None:
    """What is wrong with one run of a group is that run's trouble alone."""
    third = RunId("run-3")
    for run in (RUN, OTHER, third):
        await log.append(run, [start(run)])
        await log.commit(run)
    # One turn of the loop, so one group: a number too large for SQLite in the midst of it.
    await log.append(RUN, [event(1)])
    await log.append(OTHER, [event(1)], epoch=2**70)
    await log.append(third, [event(1)])
    await log.append(OTHER, [event(2)], epoch=2**70)
    await log.append(RUN, [END])
    await refused(LogError, log.commit(OTHER))
    assert cursors(await eventually(collect(log, follow=True))) == [1, 2, 3]
    summaries = {found.run: found.cursor for found in await log.list()}
    assert summaries == {RUN: 3, OTHER: 1, third: 2}


@pytest.mark.usefixtures("impatient")
async def test_closing_tells_what_could_not_be_stored(path: Path, log: SqliteLog) -> None:
    """The last appends are not lost silently either, and the file is let go all the same."""
    await log.append(RUN, [start()])
    await log.commit(RUN)
    with full_disk(path):
        await log.append(RUN, [LARGE])
        await refused(LogError, log.close())
    again = SqliteLog(path)
    await again.open()
    assert cursors(await collect(again)) == [1]
    await again.close()


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("replaced", [False, True])
async def test_a_file_that_is_taken_away_is_noticed(
    path: Path, log: SqliteLog, replaced: bool
) -> None:
    """SQLite goes on writing to a removed file; nobody would ever find those entries."""
    await log.append(RUN, [start()])
    await log.commit(RUN)
    path.rename(path.with_suffix(".old"))
    if replaced:
        path.touch()
    await log.append(RUN, [event(1)])
    await refused(LogError, log.commit(RUN))
    await refused(LogError, log.append(RUN, [event(2)]))
    await refused(LogError, log.list())
    await refused(LogError, log.trim(EVERYTHING, LATER))
    await refused(LogError, log.close())


@pytest.mark.parametrize("synchronous", ["normal", "full"])
async def test_nobody_waits_for_a_writer_that_is_dead(
    path: Path, synchronous: Synchronous, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A defect that ends the writer, in the loop or in its thread, is reported, and everybody is told."""
    reports: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, report: reports.append(report))
    log = SqliteLog(path, synchronous=synchronous)
    await log.open()
    await log.append(RUN, [start()])
    await log.append(OTHER, [start(OTHER), END])
    await log.commit(RUN)
    await log.commit(OTHER)
    follower = await begin(collect(log, RUN, 1, follow=True))

    def fail(*_: object) -> None:
        raise TypeError("a defect")

    monkeypatch.setattr(queries, "insert_entries", fail)
    await log.append(RUN, [event(1)])
    await refused(LogError, log.commit(RUN))
    await refused(LogError, follower)
    await refused(LogError, log.trim(EVERYTHING, LATER))
    await refused(LogError, log.append(RUN, [event(1)]))
    await refused(LogError, collect(log, RUN, 1, follow=True))
    assert [type(report["exception"]) for report in reports] == [TypeError]
    await log.close()


async def test_a_damaged_entry_is_a_log_error(path: Path, log: SqliteLog) -> None:
    """What is in the file and cannot be read is the store's fault, and is said."""
    await log.append(RUN, [start(), event(1), END])
    await log.commit(RUN)
    write(path, "UPDATE entries SET payload = x'00', kind = 'RunEnded' WHERE cursor = 2")
    with pytest.raises(LogError, match="damaged"):
        await collect(log)


async def test_the_file_fences_too(path: Path, log: SqliteLog) -> None:
    """An owner that the file knows to be old cannot end a run, whatever memory says."""
    await log.append(RUN, [start()])
    await log.commit(RUN)
    write(path, "UPDATE runs SET epoch = 5")
    await log.append(RUN, [END], epoch=4)
    await refused(LogError, log.commit(RUN))
    assert cursors(await collect(log, follow=False)) == [1]


async def test_a_trimmed_log_gives_its_room_back(path: Path, log: SqliteLog) -> None:
    """The file shrinks with what is removed, and with it the journal; what is kept stays readable."""
    for number in range(20):
        run = RunId(f"run-{number}")
        await log.append(run, [start(run), *([AgentEvent(b"x" * 50_000)] * 10), END])
        await log.commit(run)
    await log.close()  # Writes the journal back.
    full = path.stat().st_size
    assert full > 10_000_000
    await log.open()
    removed = await log.trim(Retention(max_bytes=1_000_000), LATER)
    await log.close()
    assert len(removed) >= 18
    assert path.stat().st_size < full / 5
    await log.open()
    assert [len(await collect(log, each.run)) for each in await log.list()] == [12] * (
        20 - len(removed)
    )


# --------------------------------------------------------------------------- readers


async def test_a_follower_behind_the_tail_catches_up(path: Path) -> None:
    """One that is slower than memory holds reads the file, and misses and repeats nothing."""
    log = SqliteLog(path)
    log.tail_bytes = 10_000
    await log.open()
    await log.append(RUN, [start()])
    async with aclosing(log.read(RUN, follow=True)) as batches:
        seen = list(await anext(batches))
        for round_ in range(20):
            for number in range(300):
                await log.append(RUN, [event(number)])
            if round_ % 4 == 0:
                await log.commit(RUN)
                seen += await asyncio.wait_for(anext(batches), PATIENCE)
        await log.append(RUN, [END])
        async for batch in batches:
            seen += batch
    assert cursors(seen) == list(range(1, 6003))
    await log.close()


async def test_large_events_come_in_small_batches(log: SqliteLog) -> None:
    """A batch from the file is bounded in bytes, not only in number."""
    await log.append(RUN, [start(), *([AgentEvent(b"x" * 400_000)] * 20), END])
    await log.commit(RUN)
    async with aclosing(log.read(RUN)) as batches:
        sizes = [len(batch) async for batch in batches]
    assert sum(sizes) == 22
    assert max(sizes) <= 5


async def test_an_append_waits_when_too_much_waits(log: SqliteLog) -> None:
    """Many large events do not gather in memory: the writer's pace becomes the caller's."""
    await log.append(RUN, [start()])
    megabyte = AgentEvent(b"x" * 1_000_000)
    taken = [1]
    task = asyncio.create_task(_append_all(log, [megabyte] * 30, taken))
    while not task.done():
        # What was taken and is not committed is what memory holds: here, entries of a megabyte.
        assert taken[0] - (await log.summary(RUN)).cursor < 20
        await asyncio.sleep(0)
    await log.commit(RUN)
    assert (await log.summary(RUN)).cursor == 31


async def _append_all(log: SqliteLog, records: list[AgentEvent], taken: list[int]) -> None:
    for record in records:
        receipt = await log.append(RUN, [record])
        taken[0] = receipt.cursor


async def test_a_log_that_closes_lets_a_waiting_reader_of_the_file_go(path: Path) -> None:
    """A follower that still reads the past ends; a plain reader is told that it is incomplete."""
    log = SqliteLog(path)
    await log.open()
    await log.append(RUN, [start(), *events(2000), END])
    await log.commit(RUN)
    follower, reader = log.read(RUN, follow=True), log.read(RUN)
    await anext(follower)
    await anext(reader)
    await log.close()
    assert [batch async for batch in follower] == []
    await refused(LogError, anext(reader))


async def test_tombstones_are_bounded(path: Path, log: SqliteLog) -> None:
    """Names of removed runs are remembered, the oldest not for ever."""
    await log.append(RUN, [start(), END])
    await log.commit(RUN)
    await log.trim(EVERYTHING, LATER)
    write(path, f"INSERT INTO tombstones VALUES ({MAX_TOMBSTONES + 5}, 'later')")
    await log.append(OTHER, [start(OTHER), END])
    await log.commit(OTHER)
    await log.trim(EVERYTHING, LATER)
    await refused(NotFound, log.summary(RUN))
    await refused(Gone, log.summary(OTHER))


async def test_full_synchronisation_can_be_chosen(path: Path) -> None:
    """Each group then waits for the disk."""
    log = SqliteLog(path, synchronous="full")
    await log.open()
    await log.append(RUN, [start(), END])
    await log.commit(RUN)
    assert cursors(await collect(log)) == [1, 2]
    await log.close()


async def test_a_log_can_be_opened_again_but_not_twice(path: Path) -> None:
    """Opening an open log is refused; a closed one goes on where it was."""
    log = SqliteLog(path)
    await refused(LogError, log.append(RUN, [start()]))
    await log.open()
    await refused(LogError, log.open())
    await log.append(RUN, [start()])
    await log.close()
    await log.close()
    await log.open()
    await refused(Conflict, log.append(RUN, [start()]))
    await log.append(RUN, [END])
    await log.close()


async def test_a_cancelled_commit_or_append_breaks_nothing(log: SqliteLog) -> None:
    """Whoever stops waiting takes nothing along."""
    await log.append(RUN, [start()])
    waiting = [asyncio.create_task(log.commit(RUN)) for _ in range(3)]
    await asyncio.sleep(0)
    waiting[1].cancel()
    await asyncio.wait(waiting)
    await log.append(RUN, [event(1), END])
    assert cursors(await eventually(collect(log, follow=True))) == [1, 2, 3]


_KILLED_WHILE_MIGRATING = """
import os, sqlite3, sys
from pathlib import Path
from adk_prism.log.sqlite import file

steps = int(sys.argv[2])
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
seen = 0

def count():
    global seen
    seen += 1
    if seen >= steps:
        os.kill(os.getpid(), 9)

connection.set_progress_handler(count, 1)
file.prepare(connection, copy=Path(sys.argv[1] + ".before"))
connection.close()
"""


@pytest.mark.parametrize("steps", [100, 3_000, 5_800, 7_000, 8_500, 9_600, 9_612])
def test_a_process_that_dies_while_it_migrates_changes_nothing(path: Path, steps: int) -> None:
    """Killed anywhere, the file is as it was or migrated, with every run; the next start migrates it."""
    path.parent.mkdir()
    path.write_bytes(gzip.decompress((STORED / "runs.db.gz").read_bytes()))

    def content() -> tuple[int, int, int]:
        connection = sqlite3.connect(path)
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        table = "side_values" if version == len(MIGRATIONS) else "notes"
        counts = [
            connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0]
            for name in ("runs", "entries", table)
        ]
        connection.close()
        assert version in (4, len(MIGRATIONS))
        return counts[0], counts[1], counts[2]

    before = content()
    died = subprocess.run(
        [sys.executable, "-c", _KILLED_WHILE_MIGRATING, str(path), str(steps)], check=False
    )
    assert died.returncode in (0, -9)
    assert content() == before
    connection = sqlite3.connect(path, isolation_level=None)
    prepare(connection, copy=Path(f"{path}.before"))
    connection.close()
    assert content() == before


async def test_a_migrated_file_leaves_a_copy(path: Path) -> None:
    """The older version opens the copy; it is private, and made once."""
    path.parent.mkdir()
    path.write_bytes(gzip.decompress((STORED / "runs.db.gz").read_bytes()))
    copy = Path(f"{path}.before-{len(MIGRATIONS)}")
    for _ in range(2):
        log = SqliteLog(path)
        await log.open()
        await log.close()
        connection = sqlite3.connect(copy)
        assert connection.execute("PRAGMA user_version").fetchone() == (4,)
        assert connection.execute("SELECT count(*) FROM notes").fetchone()[0] > 0
        connection.close()
        assert copy.stat().st_mode & 0o077 == 0
        written = copy.stat().st_mtime_ns
    assert copy.stat().st_mtime_ns == written
