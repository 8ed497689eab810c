"""Notes in Redis: one hash for each run or session that has some.

Sessions are also in a set for each kind. It keeps those whose last note was removed, because another process
may add one at that moment. When a session is removed, every set forgets it; the kinds are in a set too.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import msgspec
from msgspec import Raw
from redis.asyncio import Redis

from adk_prism.runlog.entry import Origin
from adk_prism.runlog.notes import (
    OWNER_NOTES,
    Note,
    NoteOwner,
    by_kind_and_key,
    owner_name,
    session_named,
    too_many,
)
from adk_prism.runlog.redis.keys import Keys
from adk_prism.runlog.redis.scripts import PUT_NOTE, Script
from adk_prism.runlog.redis.writer import log_errors
from adk_prism.runlog.run_state import trimmed

_decode_field = msgspec.json.Decoder(tuple[str, str]).decode
_decode_value = msgspec.json.Decoder(tuple[float, Raw]).decode
_encode = msgspec.json.encode


class RedisNotes:
    """Reads and writes notes. Raises `LogError`."""

    def __init__(self, redis: Redis, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys
        self._put = Script(PUT_NOTE)

    async def ready(self) -> None:
        """Load the script; raise redis-py's own errors."""
        await self._put.ready(self._redis)

    async def put(self, owner: NoteOwner, note: Note) -> None:
        """Store a note. Raise `Gone` or `Conflict`."""
        field, value = _encode((note.kind, note.key)), _encode((note.time, Raw(note.value)))
        with log_errors("A note could not be stored"):
            if isinstance(owner, Origin):
                # First: what is stored is then always found.
                await self._redis.sadd(self._keys.note_kinds, note.kind)
                await self._redis.sadd(self._keys.noted(note.kind), owner_name(owner))
            answer = await self._put.call(
                self._redis, self._places(owner), [field, value, OWNER_NOTES]
            )
        if answer == b"full":
            raise too_many()
        if answer == b"gone" and not isinstance(owner, Origin):
            raise trimmed(owner)

    async def delete(self, owner: NoteOwner, note: tuple[str, str] | None) -> None:
        """Remove a note, or all of an owner."""
        with log_errors("A note could not be removed"):
            if note is not None:
                await self._redis.hdel(self._places(owner)[0], _encode(note))
            elif isinstance(owner, Origin):
                await self._drop(owner)
            else:
                await self._redis.delete(self._places(owner)[0])

    async def drop(self, origin: Origin) -> None:
        """Remove the notes of a session without runs; raise redis-py's own errors."""
        if not await self._redis.zcard(self._keys.session(origin)):
            await self._drop(origin)

    async def _drop(self, origin: Origin) -> None:
        notes = self._keys.session_notes(origin)
        fields: Any = await self._redis.hkeys(notes)
        kinds: Any = await self._redis.smembers(self._keys.note_kinds)
        await self._redis.delete(notes)
        known = {kind.decode() for kind in kinds}
        for kind in sorted(known | {_decode_field(field)[0] for field in fields}):
            await self._redis.srem(self._keys.noted(kind), owner_name(origin))

    async def get(self, owners: Collection[NoteOwner]) -> dict[NoteOwner, Sequence[Note]]:
        """Return the notes of those owners that have any."""
        with log_errors("Notes cannot be read"):
            async with self._redis.pipeline(transaction=False) as pipeline:
                for owner in owners:
                    pipeline.hgetall(self._places(owner)[0])
                found = await pipeline.execute()
        notes = {owner: _notes(fields) for owner, fields in zip(owners, found, strict=True)}
        return {owner: some for owner, some in notes.items() if some}

    async def noted(self, kind: str) -> Sequence[Origin]:
        """Return the sessions that have, or had, a note of a kind."""
        with log_errors("Notes cannot be read"):
            names: Any = await self._redis.smembers(self._keys.noted(kind))
        return [session_named(name.decode()) for name in sorted(names)]

    def _places(self, owner: NoteOwner) -> tuple[str, ...]:
        """Return the key of an owner's notes, and of what must exist for them."""
        if isinstance(owner, Origin):
            return (self._keys.session_notes(owner),)
        keys = self._keys.run(owner)
        return keys.notes, keys.head


def _notes(fields: dict[bytes, bytes]) -> list[Note]:
    found = []
    for field, stored in fields.items():
        time, value = _decode_value(stored)
        found.append(Note(*_decode_field(field), time, bytes(value)))
    return by_kind_and_key(found)
