"""Which model an app uses: the offline one, unless the environment offers a real one.

`ADK_PRISM_MODEL` names any model that ADK knows, or `offline`. Without it, a Gemini API key or the
settings for Vertex AI choose ADK's own default model. `ADK_PRISM_OFFLINE_DELAY` is the time between
the words of the offline model, in seconds.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from google.adk.agents import LlmAgent
from google.adk.models.base_llm import BaseLlm

# Slow enough to see words arrive, fast enough not to wait for them.
_DEFAULT_DELAY = 0.01
_KEYS = ("GOOGLE_API_KEY", "GEMINI_API_KEY")
_VERTEX_SWITCHES = ("GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_ENTERPRISE")
_ON = {"1", "true"}


def model_from_environment(
    offline: BaseLlm, environment: Mapping[str, str] | None = None
) -> BaseLlm | str:
    """Return the model's name if the environment offers a real model, else `offline`."""
    settings = os.environ if environment is None else environment
    named = settings.get("ADK_PRISM_MODEL", "").strip()
    if named:
        return offline if named == "offline" else named
    has_key = any(settings.get(key) for key in _KEYS)
    has_vertex = any(settings.get(switch, "").lower() in _ON for switch in _VERTEX_SWITCHES)
    return LlmAgent.DEFAULT_MODEL if has_key or has_vertex else offline


def offline_delay(environment: Mapping[str, str] | None = None) -> float:
    """Return the seconds between two words of the offline model; ValueError if not a number."""
    settings = os.environ if environment is None else environment
    given = settings.get("ADK_PRISM_OFFLINE_DELAY", "").strip()
    try:
        return float(given) if given else _DEFAULT_DELAY
    except ValueError:
        raise ValueError(
            f"ADK_PRISM_OFFLINE_DELAY is {given!r}; give a number of seconds, such as 0.01."
        ) from None
