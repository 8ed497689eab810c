"""Makes a run log from its URL: the one place that knows which backends there are.

`memory:`; `sqlite:///FILE`, relative to the working directory, and `sqlite:////FILE`, absolute, as
SQLAlchemy writes them, with `?synchronous=full` for a disk flush at each commit; `redis://HOST`, and
`rediss://` for TLS, as redis-py takes them, with `?prefix=NAME` for several installations on one Redis;
`redis+cluster://` and `rediss+cluster://` for any node of a Redis Cluster. A URL can hold a password, so no
message repeats one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlencode, urlsplit, urlunsplit

from adk_prism.errors import UsageError
from adk_prism.log.contract import DEFAULT_TTL, Leases, LocalLeases, RunLog
from adk_prism.log.memory import MemoryLog
from adk_prism.log.sqlite.file import Synchronous
from adk_prism.log.sqlite.store import SqliteLog

if TYPE_CHECKING:
    from adk_prism.log.redis.leases import RedisShortLivedValues, RedisUsageCounters

SHARED_LOGS = frozenset(("redis", "rediss", "redis+cluster", "rediss+cluster"))
"""Kinds of logs that any number of processes can share."""

Warn = Callable[[str], None]

_EXPECTED = (
    "expected memory:, sqlite:///FILE, sqlite:////FILE (absolute) or redis://HOST:PORT/NUMBER"
)
_PREFIX = re.compile(r"[A-Za-z0-9_.-]{1,64}")

_SYNCHRONOUS: dict[str, Synchronous] = {"normal": "normal", "full": "full"}


def open_log(url: str, warn: Warn = lambda _: None) -> RunLog:
    """Return the log that a URL names; it is not open yet. `warn` reports a store that is not set up well.

    Raise `UsageError` for a URL that cannot be used, or whose package is not installed.
    """
    scheme, colon, rest = url.partition(":")
    make = _BACKENDS.get(scheme.lower()) if colon else None
    if make is None:
        raise UsageError(f"The URL of the run log has an unknown scheme; {_EXPECTED}.")
    return make(rest, warn)


def _memory(rest: str, warn: Warn) -> RunLog:
    del warn
    if rest:
        raise UsageError(f"The run log memory: takes no path; {_EXPECTED}.")
    return MemoryLog()


def _sqlite(rest: str, warn: Warn) -> RunLog:
    path, _, query = rest.partition("?")
    if not path.startswith("///") or not path.strip("/") or path.endswith("/"):
        raise UsageError(f"The URL of the run log has no file name; {_EXPECTED}.")
    options = parse_qs(query, keep_blank_values=True)
    chosen = _SYNCHRONOUS.get(options.pop("synchronous", ["normal"])[-1])
    if options or chosen is None:
        raise UsageError(
            "The URL of the run log has an unknown option; expected synchronous=normal or "
            "synchronous=full."
        )
    return SqliteLog(path.removeprefix("///"), synchronous=chosen, warn=warn)


def _redis(rest: str, warn: Warn, scheme: str) -> RunLog:
    url, prefix = _redis_address(f"{scheme}:{rest}")
    from adk_prism.log.redis.store import RedisLog

    return RedisLog(url, prefix=prefix, warn=warn)


def _redis_address(url: str) -> tuple[str, str]:
    """Return the URL that redis-py takes, and the prefix. Raise `UsageError` for one that it does not."""
    if find_spec("redis") is None:
        raise UsageError(
            "A run log in Redis needs the package redis: install adk-prism with its extra, as in "
            "pip install 'adk-prism[redis]'."
        )
    from redis.connection import parse_url

    from adk_prism.log.redis.connection import CLUSTER, DEFAULT_PREFIX

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
        raise UsageError(f"The URL of the run log has no Redis host; {_EXPECTED}.")
    return bare, prefix


def _is_shared(url: str) -> bool:
    return url.partition(":")[0].lower() in SHARED_LOGS


def open_leases(url: str, ttl: float = DEFAULT_TTL) -> Leases:
    """Return the leases for a log of this URL; they are not open yet. Raise `UsageError`."""
    if not _is_shared(url):
        return LocalLeases()
    address, prefix = _redis_address(url)
    from adk_prism.log.redis.leases import RedisLeases

    return RedisLeases(address, prefix=prefix, ttl=ttl)


def open_short_lived_values(url: str) -> RedisShortLivedValues | None:
    """Return the expiring store that goes with a log of this URL; None where no other process shares it."""
    if not _is_shared(url):
        return None
    address, prefix = _redis_address(url)
    from adk_prism.log.redis.leases import RedisShortLivedValues

    return RedisShortLivedValues(address, prefix=prefix)


def open_usage_counters(url: str) -> RedisUsageCounters | None:
    """Return the counts that go with a log of this URL; None where no other process shares it."""
    if not _is_shared(url):
        return None
    address, prefix = _redis_address(url)
    from adk_prism.log.redis.leases import RedisUsageCounters

    return RedisUsageCounters(address, prefix=prefix)


_BACKENDS: dict[str, Callable[[str, Warn], RunLog]] = {
    "memory": _memory,
    "sqlite": _sqlite,
    **{scheme: partial(_redis, scheme=scheme) for scheme in SHARED_LOGS},
}
