"""Checks that a Redis can keep a run log: its version, its kind, how it evicts keys, and the log's schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from redis.asyncio import Redis

from adk_prism.errors import LogError
from adk_prism.runlog.redis.keys import Keys

SCHEMA = 1
NO_EVICTION = "noeviction"
OLDEST = (6, 2)
"""Redis before this does not take cursors as ids the way we need it."""

Warn = Callable[[str], None]


async def check_server(redis: Redis, keys: Keys, warn: Warn, *, is_cluster: bool) -> None:
    """Raise `LogError` for a Redis that cannot be used; warn about one that is not set up well."""
    about = await redis.info("server")
    version = str(about.get("redis_version", "0"))
    if tuple(int(part) for part in version.split(".")[:2] if part.isdigit()) < OLDEST:
        raise LogError(
            f"The run log cannot be opened: Redis {version[:20]} is too old; expected 6.2 or newer."
        )
    parts = await redis.info("cluster")
    if parts.get("cluster_enabled") and not is_cluster:
        raise LogError(
            "The run log cannot be opened: this Redis is a node of a cluster; name it with "
            "redis+cluster://HOST:PORT."
        )
    for info in await memory_info(redis, is_cluster=is_cluster):
        _check_eviction(info, warn)
    await redis.set(keys.schema, SCHEMA, nx=True)
    found = int(await redis.get(keys.schema) or 0)
    if found > SCHEMA:
        raise LogError(
            f"The run log in Redis has schema {found}; this version of adk-prism reads up to {SCHEMA}. "
            "Upgrade adk-prism, or use another prefix (redis://…?prefix=NAME)."
        )


async def memory_info(redis: Redis, *, is_cluster: bool) -> Sequence[Mapping[str, Any]]:
    """Return what each node reports about its memory; CONFIG would not be allowed everywhere."""
    if not is_cluster:
        return [await redis.info("memory")]
    found: Any = await redis.info("memory", target_nodes="primaries")
    return list(found.values()) if "maxmemory" not in found else [found]


def _check_eviction(info: Mapping[str, Any], warn: Warn) -> None:
    """Refuse a Redis that would evict runs; warn about one that could, or would evict leases."""
    policy = str(info.get("maxmemory_policy", NO_EVICTION))[:30]
    if policy == NO_EVICTION:
        return
    if int(info.get("maxmemory", 0)) and policy.startswith("allkeys-"):
        raise LogError(
            f"The run log cannot be opened: this Redis evicts keys when it is full (maxmemory-policy "
            f"{policy}), runs among them. Set maxmemory-policy noeviction, or use another Redis."
        )
    warn(
        f"Redis has maxmemory-policy {policy}: when it is full it evicts keys, runs or leases among them. "
        "Set maxmemory-policy noeviction."
    )
