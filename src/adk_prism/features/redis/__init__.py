"""Run logs in Redis, and in a Redis Cluster, which any number of processes share.

`redis://HOST`, and `rediss://` for TLS, as redis-py takes them, with `?prefix=NAME` for several installations
on one Redis; `redis+cluster://` and `rediss+cluster://` for any node of a cluster.
"""

from __future__ import annotations

import re
from contextlib import AbstractAsyncContextManager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlencode, urlsplit, urlunsplit

from adk_prism.errors import UsageError
from adk_prism.extension import Extension, LogKind, Warn

if TYPE_CHECKING:
    from adk_prism.features.redis.leases import RedisCoordination
    from adk_prism.features.redis.store import RedisLog

_PREFIX = re.compile(r"[A-Za-z0-9_.-]{1,64}")


def _open(url: str, warn: Warn) -> RedisLog:
    address, prefix = _address_of(url)
    from adk_prism.features.redis.store import RedisLog

    return RedisLog(address, prefix=prefix, warn=warn)


def _coordinate(url: str) -> RedisCoordination:
    address, prefix = _address_of(url)
    from adk_prism.features.redis.leases import RedisCoordination

    return RedisCoordination(address, prefix)


async def _dump(url: str, target: Path) -> None:
    address, prefix = _address_of(url)
    from adk_prism.features.redis.dump import dump

    await dump(address, prefix, target)


def _load(url: str, source: Path) -> AbstractAsyncContextManager[None]:
    address, prefix = _address_of(url)
    from adk_prism.features.redis.dump import loading

    return loading(address, prefix, source)


def _address_of(url: str) -> tuple[str, str]:
    """Return the URL that redis-py takes, and the prefix. Raise `UsageError` for one that it does not."""
    if find_spec("redis") is None:
        raise UsageError(
            "A run log in Redis needs the package redis: install adk-prism with its extra, as in "
            "pip install 'adk-prism[redis]'."
        )
    from redis.connection import parse_url

    from adk_prism.features.redis.connection import CLUSTER, DEFAULT_PREFIX

    parts = urlsplit(url)
    options = parse_qs(parts.query, keep_blank_values=True)
    prefix = options.pop("prefix", [""])[-1] or DEFAULT_PREFIX
    if not _PREFIX.fullmatch(prefix):
        raise UsageError(
            "The prefix of a Redis run log must be at most 64 letters, digits, and _ . - characters."
        )
    bare = urlunsplit(parts._replace(query=urlencode(options, doseq=True)))
    try:
        parse_url(bare.replace(CLUSTER, "", 1))  # type: ignore[no-untyped-call] # redis-py has no types for it
        usable = bool(parts.hostname) and (parts.path.strip("/") or "0").isdigit()
    except ValueError:
        usable = False
    if not usable:
        raise UsageError(f"The URL of the run log has no Redis host; expected {_KIND.form}.")
    return bare, prefix


_KIND = LogKind("redis://HOST:PORT/NUMBER", _open, _coordinate, _dump, _load)

EXTENSION = Extension(
    name="redis",
    summary="keep runs in Redis, which several processes share",
    logs=dict.fromkeys(("redis", "rediss", "redis+cluster", "rediss+cluster"), _KIND),
)
