"""The offline models: ordinary ADK models that play a script, with no network and no key.

They import google.adk, google.genai and the standard library, nothing else of adk-prism, so that an
app which uses them stays an ordinary ADK app. A script is a pure function from ADK's `LlmRequest`
to a `Turn`.
"""

from adk_prism.models.script import (
    Answer,
    Call,
    Conversation,
    Fail,
    Pause,
    Say,
    Show,
    Step,
    Think,
    Turn,
    read_conversation,
    say,
)
from adk_prism.models.scripted_model import (
    Script,
    ScriptedModel,
    WritingModel,
    foreign_language,
    model_from_environment,
    offline_delay,
)

__all__ = [
    "Answer",
    "Call",
    "Conversation",
    "Fail",
    "Pause",
    "Say",
    "Script",
    "ScriptedModel",
    "Show",
    "Step",
    "Think",
    "Turn",
    "WritingModel",
    "foreign_language",
    "model_from_environment",
    "offline_delay",
    "read_conversation",
    "say",
]
