"""An App that sums its history up after two invocations."""

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.apps.app import EventsCompactionConfig

app = App(
    name="compacting",
    root_agent=LlmAgent(name="root", model="gemini-2.5-flash"),
    events_compaction_config=EventsCompactionConfig(compaction_interval=2, overlap_size=1),
)
