"""A plan in words, with the ways to answer it."""

from __future__ import annotations

from typing import Any

from adk_prism.grounding import SearchPlan, SearchReceipt

OPTIONS = "[OK] Proceed · [Short Run] Preview of 10 · [Modify] Adjust · [Cancel] Skip"


def plan_text(plan: SearchPlan) -> str:
    """Return the plan as it is shown for approval."""
    lines = [
        "**SEARCH PLAN**",
        "",
        f"- Database: {plan.database}{_mode(plan)}",
        f"- Query: `{plan.query}`",
        f"- Filters: {filters_text(plan.filters)}",
        f"- Rationale: {plan.rationale}",
        f"- Expected results: {plan.expected_results}",
        f"- Cost: {plan.cost_time}; at most {plan.limit} papers are read",
        f"- Alternative: {plan.alternative}",
        "",
        OPTIONS,
    ]
    return "\n".join(lines)


def cost_text(plan: SearchPlan) -> str:
    """Return what a plan would cost, in its own words."""
    limit = f"; at most {plan.limit} papers are read" if plan.limit else ""
    expected = f" Expected results: {plan.expected_results}." if plan.expected_results else ""
    return f"{plan.database}: {plan.cost_time or 'cost not known'}{limit}.{expected}"


def spent_text(receipt: SearchReceipt) -> str:
    """Return what a search that was made has cost."""
    requests = f"{receipt.requests} request{'' if receipt.requests == 1 else 's'}"
    return f"{receipt.database}: {requests}, {receipt.duration_ms / 1000:.1f} s"


def filters_text(filters: dict[str, Any]) -> str:
    """Return filters in words."""
    shown = [f"{name} {_value(value)}" for name, value in filters.items()]
    return "; ".join(shown) or "none"


def _value(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _mode(plan: SearchPlan) -> str:
    return " (offline)" if plan.mode == "offline" else ""
