"""Connections to Redis: one kind for commands, with a timeout, and one for pub/sub, which waits.

A Redis that accepts a connection and does not answer is as bad as one that is down: it is detected by a
timeout. Options in the URL override what is set here.

For a Redis Cluster, the URL names any node, and the client finds the others. A message published at one node
reaches all, so pub/sub needs one node only.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import redis as synchronous
from redis import exceptions
from redis.asyncio import Redis, RedisCluster
from redis.exceptions import NoScriptError

from adk_prism.errors import LogError
from adk_prism.log.entry import Origin, RunId

# ---------------------------------------------------------------------------
# Names of the keys and channels of a run log in Redis.
#
# All keys of one run share a hash tag, so they are in one slot of a cluster and a script may use them
# together. Indexes are in other slots and may be stale: what counts is the run's hash. Two
# installations on one Redis need two prefixes.

DEFAULT_PREFIX = "prism"


class RunKeys(NamedTuple):
    """The keys of one run, in the order in which scripts take them."""

    head: str
    """A hash with the fields of `RunSummary`."""
    entries: str
    """The stream; an entry's id is its cursor."""
    tombstone: str
    """Exists for a while after the run was removed."""
    digest: str
    """What the run is found by, once it has ended."""
    notes: str
    """A hash: kind and key → time and value."""


class Keys:
    """The keys under one prefix."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.schema = f"{prefix}:schema"
        """Version of the schema."""
        self.number = f"{prefix}:number"
        """Counter from which runs get their numbers."""
        self.piece = f"{prefix}:piece"
        """Counter from which pieces get their numbers."""
        self.runs = f"{prefix}:runs"
        """All runs by number."""
        self.unended = f"{prefix}:unended"
        """Runs without an end, by number."""
        self.digests = f"{prefix}:digests"
        """The newest runs that have a digest, by number."""
        self.revisions = f"{prefix}:revisions"
        """How often digests were replaced, by run."""
        self.note_kinds = f"{prefix}:note_kinds"
        """Of which kinds sessions have, or had, notes."""
        self.probe = f"{prefix}:probe"
        """Written to find out whether Redis accepts writes."""
        self.look = f"{prefix}:look"
        """Exists shortly after a process looked for runs without an owner and found none."""
        self.words = f"{prefix}:words"
        """The channel for messages between processes."""
        self.serving = f"{prefix}:serving"
        """A channel to which every process subscribes that accepts new work; nothing is published on it."""
        self.silence = f"{prefix}:silence"
        """A channel that is never used: subscribing to it opens the connection."""

    def session(self, origin: Origin) -> str:
        """Runs of a session, by number. Names may contain anything, so they are hashed."""
        return f"{self.prefix}:session:{_digest(origin.app, origin.user, origin.session)}"

    def pieces(self, origin: Origin) -> tuple[str, str]:
        """The pieces of a session: numbers by digest, with their size in all; stored forms by number."""
        name = f"{self.prefix}:pieces:{{{_digest(origin.app, origin.user, origin.session)}}}"
        return f"{name}:numbers", name

    def session_notes(self, origin: Origin) -> str:
        """The notes of a session, as those of a run."""
        return f"{self.prefix}:notes:{{{_digest(origin.app, origin.user, origin.session)}}}"

    def noted(self, kind: str) -> str:
        """A set of the sessions that have, or had, a note of a kind."""
        return f"{self.prefix}:noted:{kind}"

    def run(self, run: RunId) -> RunKeys:
        """Return the keys of a run."""
        tag = f"{self.prefix}:{{{run}}}"
        return RunKeys(
            f"{tag}:head", f"{tag}:entries", f"{tag}:gone", f"{tag}:digest", f"{tag}:notes"
        )

    def lease(self, run: RunId) -> str:
        """The lease of a run; in the slot of its other keys."""
        return f"{self.prefix}:{{{run}}}:lease"

    def hold(self, name: str) -> str:
        """The lease of something else: a session, an idempotency key."""
        return f"{self.prefix}:hold:{{{_digest(name)}}}"

    def count(self, caller: str, part: str) -> str:
        """A usage counter of a caller; all counters of one caller are in one slot."""
        return f"{self.prefix}:count:{{{_digest(caller)}}}:{part}"

    def expiring(self, name: str) -> str:
        """A value of the expiring store."""
        return f"{self.prefix}:shelf:{name}"

    def channel(self, run: RunId) -> str:
        """The channel on which changes of a run are published."""
        return f"{self.prefix}:bell:{run}"


def _digest(*names: str) -> str:
    return hashlib.sha256("\0".join(names).encode()).hexdigest()[:32]


# ---------------------------------------------------------------------------

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
    return cast(Redis, _client(Redis, RedisCluster, url, answer))


def asking_in_thread(url: str, answer: float) -> synchronous.Redis:
    """Return the same, blocking, for a thread."""
    client = _client(synchronous.Redis, synchronous.RedisCluster, url, answer)
    return cast(synchronous.Redis, client)


def _client(one: Any, cluster: Any, url: str, answer: float) -> Any:
    # The two are not the same class; what we ask of either is the same.
    kind = cluster if is_cluster(url) else one
    return kind.from_url(_plain(url), socket_timeout=answer, **_OPTIONS)


def listening(url: str) -> Redis:
    """Return a client for pub/sub, without a timeout."""
    client: Redis = Redis.from_url(_plain(url), **_OPTIONS)
    return client


def is_cluster(url: str) -> bool:
    """Return whether a URL names a node of a cluster."""
    return url.partition(":")[0].endswith(CLUSTER)


def _plain(url: str) -> str:
    return url.replace(CLUSTER, "", 1) if is_cluster(url) else url


# --------------------------------------------------------------------------- scripts

# Lua scripts of a run log and its leases: what must be atomic in Redis, and how it is called.
#
# A script makes all its changes or none: it checks first, and a Redis that is full refuses the first write
# of a script, never a later one. A script uses the keys of one run only.


def read_script(name: str) -> str:
    """Return the text of a script."""
    return Path(__file__).with_name("scripts").joinpath(f"{name}.lua").read_text(encoding="utf-8")


APPEND = read_script("append")
"""Adds entries to a run, if it has not ended, the writer owns it and nothing was written in between. A batch
that was added before is *ok*: its writer lost the first answer."""

REMOVE = read_script("remove")
"""Removes a run and leaves a tombstone; also for a run whose start is still on its way."""

PUT_PIECES = read_script("put_pieces")
"""Adds pieces to a session, unless it has them; returns their numbers, 0 for those beyond the limit."""

PUT_NOTE = read_script("put_note")
"""Stores a note of a run, or of a session."""

PUT_DIGEST = read_script("put_digest")
"""Stores the digest of a run that has ended and is still there; returns the run's number."""

