"""Users and runs as requests name them, checked against the caller: the parameters that routes take.

Every route that takes a user or a run uses these parameters, so that none can forget the check.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Path, Query
from starlette.requests import HTTPConnection

from adk_prism.errors import BadPosition, NotFound
from adk_prism.runlog.contract import RunLog, RunSummary
from adk_prism.runlog.entry import Position, RunId, parse_position, run_of_position
from adk_prism.server.guards.name_rules import UserId
from adk_prism.server.identity.caller import (
    DEFAULT_USER,
    Anyone,
    Caller,
    acting_user,
    caller_of,
    may_operate,
    may_see,
    spoken_user,
)


async def _caller(connection: HTTPConnection) -> Caller:
    return caller_of(connection)


CallerOf = Annotated[Caller, Depends(_caller)]
"""Who calls."""


async def _administrator(caller: CallerOf) -> None:
    if not may_operate(caller):
        raise NotFound("Not found; this route is for administrators.")


Administrator = Depends(_administrator)
"""A dependency for routes with data of all users."""


async def _path_user(caller: CallerOf, user_id: UserId) -> str:
    return acting_user(caller, user_id)


async def _query_user(
    caller: CallerOf, user: Annotated[UserId, Query(alias="userId")] = DEFAULT_USER
) -> str:
    return spoken_user(caller, user)


PathUser = Annotated[str, Depends(_path_user)]
"""`{user_id}` of a path."""
QueryUser = Annotated[str, Depends(_query_user)]
"""`userId` of a query, which may be left out."""


LARGEST_NUMBER = 10**15 - 1
"""Of a cursor or any other number of a request: exact in every JSON reader, and no store holds a larger
one."""

Cursor = Annotated[int, Path(ge=-LARGEST_NUMBER, le=LARGEST_NUMBER)]
"""`{cursor}` of a path."""

_RUN = r"^[A-Za-z0-9_-]{1,640}$"


async def _owned_run(
    connection: HTTPConnection, run: Annotated[RunId, Path(pattern=_RUN)]
) -> RunId:
    caller = caller_of(connection)
    if not isinstance(caller, Anyone):
        await check_run(connection.app.state.context.log, caller, run)
    return run


Run = Annotated[RunId, Depends(_owned_run)]
"""`{run}` of a path."""


async def _two_runs(
    connection: HTTPConnection,
    a: Annotated[RunId, Query(pattern=_RUN)],
    b: Annotated[RunId, Query(pattern=_RUN)],
) -> tuple[RunId, RunId]:
    return await _owned_run(connection, a), await _owned_run(connection, b)


TwoRuns = Annotated[tuple[RunId, RunId], Depends(_two_runs)]
"""`a` and `b` of a query."""


async def check_run(log: RunLog, caller: Caller, run: RunId) -> RunSummary:
    """Return a run that the caller may read. Raise `NotFound` for another user's, as for an unknown one."""
    summary = await log.summary(run)
    if not may_see(caller, run, summary.origin.user):
        raise NotFound(f"There is no run {run[:60]!r}.")
    return summary


async def seen_position(log: RunLog, caller: Caller, app: str, last: str) -> tuple[RunId, Position]:
    """Return the run of an app that a client goes on with, and the position that it has seen.

    Raise `BadPosition`, or `NotFound` as `check_run` does.
    """
    run = run_of_position(last)
    if (await check_run(log, caller, run)).origin.app != app:
        raise BadPosition(f"Position {last[:60]!r} belongs to another app.")
    return run, parse_position(last)
