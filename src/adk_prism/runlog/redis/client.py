"""Connections to Redis: one kind for commands, with a timeout, and one for pub/sub, which waits.

A Redis that accepts a connection and does not answer is as bad as one that is down: it is detected by a
timeout. Options in the URL override what is set here.

For a Redis Cluster, the URL names any node, and the client finds the others. A message published at one node
reaches all, so pub/sub needs one node only.
"""

from __future__ import annotations

from typing import Any, cast

import redis as synchronous
from redis import exceptions
from redis.asyncio import Redis, RedisCluster

CLUSTER = "+cluster"
"""In the scheme of a URL: it names a node of a cluster."""

ANSWER = 10.0
"""Seconds for an answer: far more than any of our scripts takes, and less than a writer retries."""

_OPTIONS: dict[str, Any] = {"socket_connect_timeout": 5, "health_check_interval": 15}
"""Seconds to connect, and of silence after which a connection is checked before it is used."""

STORE_ERRORS = (exceptions.RedisError, exceptions.RedisClusterException, OSError)
"""What redis-py raises for a store that cannot do what it was asked."""


def asking(url: str, answer: float = ANSWER) -> Redis:
    """Return a client for commands; they fail without an answer after some seconds."""
    options: dict[str, Any] = {"socket_timeout": answer, **_OPTIONS}
    if is_cluster(url):
        # Not the same class; what we ask of either is the same.
        return cast(Redis, RedisCluster.from_url(_plain(url), **options))
    client: Redis = Redis.from_url(url, **options)
    return client


def asking_in_thread(url: str, answer: float = ANSWER) -> synchronous.Redis:
    """Return the same, blocking, for a thread."""
    options: dict[str, Any] = {"socket_timeout": answer, **_OPTIONS}
    if is_cluster(url):
        return cast(synchronous.Redis, synchronous.RedisCluster.from_url(_plain(url), **options))
    client: synchronous.Redis = synchronous.Redis.from_url(url, **options)
    return client


def listening(url: str) -> Redis:
    """Return a client for pub/sub, without a timeout."""
    client: Redis = Redis.from_url(_plain(url), **_OPTIONS)
    return client


def is_cluster(url: str) -> bool:
    """Return whether a URL names a node of a cluster."""
    return url.partition(":")[0].endswith(CLUSTER)


def _plain(url: str) -> str:
    return url.replace(CLUSTER, "", 1) if is_cluster(url) else url
