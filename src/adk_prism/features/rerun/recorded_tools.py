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

import msgspec
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
from msgspec import Raw, Struct

from adk_prism.adk.agents import node_of_tool
from adk_prism.adk.client_tools import RESERVED
from adk_prism.adk.plain_json import encode_strictly
from adk_prism.adk.redaction import redacted_json
from adk_prism.adk.sessions import SHARED
from adk_prism.errors import CallNotRecorded, FailedAsRecorded
from adk_prism.facts.adk_event import REQUESTS, Actions, AdkEvent, FunctionCall, read_event
from adk_prism.facts.state import is_given, read_object, read_value
from adk_prism.log import entry as records

_ADK_TOOLS = RESERVED | REQUESTS | {"exit_loop"}

_USER = "user:"

LoadArtifact = Callable[[str, int], Awaitable[types.Part | None]]
"""Name and version → the artifact of the recorded session; None if it is not there (any more)."""


def stored_artifacts(service: BaseArtifactService | None, origin: records.Origin) -> LoadArtifact:
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
        self,
        calls: RecordedCalls,
        load: LoadArtifact,
        state: Mapping[str, Raw] | None = None,
        *,
        calls_others: bool = False,
    ) -> None:
        """`state` is that before the first run, with what the session shares with others; None: not known.
        `calls_others`: a tool is called where the recording has no answer."""
        self._calls_others = calls_others
        self._called: set[str] = set()
        """Names of tools that were called so."""
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

    def fail(self, error: CallNotRecorded) -> None:
        """End the run with an error, unless another one ends it already."""
        self.unanswered = self.unanswered or error

    @property
    def missing(self) -> list[str]:
        """Artifacts that a tool saved, and that are not there any more."""
        return self._calls.missing

    def is_called(self, tool: BaseTool) -> bool:
        """Return whether a tool is called although tools are answered from a recording."""
        return tool.name in self._called or self._is_always_called(tool)

    def _is_always_called(self, tool: BaseTool) -> bool:
        if isinstance(node_of_tool(tool), BaseAgent | Workflow):
            return True
        # An app may have a tool of its own with such a name.
        code = getattr(tool, "func", None) or type(tool)
        return tool.name in _ADK_TOOLS and str(code.__module__).startswith("google.adk.")

    async def answer(
        self, tool: BaseTool, arguments: dict[str, Any], context: ToolContext
    ) -> Any | None:
        """Return the recorded answer to a call, or that there is none; None for a tool that is called."""
        if self._is_always_called(tool):
            return None
        try:
            found = self._find(tool, arguments, context)
        except CallNotRecorded as error:
            if self._calls_others:
                self._called.add(tool.name)
                return None
            # Calls beside one that failed have no answer either: the failure ended their run.
            self.fail(error)
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


class CalledTools:
    """Tools that are called, in a run whose models may end it: they are answered from a recording."""

    def __init__(self) -> None:
        self.unanswered: CallNotRecorded | None = None
        self.missing: list[str] = []

    def fail(self, error: CallNotRecorded) -> None:
        """End the run with an error."""
        self.unanswered = error

    def enter(self, session: Session) -> None:
        """Do nothing: the run sees the state of now."""

    def is_called(self, tool: BaseTool) -> bool:
        """Return true."""
        del tool
        return True

    async def answer(self, tool: BaseTool, arguments: dict[str, Any], context: ToolContext) -> None:
        """Return nothing: the tool answers."""


_FOUND = re.compile(r"<PAST_CONVERSATIONS>\n(.*)\n</PAST_CONVERSATIONS>", re.S)
_MEMORIES = b"PAST_CONVERSATIONS"
"""How google-adk 2.13 writes what `preload_memory` found (`tools/preload_memory_tool.py`)."""


def recorded_memory(runs: Iterable[Iterable[records.Entry]]) -> RecordedMemory | None:
    """Return the memory that some model calls were given; None if no request was recorded whole.

    The runs are given as files have them.
    """
    is_known = False
    for call in (
        e.record for run in runs for e in run if isinstance(e.record, records.ModelCalled)
    ):
        is_known = is_known or not records.is_absent(call.request)
        if _MEMORIES in bytes(call.request):
            for content in read_object(call.request).get("contents") or ():
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


LONGEST_ARGUMENTS = 300
"""Characters of a call's arguments that an error shows."""


class Effects(Struct):
    """What came with an answer, beside the result."""

    state: dict[str, Any] = {}
    artifacts: dict[str, int] = {}
    """Names and the versions that were saved."""
    transfer: str = ""
    escalate: bool = False
    skip_summarization: bool = False
    is_done: bool = False


