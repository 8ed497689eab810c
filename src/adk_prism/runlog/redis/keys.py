"""Names of the keys and channels of a run log in Redis.

All keys of one run share a hash tag, so they are in one slot of a cluster and a script may use them
together. Indexes are in other slots and may be stale: what counts is the run's hash. Two installations on one
Redis need two prefixes.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from adk_prism.runlog.entry import Origin, RunId

DEFAULT_PREFIX = "prism"


class RunKeys(NamedTuple):
    """The keys of one run, in the order in which scripts take them."""

    head: str
    """A hash with the fields of `RunSummary`."""
    entries: str
    """The stream; an entry's id is its cursor."""
    tombstone: str
    """Exists for a while after the run was removed."""


class Keys(NamedTuple):
    """The keys under one prefix."""

    prefix: str

    @property
    def schema(self) -> str:
        """Version of the schema."""
        return f"{self.prefix}:schema"

    @property
    def number(self) -> str:
        """Counter from which runs get their numbers."""
        return f"{self.prefix}:number"

    @property
    def runs(self) -> str:
        """All runs by number."""
        return f"{self.prefix}:runs"

    @property
    def unended(self) -> str:
        """Runs without an end, by number."""
        return f"{self.prefix}:unended"

    def session(self, origin: Origin) -> str:
        """Runs of a session, by number. Names may contain anything, so they are hashed."""
        name = "\0".join((origin.app, origin.user, origin.session))
        return f"{self.prefix}:session:{hashlib.sha256(name.encode()).hexdigest()[:32]}"

    def run(self, run: RunId) -> RunKeys:
        """Return the keys of a run."""
        tag = f"{self.prefix}:{{{run}}}"
        return RunKeys(f"{tag}:head", f"{tag}:entries", f"{tag}:gone")

    def lease(self, run: RunId) -> str:
        """The lease of a run; in the slot of its other keys."""
        return f"{self.prefix}:{{{run}}}:lease"

    def hold(self, name: str) -> str:
        """The lease of something else: a session, an idempotency key."""
        return f"{self.prefix}:hold:{{{hashlib.sha256(name.encode()).hexdigest()[:32]}}}"

    def expiring(self, name: str) -> str:
        """A value of the expiring store."""
        return f"{self.prefix}:shelf:{name}"

    @property
    def probe(self) -> str:
        """Written to find out whether Redis accepts writes."""
        return f"{self.prefix}:probe"

    @property
    def look(self) -> str:
        """Exists shortly after a process looked for runs without an owner and found none."""
        return f"{self.prefix}:look"

    @property
    def words(self) -> str:
        """The channel for messages between processes."""
        return f"{self.prefix}:words"

    @property
    def serving(self) -> str:
        """A channel to which every process subscribes that accepts new work; nothing is published on it."""
        return f"{self.prefix}:serving"

    def channel(self, run: RunId) -> str:
        """The channel on which changes of a run are published."""
        return f"{self.prefix}:bell:{run}"

    @property
    def silence(self) -> str:
        """A channel that is never used: subscribing to it opens the connection."""
        return f"{self.prefix}:silence"
