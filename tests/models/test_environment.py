"""A real model is used only where the environment offers one."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from google.adk.agents import LlmAgent

from adk_prism.models import ScriptedModel, model_from_environment, offline_delay, say

OFFLINE = ScriptedModel(script=lambda request: say("offline"))


@dataclass(frozen=True)
class Case:
    id: str
    expected: str | None
    environment: dict[str, str] = field(default_factory=dict)


DEFAULT = LlmAgent.DEFAULT_MODEL
CASES = [
    Case("nothing", None),
    Case("empty key", None, {"GOOGLE_API_KEY": ""}),
    Case("key", DEFAULT, {"GOOGLE_API_KEY": "k"}),
    Case("other key", DEFAULT, {"GEMINI_API_KEY": "k"}),
    Case("vertex", DEFAULT, {"GOOGLE_GENAI_USE_VERTEXAI": "TRUE"}),
    Case("enterprise", DEFAULT, {"GOOGLE_GENAI_USE_ENTERPRISE": "1"}),
    Case("no vertex", None, {"GOOGLE_GENAI_USE_VERTEXAI": "false"}),
    Case("named", "openai/gpt-x", {"ADK_PRISM_MODEL": " openai/gpt-x "}),
    Case("named over key", "m", {"ADK_PRISM_MODEL": "m", "GOOGLE_API_KEY": "k"}),
    Case("offline over key", None, {"ADK_PRISM_MODEL": "offline", "GOOGLE_API_KEY": "k"}),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_model_from_environment(case: Case) -> None:
    """None stands for the offline model."""
    assert model_from_environment(OFFLINE, case.environment) == (case.expected or OFFLINE)


def test_the_process_environment_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADK_PRISM_MODEL", "named")
    monkeypatch.setenv("ADK_PRISM_OFFLINE_DELAY", "0.5")

    assert model_from_environment(OFFLINE) == "named"
    assert offline_delay() == 0.5


def test_delay() -> None:
    assert offline_delay({}) > 0
    assert offline_delay({"ADK_PRISM_OFFLINE_DELAY": "0"}) == 0
    with pytest.raises(ValueError, match="ADK_PRISM_OFFLINE_DELAY is 'soon'"):
        offline_delay({"ADK_PRISM_OFFLINE_DELAY": "soon"})
