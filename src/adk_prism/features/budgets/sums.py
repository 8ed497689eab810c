"""What was used today, counted by a process that has its run log alone: stored beside the log.

Of each account the last day is kept. Accounts of earlier days are removed with the first charge of a day, so
their number is that of the accounts of one day.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from adk_prism.log.contract import SideStore, SideValue
from adk_prism.log.coordination import Charge, OverSum, Sums
from adk_prism.log.entry import Origin

_SPACE = "budget"
_AT_A_TIME = 200
"""Old accounts that are looked up together."""


class _Stored(Struct, frozen=True):
    day: str
    sums: dict[str, int]


class StoredSums:
    """Sums of one process, in the side store of its log."""

    def __init__(self, side: SideStore) -> None:
        self._side = side
        self._lock = asyncio.Lock()
        self._day = ""
        """The last day for which old accounts were removed."""

    async def open(self) -> None:
        """Do nothing: the log is opened by its owner."""

    async def close(self) -> None:
        """Do nothing."""

    async def charge(self, day: str, charges: Sequence[Charge], once: str = "") -> OverSum | None:
        """Add amounts, unless a sum has reached its most; return that one."""
        del once  # a charge is stored when the call returns, and nobody else's can be repeated
        async with self._lock:
            if day > self._day:
                await self._remove_old(day)
                self._day = day
            found = await self._read(day, [each.account for each in charges])
            for each, sums in zip(charges, found, strict=True):
                for name, most in each.most.items():
                    if sums.get(name, 0) >= most:
                        return OverSum(each.account, name)
            for each, sums in zip(charges, found, strict=True):
                if any(each.amounts.values()):
                    new = {name: sums.get(name, 0) + more for name, more in each.amounts.items()}
                    value = msgspec.json.encode(_Stored(day, {**sums, **new}))
                    await self._side.put(_owner(each.account), _SPACE, _SPACE, value)
        return None

    async def read(self, day: str, accounts: Sequence[str]) -> Sequence[Sums]:
        """Return the sums of accounts."""
        return await self._read(day, accounts)

    async def _read(self, day: str, accounts: Sequence[str]) -> list[Sums]:
        values = await self._side.list([_owner(account) for account in accounts])
        return [_sums_of(values.get(_owner(account), ()), day) for account in accounts]

    async def _remove_old(self, day: str) -> None:
        owners = await self._side.owners(_SPACE)
        for start in range(0, len(owners), _AT_A_TIME):
            some = await self._side.list(owners[start : start + _AT_A_TIME])
            for owner, values in some.items():
                if not _sums_of(values, day):
                    await self._side.delete(owner, _SPACE, _SPACE)


def _owner(account: str) -> Origin:
    """Return the owner of an account's value: no session of an app, since no app is without a name."""
    return Origin(app="", user=account, session=_SPACE)


def _sums_of(values: Sequence[SideValue], day: str) -> Sums:
    """Return the sums of a day; none of another."""
    for value in values:
        if value.space == _SPACE:
            stored = msgspec.json.decode(value.value, type=_Stored)
            return stored.sums if stored.day == day else {}
    return {}
