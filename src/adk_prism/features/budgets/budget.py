"""Budgets, as an operator writes them, and which of them a run has to keep.

    caller runs=200 tokens=2M        each caller, in all apps together
    caller=ann tokens=50M            this caller, instead of what each caller has
    app=recovery cost=50             an app, all callers together; `app` alone: each app
    caller app=recovery runs=20      each caller in this app
    cost=100                         all callers and apps together

A budget is for callers, for apps, for callers in apps, or for all together. A run keeps one of each of these
four kinds: that which names most. Of costs a billionth is counted, so that sums are exact.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import msgspec

from adk_prism.errors import UsageError
from adk_prism.log.entry import Origin

EACH = "*"
"""In place of a name: each caller, or each app, has this budget."""

NANO = 10**9
"""Parts of a unit of cost that are counted."""

_AMOUNT = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)([KMB]?)")
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "B": 10**9}
_RESOURCES = {"runs": "200", "tokens": "500K or 2M", "cost": "5 or 0.50"}
"""What a budget can limit, with an example of each."""
_MOST = 2**53 - 1
"""Scripts of Redis compute with floating point."""
_SHOWN = 80
"""Characters of a wrong budget that an error repeats."""


class Budget(NamedTuple):
    """What may be used in a day."""

    user: str
    """A caller's name, `EACH`, or empty: all together."""
    app: str
    limits: Mapping[str, int]
    """By resource; of `cost` the billionths."""

    @property
    def kind(self) -> tuple[bool, bool]:
        """Whether it is for callers, and for apps."""
        return bool(self.user), bool(self.app)

    def account(self, origin: Origin) -> Account:
        """Return where what a run uses is counted."""
        return Account(origin.user if self.user else "", origin.app if self.app else "")


class Account(NamedTuple):
    """Whose use is counted together; empty: that of all."""

    user: str
    app: str

    @property
    def name(self) -> str:
        """Return one text for it."""
        return msgspec.json.encode(self).decode()

    def __str__(self) -> str:
        whose = f"app {self.app!r}" if self.app else "server"
        return f"this user for the {whose}" if self.user and self.app else self._one(whose)

    def _one(self, whose: str) -> str:
        return "this user" if self.user else f"the {whose}" if self.app else "this server"


def read_budgets(texts: Iterable[str]) -> list[Budget]:
    """Read budgets. Raise `UsageError` for one that is not valid, or two for the same."""
    found: dict[tuple[str, str], Budget] = {}
    for text in texts:
        budget = _read(text)
        if found.setdefault((budget.user, budget.app), budget) is not budget:
            raise UsageError(
                f"--budget {text[:_SHOWN]!r}: there is another one for the same; write one with all limits."
            )
    return list(found.values())


def _read(text: str) -> Budget:
    def wrong(what: str) -> UsageError:
        return UsageError(
            f"--budget {text[:_SHOWN]!r}: {what}. Expected such as 'caller runs=200 tokens=2M cost=5'"
            " or 'app=recovery cost=50'."
        )

    names: dict[str, str] = {}
    limits: dict[str, int] = {}
    for word in text.split():
        key, equals, value = word.partition("=")
        if key in names or key in limits:
            raise wrong(f"{key} stands there twice")
        if key in ("caller", "app") and (not equals or value not in ("", EACH)):
            names[key] = value or EACH
        elif key in _RESOURCES:
            limits[key] = amount = _read_amount(key, value)
            if not 0 <= amount <= _MOST:
                raise wrong(f"{key} must be a number such as {_RESOURCES[key]}")
        else:
            raise wrong(
                f"{word[:_SHOWN]!r} is none of caller, caller=NAME, app, app=NAME, runs=N, tokens=N, cost=N"
            )
    if not limits:
        raise wrong("it limits nothing")
    return Budget(names.get("caller", ""), names.get("app", ""), limits)


def _read_amount(resource: str, value: str) -> int:
    """Return an amount; -1 for what is none."""
    match = _AMOUNT.fullmatch(value)
    if match is None or (match[2] and resource == "cost"):
        return -1
    whole, _, part = match[1].partition(".")
    digits = int(whole + part) * (NANO if resource == "cost" else _UNITS[match[2]])
    amount, rest = divmod(digits, 10 ** len(part))
    return -1 if rest else amount


def budgets_of(budgets: Sequence[Budget], origin: Origin) -> list[Budget]:
    """Return the budgets that a run keeps: of each kind that which names most, its caller first."""
    found: dict[tuple[bool, bool], Budget] = {}
    for budget in sorted(budgets, key=lambda each: (each.user == EACH, each.app == EACH)):
        if budget.user in ("", EACH, origin.user) and budget.app in ("", EACH, origin.app):
            found.setdefault(budget.kind, budget)
    return list(found.values())


# --------------------------------------------------------------------------- days and texts


class Day(NamedTuple):
    """A day in UTC."""

    name: str
    ends: datetime

    @classmethod
    def at(cls, seconds: float) -> Day:
        """Return the day of a moment, in seconds since 1970."""
        began = datetime.fromtimestamp(seconds, UTC).replace(
            hour=0, minute=0, second=0, microsecond=0
        )
        return cls(began.date().isoformat(), began + timedelta(days=1))


def shown(resource: str, amount: int) -> float:
    """Return an amount as people count it."""
    return amount / NANO if resource == "cost" else amount


def used_up(account: Account, resource: str, limit: int, day: Day) -> str:
    """Return why a run is refused."""
    what = f"a cost of {shown(resource, limit):g}" if resource == "cost" else f"{limit} {resource}"
    return (
        f"The budget of {account} is used up: {what} a day."
        f" The next day begins at {day.ends:%Y-%m-%dT%H:%M}Z (midnight UTC)."
    )
