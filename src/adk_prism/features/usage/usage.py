"""What model calls use: model, tokens by kind, time, and by a price list of the operator what they cost.

A source that sees requests records each call (`ModelCalled`). Of other runs, such as captures, events tell
(`ModelCallEnded`): without the time, and with the model that the agent declares, else the one that answered.

A price list is a JSON object: a model's name → prices per million tokens by kind, such as
`{"my-model": {"input": 0.3, "output": 2.5, "cached": 0.075}}`, or such an object as `models` beside the day
(`asOf`), the `currency` and the `sources` of the prices, as in `prices.json`, the list that is used where the
operator names none. Without a price of their own, kinds cost what `_INSTEAD` says. No price is guessed:
where one is missing or null, there is no cost.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

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

_DETAILS = {
    "inputAudio": ("AUDIO", "promptTokensDetails", "cacheTokensDetails"),
    "outputAudio": ("AUDIO", "candidatesTokensDetails", ""),
    "outputImage": ("IMAGE", "candidatesTokensDetails", ""),
}
"""Parts of `input` and `output` that can have other prices: their modality, and where they and those of them
that were cached are listed."""


def token_usage(usage: Raw) -> dict[str, int]:
    """Return the counts of a model call; a kind that was not reported is left out."""
    given = read_object(usage)
    counts = {
        kind: count
        for kind, name in _KINDS.items()
        if type(count := given.get(name)) is int and count >= 0
    }
    for kind, (modality, listed, cached) in _DETAILS.items():
        if (count := _listed(given, listed, modality) - _listed(given, cached, modality)) > 0:
            counts[kind] = count
    return counts


def _listed(given: Mapping[str, Any], name: str, modality: str) -> int:
    """Return how many tokens of a modality a list of details has."""
    found = given.get(name)
    counts = (
        each.get("tokenCount")
        for each in (found if isinstance(found, list) else ())
        if isinstance(each, dict) and each.get("modality") == modality
    )
    return sum(count for count in counts if type(count) is int and count > 0)


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
        self.said: dict[str, Any] = {}
        """What annotations say of it, such as its cost."""

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
            case fact.Annotated(place="usage"):
                self.said |= item.value
            case _:
                pass  # uses no model


# ---------------------------------------------------------------------------
# Costs.

_MILLION = 1_000_000
_INSTEAD = {
    "cached": "input",
    "tool": "input",
    "inputAudio": "input",
    "reasoning": "output",
    "outputAudio": "output",
    "outputImage": "output",
}
"""Whose price a kind has that has none."""
_PARTS = {"input": ("cached", "inputAudio"), "output": ("outputAudio", "outputImage")}
"""Kinds whose tokens are counted in another one too."""
KINDS = ("input", "output", *_INSTEAD)
_DIGITS = 9
"""Decimals of a cost: sums in floating point have more, which mean nothing."""

_VERSION = re.compile(
    r"(?:[-@:](?:latest|preview|exp|v\d+(?::\d+)?|\d{3,8}|\d{4}-\d{2}-\d{2}|\d{2}-\d{2,4}))+"
)
"""What may follow a name in the list: dates and versions of the same model, and nothing else of its name."""


class Prices:
    """Prices by model and kind of tokens, with the sizes of context windows."""

    def __init__(
        self,
        models: Mapping[str, Mapping[str, Any]] | None = None,
        about: Mapping[str, Any] | None = None,
        *,
        is_given: bool = True,
    ) -> None:
        """`is_given`: the operator has named the list, so what it lacks is shown as unknown."""
        self.models = models or {}
        self.about = {key: value for key, value in (about or {}).items() if value}
        """`asOf`, `currency` and `sources`, as far as the list says them."""
        self.is_given = is_given
        self._found: dict[str, Mapping[str, Any] | None] = {}

    def __bool__(self) -> bool:
        return bool(self.models)

    def find(self, model: str) -> Mapping[str, Any] | None:
        """Return what the list has of a model; None if it does not know it.

        By its name; else without what says where it is served (`gemini/`, `models/`, `publishers/…/`); else
        by the longest name in the list that only a date or version follows.
        """
        if model not in self._found:
            if len(self._found) >= MOST_MODELS:
                self._found.clear()
            self._found[model] = self._look_up(model)
        return self._found[model]

    def _look_up(self, model: str) -> Mapping[str, Any] | None:
        name = model.rpartition("/")[2].lower()
        for exact in (model, name):
            if exact in self.models:
                return self.models[exact]
        begins = (
            each
            for each in self.models
            if name.startswith(each) and _VERSION.fullmatch(name, len(each))
        )
        found = max(begins, key=len, default=None)
        return None if found is None else self.models[found]

    def says(self, model: str) -> bool:
        """Return whether a cost is shown for a model: a number, or that it is unknown."""
        return bool(self.models) and (self.is_given or self.find(model) is not None)

    def shown(self, use: ModelUse) -> dict[str, float | None]:
        """Return what a call cost, as it is shown beside it; empty if nothing is said of its cost."""
        return {"cost": self.of(use)} if self.says(use.model) else {}

    def window(self, model: str) -> int | None:
        """Return how many tokens a request to a model can have; None if that is not known."""
        return (self.find(model) or {}).get("window")

    def of(self, use: ModelUse) -> float | None:
        """Return what a call cost; None if a price is missing."""
        # A call that reported no tokens failed, or nobody knows what it cost.
        if not use.tokens and use.is_failed:
            return 0.0
        return self.cost(use.model, use.tokens, is_sum=use.calls != 1)

    def cost(self, model: str, tokens: Mapping[str, int], *, is_sum: bool = False) -> float | None:
        """Return what tokens of a model cost; None if a price is missing.

        Of a sum of several calls nobody knows which were so long that they cost more: none is taken to be.
        """
        prices = self.find(model)
        if prices is None:
            return None
        over = prices.get("over")
        if over and not is_sum and tokens.get("input", 0) > over["tokens"]:
            prices = {**prices, **over}
        counts = dict(tokens)
        for kind, parts in _PARTS.items():
            counts[kind] = max(0, counts.get(kind, 0) - sum(tokens.get(p, 0) for p in parts))
        total = 0.0
        for kind in KINDS:
            price = prices.get(kind, prices.get(_INSTEAD.get(kind, "")))
            if counts.get(kind) and price is None:
                return None
            total += counts.get(kind, 0) * (price or 0.0)
        return round(total / _MILLION, _DIGITS)


MOST_MODELS = 1_000
"""Names of models that are remembered as they were looked up: those of runs may be any text."""


@cache
def list_prices() -> Prices:
    """Return the list that is used where the operator names none."""
    found = msgspec.json.decode(files(__package__).joinpath("prices.json").read_bytes())
    return Prices(found.pop("models"), found, is_given=False)


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
        found = msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise wrong(f"is not JSON ({error})") from None
    if not isinstance(found, dict):
        raise wrong("is not a JSON object")
    about: dict[str, Any] = {}
    if isinstance(found.get("models"), dict) and found.keys() <= {"models", *ABOUT}:
        about = {key: found[key] for key in ABOUT if key in found}
        found = found["models"]
    for model, prices in found.items():
        if fault := _fault_in(prices):
            raise wrong(f"has {fault} {model[:60]!r}")
    return Prices(found, about)


def _fault_in(prices: Any) -> str:
    """Return what is wrong with the prices of a model; empty if nothing is."""
    if not isinstance(prices, dict):
        return "no prices for"
    over = prices.get("over", {"tokens": 1})
    if not isinstance(over, dict) or not _is_count(over.get("tokens")):
        return "no number of `tokens` in `over` of"
    if not _is_count(prices.get("window", 1)):
        return f"{str(prices['window'])[:60]!r} as the window of"
    for kind, price in (*prices.items(), *over.items()):
        if kind in _SIZES:
            continue
        if kind not in KINDS:
            return f"a price of {kind[:60]!r} for"
        if price is not None and (type(price) not in (int, float) or not 0 <= price < math.inf):
            return f"{str(price)[:60]!r} as a price for"
    return ""


ABOUT = ("asOf", "currency", "sources", "about")
"""What a list can say of itself, beside its `models`."""

_SIZES = ("over", "window", "tokens")


def _is_count(value: object) -> bool:
    return type(value) is int and value > 0


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
        self.says_cost = prices.is_given and bool(prices)
        """Something is known of what they cost."""

    def add(self, call: ModelUse) -> None:
        """Add a call."""
        self.calls += call.calls
        self._duration += call.duration
        for kind, count in call.tokens.items():
            self.tokens[kind] = self.tokens.get(kind, 0) + count
        if call.first_token is not None and self._first is None:
            self._first = call.first_token
        self.cost = total_cost((self.cost, self._prices.of(call)))
        self.says_cost = self.says_cost or self._prices.says(call.model)

    def words(self) -> str:
        """Say what it cost, by prices of which day."""
        if self.cost is None:
            return "cost unknown: a model has no price"
        about = self._prices.about
        day = f" (prices as of {about['asOf']})" if "asOf" in about else ""
        return " ".join(filter(None, (f"cost {self.cost:.6f}", about.get("currency")))) + day

    def shown(self) -> dict[str, Any]:
        """Return it as routes answer it; cost only where there is a price for one of the calls."""
        shown: dict[str, Any] = {
            "modelCalls": self.calls,
            "usage": self.tokens,
            "modelMs": self._duration,
            "firstTokenMs": self._first,
        }
        return shown | ({"cost": self.cost} if self.says_cost else {})


def total_cost(costs: Iterable[float | None]) -> float | None:
    """Return the sum of costs; None if one is unknown."""
    total = 0.0
    for cost in costs:
        if cost is None:
            return None
        total += cost
    return round(total, _DIGITS)


def said_costs(costs: Iterable[float | UnsetType | None]) -> list[float | None]:
    """Return costs, with None for those of which nothing is said; none if nothing is said of any."""
    found = list(costs)
    is_said = any(cost is not UNSET for cost in found)
    return [cost if isinstance(cost, float) else None for cost in found] if is_said else []


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
    shown = total.shown() | {"agents": {name: each.shown() for name, each in agents.items()}}
    as_of = prices.about.get("asOf")
    return shown | ({"pricesAsOf": as_of} if total.says_cost and as_of else {})
