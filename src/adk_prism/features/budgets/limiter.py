"""Refuses runs beyond a budget, bills runs when they have ended, and shows what is used.

A run counts when it starts; its tokens and their cost when it has ended, however it did, on the day of its
end. So a run that passes a budget may finish, and so may those beside it. The process that has stored the
run's end bills it, which is one process: a run that was taken over is billed once, with what it used before.
A copy in a fork and a recorded run are not billed, nor is what a fork has of the past.

What a run uses is read as it is stored, since its user may delete it before its end; large pieces, and the
run of another process, are read from the log.

Tokens of a model without a price cost nothing here; the operator is told, once for each model.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Annotated, Any

from fastapi import APIRouter, Query

from adk_prism.errors import Diagnostic, Gone, LogError, NotFound, TooMany, cause_of
from adk_prism.extension import Limiter, Stop
from adk_prism.facts import model as fact
from adk_prism.facts.run_reader import Reader
from adk_prism.features.budgets.budget import (
    NANO,
    Account,
    Budget,
    Day,
    budgets_of,
    shown,
    used_up,
)
from adk_prism.features.usage.usage import ModelUse, Prices, UseFold
from adk_prism.log.contract import RunLog
from adk_prism.log.coordination import Charge, DaySums, Sums
from adk_prism.log.entry import Entry, Origin, RunId, RunStarted, RunTakenOver, is_recorded
from adk_prism.log.private_files import Notifier, Recent, cancel_task
from adk_prism.runs.off_loop import feed_run, is_large
from adk_prism.server.identity.caller import may_operate
from adk_prism.server.identity.identity import CallerOf, QueryUser
from adk_prism.server.observability import Observability
from adk_prism.server.request_bodies import check_app

MOST_WAITING = 10_000
"""Ended runs that wait to be billed: more only wait while the store is away."""
PATIENCE = 2.0
"""Seconds for which the start of a run waits for the bills of those that have just ended."""
AGAIN = 1.0
"""Seconds after which a bill is tried again, when the store could not be reached."""
MOST_AT_ONCE, MOST_FOLDS = 512, 1000
"""Entries of a run that are read together while it goes on, a few milliseconds, and runs that are."""
MOST_MODELS = 100
"""Models without a price that are reported."""

_USES = {"tokens", "cost"}
"""What is known when a run has ended."""


class BudgetLimiter(Limiter):
    """Keeps the budgets of one server."""

    def __init__(
        self,
        budgets: Sequence[Budget],
        sums: DaySums,
        log: RunLog,
        prices: Prices,
        observability: Observability,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.budgets = budgets
        self._sums = sums
        self._log = log
        self._prices = prices
        self._report = observability.report
        self._refused = observability.meter.refused
        self.clock = clock
        self._begun: set[RunId] = set()
        """Runs that this process executes."""
        self._copies: Recent[RunId, bool] = Recent(MOST_WAITING)
        """Runs that it stores without executing them."""
        self._uses: Recent[RunId, _Uses] = Recent(MOST_FOLDS)
        """Of runs that go on here."""
        self._waiting: dict[RunId, _Uses] = {}
        self._counts_use = any(each.limits.keys() & _USES for each in budgets)
        self._changed = Notifier()
        self._unpriced: set[str] = set()

    @property
    def day(self) -> Day:
        """Return the day that it is."""
        return Day.at(self.clock())

    async def used(self, accounts: Sequence[Account]) -> Sequence[Sums]:
        """Return what accounts have used today, with the runs that have just ended. Raise `LogError`."""
        await self._settled()
        return await self._sums.read(self.day.name, [each.name for each in accounts])

    # ------------------------------------------------------------------ runs that start

    @asynccontextmanager
    async def entering(
        self, origin: Origin, *, must: bool = False, runs_agent: bool = True
    ) -> AsyncIterator[None]:
        """Count a run; not if the block fails. Raise `TooMany` beyond a budget, `LogError`."""
        budgets = budgets_of(self.budgets, origin) if runs_agent and not must else []
        if not budgets:
            yield
            return
        await self._settled()
        day = self.day
        charges = [Charge(each.account(origin).name, _one(each), each.limits) for each in budgets]
        over = await self._sums.charge(day.name, charges)
        if over is not None:
            [budget] = [each for each in budgets if each.account(origin).name == over.account]
            self._refused(f"budget_{over.name}")
            text = used_up(budget.account(origin), over.name, budget.limits[over.name], day)
            raise TooMany(text, day.ends.timestamp() - self.clock())
        try:
            yield
        except BaseException:
            back = [
                Charge(each.account, {k: -v for k, v in each.amounts.items()}) for each in charges
            ]
            with suppress(LogError):  # the error that is raised says more
                await self._sums.charge(day.name, back)
            raise

    def begin(self, run: RunId, stop: Stop) -> None:
        """Note that a run is executed here."""
        del stop
        self._begun.add(run)

    def end(self, run: RunId) -> None:
        """Forget it: its end is stored."""
        self._begun.discard(run)

    async def _settled(self) -> None:
        """Wait until the runs that have ended by now are billed, or patience has run out."""
        ended = set(self._waiting)
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                while ended & self._waiting.keys():
                    await self._changed.wait()

    # ------------------------------------------------------------------ runs that end

    def stored(self, run: RunId, entries: Sequence[Entry]) -> None:
        """Read what a run uses that is executed here; note one that is only stored."""
        if entries[0].cursor == 1 and run not in self._begun:
            self._copies[run] = True
        elif self._counts_use:
            uses = self._uses.pop(run, None) or _Uses()
            uses.read(entries)
            self._uses[run] = uses

    def ended(self, run: RunId) -> None:
        """Bill a run."""
        uses = self._uses.pop(run, None) or _Uses()
        if self._copies.pop(run, False) or is_recorded(run) or not self._counts_use:
            return
        if len(self._waiting) >= MOST_WAITING:
            self._report(Diagnostic(kind="run not billed", detail="Too many wait.", run=run))
            return
        self._waiting[run] = uses
        self._changed.notify()

    def changed(self, run: RunId) -> None:
        """Do nothing: what is stored beside a run costs nothing."""

    @asynccontextmanager
    async def billing(self) -> AsyncIterator[None]:
        """Bill runs while the block runs; those that wait at its end are tried once more."""
        await self._sums.open()
        task = asyncio.create_task(self._work(), name="bill runs")
        try:
            yield
        finally:
            await cancel_task(task)
            for run, uses in list(self._waiting.items()):
                with suppress(LogError):
                    await self._bill(run, uses)
            await self._sums.close()

    async def _work(self) -> None:
        while True:
            while not self._waiting:
                await self._changed.wait()
            run, uses = next(iter(self._waiting.items()))
            try:
                await self._bill(run, uses)
            except LogError:
                await asyncio.sleep(AGAIN)
                continue
            del self._waiting[run]
            self._changed.notify()

    async def _bill(self, run: RunId, uses: _Uses) -> None:
        """Count what a run used. Raise `LogError` if the store cannot be reached."""
        try:
            if not uses.is_complete:
                uses = _Uses()
                await feed_run(self._log, run, uses.feed)
        except (NotFound, Gone):
            return  # Removed since.
        except LogError:
            raise
        except Exception as error:  # Whatever it is, the next run is billed.
            self._report(Diagnostic(kind="run not billed", run=run, cause=cause_of(error)))
            return
        kept = [
            each for each in budgets_of(self.budgets, uses.origin) if each.limits.keys() & _USES
        ]
        amounts = {"tokens": _tokens_of(uses.calls), "cost": self._cost_of(uses.calls)}
        if kept and any(amounts.values()):
            charges = [Charge(each.account(uses.origin).name, amounts) for each in kept]
            await self._sums.charge(self.day.name, charges, once=run)

    def _cost_of(self, uses: Iterable[ModelUse]) -> int:
        total = 0
        for use in uses:
            cost = self._prices.of(use)
            if cost is None:
                self._report_unpriced(use.model)
            total += round((cost or 0.0) * NANO)
        return total

    def _report_unpriced(self, model: str) -> None:
        is_asked = any("cost" in each.limits for each in self.budgets)
        if is_asked and model not in self._unpriced and len(self._unpriced) < MOST_MODELS:
            self._unpriced.add(model)
            detail = f"No budget counts what the model {model[:100]!r} costs: the price list has none for it."
            self._report(Diagnostic(kind="model without a price", detail=detail))


def _one(budget: Budget) -> dict[str, int]:
    """Return what the start of a run uses."""
    return {"runs": 1} if "runs" in budget.limits else {}


class _Uses:
    """Reads what the model calls of a run used; not those that a fork has of the past."""

    def __init__(self) -> None:
        self.origin = Origin(app="", user="", session="")
        self._cursor = 0
        self._is_broken = False
        self._reader = Reader()
        self._began: list[fact.Fact] = []
        self._fold = UseFold()

    @property
    def is_complete(self) -> bool:
        """Whether all that was stored was read."""
        return self._cursor > 0 and not self._is_broken

    @property
    def calls(self) -> Sequence[ModelUse]:
        """The calls so far."""
        return self._fold.calls

    def read(self, entries: Sequence[Entry]) -> None:
        """Read some entries on the event loop, if that takes only a moment, and all before were read."""
        is_next = entries[0].cursor == self._cursor + 1 and not self._is_broken
        if not is_next or len(entries) > MOST_AT_ONCE or is_large(entries):
            self._is_broken = True
            return
        try:
            for entry in entries:
                self.feed(entry)
        except Exception:  # `_bill` meets it again, and reports it.
            self._is_broken = True

    def feed(self, entry: Entry) -> None:
        """Read an entry."""
        record, self._cursor = entry.record, entry.cursor
        if isinstance(record, RunStarted):
            self.origin = record.origin
        if isinstance(record, RunTakenOver) and record.epoch == 0:  # the seam of a fork
            self._fold = UseFold()
            for item in self._began:
                self._fold.feed(item)
        for item in self._reader.feed(entry):
            if isinstance(item, fact.RunBegan):
                self._began.append(item)
            self._fold.feed(item)


def _tokens_of(uses: Iterable[ModelUse]) -> int:
    """Return the tokens of some calls: the total that the model reports, else the sum of its kinds."""
    return sum(use.tokens.get("total") or _sum_of_kinds(use) for use in uses)


def _sum_of_kinds(use: ModelUse) -> int:
    return sum(use.tokens.get(kind, 0) for kind in ("input", "output", "reasoning", "tool"))


# --------------------------------------------------------------------------- route


def routes(limiter: BudgetLimiter | None) -> APIRouter:
    """Return the router of budgets."""
    router = APIRouter(tags=["budgets"])

    @router.get("/api/budgets")
    async def show_budgets(
        caller: CallerOf, user: QueryUser, app: Annotated[str, Query()] = ""
    ) -> dict[str, Any]:
        """Return the budgets of a user, with `app` also those for that app, and what is used of them today.

        What all callers together have used is for administrators.
        """
        if limiter is None:
            return {"day": None, "ends": None, "budgets": []}
        day, origin = limiter.day, Origin(app=check_app(app) if app else "", user=user, session="")
        may_see_all = may_operate(caller)
        budgets = [
            each
            for each in budgets_of(limiter.budgets, origin)
            if (app or not each.app) and (each.user or may_see_all)
        ]
        used = await limiter.used([each.account(origin) for each in budgets])
        listed = [_shown(each, origin, sums) for each, sums in zip(budgets, used, strict=True)]
        return {"day": day.name, "ends": f"{day.ends:%Y-%m-%dT%H:%M:%SZ}", "budgets": listed}

    return router


def _shown(budget: Budget, origin: Origin, sums: Sums) -> dict[str, Any]:
    account = budget.account(origin)
    return {
        "user": account.user or None,
        "app": account.app or None,
        "limits": {name: shown(name, limit) for name, limit in budget.limits.items()},
        "used": {name: shown(name, sums.get(name, 0)) for name in budget.limits},
    }