class RecordedResult(Struct):
    """One answer to a call."""

    response: Any
    """An object, mostly. Empty: the tool had no answer yet, and one came later from outside."""
    effects: list[Effects] = []
    """Of the call itself, and of its event, which may be shared with other calls."""
    asks: Mapping[str, Any] | None = None
    """The approval that the tool asked for, with `hint` and `payload`."""
    signs_in: Mapping[str, Any] | None = None
    """The credential that the tool asked for, as ADK's `AuthConfig`."""
    failure: str = ""
    """Code of the exception that the tool raised instead, which ended its run."""

    def take_effects(self) -> list[Effects]:
        """Return what is to be done now: what is shared with other calls is done once."""
        left = [effects for effects in self.effects if not effects.is_done]
        for effects in left:
            effects.is_done = True
        return left


class RecordedCall(Struct):
    """A call of the recording."""

    name: str
    arguments: bytes
    agent: str
    is_long_running: bool
    answers: list[RecordedResult] = []
    given: int = 0
    """How many of the answers were given."""


Made = tuple[str, str, str]
"""Invocation, branch and id of a call that is made again: agents side by side may use the same ids."""


class RecordedCalls:
    """The calls of one message, to be answered again."""

    def __init__(self, runs: Iterable[Iterable[records.Entry]]) -> None:
        """Read the runs of a message, in their order."""
        self._unused: dict[tuple[str, bytes], list[RecordedCall]] = {}
        self._counts: dict[str, int] = {}
        """By name of the tool."""
        self._bound: dict[Made, RecordedCall] = {}
        self._outputs: dict[str, list[RecordedResult]] = {}
        """Of nodes, by their paths."""
        self.missing: list[str] = []
        """Artifacts that a tool saved, and that are not there any more."""
        reader = _Reader(self)
        for entries in runs:
            for entry in entries:
                reader.feed(entry)
        reader.finish()

    def add(self, call: RecordedCall) -> None:
        """Add a call that was recorded after the others."""
        self._unused.setdefault((call.name, call.arguments), []).append(call)
        self._counts[call.name] = self._counts.get(call.name, 0) + 1

    def add_output(self, path: str, answer: RecordedResult) -> None:
        """Add what a node gave."""
        self._outputs.setdefault(path, []).append(answer)

    def answer(
        self, made: Made, name: str, arguments: Any, agent: str, *, is_again: bool
    ) -> RecordedResult:
        """Return the answer to a call. Raise `CallNotRecorded`.

        `is_again`: ADK makes the call again, after a person has answered what it asked.
        """
        call = self._bound.get(made) if is_again else None
        if call is None:
            call = self._bound[made] = self._take(name, arguments, agent)
        if call.given < len(call.answers):
            call.given += 1
            # What a person signed in with is not kept: the call goes straight to what came of it.
            while call.answers[call.given - 1].signs_in and call.given < len(call.answers):
                call.given += 1
            return call.answers[call.given - 1]
        if call.is_long_running and not call.answers:
            return RecordedResult(response={})
        raise _not_recorded(name, arguments, "In the recording this call was never answered.")

    def answer_of_node(self, path: str, name: str, arguments: Any) -> RecordedResult:
        """Return what a tool gave that is a node of a workflow. Raise `CallNotRecorded`."""
        answers = self._outputs.get(path)
        if not answers:
            raise _not_recorded(name, arguments, f"The recording has no output of node {path!r}.")
        return answers.pop(0)

    def _take(self, name: str, arguments: Any, agent: str) -> RecordedCall:
        found = self._unused.get((name, canonical(arguments)))
        if found:
            own = (place for place, call in enumerate(found) if call.agent == agent)
            return found.pop(next(own, 0))
        count = self._counts.get(name, 0)
        if found is not None:
            why = "The recording has it, and its answers are used up."
        elif count:
            why = f"The recording has this tool only with other arguments ({count} times)."
        else:
            why = "The recording has no call of this tool."
        raise _not_recorded(name, arguments, why)


def canonical(arguments: Any) -> bytes:
    """Return arguments as they are compared: redacted as in a log, keys in order, 2.0 as 2."""
    data = redacted_json(encode_strictly(arguments or {}))
    return msgspec.json.encode(_plain(read_value(data)), order="sorted")


def _plain(value: Any) -> Any:
    match value:
        case dict():
            return {key: _plain(item) for key, item in value.items()}
        case list():
            return [_plain(item) for item in value]
        case float() if value.is_integer():
            return int(value)
        case _:
            return value  # compared as it is


def _not_recorded(name: str, arguments: Any, why: str) -> CallNotRecorded:
    shown = canonical(arguments).decode()
    if len(shown) > LONGEST_ARGUMENTS:
        shown = f"{shown[:LONGEST_ARGUMENTS]}…"
    return CallNotRecorded(f"Call not recorded: {name[:100]}({shown}). {why}")


