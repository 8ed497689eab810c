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
