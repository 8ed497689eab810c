"""The connection to one remote app: found on first use, with the dialect that its server speaks.

`/version` says which server it is, where there is one. The app is looked for in `/list-apps`, so that a wrong
name or address is said before anything runs.
"""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
from msgspec import Struct

from adk_prism.errors import Conflict, NotFound, NotSupported, PrismError, RemoteFailed
from adk_prism.source.remote.app_options import Remote
from adk_prism.source.remote.client import NONE, Method, RemoteClient, path_of
from adk_prism.source.remote.dialect import AUTO, DIALECTS, Dialect, Refusals


class _Version(Struct):
    version: str = ""
    language: str = ""


class AgentInfo(Struct, frozen=True):
    """One agent, as `app-info` describes it: in snake case, unlike everything else."""

    name: str = ""
    description: str = ""
    instruction: str = ""
    tools: list[dict[str, Any]] = []
    sub_agents: list[str] = []


class AppInfo(Struct, frozen=True, rename="camel"):
    """What a server says of an app."""

    root_agent_name: str = ""
    description: str = ""
    agents: dict[str, AgentInfo] = {}
    is_derived: bool = False
    """Read from what the server tells its page: of what kind the root is, is not known."""


class _Tool(Struct, frozen=True):
    name: str


class _Drawn(Struct, frozen=True):
    """One agent, as `build_graph` describes it."""

    name: str
    type: str = ""
    description: str = ""
    tools: list[_Tool] = []
    sub_agents: list[_Drawn] = []


class _Drawing(Struct, frozen=True):
    root_agent: _Drawn


_read_version = msgspec.json.Decoder(_Version).decode
_read_names = msgspec.json.Decoder(list[str]).decode
_read_info = msgspec.json.Decoder(AppInfo, strict=False).decode
_read_drawing = msgspec.json.Decoder(_Drawing).decode


class Connection:
    """Speaks to one remote app."""

    def __init__(self, remote: Remote, client: RemoteClient) -> None:
        self.remote = remote
        self.client = client
        self.info = AppInfo()
        self._dialect: Dialect | None = None
        self._opening = asyncio.Lock()

    @property
    def app(self) -> str:
        """The app's name on its server."""
        return self.remote.app

    @property
    def is_open(self) -> bool:
        """Whether the app was found."""
        return self._dialect is not None

    @property
    def dialect(self) -> Dialect:
        """What its server speaks. The connection has to be open."""
        assert self._dialect is not None, "await open() first"
        return self._dialect

    async def open(self) -> None:
        """Find the app, unless it was found before. Raise `RemoteFailed`."""
        async with self._opening:
            if self._dialect is not None:
                return
            dialect = await self._detect()
            if not dialect.is_engine:
                await self._check_app(dialect)
                self.info = await self._read_info(dialect)
            self._dialect = dialect

    async def ask(
        self, method: Method, path: str, body: Any = None, refusals: Refusals = NONE
    ) -> bytes:
        """Return what the remote answers to a request of its own routes; raise as `RemoteClient.ask`."""
        await self.open()
        if self.dialect.is_engine:
            raise NotSupported(
                f"The app {self.remote.name!r} runs on Agent Engine, which has no method for this."
            )
        return await self.client.ask(method, self.dialect.prefix + path, body, refusals)

    async def close(self) -> None:
        """Close it."""
        self.client.close()

    async def _detect(self) -> Dialect:
        if self.remote.dialect != AUTO:
            return DIALECTS[self.remote.dialect]
        if self.remote.is_engine:
            return DIALECTS["agent-engine"]
        try:
            said = _read_version(await self.client.ask("GET", "/version"))
        except NotFound:
            return await self._probe()
        except msgspec.MsgspecError:
            raise self.client.failed("its /version is not that of an ADK server") from None
        if said.language == "python":
            return DIALECTS["python-1" if said.version.startswith(("0.", "1.")) else "python"]
        name = (
            said.language.lower() or "typescript"
        )  # The only one that does not name its language.
        if name not in DIALECTS:
            raise self.client.failed(
                f"it is an ADK server in {name[:20]!r}, which this version does not speak"
            )
        return DIALECTS[name]

    async def _probe(self) -> Dialect:
        """Tell servers apart that have no `/version`: by where their apps are, and by FastAPI's document."""
        try:
            if await self._has("/api/list-apps"):
                return DIALECTS["go"]
            return DIALECTS["python-1" if await self._has("/openapi.json") else "java"]
        except RemoteFailed as error:
            raise self.client.failed(
                f"it could not be told which kind of ADK server it is ({error.detail.rstrip('.')}); set"
                f" --remote-dialect to one of {', '.join(DIALECTS)}"
            ) from error

    async def _has(self, path: str) -> bool:
        """Return whether there is such a route; one that fails is there."""
        try:
            await self.client.ask("GET", path, refusals={500: Conflict})
        except NotFound:
            return False
        except Conflict:
            return True
        return True

    async def _check_app(self, dialect: Dialect) -> None:
        try:
            names = _read_names(await self.client.ask("GET", dialect.prefix + "/list-apps"))
        except (NotFound, msgspec.MsgspecError):
            raise self.client.failed("it has no list of apps; is it an ADK server?") from None
        if self.app not in names:
            raise self.client.failed(
                f"its server has no app {self.app!r}; set --remote-app", f"it has {names[:20]}"
            )

    async def _read_info(self, dialect: Dialect) -> AppInfo:
        """Return what the server says of the app; a root that is not an LlmAgent is not described."""
        try:
            if dialect.has_app_info:
                path = dialect.prefix + path_of("apps", self.app, "app-info")
                return _read_info(await self.client.ask("GET", path, refusals={400: NotFound}))
            if dialect.has_build_graph:
                path = dialect.prefix + path_of("dev", "apps", self.app, "build_graph")
                return _drawn(_read_drawing(await self.client.ask("GET", path)).root_agent)
        except (PrismError, msgspec.MsgspecError, RecursionError):
            return AppInfo()
        return AppInfo()


def _drawn(root: _Drawn) -> AppInfo:
    """Return agents as `app-info` would describe them; nothing of a root that is not an agent."""
    if root.type != "agent":
        return AppInfo()
    found: dict[str, AgentInfo] = {}
    waiting = [root]
    while waiting:
        agent = waiting.pop()
        declared = [{"name": tool.name} for tool in agent.tools]
        found[agent.name] = AgentInfo(
            name=agent.name,
            description=agent.description,
            tools=[{"function_declarations": declared}] if declared else [],
            sub_agents=[member.name for member in agent.sub_agents],
        )
        waiting += agent.sub_agents
    return AppInfo(
        root_agent_name=root.name, description=root.description, agents=found, is_derived=True
    )
