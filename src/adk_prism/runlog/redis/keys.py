"""Names of what a run log keeps in Redis.

All keys of one run share a hash tag, so they live in one slot of a cluster and a script may touch them
together. Indexes are in slots of their own: they are hints, the heads are the truth. Two installations
on one Redis need two prefixes.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from adk_prism.runlog.entry import Origin, RunId

DEFAULT_PREFIX = "prism"


class RunKeys(NamedTuple):
    """The keys of one run, in the order in which scripts take them."""

    head: str
    """What `RunSummary` says, as a hash."""
    entries: str
    """The stream; an entry's id is its cursor."""
    tombstone: str
    """There while it is remembered that the run was removed."""


class Keys(NamedTuple):
    """The keys under one prefix."""

    prefix: str

    @property
    def schema(self) -> str:
        """Version of all this."""
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
        """Runs that may go on, by number."""
        return f"{self.prefix}:unended"

    def session(self, origin: Origin) -> str:
        """Runs of a session, by number. Names may hold anything, so they are digested."""
        name = "\0".join((origin.app, origin.user, origin.session))
        return f"{self.prefix}:session:{hashlib.sha256(name.encode()).hexdigest()[:32]}"

    def run(self, run: RunId) -> RunKeys:
        """Return the keys of a run."""
        tag = f"{self.prefix}:{{{run}}}"
        return RunKeys(f"{tag}:head", f"{tag}:entries", f"{tag}:gone")

    def lease(self, run: RunId) -> str:
        """Who owns a run; in the slot of its other keys."""
        return f"{self.prefix}:{{{run}}}:lease"

    def hold(self, name: str) -> str:
        """Who holds something else: a session, an idempotency key."""
        return f"{self.prefix}:hold:{{{hashlib.sha256(name.encode()).hexdigest()[:32]}}}"

    def expiring(self, name: str) -> str:
        """Something that waits to be taken."""
        return f"{self.prefix}:shelf:{name}"

    @property
    def probe(self) -> str:
        """Written to find out whether Redis takes anything."""
        return f"{self.prefix}:probe"

    @property
    def look(self) -> str:
        """There while somebody has just looked for runs without an owner, and found none."""
        return f"{self.prefix}:look"

    @property
    def words(self) -> str:
        """The channel on which processes talk to each other."""
        return f"{self.prefix}:words"

    @property
    def serving(self) -> str:
        """A channel to which every process listens that takes new work; nothing is said on it."""
        return f"{self.prefix}:serving"

    def channel(self, run: RunId) -> str:
        """The channel that tells that a run has grown, or is gone."""
        return f"{self.prefix}:bell:{run}"

    @property
    def silence(self) -> str:
        """A channel that is never used: whoever listens to it has a connection to listen with."""
        return f"{self.prefix}:silence"