class _Reader:
    """Reads the calls and answers of a message."""

    def __init__(self, calls: RecordedCalls) -> None:
        self._calls = calls
        self._open: dict[tuple[str, str], dict[_Place, RecordedCall]] = {}
        """By the call inside which they were made and their id, which may come again; then by the caller."""
        self._failed: list[tuple[RecordedCall, str]] = []
        """Calls whose tool raised something, each with the code."""
        self._nodes: dict[str, str] = {}
        """Tools that run: node → call."""
        self._changed: dict[str, set[str]] = {}
        """Keys of the state that changed while a call ran."""

    def feed(self, entry: records.Entry) -> None:
        match entry.record:
            case records.AgentEvent(event=event):
                self._read(read_event(event), "")
            case records.ChildEvent(event=event, call=call):
                self._read(read_event(bytes(event)), call)
            case records.NodeStarted(kind="tool", node=node, call=call):
                self._nodes[node] = call
            case records.NodeEnded(node=node, state=state, status=status, error=error):
                call = self._nodes.pop(node, "")
                if call:
                    self._changed.setdefault(call, set()).update(state)
                if call and status == "failed":
                    made = self._made(call)
                    self._failed += [(each, error) for each in made if not each.answers]
            case _:
                pass  # says nothing of calls

    def finish(self) -> None:
        """Answer calls that raised something, and were not answered after that, with their failure."""
        for call, code in self._failed:
            if not call.answers:
                call.answers.append(RecordedResult(response={}, failure=code or "error"))

    def _made(self, name: str) -> list[RecordedCall]:
        """Return the calls with an id, wherever they were made."""
        return [
            call for (_, id_), made in self._open.items() if id_ == name for call in made.values()
        ]

    def _read(self, event: AdkEvent, inside: str) -> None:
        if event.partial:
            return
        parts = (event.content.parts or []) if event.content is not None else []
        for part in parts:
            if part.function_call is not None:
                self._request(event, part.function_call, inside)
        actions = event.actions or Actions()
        responses = [r for part in parts if (r := part.function_response) is not None]
        shared = self._shared(actions, [response.id or "" for response in responses])
        for response in responses:
            name = response.id or ""
            call = self._asked_by(event, inside, name)
            if call is not None:
                own = Effects(state=self._own(actions, name))
                call.answers.append(
                    RecordedResult(
                        response=read_object(response.response),
                        effects=[own, shared],
                        asks=_asked(actions.requested_tool_confirmations, name),
                        signs_in=_asked(actions.requested_auth_configs, name),
                    )
                )
        if event.node_info is not None and not inside and not parts:
            self._read_output(event, actions, event.node_info.path)

    def _asked_by(self, event: AdkEvent, inside: str, name: str) -> RecordedCall | None:
        """Return the call that an event answers: that of its own agent, if several have the id."""
        made = self._open.get((inside, name), {})
        own = made.get(_place_of(event))
        unanswered = (call for call in made.values() if not call.answers)
        return own or next(unanswered, None) or next(reversed(made.values()), None)

    def _request(self, event: AdkEvent, asked: FunctionCall, inside: str) -> None:
        name = asked.name or ""
        if name in REQUESTS:
            return
        call = RecordedCall(
            name=name,
            arguments=canonical(read_object(asked.args)),
            agent=event.author,
            is_long_running=asked.id in (event.long_running_tool_ids or ()),
        )
        self._open.setdefault((inside, asked.id or ""), {})[_place_of(event)] = call
        self._calls.add(call)

    def _read_output(self, event: AdkEvent, actions: Actions, path: str) -> None:
        value = read_value(event.output) if is_given(event.output) else {}
        effects = [_effects(actions, actions.state_delta)]
        self._calls.add_output(path, RecordedResult(response=value, effects=effects))

    def _own(self, actions: Actions, call: str) -> dict[str, Any]:
        changed = self._changed.get(call, ())
        return {k: read_value(v) for k, v in actions.state_delta.items() if k in changed}

    def _shared(self, actions: Actions, calls: list[str]) -> Effects:
        owned = {key for call in calls for key in self._changed.get(call, ())}
        return _effects(actions, {k: v for k, v in actions.state_delta.items() if k not in owned})


_Place = tuple[str, str]
"""Agent and branch."""


def _place_of(event: AdkEvent) -> _Place:
    return event.author, event.branch or ""


def _effects(actions: Actions, state: Mapping[str, Raw]) -> Effects:
    return Effects(
        state={key: read_value(value) for key, value in state.items()},
        artifacts=dict(actions.artifact_delta),
        transfer=actions.transfer_to_agent or "",
        escalate=bool(actions.escalate),
        skip_summarization=bool(actions.skip_summarization),
    )


def _asked(requests: Mapping[str, Raw], call: str) -> Mapping[str, Any] | None:
    asked = requests.get(call)
    return read_object(asked) if asked is not None else None
