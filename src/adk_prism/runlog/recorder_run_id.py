"""Ids of runs that a recorder in another process sends: each is the digest of the recorder's secret.

So only who made the secret can write to the run, two recorders cannot have one id, and nothing has to be
stored to check it. Everybody who may see the run knows its id; that does not give the secret.
"""

from __future__ import annotations

import hashlib

from adk_prism.runlog.entry import RunId

PREFIX = "rec-"


def recorded_run(secret: str) -> RunId:
    """Return the run that the owner of a secret may write."""
    return RunId(PREFIX + hashlib.sha256(secret.encode()).hexdigest()[:40])


def recorded_session(run: RunId, session: str) -> str:
    """Return the name under which the runs of a recorded session are kept together.

    It is a name that no session of this server has, whatever the recorder calls its own.
    """
    name = hashlib.sha256(session.encode()).hexdigest()[:40] if session else run
    return f"recording-{name}"


def is_recorded(run: str) -> bool:
    """Return whether a run comes from a recorder: no process of this server owns it."""
    return run.startswith(PREFIX)
