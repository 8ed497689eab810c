"""Tools that are answered from a recording: ADK asks here before it calls one, and gets the recorded answer.

Whatever the tool would have changed is done again: state, artifacts, a transfer, the request for an approval.
What reaches beyond the session is not: `user:` and `app:` state, as it was before the message and as tools
changed it, is visible in the run and is not stored, and `user:` artifacts are not saved.

Some tools are called: those that run agents or workflows, whose own tools are answered from the recording,
and those by which ADK itself goes on (a transfer, the end of a loop or a task, a structured answer).

What a recorded request held of ADK's memory is given again: `preload_memory` searches before each request.
It is no tool that a model calls, so there is no recorded answer; what it found is in the request itself. Only
requests that were recorded whole say so (`--model-calls full`).
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from google.adk.agents.base_agent import BaseAgent
from google.adk.artifacts.base_artifact_service import BaseArtifactService
from google.adk.auth.auth_tool import AuthConfig
from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions.session import Session
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext
from google.adk.workflow import Workflow
from google.genai import types
from msgspec import Raw

from adk_prism.adk.agents import node_of_tool
from adk_prism.adk.client_tools import RESERVED
from adk_prism.adk.sessions import SHARED
from adk_prism.errors import CallNotRecorded, FailedAsRecorded
from adk_prism.facts.adk_event import REQUESTS
from adk_prism.facts.state import read_value
from adk_prism.features.rerun.recorded_calls import Effects, RecordedCalls, RecordedResult
from adk_prism.log.entry import Origin

_ADK_TOOLS = RESERVED | REQUESTS | {"exit_loop"}
_USER = "user:"

LoadArtifact = Callable[[str, int], Awaitable[types.Part | None]]
"""Name and version → the artifact of the recorded session; None if it is not there (any more)."""


def stored_artifacts(service: BaseArtifactService | None, origin: Origin) -> LoadArtifact:
    """Return what reads the artifacts of a session; without a service it finds none."""

    async def load(name: str, version: int) -> types.Part | None:
        if service is None:
            return None
        return await service.load_artifact(
            app_name=origin.app,
            user_id=origin.user,
            session_id=origin.session,
            filename=name,
            version=version,
        )

    return load


class RecordedTools:
    """The tools of one message, as they were recorded."""

    def __init__(
        self, calls: RecordedCalls, load: LoadArtifact, state: Mapping[str, Raw] | None = None
    ) -> None:
        """`state` is that before the first run, with what the session shares with others; None: not known."""
        self._calls = calls
        self._load = load
        self._shared = {k: read_value(v) for k, v in (state or {}).items() if k.startswith(SHARED)}
        self._later: set[str] | None = set() if state is None else None
        """Keys of shared state that have come since; None before the first run."""
        self.unanswered: CallNotRecorded | None = None
        """The call that the recording has no answer to: the run fails with it."""

    def enter(self, session: Session) -> None:
        """Show a run the shared state as it was recorded. It is not stored."""
        if self._later is None:
            shared = {key for key in session.state if key.startswith(SHARED)}
            self._later = shared - self._shared.keys()
        for key in self._later & session.state.keys():
            del session.state[key]
        session.state.update(self._shared)

    @property
    def missing(self) -> list[str]:
        """Artifacts that a tool saved, and that are not there any more."""
        return self._calls.missing

    def is_called(self, tool: BaseTool) -> bool:
        """Return whether a tool is called although tools are answered from a recording."""
        if isinstance(node_of_tool(tool), BaseAgent | Workflow):
            return True
        # An app may have a tool of its own with such a name.
        code = getattr(tool, "func", None) or type(tool)
        return tool.name in _ADK_TOOLS and str(code.__module__).startswith("google.adk.")

    async def answer(
        self, tool: BaseTool, arguments: dict[str, Any], context: ToolContext
    ) -> Any | None:
        """Return the recorded answer to a call, or that there is none; None for a tool that is called."""
        if self.is_called(tool):
            return None
        try:
            found = self._find(tool, arguments, context)
        except CallNotRecorded as error:
            # Calls beside one that failed have no answer either: the failure ended their run.
            self.unanswered = self.unanswered or error
            return {"error": error.detail}
        if found.failure:
            detail = f"{tool.name} failed in the recording ({found.failure}), and so it does again."
            self.unanswered = FailedAsRecorded(detail, found.failure)
            return {"error": detail}
        for effects in found.take_effects():
            await self._apply(effects, context)
        if found.asks is not None:
            # Whether the agent goes on after it has asked is one of the effects.
            context.request_confirmation(
                hint=found.asks.get("hint"), payload=found.asks.get("payload")
            )
        if found.signs_in is not None:
            wanted = AuthConfig.model_validate(found.signs_in)
            context.actions.requested_auth_configs[context.function_call_id or ""] = wanted
        # Never None, which would have the tool called: an empty answer of one that runs long is none.
        return found.response

    def _find(
        self, tool: BaseTool, arguments: dict[str, Any], context: ToolContext
    ) -> RecordedResult:
        if getattr(context.node, "tool", None) is tool:
            return self._calls.answer_of_node(context.node_path, tool.name, arguments)
        return self._calls.answer(
            (context.invocation_id, context.branch or "", context.function_call_id or ""),
            tool.name,
            arguments,
            context.agent_name,
            is_again=context.tool_confirmation is not None,
        )

    async def _apply(self, effects: Effects, context: ToolContext) -> None:
        for key, value in effects.state.items():
            if key.startswith(SHARED):
                context.session.state[key] = self._shared[key] = value
            else:
                context.state[key] = value
        for name, version in effects.artifacts.items():
            if not name.startswith(_USER):
                await self._save(name, version, context)
        actions = context.actions
        actions.transfer_to_agent = effects.transfer or actions.transfer_to_agent
        actions.escalate = effects.escalate or actions.escalate
        actions.skip_summarization = effects.skip_summarization or actions.skip_summarization

    async def _save(self, name: str, version: int, context: ToolContext) -> None:
        artifact = await self._load(name, version)
        if artifact is None:
            self._calls.missing.append(name)
        else:
            await context.save_artifact(name, artifact)


_FOUND = re.compile(r"<PAST_CONVERSATIONS>\n(.*)\n</PAST_CONVERSATIONS>", re.S)
"""How google-adk 2.13 writes what `preload_memory` found (`tools/preload_memory_tool.py`)."""


def recorded_memory(calls: Iterable[Mapping[str, Any]]) -> RecordedMemory | None:
    """Return the memory that some model calls were given; None if no request was recorded whole."""
    is_known = False
    for call in calls:
        contents = (call.get("request") or {}).get("contents")
        is_known = is_known or contents is not None
        for content in contents or ():
            for part in content.get("parts") or ():
                if found := _FOUND.search(part.get("text") or ""):
                    return RecordedMemory(found[1])
    return RecordedMemory("") if is_known else None


class RecordedMemory(BaseMemoryService):
    """Finds what was found before, and keeps nothing: a message that is run again is not remembered."""

    def __init__(self, text: str) -> None:
        self._text = text

    async def search_memory(
        self, *, app_name: str, user_id: str, query: str
    ) -> SearchMemoryResponse:
        """Return the recorded memories as one entry, whose text is as ADK wrote it."""
        del app_name, user_id, query  # The recording has one answer.
        if not self._text:
            return SearchMemoryResponse()
        content = types.Content(role="user", parts=[types.Part(text=self._text)])
        return SearchMemoryResponse(memories=[MemoryEntry(content=content)])

    async def add_session_to_memory(self, session: Session) -> None:
        """Do nothing."""