CLAIM = read_script("claim")
"""Takes a run without an owner. With the new epoch, appends of the previous owner are refused."""

RENEW = read_script("renew")
"""Renews a lease. One that has expired is taken again, if no other process had it in between."""

RELEASE = read_script("release")
"""Releases a lease, and publishes that for waiting processes."""


class Script:
    """A script that is cached in Redis, and loaded again when Redis has lost it (a restart)."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._digest = ""

    async def ready(self, redis: Redis) -> None:
        """Load the script into Redis."""
        self._digest = await redis.script_load(self._text)

    def queue(self, pipeline: Any, keys: tuple[str, ...], arguments: list[Any]) -> None:
        """Add a call to a pipeline; `NoScriptError` there means `ready` again."""
        # By name: redis-py's pipelines of clusters have no method for it, as keys could be in several slots.
        pipeline.execute_command("EVALSHA", self._digest, len(keys), *keys, *arguments)

    async def call(self, redis: Redis, keys: tuple[str, ...], arguments: list[Any]) -> Any:
        """Run it alone."""
        try:
            return await redis.evalsha(self._digest, len(keys), *keys, *arguments)
        except NoScriptError:
            await self.ready(redis)
            return await redis.evalsha(self._digest, len(keys), *keys, *arguments)


# --------------------------------------------------------------------------- server check

# Checks that a Redis can keep a run log: its version, its kind, how it evicts keys, and the log's schema.

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
