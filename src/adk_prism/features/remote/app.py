"""An app that another ADK server runs, served here like any other."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NoReturn

import msgspec
from google.adk.events.event import Event
from google.adk.runners import Runner
from google.adk.utils.agent_info import AgentInfo

from adk_prism.adk.redaction import Serialiser
from adk_prism.adk.request import Emit, EventSource, RunRequest, run_started
from adk_prism.adk.served_app import Feature
from adk_prism.adk.sessions import Sessions
from adk_prism.adk.tools import InDoubt
from adk_prism.errors import AppFailed, NotSupported, PrismError, Report, UsageError
from adk_prism.features.app_graph import graph as graphs
from adk_prism.features.remote.connection import AgentInfo as RemoteAgent
from adk_prism.features.remote.connection import AppInfo, Connection, RemoteClient
from adk_prism.features.remote.live import RemoteLiveSource
from adk_prism.features.remote.sessions import RemoteArtifacts, RemoteSessions
from adk_prism.features.remote.settings import Remote
from adk_prism.features.remote.source import RemoteSource
from adk_prism.log import entry as logged
from adk_prism.voice.conversation import LiveConversation
from adk_prism.voice.run_context import LiveCall

_LACKS: Mapping[Feature, str] = {
    "live": "Live runs are passed on to ADK's servers in Python only.",
    "rewind": "Its server has no route that takes a message back, so nothing can be regenerated or edited.",
    "fork": "Its server does not take the history of a session from outside.",
    "rerun": "Its code is not here, so it cannot be run again with changes or recorded tools.",
    "client tools": "Its server takes no tools from clients.",
    "stored results": "Its server takes results of tools only as a message of their own; send them first.",
    "resume": "Its server stops a run when the connection to it is lost.",
    "memory": "Its server does not let others read its memory.",
    "graph": "Its server does not describe how its agents are connected.",
    "state": "Its server changes state only with a run.",
}


class RemoteApp:
    """One remote app. It can be listed at once; it is found on its server when it is first used."""

    root = None
    client_keys = None
    is_resumable = False
    stops_when_left = True
    plants_text = True

    def __init__(self, remote: Remote, report: Report) -> None:
        self.name = remote.name
        self._connection = Connection(remote, RemoteClient(remote, report))
        self.sessions = RemoteSessions(self._connection)
        self.artifacts = RemoteArtifacts(self._connection)
        self.failure: AppFailed | None = None
        """Why it could not be used the last time; None if it can, as far as is known."""

    @property
    def is_open(self) -> bool:
        """Whether the app was found on its server."""
        return self._connection.is_open

    async def open(self) -> None:
        """Find the app on its server, unless it was found before. Raise `RemoteFailed`."""
        try:
            await self._connection.open()
        except PrismError as error:
            self.failure = AppFailed(error.detail)
            raise
        self.failure = None

    def read_once(self) -> AbstractContextManager[None]:
        """Read each session once while the block runs, however many parts of a request need it."""
        return self.sessions.read_once()

    async def close(self) -> None:
        """Close the connections to its server."""
        await self._connection.close()

    @property
    def root_name(self) -> str:
        """Name of the root agent; the app's, where the server does not say."""
        return self._connection.info.root_agent_name or self.name

    @property
    def description(self) -> str:
        """What the root agent says of itself."""
        return self._connection.info.description

    @property
    def lacks(self) -> Mapping[Feature, str]:
        """What cannot be done from here, and why."""
        known = {
            "state": self._connection.dialect.patches_state,
            "live": self._connection.dialect.has_live,
            "fork": self._connection.dialect.takes_events,
            "graph": self._connection.info.root_agent_name in self._connection.info.agents,
        }
        return {feature: why for feature, why in _LACKS.items() if not known.get(feature)}

    def agents(self) -> list[logged.Agent]:
        """Return the agents as far as the server describes them; their models are not known."""
        info = self._connection.info
        names = sorted(info.agents, key=lambda name: name != info.root_agent_name)
        return [logged.Agent(name=name, tools=len(info.agents[name].tools)) for name in names]

    def graph(self) -> graphs.Graph:
        """Return the agents and tools that the server describes. Raise `NotSupported`."""
        self.check("graph")
        return graph_of(self._connection.info)

    def drawing(self) -> dict[str, Any]:
        """Return the agents and tools as ADK's page draws them. Raise `NotSupported`."""
        self.check("graph")
        return drawing_of(self.name, self._connection.info)

    async def details(self) -> dict[str, Any]:
        """Return the agents in ADK's words, by name."""
        found = self._connection.info.agents
        if not found:
            raise UsageError("The app's server does not describe its agents.")
        return {
            name: AgentInfo.model_validate(msgspec.to_builtins(told))
            for name, told in found.items()
        }

    def runner(self, feature: Feature) -> Runner:
        """Raise `NotSupported`: the code is elsewhere."""
        self._refuse(feature)

    def check(self, feature: Feature) -> None:
        """Raise `NotSupported` for what the server lacks."""
        if feature in self.lacks:
            self._refuse(feature)

    def live(self, call: LiveCall, report: Report) -> LiveConversation:
        """Return a live run on its server. Raise `NotSupported`."""
        self.check("live")
        return RemoteLiveSource(
            self._connection, self.sessions, call, agents=self.agents(), report=report
        )

    async def plant(self, origin: logged.Origin, events: Sequence[Event], *, resumes: bool) -> None:
        """Create a session on its server, which takes what was said and the state."""
        assert not resumes, "nothing in such a history can be resumed"
        await self.sessions.plant(origin, events)

    def source(
        self,
        request: RunRequest,
        report: Report,
        *,
        attempt: int = 0,
        doubts: Mapping[str, InDoubt] | None = None,
    ) -> EventSource:
        """Return a run of the app on its server."""
        del attempt, doubts  # No run of another process is resumed.
        return RemoteSource(
            self._connection,
            self.sessions,
            request,
            agents=self.agents(),
            report=report,
            is_last_word=self.is_last_word,
        )

    def is_last_word(self, event: Event) -> bool:
        """Return whether an event is the final answer of a root agent that is known to be an `LlmAgent`."""
        info = self._connection.info
        if not info.root_agent_name or info.is_derived:
            return False
        return event.author == info.root_agent_name and event.is_final_response()

    def state_update(self, request: RunRequest, report: Report) -> EventSource:
        """Return a change of state through the server's own route."""
        self.check("state")
        return RemoteStateUpdate(self.sessions, request, self.agents(), report)

    def _refuse(self, feature: Feature) -> NoReturn:
        raise NotSupported(f"The app {self.name!r} runs on another server. {_LACKS[feature]}")


