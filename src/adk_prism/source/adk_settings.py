"""What the operator sets in ADK: its default model, its experimental features, its limit of model calls."""

from __future__ import annotations

from collections.abc import Iterable

from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.run_config import RunConfig
from google.adk.features import FeatureName, override_feature_enabled

from adk_prism.errors import UsageError


def set_default_model(name: str) -> None:
    """Set the model of agents that name none; an empty name changes nothing."""
    if name:
        LlmAgent.set_default_model(name)


def set_features(*, enabled: Iterable[str], disabled: Iterable[str]) -> None:
    """Switch features on and off, several in a text divided by commas. Raise `UsageError` for an unknown one.

    A feature that is in both is off, as with ADK.
    """
    wanted = {name: True for name in _names(enabled)} | {name: False for name in _names(disabled)}
    known = {feature.value: feature for feature in FeatureName}
    if unknown := sorted(wanted.keys() - known.keys()):
        raise UsageError(
            f"ADK has no feature {unknown[0][:60]!r}; it has {', '.join(sorted(known))}."
        )
    for name, is_on in wanted.items():
        override_feature_enabled(known[name], is_on)


def limit_of_model_calls(wanted: int | None) -> int:
    """Return the most model calls of a run, as ADK takes it: what is wanted, or ADK's own limit."""
    own = RunConfig.model_fields["max_llm_calls"]
    return int(own.get_default(call_default_factory=True)) if wanted is None else wanted


def _names(texts: Iterable[str]) -> list[str]:
    return [name.strip() for text in texts for name in text.split(",") if name.strip()]
