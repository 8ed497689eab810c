"""What model calls use: model, tokens by kind, time, and by a price list of the operator what they cost.

A source that sees requests records each call (`ModelCalled`). Of other runs, such as captures, events tell
(`ModelCallEnded`): without the time, and with the model that the agent declares, else the one that answered.

A price list is a JSON object: a model's name → prices per million tokens by kind, such as
`{"my-model": {"input": 0.3, "output": 2.5, "cached": 0.075}}`. Without a price of their own, cached tokens
and those from tools cost what input costs, and reasoning what output costs. No price is guessed: without
one there is no cost.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Raw, Struct

from adk_prism.errors import UsageError
from adk_prism.facts import model as fact
from adk_prism.facts.state import read_object
from adk_prism.log.entry import Agent, ModelCalled

_KINDS = {
    "input": "promptTokenCount",
    "output": "candidatesTokenCount",
    "cached": "cachedContentTokenCount",
    "reasoning": "thoughtsTokenCount",
    "tool": "toolUsePromptTokenCount",
    "total": "totalTokenCount",
}
"""`cached` tokens are part of `input`; the total is that of the model."""


def token_usage(usage: Raw) -> dict[str, int]:
    """Return the counts of a model call; a kind that was not reported is left out."""
    given = read_object(usage)
    return {
        kind: count
        for kind, name in _KINDS.items()
        if type(count := given.get(name)) is int and count >= 0
    }


class ModelUse(Struct, frozen=True, kw_only=True):
    """One call of a model, or several."""

    agent: str
    model: str
    tokens: Mapping[str, int]
    """By kind; empty: the model did not report any."""
    calls: int = 1
    duration: int = 0
    """Milliseconds."""
    first_token: int | None = None
    is_failed: bool = False


def measured(call: ModelCalled | fact.ModelCalled) -> ModelUse:
    """Return the use of a call that was recorded."""
    return ModelUse(
        agent=call.agent,
        model=call.model,
        tokens=token_usage(call.usage),
        duration=call.duration,
        first_token=call.first_token,
        is_failed=bool(call.error),
    )


class DeclaredModels:
    """The models that the agents of a run declare."""

    def __init__(self) -> None:
        self._models: dict[str, str] = {}

    def feed(self, agents: Iterable[Agent]) -> None:
        """Read the agents of a run."""
        self._models = {agent.name: agent.model for agent in agents if agent.model}

    def reported(self, ended: fact.ModelCallEnded) -> ModelUse:
        """Return the use of a call of which events tell."""
        agent = ended.speaker.author
        model = self._models.get(agent) or ended.model
        return ModelUse(agent=agent, model=model, tokens=token_usage(ended.usage))


class UseFold:
    """Reads the model calls of one run."""

    def __init__(self) -> None:
        self._declared = DeclaredModels()
        self._measured: list[ModelUse] = []
        self._reported: list[ModelUse] = []

    @property
    def calls(self) -> list[ModelUse]:
        """The calls so far: as measured, if any was."""
        return self._measured or self._reported

    def feed(self, item: fact.Fact) -> None:
        """Read a fact."""
        match item:
            case fact.RunBegan():
                self._declared.feed(item.agents)
            case fact.ModelCalled():
                self._measured.append(measured(item))
            case fact.ModelCallEnded() if bytes(item.usage):
                self._reported.append(self._declared.reported(item))
            case fact.Nested():
                self.feed(item.fact)
            case _:
                pass  # uses no model


# ---------------------------------------------------------------------------
# Costs.

_MILLION = 1_000_000
_INSTEAD = {"cached": "input", "tool": "input", "reasoning": "output"}
"""Whose price a kind has that has none."""
KINDS = ("input", "output", *_INSTEAD)
_DIGITS = 9
"""Decimals of a cost: sums in floating point have more, which mean nothing."""


class Prices:
    """Prices by model and kind of tokens."""

    def __init__(self, models: Mapping[str, Mapping[str, float]] | None = None) -> None:
        self._models = models or {}

    def __bool__(self) -> bool:
        return bool(self._models)

    def of(self, use: ModelUse) -> float | None:
        """Return what a call cost; None if a price is missing."""
        # A call that reported no tokens failed, or nobody knows what it cost.
        return self.cost(use.model, use.tokens) if use.tokens or not use.is_failed else 0.0

    def cost(self, model: str, tokens: Mapping[str, int]) -> float | None:
        """Return what tokens of a model cost; None if a price is missing."""
        prices = self._models.get(model)
        if prices is None:
            return None
        # Cached tokens are part of the input.
        counts = {**tokens, "input": max(0, tokens.get("input", 0) - tokens.get("cached", 0))}
        total = 0.0
        for kind in KINDS:
            price = prices.get(kind, prices.get(_INSTEAD.get(kind, ""), None))
            if counts.get(kind) and price is None:
                return None
            total += counts.get(kind, 0) * (price or 0.0)
        return round(total / _MILLION, _DIGITS)


def read_prices(text: bytes, name: str) -> Prices:
    """Read a price list. Raise `UsageError`, which says what is wrong in it; `name` is the file's."""

    def wrong(what: str) -> UsageError:
        kinds = ", ".join(KINDS)
        return UsageError(
            f"The price list {name} {what}. Expected JSON such as"
            ' {"my-model": {"input": 0.3, "output": 2.5}}: prices per million tokens of'
            f" {kinds}."
        )

    try:
        models = msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise wrong(f"is not JSON ({error})") from None
    if not isinstance(models, dict):
        raise wrong("is not a JSON object")
    for model, prices in models.items():
        if not isinstance(prices, dict):
            raise wrong(f"has no prices for {model[:60]!r}")
        for kind, price in prices.items():
            if kind not in KINDS:
                raise wrong(f"has a price of {kind[:60]!r} for {model[:60]!r}")
            if type(price) not in (int, float) or not 0 <= price < math.inf:
                raise wrong(f"has {str(price)[:60]!r} as a price for {model[:60]!r}")
    return Prices(models)


