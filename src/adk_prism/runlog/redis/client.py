"""Connections to Redis: one kind to ask with, which gives up, and one to listen with, which waits.

A Redis that takes a connection and does not answer is as far away as one that is not there; without a limit
nobody would ever know. Options in the URL come before what is set here.

Of a Redis Cluster any node is asked for, and the client finds the others. What is published at one node is
heard at all, so who listens needs one only.
"""

from __future__ import annotations

from typing import Any, cast

import redis as synchronous
from redis import exceptions
from redis.asyncio import Redis, RedisCluster

CLUSTER = "+cluster"
"""In the scheme of a URL: it names a node of a cluster."""

ANSWER = 10.0
"""Seconds for an answer: far more than any of our scripts takes, and less than a writer's patience."""

_OPTIONS: dict[str, Any] = {"socket_connect_timeout": 5, "health_check_interval": 15}
"""Seconds for a connection, and of silence after which one is tried before it is used."""

STORE_ERRORS = (exceptions.RedisError, exceptions.RedisClusterException, OSError)
"""All that redis-py raises for a store that does not do as it is asked."""


def asking(url: str, answer: float = ANSWER) -> Redis:
    """Return a client whose questions are answered within some seconds, or fail."""
    options: dict[str, Any] = {"socket_timeout": answer, **_OPTIONS}
    if is_cluster(url):
        # Not the same class; what we ask of either is the same.
        return cast(Redis, RedisCluster.from_url(_plain(url), **options))
    client: Redis = Redis.from_url(url, **options)
    return client


def asking_in_thread(url: str, answer: float = ANSWER) -> synchronous.Redis:
    """Return the same for a thread, which waits for its answers itself."""
    options: dict[str, Any] = {"socket_timeout": answer, **_OPTIONS}
    if is_cluster(url):
        return cast(synchronous.Redis, synchronous.RedisCluster.from_url(_plain(url), **options))
    client: synchronous.Redis = synchronous.Redis.from_url(url, **options)
    return client


def listening(url: str) -> Redis:
    """Return a client that waits for as long as nothing is said."""
    client: Redis = Redis.from_url(_plain(url), **_OPTIONS)
    return client


def is_cluster(url: str) -> bool:
    """Tell whether a URL names a node of a cluster."""
    return url.partition(":")[0].endswith(CLUSTER)


def _plain(url: str) -> str:
    return url.replace(CLUSTER, "", 1) if is_cluster(url) else url
