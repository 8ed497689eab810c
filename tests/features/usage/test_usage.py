"""Costs are computed from a price list, and never guessed."""

from __future__ import annotations

import json
from importlib.resources import files

import pytest

from adk_prism.errors import UsageError
from adk_prism.features.usage.usage import (
    ModelUse,
    Prices,
    list_prices,
    measured,
    read_prices,
    run_usage,
)
from adk_prism.log.entry import (
    AgentEvent,
    Entry,
    ModelCalled,
    Origin,
    RunEnded,
    RunId,
    RunStarted,
    to_raw,
)
from adk_prism.protocols.registry import protocol

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


MATCHES: dict[str, str | None] = {
    "gemini-2.5-flash": "gemini-2.5-flash",
    "gemini/gemini-2.5-flash": "gemini-2.5-flash",
    "models/gemini-2.5-flash-001": "gemini-2.5-flash",
    "projects/p/locations/l/publishers/google/models/gemini-2.5-flash": "gemini-2.5-flash",
    "gemini-2.5-flash-preview-09-2025": "gemini-2.5-flash",
    "gemini-2.5-flash-lite": "gemini-2.5-flash-lite",
    "anthropic/claude-sonnet-4-5@20250929": "claude-sonnet-4-5",
    "openai/gpt-4o-2024-08-06": "gpt-4o",
    "gemini-2.5-flash-preview-tts": None,
    "gpt-5-codex": None,
    "claude-opus-4-9": None,
    "scripted": None,
    "": None,
}


@pytest.mark.parametrize(("model", "name"), MATCHES.items())
def test_models_are_found_under_other_names(model: str, name: str | None) -> None:
    """Where it is served and which version it is do not matter; another model is never taken for it."""
    found = list_prices().find(model)
    assert found == (list_prices().models[name] if name else None)


def test_our_list_is_one_that_can_be_given() -> None:
    """It says of which day it is and where it is from, and of a model that it does not know nothing."""
    text = (files("adk_prism.features.usage") / "prices.json").read_bytes()
    prices = read_prices(text, "prices.json")
    assert prices.models == list_prices().models
    assert {"asOf", "sources"} <= prices.about.keys()
    assert prices.about["currency"] == "USD"
    assert list_prices().shown(_call("a", "scripted", 7)) == {}
    assert prices.shown(_call("a", "scripted", 7)) == {"cost": None}
    assert list_prices().window("gemini-2.5-flash") == 1_048_576


def test_long_requests_and_sound_have_their_own_prices() -> None:
    """Above a number of tokens all of a request costs more; null is unknown, not nothing."""
    prices = Prices(
        {
            "m": {"input": 1, "output": 1, "over": {"tokens": 200, "input": 2}},
            "heard": {"input": 1, "output": 1, "inputAudio": 10},
            "unheard": {"input": 1, "output": 1, "inputAudio": None},
        }
    )
    assert prices.cost("m", {"input": 200}) == 0.0002
    assert prices.cost("m", {"input": 201}) == 0.000402
    assert prices.cost("m", {"input": 201}, is_sum=True) == 0.000201
    usage = to_raw(
        {
            "promptTokenCount": 100,
            "cachedContentTokenCount": 60,
            "promptTokensDetails": [{"modality": "AUDIO", "tokenCount": 50}, "odd"],
            "cacheTokensDetails": [{"modality": "AUDIO", "tokenCount": 20}],
        }
    )
    heard = measured(ModelCalled(agent="a", model="heard", usage=usage))
    assert heard.tokens == {"input": 100, "cached": 60, "inputAudio": 30}
    assert prices.of(heard) == 0.00037  # 10 and 60 cached at the price of input, 30 of sound
    assert prices.cost("unheard", heard.tokens) is None


def _run(model: str, *, live: bool = False) -> list[Entry]:
    said = {"content": {"role": "model", "parts": [{"text": "Hi"}]}, "author": "a", "id": "e"}
    event = said | {"usageMetadata": {"promptTokenCount": 10, "totalTokenCount": 10}}
    origin = Origin(app="app", user="user", session="session")
    records = [
        RunStarted(run=RunId("r"), origin=origin, message=to_raw({}), live=live),
        AgentEvent(event=to_raw(event)),
        ModelCalled(agent="a", model=model, usage=to_raw(event["usageMetadata"])),
        RunEnded(outcome="finished"),
    ]
    return [Entry(n, 1.0 * n, record) for n, record in enumerate(records, 1)]


COST = {"cost": 0.000003, "currency": "USD", "pricesAsOf": list_prices().about["asOf"]}


@pytest.mark.parametrize(
    ("model", "said"), [("gemini-2.5-flash", COST), ("scripted", {})], ids=["known", "unknown"]
)
def test_protocols_carry_the_cost_beside_the_tokens(model: str, said: dict[str, object]) -> None:
    """Where there is a price; without one their frames are as they were."""
    ends = {
        "ai-sdk": lambda sent: next(s for s in sent if s.get("type") == "finish")[
            "messageMetadata"
        ],
        "ag-ui": lambda sent: sent[-1].get("metadata", {"usage": {}}),
        "openai-chat": lambda sent: sent[-1],
        "openai-responses": lambda sent: sent[-1]["response"],
    }
    for name, end in ends.items():
        reader = protocol(name).format().reader()
        payloads = [payload.data for entry in _run(model) for payload in reader.feed(entry)]
        sent = [json.loads(data) for data in payloads if data != b"[DONE]"]
        usage = end(sent)["usage"]
        assert {key: usage[key] for key in usage if key in COST} == said, name


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
