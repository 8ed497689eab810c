"""Tickets that any replica takes, whichever of them gave it out: kept where the run log is."""

from __future__ import annotations

import secrets

import msgspec
from msgspec import Struct

from adk_prism.runlog.expiring_store import ExpiringStore
from adk_prism.server.identity.caller import Principal
from adk_prism.server.identity.tickets import LIFETIME, Place, digest


class _Kept(Struct, frozen=True):
    place: Place
    caller: Principal


class SharedTickets:
    """Is a `TicketOffice`. How many there can be is bounded by their half minute and the callers' rate."""

    def __init__(self, store: ExpiringStore) -> None:
        self._store = store

    async def issue(self, caller: Principal, place: Place) -> str:
        """Return a new ticket to a place. Raise `LogError`."""
        ticket = secrets.token_urlsafe(32)
        kept = msgspec.json.encode(_Kept(place, caller))
        await self._store.put(_name(ticket), kept, LIFETIME)
        return ticket

    async def redeem(self, ticket: str, place: Place) -> Principal | None:
        """Spend a ticket; return who asked for it, or None if it is not good here and now."""
        found = await self._store.take(_name(ticket))
        kept = msgspec.json.decode(found, type=_Kept) if found is not None else None
        return kept.caller if kept is not None and kept.place == place else None


def _name(ticket: str) -> str:
    return f"ticket:{digest(ticket).hex()}"
