"""What a run cost, beside the token counts that protocols carry at its end.

Nothing is said of a run whose models have no price, so protocols of those are the same with and without a
price list. For the same list and log it says the same. It says nothing of live runs, whose messages end
before the run does.
"""

from __future__ import annotations

from collections.abc import Sequence

from adk_prism.facts import model as fact
from adk_prism.facts.event_actions import AgentText
from adk_prism.features.usage.usage import Prices, UseFold, sum_of


class CostAnnotator:
    """Is an `Annotator`."""

    def __init__(self, prices: Prices) -> None:
        self._prices = prices
        self._uses = UseFold()
        self._is_live = False

    def feed(
        self, cursor: int, facts: Sequence[fact.Fact], text: AgentText | None
    ) -> list[fact.Fact]:
        """Read the facts of an entry; add none."""
        del cursor, text
        for item in facts:
            self._uses.feed(item)
            self._is_live = self._is_live or (isinstance(item, fact.RunBegan) and item.live)
        return []

    def end(
        self,
        cursor: int,
        facts: Sequence[fact.Fact],
        cut_off: Sequence[AgentText],
        *,
        answered: bool,
    ) -> list[fact.Fact]:
        """Return what the run cost, if that is known."""
        del cursor, facts, cut_off, answered
        total = sum_of(self._uses.calls, self._prices)
        if self._is_live or not self._uses.calls or not total.says_cost or total.cost is None:
            return []
        about = self._prices.about
        shown = {"cost": total.cost} | {
            name: about[key]
            for key, name in (("currency", "currency"), ("asOf", "pricesAsOf"))
            if key in about
        }
        return [fact.Annotated("cost", "cost", shown, total.words(), "usage")]
