"""A session from memory is the session from storage, whoever wrote to it last."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.sessions.base_session_service import BaseSessionService, GetSessionConfig
from google.adk.sessions.database_session_service import DatabaseSessionService
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.session import Session
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.genai import types
from tests.postgres_server import PostgresServer

from adk_prism.adk.session_store import storage_of, store_over
from adk_prism.features.long_sessions.prefix import AfterPrefix, prefix_of
from adk_prism.features.long_sessions.session_cache import (
    SHORTEST,
    SessionCache,
    event_size,
)

WHO = {"app_name": "app", "user_id": "user"}
LENGTH = SHORTEST + 10


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    server = PostgresServer()
    yield server
    server.close()


_SERVICES: dict[str, Callable[[Path], BaseSessionService]] = {
    "memory": lambda folder: InMemorySessionService(),
    "sqlite": lambda folder: SqliteSessionService(str(folder / "sessions.db")),
    "database": lambda folder: DatabaseSessionService(f"sqlite+aiosqlite:///{folder}/sql.db"),
}


class _Counting(SessionCache):
    """Counts how often a whole session was read."""

    whole = 0

    async def _read(self, key: Any, config: GetSessionConfig | None) -> Session | None:
        self.whole += config is None
        return await super()._read(key, config)


@pytest.fixture(params=[*_SERVICES, "postgres"])
async def storage(
    request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[BaseSessionService]:
    if request.param == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres")
        service: BaseSessionService = DatabaseSessionService(server.uri)
        await service.delete_session(**WHO, session_id="s")
    else:
        service = _SERVICES[request.param](tmp_path)
    yield service
    await SessionCache(service).close()


def _event(number: int, **fields: Any) -> Event:
    delta = {"count": number, "user:seen": number, "temp:gone": 1} if number % 7 == 0 else {}
    given: dict[str, Any] = {
        "author": "agent" if number % 2 else "user",
        "invocation_id": f"inv-{number // 4}",
        "content": types.Content(
            role="model" if number % 2 else "user", parts=[types.Part(text=f"Number {number} é😀")]
        ),
        "actions": EventActions(state_delta=delta),
        "timestamp": 1750000000.123456 + number,
    }
    return Event(**(given | fields))


async def _filled(service: BaseSessionService, count: int = LENGTH) -> Session:
    session = await service.create_session(**WHO, session_id="s", state={"began": True})
    for number in range(count):
        await service.append_event(session, _event(number))
    return session


async def _get(service: BaseSessionService) -> Session:
    session = await service.get_session(**WHO, session_id="s")
    assert session is not None
    return session


async def _same(hot: BaseSessionService, storage: BaseSessionService) -> None:
    ours, theirs = await _get(hot), await _get(storage)
    assert ours == theirs
    assert ours._storage_update_marker == theirs._storage_update_marker


async def test_turn_by_turn_it_is_the_stored_session(storage: BaseSessionService) -> None:
    """And the whole of it is read once."""
    await _filled(storage)
    hot = _Counting(storage)
    for turn in range(5):
        session = await _get(hot)
        for number in range(3):
            await hot.append_event(session, _event(LENGTH + 3 * turn + number))
        await _same(hot, storage)
    assert hot.whole == 1


async def test_processes_that_take_turns(storage: BaseSessionService) -> None:
    """Each sees what the others wrote, and reads only that."""
    await _filled(storage)
    services = [_Counting(storage) for _ in range(3)]
    for turn in range(9):
        hot = services[turn % 3]
        session = await _get(hot)
        for number in range(2):
            await hot.append_event(session, _event(LENGTH + 2 * turn + number))
        if turn == 5:  # Some miss more than one turn.
            for service in services:
                await _same(service, storage)
    for service in services:
        await _same(service, storage)
    assert [service.whole for service in services] == [1, 1, 1]


async def test_an_event_that_was_put_among_the_old_ones(storage: BaseSessionService) -> None:
    """Somebody's clock was behind: what is kept is not the session any more."""
    await _filled(storage)
    hot = _Counting(storage)
    await _get(hot)
    session = await _get(storage)
    early = _event(10, timestamp=_event(10).timestamp + 0.5)
    if isinstance(storage, InMemorySessionService):  # It orders as events come.
        early = _event(LENGTH)
    await storage.append_event(session, early)
    await storage.append_event(session, _event(LENGTH + 1))
    await _same(hot, storage)


async def test_state_of_other_sessions_is_seen(storage: BaseSessionService) -> None:
    """A `user:` key that another session wrote is there in the next turn."""
    await _filled(storage)
    hot = _Counting(storage)
    await _get(hot)
    other = await hot.create_session(**WHO)
    written = EventActions(state_delta={"user:name": "Ada"})
    await hot.append_event(other, _event(1, actions=written))
    assert (await _get(hot)).state["user:name"] == "Ada"
    await _same(hot, storage)


async def test_what_a_turn_does_to_its_session_stays_there(storage: BaseSessionService) -> None:
    """State, list and object belong to the turn."""
    await _filled(storage)
    hot = _Counting(storage)
    session = await _get(hot)
    session.state["began"] = "changed"
    session.state["temp:x"] = 1
    session.events.append(_event(999))
    session.events.pop(0)
    await _same(hot, storage)


