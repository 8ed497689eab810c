"""Every scenario of the tour: each snapshot is the state that ADK had at that point, cut; and a film that
was fed while the run went on shows at every cursor what the film of its recording shows."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.apps import App
from google.adk.artifacts import InMemoryArtifactService
from google.adk.events.event import Event
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService, Session
from google.genai import types
from tests.protocols.studio.logs import ORIGIN, Json, without_overlay

from adk_prism.adk.request import RunRequest
from adk_prism.adk.runner import RunnerSource
from adk_prism.adk.sessions import Sessions
from adk_prism.apps.tour.agent import tour_app
from adk_prism.apps.tour.scenarios import SCENARIOS, Scenario
from adk_prism.errors import ignore
from adk_prism.features.captures.recording_file import read_run, write_run
from adk_prism.features.page.film import Film, fold
from adk_prism.log.entry import AgentEvent, Entry, RunId
from adk_prism.log.memory import MemoryLog
from adk_prism.protocols.registry import protocol
from adk_prism.runs.recorder import RunRecorder

RUN = RunId("run-1")
BEFORE = {"trip": {"legs": [{"to": {"city": "Porto"}}]}, "user:name": "Ada", "count": 1}
_SHORT = {"slow": "slow 0.01", "long": "long 40", "large file": "large file 4"}
scenarios = pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.name.replace(" ", "_"))

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*deprecated.*:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*EXPERIMENTAL.*:UserWarning"),
]


class Watch(BasePlugin):
    """Notes the state that each agent finds and leaves."""

    def __init__(self) -> None:
        super().__init__(name="watch")
        self.found: list[tuple[str, Json]] = []
        self.left: list[tuple[str, Json]] = []

    async def before_agent_callback(
        self, *, agent: BaseAgent, callback_context: CallbackContext
    ) -> None:
        self.found.append((agent.name, _kept(callback_context.state.to_dict())))

    async def after_agent_callback(
        self, *, agent: BaseAgent, callback_context: CallbackContext
    ) -> None:
        self.left.append((agent.name, _kept(callback_context.state.to_dict())))


class Shelf(InMemorySessionService):
    """Notes the stored state after every event."""

    def __init__(self) -> None:
        super().__init__()
        self.after: dict[str, Json] = {}

    async def append_event(self, session: Session, event: Event) -> Event:
        event = await super().append_event(session, event)
        self.after[event.id] = await self.stored()
        return event

    async def stored(self) -> Json:
        names = {"app_name": ORIGIN.app, "user_id": ORIGIN.user, "session_id": ORIGIN.session}
        session = await self.get_session(**names)
        assert session is not None
        return _kept(session.state)


class Played:
    """A scenario that was run, and what ADK had meanwhile."""

    def __init__(self, entries: list[Entry], shelf: Shelf, watch: Watch) -> None:
        self.entries, self.shelf, self.watch = entries, shelf, watch

    def traces(self) -> list[tuple[Entry, Json]]:
        reader = protocol("studio").format().reader()
        payloads = ((entry, payload) for entry in self.entries for payload in reader.feed(entry))
        traces = ((e, msgspec.json.decode(p.data)) for e, p in payloads if p.event == "trace")
        return [(entry, without_overlay(data)) for entry, data in traces]


async def play(scenario: Scenario) -> Played:
    shelf, watch = Shelf(), Watch()
    root = tour_app(delay=0).root_agent
    runner = Runner(
        app=App(name=ORIGIN.app, root_agent=root, plugins=[watch]),
        session_service=shelf,
        artifact_service=InMemoryArtifactService(),
    )
    await Sessions(shelf).create(ORIGIN, BEFORE)
    log = MemoryLog()
    await log.open()
    message = types.UserContent(_SHORT.get(scenario.name, scenario.example))
    source = RunnerSource(runner, RunRequest(run=RUN, origin=ORIGIN, message=message), nodes=True)
    await RunRecorder(log, RUN, source, ignore).record()
    return Played([e async for batch in log.read(RUN) for e in batch], shelf, watch)


@scenarios
async def test_each_snapshot_is_the_state_at_its_point(scenario: Scenario) -> None:
    """Of an event what was stored with it, of a node what its agent saw, of the run the first and last."""
    played = await play(scenario)
    found = {
        name: [state for n, state in played.watch.found if n == name]
        for name, _ in played.watch.found
    }
    left = {
        name: [state for n, state in played.watch.left if n == name]
        for name, _ in played.watch.left
    }
    for entry, trace in played.traces():
        snapshot = trace["state_snapshot"]
        if trace["type"] == "state":
            assert isinstance(entry.record, AgentEvent)
            event = msgspec.json.decode(entry.record.event)["id"]
            assert snapshot["output"] == cut(played.shelf.after[event])
        elif trace["type"] == "done":
            assert snapshot == {"input": cut(BEFORE), "output": cut(await played.shelf.stored())}
        elif trace["type"] == "node_start" and found.get(trace["node"]):
            assert snapshot["input"] == cut(found[trace["node"]].pop(0))
        elif trace["type"] == "node_end" and left.get(trace["node"]):
            assert snapshot["output"] == cut(left[trace["node"]].pop(0))
    assert not any(found.values())
    assert not any(left.values())


@scenarios
async def test_a_film_shows_live_what_its_recording_shows(scenario: Scenario) -> None:
    """At each cursor, in all panels, but for how many entries there are by now."""
    played = await play(scenario)
    recorded = fold(read_run(write_run(played.entries)))
    live = Film()
    for entry in played.entries:
        live.feed(entry)
        assert _shown(live, entry.cursor) == _shown(recorded, entry.cursor)


def _shown(film: Film, cursor: int) -> Any:
    shown = msgspec.to_builtins(film.at(cursor))
    return {key: value for key, value in shown.items() if key != "last"}


def _kept(state: Json) -> Json:
    """Return a copy of a state without what ADK never stores."""
    kept = {key: value for key, value in state.items() if not key.startswith("temp:")}
    return dict(msgspec.json.decode(msgspec.json.encode(kept)))


def cut(value: Any, depth: int = 3) -> Any:
    """Return a value to three levels, as the protocol says it."""
    if not isinstance(value, dict | list) or not value:
        return value
    if not depth:
        noun = "key" if isinstance(value, dict) else "item"
        count = f"… {len(value)} {noun}{'s' if len(value) > 1 else ''}"
        return f"{{{count}}}" if isinstance(value, dict) else f"[{count}]"
    if isinstance(value, list):
        return [cut(item, depth - 1) for item in value]
    return {key: cut(item, depth - 1) for key, item in value.items()}