class RemoteStateUpdate:
    """A state-only update of a remote session: one event, which its server makes."""

    correlation = ""

    def __init__(
        self,
        sessions: RemoteSessions,
        request: RunRequest,
        agents: list[logged.Agent],
        report: Report,
    ) -> None:
        self._sessions = Sessions(sessions)
        self._request = request
        self._agents = agents
        self._serialiser = Serialiser(report, run=request.run, app=request.origin.app)

    def cancel(self) -> None:
        """Do nothing: the change is one request."""

    async def records(self, emit: Emit | None = None) -> AsyncGenerator[logged.Record, None]:
        """Change the state, then yield `RunStarted` and the event. Raise `NotFound` or `RemoteFailed`."""
        del emit  # no node runs
        request = self._request
        before = await self._sessions.state(request.origin)
        event = await self._sessions.append_state(request.origin, request.state_delta)
        invocation = event.invocation_id
        yield run_started(request, self._agents, before, invocation=invocation, kind="state")
        yield logged.AgentEvent(self._serialiser.event(event))


# --------------------------------------------------------------------------- its graph
#
# What a server says of an app is also shown as a graph: agents, whom they transfer to, and their tools. It
# has neither models nor workflows, and of tools the names; so a graph may lack nodes.


def graph_of(info: AppInfo) -> graphs.Graph:
    """Return the graph of an app whose server described it."""
    root = info.root_agent_name
    nodes = {"START": graphs.GraphNode(id="START", name="START", kind="start")}
    edges = [_edge("START", root, "sequence"), _edge(root, "END", "sequence")]
    waiting = deque([(root, root, "")])
    while waiting and len(nodes) < graphs.MAX_NODES:
        name, place, parent = waiting.popleft()
        agent = info.agents.get(name, RemoteAgent(name=name))
        about = agent.description[: graphs.LONGEST_DESCRIPTION]
        nodes[place] = graphs.GraphNode(
            id=place, name=name, kind="agent", description=about, parent=parent
        )
        for tool in dict.fromkeys(_tools(agent.tools)):
            below = f"{place}/{tool}"
            nodes[below] = graphs.GraphNode(id=below, name=tool, kind="tool", parent=place)
            edges.append(_edge(place, below, "tool"))
        for member in dict.fromkeys(agent.sub_agents):
            if member in place.split("/"):
                continue  # An agent cannot be below itself; a description can say so.
            edges.append(_edge(place, f"{place}/{member}", "transfer"))
            waiting.append((member, f"{place}/{member}", place))
    nodes["END"] = graphs.GraphNode(id="END", name="END", kind="end")
    drawn = [each for each in edges if each.source in nodes and each.target in nodes]
    return graphs.Graph(nodes=list(nodes.values()), edges=drawn, truncated=bool(waiting))


def drawing_of(app: str, info: AppInfo) -> dict[str, Any]:
    """Return the app in the form of `build_graph`: each agent with its tools and sub-agents in it."""
    left = graphs.MAX_NODES

    def drawn(name: str, above: tuple[str, ...]) -> dict[str, Any]:
        nonlocal left
        left -= 1
        agent = info.agents.get(name, RemoteAgent(name=name))
        about: dict[str, Any] = {"name": name, "type": "agent"}
        if agent.description:
            about["description"] = agent.description[: graphs.LONGEST_DESCRIPTION]
        if tools := dict.fromkeys(_tools(agent.tools)):
            about["tools"] = [{"name": tool, "type": "tool"} for tool in tools]
        members = [
            drawn(member, (*above, name))
            for member in dict.fromkeys(agent.sub_agents)
            if member not in above and member != name and left > 0
        ]
        return about | ({"sub_agents": members} if members else {})

    return {"name": app, "root_agent": drawn(info.root_agent_name, ())}


def _edge(source: str, target: str, kind: graphs.EdgeKind) -> graphs.GraphEdge:
    return graphs.GraphEdge(id=f"{source}->{target}", source=source, target=target, kind=kind)


def _tools(tools: list[dict[str, Any]]) -> Iterator[str]:
    for tool in tools:
        declared = tool.get("function_declarations") or tool.get("functionDeclarations")
        for each in declared if isinstance(declared, list) else ():
            name = each.get("name") if isinstance(each, dict) else None
            if isinstance(name, str) and name:
                yield name