class UsageSum:
    """Calls, tokens, time and cost of some model calls."""

    def __init__(self, prices: Prices) -> None:
        self._prices = prices
        self.calls = 0
        self.tokens: dict[str, int] = {}
        self._duration = 0
        self._first: int | None = None
        """Milliseconds to the first token of the first call."""
        self.cost: float | None = 0.0
        """None: one of them has no price."""

    def add(self, call: ModelUse) -> None:
        """Add a call."""
        self.calls += call.calls
        self._duration += call.duration
        for kind, count in call.tokens.items():
            self.tokens[kind] = self.tokens.get(kind, 0) + count
        if call.first_token is not None and self._first is None:
            self._first = call.first_token
        self.cost = total_cost((self.cost, self._prices.of(call)))

    def shown(self) -> dict[str, Any]:
        """Return it as routes answer it; cost only where there are prices."""
        shown: dict[str, Any] = {
            "modelCalls": self.calls,
            "usage": self.tokens,
            "modelMs": self._duration,
            "firstTokenMs": self._first,
        }
        return shown | ({"cost": self.cost} if self._prices else {})


def total_cost(costs: Iterable[float | None]) -> float | None:
    """Return the sum of costs; None if one is unknown."""
    total = 0.0
    for cost in costs:
        if cost is None:
            return None
        total += cost
    return round(total, _DIGITS)


def sum_of(calls: Iterable[ModelUse], prices: Prices) -> UsageSum:
    """Return the sum of some calls."""
    total = UsageSum(prices)
    for call in calls:
        total.add(call)
    return total


def run_usage(calls: Iterable[ModelUse], prices: Prices) -> dict[str, Any]:
    """Return what the model calls of a run took, in all and by agent."""
    total, agents = UsageSum(prices), dict[str, UsageSum]()
    for call in calls:
        total.add(call)
        agents.setdefault(call.agent, UsageSum(prices)).add(call)
    return total.shown() | {"agents": {name: each.shown() for name, each in agents.items()}}
