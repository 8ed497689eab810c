"""Connections to Redis: one kind to ask with, which gives up, and one to listen with, which waits.

A Redis that takes a connection and does not answer is as far away as one that is not there; without a limit
nobody would ever know. Options in the URL come before what is set here.
"""

from __future__ import annotations

from redis.asyncio import Redis

CONNECT = 5.0
"""Seconds for a connection."""

ANSWER = 10.0
"""Seconds for an answer: far more than any of our scripts takes, and less than a writer's patience."""

_HEALTH = 15
"""Seconds of silence after which a connection is tried before it is used."""


def asking(url: str, answer: float = ANSWER) -> Redis:
    """Return a client whose questions are answered within some seconds, or fail."""
    client: Redis = Redis.from_url(
        url, socket_connect_timeout=CONNECT, socket_timeout=answer, health_check_interval=_HEALTH
    )
    return client


def listening(url: str) -> Redis:
    """Return a client that waits for as long as nothing is said."""
    client: Redis = Redis.from_url(
        url, socket_connect_timeout=CONNECT, health_check_interval=_HEALTH
    )
    return client
