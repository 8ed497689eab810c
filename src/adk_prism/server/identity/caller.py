"""The caller of a request, and what that caller may access.

The credential determines the user, never the URL. A user named in a request must be the caller; other users'
data is not found. Without authentication (on a developer's own machine) the request names the user, as with
ADK's server.
"""

from __future__ import annotations

from typing import assert_never

from msgspec import Struct
from starlette.requests import HTTPConnection
from starlette.types import Scope

from adk_prism.errors import NotFound
from adk_prism.runlog.entry import RunId

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
