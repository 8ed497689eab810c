"""The research app: a question becomes a plan, an approved plan a search, a search a receipt.

An ordinary ADK app. Without a key for a model the offline script speaks (`script.py`); what a message
means, whether a search may run and what it found is decided by code either way, so a real model changes
only the wording. Without a key for a database, or without a network, the bundled sample library is
searched, and the answer says so.

Imports are relative: ADK imports this folder as the package `research`, whatever folder it is in.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from google.adk.agents import LlmAgent
from google.adk.apps import App, ResumabilityConfig

from adk_prism import accept_client_state
from adk_prism.grounding import PANEL_KEYS
from adk_prism.models import WritingModel, model_from_environment, offline_delay

from .callbacks import Callbacks
from .databases.clock import Clock as Timer
from .databases.clock import SystemClock
from .databases.registry import DATABASES, NAMES
from .instructions import instruction
from .planning.available_databases import AvailableDatabases
from .script import research_script
from .search_runner import Clock
from .toolbox import Toolbox

# A plan has a hundred words and is read, not watched: it should be there at once.
_PACE = 0.05


def research_app(
    delay: float,
    *,
    environment: Mapping[str, str] | None = None,
    clock: Clock | None = None,
    timer: Timer | None = None,
) -> App:
    """Build the app; `delay` is the seconds between two offline words.

    `environment` says which databases may be asked, `clock` tells the time of receipts, and `timer` is
    what services are waited for with.
    """
    now = clock or _now
    toolbox = Toolbox(
        DATABASES, AvailableDatabases(DATABASES, environment), now, timer or SystemClock()
    )
    tools = {each.tool for each in DATABASES.values()}
    callbacks = Callbacks(toolbox, NAMES, tools.__contains__, now)
    offline = WritingModel(model="research-offline", script=research_script, delay=delay)
    root = LlmAgent(
        name="research_agent",
        description="Helps you search the literature, and asks before every search.",
        instruction=instruction,
        model=model_from_environment(offline),
        tools=[*toolbox.tools()],
        before_agent_callback=callbacks.before_agent,
        after_agent_callback=callbacks.after_agent,
        before_tool_callback=callbacks.before_tool,
        after_tool_callback=callbacks.after_tool,
    )
    return App(
        name="research",
        root_agent=root,
        plugins=[accept_client_state(*PANEL_KEYS)],
        # So that a run whose process died can go on.
        resumability_config=ResumabilityConfig(is_resumable=True),
    )


def _now() -> datetime:
    return datetime.now().astimezone()


app = research_app(_PACE * offline_delay())
