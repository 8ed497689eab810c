"""The caller of a request, and what that caller may access.

The credential determines the user, never the URL. A user named in a request must be the caller; other users'
data is not found. Without authentication (on a developer's own machine) the request names the user, as with
ADK's server.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import assert_never

from msgspec import Struct
from starlette.requests import HTTPConnection
from starlette.types import Scope

from adk_prism.errors import Diagnostic, NotFound, Report, cause_of
from adk_prism.log.entry import RunId

SCOPE_KEY = "adk_prism.caller"

DEFAULT_USER = "user"
"""The user of chat requests without a user; with authentication, it means the caller."""


class Anyone(Struct, frozen=True):
    """A caller of a server without authentication."""

    address: str = ""


class Principal(Struct, frozen=True):
    """An authenticated caller."""

    user: str
    admin: bool = False
    """An administrator: may do what any user may."""
    expires: float | None = None
    """Seconds since 1970: open streams and sockets are closed then."""
    recorder: bool = False
    """May send recorded runs of any user (the scope `record`)."""
    credential: str = ""
    """Set by the server: how it knows the credential again, to check it. Not the credential itself."""

    def has_rights_of(self, other: Principal) -> bool:
        """Return whether this is the same user, with the same rights."""
        mine, theirs = (
            (self.user, self.admin, self.recorder),
            (other.user, other.admin, other.recorder),
        )
        return mine == theirs


class Guest(Struct, frozen=True):
    """A caller with a share link: may read one run, and nothing else."""

    run: RunId
    link: str
    expires: float


Caller = Anyone | Principal | Guest


def caller_of(connection: HTTPConnection) -> Caller:
    """Return the caller of a request or socket, as set by `IdentifyMiddleware`."""
    return of_scope(connection.scope)


def of_scope(scope: Scope) -> Caller:
    """Return the caller of an ASGI scope, as set by `IdentifyMiddleware`."""
    caller: Caller = scope[SCOPE_KEY]
    return caller


def acting_user(caller: Caller, named: str) -> str:
    """Return the user that a request names. Raise `NotFound` if the caller may not act for that user."""
    match caller:
        case Anyone():
            return named
        case Principal():
            if caller.admin or named == caller.user:
                return named
            raise NotFound("Not found for this user.")
        case Guest():
            raise NotFound("Not found for this user.")
        case _:
            assert_never(caller)


def spoken_user(caller: Caller, named: str) -> str:
    """Return the user of a request in which the user is optional."""
    if isinstance(caller, Principal) and named == DEFAULT_USER:
        return caller.user
    return acting_user(caller, named)


def recorded_user(caller: Caller, named: str) -> str:
    """Return the user of a run that a recorder sends: whom it names, if it may, else the caller."""
    if isinstance(caller, Principal) and not (caller.admin or caller.recorder):
        return caller.user
    return named


def listed_user(caller: Caller, wanted: str) -> str:
    """Return the user whose data a list may contain; `wanted` and the result may be empty: all users."""
    if isinstance(caller, Principal) and not caller.admin:
        return acting_user(caller, wanted or caller.user)
    return wanted


def may_see(caller: Caller, run: RunId, owner: str) -> bool:
    """Return whether a caller may read a run of this user."""
    match caller:
        case Anyone():
            return True
        case Principal():
            return caller.admin or caller.user == owner
        case Guest():
            return caller.run == run
        case _:
            assert_never(caller)


def may_operate(caller: Caller) -> bool:
    """Return whether a caller may read metrics and the audit log."""
    match caller:
        case Anyone():
            return True
        case Principal():
            return caller.admin
        case Guest():
            return False
        case _:
            assert_never(caller)


def account(caller: Caller) -> str:
    """Return the name under which a caller's usage is counted."""
    match caller:
        case Anyone():
            return f"address {caller.address}"
        case Principal():
            return f"user {caller.user}"
        case Guest():
            return f"link {caller.link}"
        case _:
            assert_never(caller)


# ---------------------------------------------------------------------------
# Open requests, streams and sockets, and whether their callers may still have them.
#
# A credential is checked when a connection begins. A stream or a socket can last for hours, so what
# let its caller in is checked again every second, once for all connections that it opened: a token
# that was removed from its file, a share link that was revoked at any replica, a function that no
# longer knows the caller. What can no longer be confirmed ends.
#
# Runs belong to the server and go on; their caller can no longer follow them.

CHECK_EVERY = 1.0
"""Seconds between two looks at all open connections; the second begins when the first is done."""
PATIENCE = 10.0
"""Seconds for which a check may fail, as while a file of tokens is being written, before access ends."""

StillAllowed = Callable[[], Awaitable[bool]]
"""Returns whether a credential still gives what it gave. May raise: then nobody knows."""


class _Credential:
    """One credential, and what it opened."""

    def __init__(self, check: StillAllowed) -> None:
        self.check = check
        self.opened: set[asyncio.Timeout] = set()
        self.failing_since: float | None = None


class OpenConnections:
    """What is open in one server."""

    def __init__(self, report: Report, clock: Callable[[], float] = time.monotonic) -> None:
        self._report = report
        self._clock = clock
        self._open: dict[str, _Credential] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._looking: asyncio.Task[None] | None = None

    @contextmanager
    def holding(self, name: str, check: StillAllowed, limit: asyncio.Timeout) -> Iterator[None]:
        """Note a connection: `limit` ends it when the credential of this name is no longer valid."""
        held = self._open.get(name)
        if held is None:
            held = self._open[name] = _Credential(check)
        held.opened.add(limit)
        if self._timer is None and self._looking is None:
            self._timer = asyncio.get_running_loop().call_later(CHECK_EVERY, self._look)
        try:
            yield
        finally:
            held.opened.discard(limit)
            if not held.opened and self._open.get(name) is held:
                del self._open[name]
            if not self._open and self._timer is not None:
                self._timer.cancel()
                self._timer = None

    def _look(self) -> None:
        self._timer = None
        self._looking = asyncio.get_running_loop().create_task(self._check_all())

    async def _check_all(self) -> None:
        try:
            for name, held in list(self._open.items()):
                if held.opened and not await self._is_allowed(held):
                    self.end(name)
        finally:
            self._looking = None
            if self._open:
                self._timer = asyncio.get_running_loop().call_later(CHECK_EVERY, self._look)

    async def _is_allowed(self, held: _Credential) -> bool:
        try:
            async with asyncio.timeout(PATIENCE):
                allowed = await held.check()
        except Exception as error:  # an operator's function may raise anything
            now = self._clock()
            if held.failing_since is None:
                held.failing_since = now
                self._report(Diagnostic(kind="credential not checked", cause=cause_of(error)))
            return now - held.failing_since < PATIENCE
        held.failing_since = None
        return allowed

    def end(self, name: str) -> None:
        """End everything that a credential opened."""
        held = self._open.pop(name, None)
        for limit in held.opened if held is not None else ():
            if not limit.expired():
                limit.reschedule(asyncio.get_running_loop().time())
