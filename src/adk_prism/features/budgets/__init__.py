"""How much callers and apps may use in a day: runs, tokens, cost (`--budget`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from adk_prism.errors import UsageError
from adk_prism.extension import Extension, Limiter, LimiterParts, Served
from adk_prism.options import FeatureSettings, several

if TYPE_CHECKING:
    from adk_prism.server.context import Context


@dataclass(frozen=True, kw_only=True)
class BudgetSettings(FeatureSettings):
    """What may be used in a day."""

    title: ClassVar[str] = "Limits"
    budget: tuple[str, ...] = several("BUDGET", "texts such as 'caller runs=200 tokens=2M'").option(
        "what may be used in a day (UTC): `caller runs=200 tokens=2M cost=5` for each caller,"
        " `app=recovery cost=50` for an app, `caller=ann app=recovery tokens=10M` for one caller there,"
        " `cost=100` for all together; a run beyond it is refused with 429; repeatable"
    )

    def broken_rule(self) -> str:
        """Return what is wrong with the budgets."""
        from adk_prism.features.budgets.budget import read_budgets

        try:
            read_budgets(self.budget)
        except UsageError as error:
            return error.detail
        return ""


def _limiter(parts: LimiterParts) -> Limiter | None:
    given = parts.settings.of(BudgetSettings)
    if not given.budget:
        return None
    from adk_prism.features.budgets.budget import read_budgets
    from adk_prism.features.budgets.limiter import BudgetLimiter
    from adk_prism.features.budgets.sums import StoredSums
    from adk_prism.features.usage import UsageSettings

    return BudgetLimiter(
        read_budgets(given.budget),
        parts.coordination.sums() or StoredSums(parts.log.side),
        parts.log,
        parts.settings.of(UsageSettings).read(),
        parts.observability,
    )


def _serve(context: Context) -> Served:
    from adk_prism.features.budgets.limiter import BudgetLimiter, routes

    limiters = context.limits.limiters
    limiter = next((each for each in limiters if isinstance(each, BudgetLimiter)), None)
    if limiter is not None:
        context.lifecycle.hold(limiter.billing)
    return Served(routers=[routes(limiter)], observer=limiter)


EXTENSION = Extension(
    name="budgets",
    summary="budgets of callers and apps for a day: runs, tokens, cost (--budget)",
    requires=("usage",),
    settings=lambda: BudgetSettings,
    limiter=_limiter,
    serve=_serve,
)
