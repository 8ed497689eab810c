"""Who calls, and whose things that caller may see.

The user is who the credential says, never who the URL says. Where a request names a user it must be
the caller's own; whatever belongs to somebody else is answered as what is not there. Without identity
(a developer's own machine) a caller is whoever the request says, as with ADK's server.
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
"""What chat clients that name nobody are called; with identity, it is the caller."""


class Anyone(Struct, frozen=True):
    """A caller of a server without identity."""

    address: str = ""


class Principal(Struct, frozen=True):
    """A caller who proved who it is."""

    user: str
    admin: bool = False
    """It may see and do what any user may."""
    expires: float | None = None
    """Seconds since 1970: what it has open then is closed."""


class Guest(Struct, frozen=True):
    """Whoever holds a share link: it may look at one run, and at nothing else."""

    run: RunId
    link: str
    expires: float


Caller = Anyone | Principal | Guest


def caller_of(connection: HTTPConnection) -> Caller:
    """Return who a request or socket is from, as `Identify` found out."""
    return of_scope(connection.scope)


def of_scope(scope: Scope) -> Caller:
    """Return the caller of an ASGI scope that `Identify` has seen."""
    caller: Caller = scope[SCOPE_KEY]
    return caller


def acting_user(caller: Caller, named: str) -> str:
    """Return the user for whom a request that names one is done. Raise `NotFound` for another's name."""
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
    """Return the user of a request that may leave its user out."""
    if isinstance(caller, Principal) and named == DEFAULT_USER:
        return caller.user
    return acting_user(caller, named)


def listed_user(caller: Caller, wanted: str) -> str:
    """Return whose things a list may hold, where `wanted` may be empty; empty is everybody's."""
    if isinstance(caller, Principal) and not caller.admin:
        return acting_user(caller, wanted or caller.user)
    return wanted


def may_see(caller: Caller, run: RunId, owner: str) -> bool:
    """Tell whether a caller may look at a run of this user."""
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
    """Tell whether a caller may look at what concerns everybody: numbers, and who did what."""
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
    """Return the name under which a caller's use of the server is counted."""
    match caller:
        case Anyone():
            return f"address {caller.address}"
        case Principal():
            return f"user {caller.user}"
        case Guest():
            return f"link {caller.link}"
        case _:
            assert_never(caller)
