"""An app whose history ADK compacts after every answer."""

from __future__ import annotations

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.apps.app import EventsCompactionConfig
from google.adk.apps.llm_event_summarizer import LlmEventSummarizer
from google.adk.models.llm_request import LlmRequest

from adk_prism.models import ScriptedModel, Turn, say

SUMMARY = "The person likes moss."


def _answer(request: LlmRequest) -> Turn:
    return say(f"I was sent {len(request.contents)} messages.")


app = App(
    name="forgetful",
    root_agent=LlmAgent(
        name="forgetful", model=ScriptedModel(model="forgetful-offline", script=_answer)
    ),
    events_compaction_config=EventsCompactionConfig(
        compaction_interval=1,
        overlap_size=0,
        summarizer=LlmEventSummarizer(
            llm=ScriptedModel(model="forgetful-offline", script=lambda _: say(SUMMARY))
        ),
    ),
)