async def test_events_out_of_order_are_read_in_the_services_order(
    storage: BaseSessionService,
) -> None:
    """A clock that went back, and two events of one moment."""
    await _filled(storage)
    hot = _Counting(storage)
    session = await _get(hot)
    for number in (LENGTH + 1, LENGTH, LENGTH, 3):
        try:
            await hot.append_event(session, _event(number))
        except Exception:  # Some services refuse a session that is older than their storage.
            session = await _get(storage)
        await _same(hot, storage)


async def test_a_failed_append_is_forgotten(storage: BaseSessionService) -> None:
    """What is stored then is read from storage."""
    await _filled(storage)
    hot = _Counting(storage)
    session = await _get(hot)
    stale = await _get(storage)
    await storage.append_event(session, _event(LENGTH))
    if not isinstance(storage, InMemorySessionService):  # It has no revisions.
        with pytest.raises(Exception, match=r"stale|modified|earlier"):
            await hot.append_event(stale, _event(LENGTH + 1))
    await _same(hot, storage)


async def test_a_deleted_session_is_gone(storage: BaseSessionService) -> None:
    """Whoever deleted it."""
    await _filled(storage)
    hot = _Counting(storage)
    await _get(hot)
    await storage.delete_session(**WHO, session_id="s")
    assert await hot.get_session(**WHO, session_id="s") is None
    await _filled(storage)
    await _same(hot, storage)
    await hot.delete_session(**WHO, session_id="s")
    assert await hot.get_session(**WHO, session_id="s") is None


async def test_short_sessions_and_parts_are_simply_read(storage: BaseSessionService) -> None:
    """A config goes to the service as it is."""
    await _filled(storage, count=3)
    hot = _Counting(storage)
    for _ in range(2):
        await _same(hot, storage)
    assert hot.whole == 2
    part = await hot.get_session(
        **WHO, session_id="s", config=GetSessionConfig(num_recent_events=2)
    )
    assert part is not None
    assert len(part.events) == 2


async def test_what_is_kept_is_bounded() -> None:
    """The session used longest ago goes first, and one that is too large is not kept at all."""
    storage = InMemorySessionService()
    for name in "abc":
        session = await storage.create_session(**WHO, session_id=name)
        for number in range(LENGTH):
            await storage.append_event(session, _event(number))
    one = sum(map(event_size, session.events))
    hot = _Counting(storage, most_bytes=2 * one + 100)
    for name in "abc":
        await hot.get_session(**WHO, session_id=name)
    for name, reads in (("c", 3), ("b", 3), ("a", 4)):
        await hot.get_session(**WHO, session_id=name)
        assert hot.whole == reads
    small = _Counting(storage, most_bytes=one - 1)
    for reads in (1, 2):
        await small.get_session(**WHO, session_id="a")
        assert small.whole == reads


async def test_what_is_kept_grows_with_what_is_in_it() -> None:
    """Texts, data, arguments, answers and state are counted, however they are nested."""
    large = "x" * 1_000_000
    parts = [
        types.Part(text=large),
        types.Part(inline_data=types.Blob(data=large.encode(), mime_type="image/png")),
        types.Part(function_call=types.FunctionCall(name="f", args={"a": [{"b": large}]})),
        types.Part(function_response=types.FunctionResponse(name="f", response={"a": large})),
        types.Part(executable_code=types.ExecutableCode(code=large)),
        types.Part(code_execution_result=types.CodeExecutionResult(output=large)),
    ]
    for part in parts:
        assert event_size(_event(1, content=types.Content(role="user", parts=[part]))) > len(large)
    assert event_size(_event(1, actions=EventActions(state_delta={"a": {"b": large}}))) > len(large)
    assert event_size(_event(1, custom_metadata={"a": large})) > len(large)
    assert event_size(_event(1)) < 10_000


async def test_a_short_session(storage: BaseSessionService) -> None:
    """The mark stands for the events before the cut, and an event that is tied to them brings them back."""
    await _filled(storage)
    hot = SessionCache(storage)
    after = AfterPrefix(speakers=frozenset(["agent"]))
    session = await hot.get_session(**WHO, session_id="s", config=after)
    assert session is not None
    taken = prefix_of(session)
    assert taken is not None
    whole = (await _get(storage)).events
    assert len(session.events) < len(whole)
    assert [*taken.events, *session.events[1:]] == whole
    await hot.append_event(session, _event(LENGTH))
    assert prefix_of(session) is taken
    await hot.append_event(session, _event(LENGTH + 1, invocation_id="inv-0"))
    assert prefix_of(session) is None
    assert [event.id for event in session.events] == [e.id for e in (await _get(storage)).events]
    await _same(hot, storage)


def test_only_known_services_get_a_store() -> None:
    """A service of somebody's own may order and count as it likes."""

    class Own(InMemorySessionService):
        pass

    own, known = Own(), InMemorySessionService()
    assert store_over(own) is own
    assert storage_of(store_over(known)) is known
    assert storage_of(own) is own
