"""The keys of a run log in Redis as one file, each as Redis itself writes it (DUMP, RESTORE).

The keys of one run are read at one moment, as everything that has to agree; indexes come after the runs, so
that no run is missing in them. Leases, counts of callers and what expires within minutes are left out: they
belong to processes that run now.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO, Any

import msgspec
from msgspec import Struct
from redis.asyncio import Redis

from adk_prism.errors import LogError, UsageError
from adk_prism.features.redis.connection import SCHEMA, STORE_ERRORS, Keys, asking
from adk_prism.log.private_files import make_file

AT_A_TIME = 200
"""Keys in one round trip."""

_OF_A_PROCESS = re.compile(r"hold:.*|count:.*|shelf:.*|.*:lease|look|probe")
_TAG = re.compile(r"\{[^}]+\}")

RESTORING = 1_000_000
"""The schema of a log that is being restored: every server refuses it."""

_LENGTH = 4


class Dumped(Struct, frozen=True, array_like=True):
    """One key."""

    name: str
    """Without the prefix."""
    milliseconds: int
    """Until it expires; 0: never."""
    value: bytes


@asynccontextmanager
async def _connected(address: str, prefix: str) -> AsyncIterator[tuple[Redis, Keys]]:
    redis = asking(address)
    try:
        yield redis, Keys(prefix)
    except STORE_ERRORS as error:
        raise LogError("Redis cannot be read or written.") from error
    finally:
        await redis.aclose()


async def dump(address: str, prefix: str, target: Path) -> None:
    """Write the keys of a run log into a file. Raise `UsageError` if there is none, `LogError`."""
    make_file(target)
    async with _connected(address, prefix) as (redis, keys):
        if not await redis.exists(keys.schema):
            raise UsageError("There is no run log in this Redis, under this prefix.")
        tagged: dict[str, list[str]] = {}
        indexes: list[str] = []
        async for key in redis.scan_iter(match=f"{_escaped(keys.prefix)}:*", count=1000):
            name = key.decode().removeprefix(f"{keys.prefix}:")
            if _OF_A_PROCESS.fullmatch(name):
                continue
            tag = _TAG.search(name)
            tagged.setdefault(tag[0], []).append(name) if tag else indexes.append(name)
        with target.open("wb") as file:
            for names in tagged.values():
                await _dump(redis, keys, names, file)
            for start in range(0, len(indexes), AT_A_TIME):
                for name in indexes[start : start + AT_A_TIME]:
                    await _dump(redis, keys, [name], file)


async def _dump(redis: Redis, keys: Keys, names: list[str], file: IO[bytes]) -> None:
    """Write keys of one slot, as they are at one moment."""
    async with redis.pipeline(transaction=len(names) > 1) as pipeline:
        for name in names:
            pipeline.dump(f"{keys.prefix}:{name}")
            pipeline.pttl(f"{keys.prefix}:{name}")
        found: list[Any] = await pipeline.execute()
    for name, value, left in zip(names, found[::2], found[1::2], strict=True):
        if value is not None:  # Removed meanwhile.
            data = msgspec.msgpack.encode(Dumped(name, max(left, 0), value))
            file.write(len(data).to_bytes(_LENGTH, "big") + data)


@asynccontextmanager
async def loading(address: str, prefix: str, source: Path) -> AsyncIterator[None]:
    """Write the keys of a file into a Redis that has no run log under this prefix.

    Servers refuse it until the `async with` block, in which everything else is restored, has ended. Raise
    `UsageError` if there is a log, `LogError` for a Redis that is older than the one that was backed up.
    """
    async with _connected(address, prefix) as (redis, keys):
        schema = int(await redis.get(keys.schema) or 0)
        if schema == RESTORING:
            raise UsageError(
                "A restore into this Redis was cut off. Choose another prefix (?prefix=NAME), or remove the"
                f" keys of this one ({keys.prefix}:*), and restore again."
            )
        if schema or await redis.exists(keys.runs):
            raise UsageError(
                "This Redis has a run log under this prefix; restore into another one (?prefix=NAME)."
            )
        await redis.set(keys.schema, RESTORING)
        batch: list[Dumped] = []
        for each in _read(source):
            if f"{keys.prefix}:{each.name}" != keys.schema:
                batch.append(each)
            if len(batch) == AT_A_TIME:
                await _restore(redis, keys, batch)
                batch = []
        await _restore(redis, keys, batch)
        yield
        await redis.set(keys.schema, SCHEMA)


async def _restore(redis: Redis, keys: Keys, batch: list[Dumped]) -> None:
    async with redis.pipeline(transaction=False) as pipeline:
        for each in batch:
            pipeline.restore(f"{keys.prefix}:{each.name}", each.milliseconds, each.value)
        if batch:
            await pipeline.execute()


def _read(source: Path) -> Iterator[Dumped]:
    with source.open("rb") as file:
        while head := file.read(_LENGTH):
            yield msgspec.msgpack.decode(file.read(int.from_bytes(head, "big")), type=Dumped)


def _escaped(text: str) -> str:
    return re.sub(r"([*?\[\]\\])", r"\\\1", text)
