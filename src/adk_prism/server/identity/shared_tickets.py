"""Tickets that are valid at every replica, stored with the run log."""

from __future__ import annotations

import secrets

import msgspec
from msgspec import Struct

from adk_prism.runlog.expiring_store import ExpiringStore
from adk_prism.server.identity.caller import Principal
from adk_prism.server.identity.credentials import digest
from adk_prism.server.identity.tickets import LIFETIME, Place


class _Kept(Struct, frozen=True):
    place: Place
    caller: Principal


class SharedTickets:
    """Is a `TicketOffice`. Their number is limited by their lifetime and the callers' rate limits."""

    def __init__(self, store: ExpiringStore) -> None:
        self._store = store

    async def issue(self, caller: Principal, place: Place) -> str:
        """Return a new ticket for a place. Raise `LogError`."""
        ticket = secrets.token_urlsafe(32)
        kept = msgspec.json.encode(_Kept(place, caller))
        await self._store.put(_name(ticket), kept, LIFETIME)
        return ticket

    async def redeem(self, ticket: str, place: Place) -> Principal | None:
        """Use up a ticket; return who requested it, or None if it is not valid for this place."""
        found = await self._store.take(_name(ticket))
        kept = msgspec.json.decode(found, type=_Kept) if found is not None else None
        return kept.caller if kept is not None and kept.place == place else None


def _name(ticket: str) -> str:
    return f"ticket:{digest(ticket).hex()}"
