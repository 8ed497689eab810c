"""Costs are computed from a price list, and never guessed."""

from __future__ import annotations

import pytest

from adk_prism.errors import UsageError
from adk_prism.features.usage.usage import ModelUse, Prices, measured, read_prices, run_usage
from adk_prism.log.entry import ModelCalled, to_raw

PRICES = Prices({"m": {"input": 1, "output": 10, "cached": 0.25}, "inputs": {"input": 1}})

COSTS: dict[str, tuple[str, dict[str, int], float | None]] = {
    "input and output": ("m", {"input": 1_000_000, "output": 100_000}, 2.0),
    "cached tokens are part of the input": ("m", {"input": 1_000_000, "cached": 400_000}, 0.7),
    "reasoning costs what output costs": ("m", {"output": 1, "reasoning": 99_999}, 1.0),
    "tokens from tools cost what input costs": ("m", {"tool": 500_000}, 0.5),
    "nothing": ("m", {}, 0.0),
    "more cached than sent": ("m", {"input": 1, "cached": 1_000_000}, 0.25),
    "a model without prices": ("m-lite", {"input": 1}, None),
    "a kind without a price": ("inputs", {"input": 1, "output": 1}, None),
}


@pytest.mark.parametrize(("model", "tokens", "cost"), COSTS.values(), ids=COSTS)
def test_what_a_call_costs(model: str, tokens: dict[str, int], cost: float | None) -> None:
    """Prices are per million tokens, by kind."""
    assert PRICES.cost(model, tokens) == cost


NONSENSE = {
    "no JSON": (b"{", "is not JSON"),
    "no text": (b'{"\xff": {}}', "is not JSON"),
    "a list": (b"[]", "is not a JSON object"),
    "a number for a model": (b'{"m": 3}', "has no prices for 'm'"),
    "an unknown kind": (b'{"m": {"inputs": 1}}', "has a price of 'inputs' for 'm'"),
    "a negative price": (b'{"m": {"input": -1}}', "has '-1' as a price for 'm'"),
    "a text as a price": (b'{"m": {"input": "1"}}', "has '1' as a price for 'm'"),
    "true": (b'{"m": {"input": true}}', "has 'True' as a price for 'm'"),
}


@pytest.mark.parametrize(("text", "message"), NONSENSE.values(), ids=NONSENSE)
def test_nonsense_is_named(text: bytes, message: str) -> None:
    """One line says which file, what is wrong, and what is expected."""
    with pytest.raises(UsageError) as caught:
        read_prices(text, "prices.json")
    assert caught.value.detail.startswith(f"The price list prices.json {message}")
    assert "Expected JSON such as" in caught.value.detail
    assert "\n" not in caught.value.detail


def _call(agent: str, model: str = "m", tokens: int = 0, error: str = "") -> ModelUse:
    usage = to_raw({"promptTokenCount": tokens} if tokens else None)
    called = ModelCalled(agent=agent, model=model, duration=5, usage=usage, error=error)
    return measured(called)


def test_a_run_is_summed_up_by_agent() -> None:
    """One call without a price makes the sum unknown, and only that of its agent."""
    calls = [_call("a", tokens=1_000_000), _call("a", error="X"), _call("b", "other", 7)]
    found = run_usage(calls, PRICES)
    assert (found["modelCalls"], found["usage"], found["cost"]) == (3, {"input": 1_000_007}, None)
    assert found["agents"]["a"] == {
        "modelCalls": 2,
        "usage": {"input": 1_000_000},
        "modelMs": 10,
        "firstTokenMs": None,
        "cost": 1.0,
    }
    assert "cost" not in run_usage(calls, Prices())
