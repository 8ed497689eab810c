"""The request for one run of a Runner: a message, answers, or a state change.

Validates what ADK would only refuse after the run has begun, so that a bad request is the caller's
error and not a failed run.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

import msgspec
import pydantic
from google.adk.agents import BaseAgent, LiveRequest
from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import BaseSessionService, Session
from google.adk.tools import BaseTool, ToolContext
from google.genai import types
from msgspec import Raw, Struct, structs

from adk_prism.adk.plain_json import replace_unstorable, storable
from adk_prism.adk.redaction import content_json, redacted_continues, state_json, values_json
from adk_prism.adk.session_store import find_call, live_events, user_responses
from adk_prism.adk.tools import REASON
from adk_prism.errors import CallNotRecorded, Conflict, Report, Unprocessable
from adk_prism.facts.adk_event import CONFIRMATION, CREDENTIAL, INPUT, request_name
from adk_prism.log import entry as records
from adk_prism.log.entry import ModelCalled, Origin, RunId
from adk_prism.version import VERSION

# ---------------------------------------------------------------------------
# Model calls, as far as the kernel knows them: what it tells about them, and to whom.
#
# `features/model_calls` watches the calls of runs, and stores what was sent and answered. Without it runs
# have no records of model calls: the classes here watch nothing.


if TYPE_CHECKING:
    from adk_prism.adk.run_observer import Node

_Described = TypeVar("_Described")

Detail = Literal["off", "summary", "full"]
"""What of model calls is recorded: nothing, times and tokens, or also request and response."""

Lane = tuple[str, str, str, str]
"""Invocation, branch, agent and node, which has one request at a time: the same agent may run several times
at once in one branch (`asyncio.gather` over `ctx.run_node`)."""


class SeenCall(Struct, frozen=True):
    """A call of a model that is over."""

    record: ModelCalled
    """Without pieces."""
    texts: Any = None
    """What was sent and answered, as the one who watched it keeps it; None: only a summary is wanted."""


class CallWatcher:
    """Watches the model calls of one run; this one watches none."""

    def begin(self, lane: Lane, node: Node | None, request: LlmRequest) -> None:
        """Note a request, which is sent if no callback answers it."""

    def wants(self, response: LlmResponse) -> bool:
        """Return whether a response is to be received. Called for every delta."""
        del response
        return False

    def receive(self, lane: Lane, response: LlmResponse) -> None:
        """Note a response."""

    def end(self, lane: Lane, error: str = "") -> None:
        """Note that a call is over."""

    def end_in(self, node: Node, *, cancelled: bool = False) -> None:
        """Note that the calls of a node are over."""

    def end_all(self) -> None:
        """Note that the run is over."""

    def add_compaction(self, event: Event) -> None:
        """Note an event in which ADK has summarised earlier ones."""


class LiveCallWatcher:
    """Watches the model calls of one live run; this one watches none."""

    def enter_agent(self) -> None:
        """Note that an agent starts."""

    def send(self, request: LiveRequest) -> None:
        """Note what ADK sends to the model."""

    def play(self, agent: str) -> None:
        """Note audio of the model. Called for every chunk."""

    def read(self, event: Event) -> None:
        """Read an event that has been recorded, unless it is all audio."""

    def take(self) -> Sequence[SeenCall]:
        """Return the calls that are over since the last time."""
        return ()

    def close(self) -> None:
        """Note that the run is over."""


WatchCalls = Callable[[Callable[[SeenCall], None]], CallWatcher]
"""Returns what watches the calls of a run, and passes each that is over to a function."""


class CallRecorder(Protocol):
    """Watches and stores the model calls of all runs of a process."""

    detail: Detail

    def watch(self, put: Callable[[SeenCall], None]) -> CallWatcher:
        """Return what watches the calls of a run, and passes each that is over to `put`."""

    def watch_live(
        self,
        runner: Runner,
        agent: Callable[[], BaseAgent | None],
        model_name: Callable[[], str],
        report: Report,
    ) -> LiveCallWatcher:
        """Return what watches the calls of a live run; `agent` returns the one that runs now."""

    async def store(self, run: RunId, origin: Origin, call: SeenCall) -> ModelCalled:
        """Store the texts of a call; return its record. Raise `Gone` or `Fenced`."""


CALLS: ContextVar[CallRecorder | None] = ContextVar("adk_prism_model_calls", default=None)
"""Set by whoever records a run; None: model calls are not recorded."""


class Placeholder(types.Content):
    """A content in a request in the place of others, which the model gets instead of it."""

    @property
    def sent(self) -> LlmRequest | None:
        """The request that the model got."""
        raise NotImplementedError

    def described(self, describe: Callable[[types.Content], _Described]) -> list[_Described]:
        """Return what a function returns for each content that the model got in its place."""
        raise NotImplementedError


# ---------------------------------------------------------------------------
# Answers to calls of an earlier run: matched with the calls, and stored where each agent will see them.
#
# google-adk 2.13 takes the answers as one message of the user, and loses some of them:
# - an event that answers `adk_request_confirmation` or `adk_request_credential` is hidden from the
#   model whole (`flows/llm_flows/context/_contents.py`), so a client-run tool's result in the same
#   message never reaches it;
# - an event belongs to one branch, that of the first call it answers (`Runner._append_user_event`),
#   so an agent in another branch sees nothing: its approved tool does not even run.
# So the answers are sorted into groups that may share an event. One group is the message; the others
# are stored first, as events of their own, in the branch and scope of the calls that they answer.

_HIDING = frozenset({CONFIRMATION, CREDENTIAL})
"""An answer to `INPUT` is read by a workflow from the message itself, whatever its branch."""


class _Group:
    """Answers that may share one event."""

    __slots__ = ("call_event", "responses")

    def __init__(self, call_event: Event) -> None:
        self.call_event = call_event
        self.responses: list[types.FunctionResponse] = []

    def event(self) -> Event:
        """Return the user's event that answers, beside the event that called."""
        return Event(
            invocation_id=self.call_event.invocation_id,
            author="user",
            branch=self.call_event.branch,
            isolation_scope=self.call_event.isolation_scope,
            content=_content(self.responses),
        )


class MatchedResponses:
    """The answers of one request, with the calls that they answer."""

    def __init__(self, invocation: str, message: types.Content, early: Sequence[_Group]) -> None:
        self.invocation = invocation
        self.message = message
        """What `run_async` is given."""
        self._early = early

    @classmethod
    def find(
        cls, session: Session, responses: Sequence[types.FunctionResponse]
    ) -> MatchedResponses:
        """Match answers to calls. Raise `Conflict` for one whose call is not there (any more)."""
        events = live_events(session)
        made = [_matched(events, response) for response in responses]
        invocations = {event.invocation_id for event, _ in made}
        if len(invocations) > 1:
            raise Conflict("The answers belong to several turns; answer one turn at a time.")
        groups = _grouped(made)
        inputs = [response for _, response in made if response.name == INPUT]
        message = [*(groups[-1].responses if groups else []), *inputs]
        return cls(invocations.pop(), _content(message), groups[:-1])

    async def store_early(
        self, service: BaseSessionService, session: Session, *, again: bool
    ) -> None:
        """Append the answers that cannot be part of the message.

        `again`: the process that began with it died; what it stored is not stored twice.
        """
        answered = user_responses(live_events(session)) if again else frozenset()
        for group in self._early:
            if all(response.id in answered for response in group.responses):
                continue
            await service.append_event(session, group.event())


def answer_events(
    events: Sequence[Event], responses: Sequence[types.FunctionResponse]
) -> list[Event]:
    """Return the user's events that answer calls, as they are stored. Raise `Conflict` as `find` does."""
    made = [_matched(events, response) for response in responses]
    inputs = [(event, response) for event, response in made if response.name == INPUT]
    asked = [
        Event(invocation_id=event.invocation_id, author="user", content=_content([response]))
        for event, response in inputs
    ]
    return [*(group.event() for group in _grouped(made)), *asked]


def _matched(
    events: Sequence[Event], response: types.FunctionResponse
) -> tuple[Event, types.FunctionResponse]:
    """Return the event that made the call, and the answer under the call's own name."""
    event = find_call(events, response.id) if response.id else None
    if event is None:
        raise Conflict(
            f"No call {str(response.id)[:60]!r} is waiting for an answer in this session. "
            "Answer with the id of the call as it was sent."
        )
    name = next(made.name for made in event.get_function_calls() if made.id == response.id)
    return event, response.model_copy(update={"name": name})


def _grouped(made: Sequence[tuple[Event, types.FunctionResponse]]) -> list[_Group]:
    """Group by branch, scope and whether ADK hides it; those that it hides come last."""
    groups: dict[tuple[bool, str | None, str | None], _Group] = {}
    for event, response in made:
        if response.name != INPUT:
            key = (response.name in _HIDING, event.branch, event.isolation_scope)
            groups.setdefault(key, _Group(event)).responses.append(response)
    return [groups[key] for key in sorted(groups, key=lambda key: key[0])]


def _content(responses: Sequence[types.FunctionResponse]) -> types.Content:
    parts = [types.Part(function_response=response) for response in responses]
    return types.Content(role="user", parts=parts)


# ---------------------------------------------------------------------------
# A source: anything that yields the records of one run, `RunStarted` first.
#
# A source ends by exhaustion or by raising. It need not yield `RunEnded`: the recorder writes how the
# run ended (`runs.recorder`). A recording does yield its own `RunEnded`.

EmitRecord = Callable[[records.Record | records.Entry | SeenCall], Awaitable[None]]
"""Records something at once; an entry, with its own time. The source raises again what it raises."""

Emit = Callable[
    [records.Record | records.Entry | SeenCall | list[records.AgentEvent]], Awaitable[None]
]
"""The same, and takes deltas that came together as a list, at the cost of one."""


class EventSource(Protocol):
    """Yields the records of one run, in order."""

    def records(
        self, emit: Emit | None = None
    ) -> AsyncGenerator[records.Record | records.Entry, None]:
        """Start the run and yield what happens. Raise whatever ended it badly.

        What happened before, in another run, comes as an entry: it keeps its time, not its cursor.

        With `emit`, a source may record something between the records that it yields. Without `emit`, that is
        not recorded.
        """

    def cancel(self) -> None:
        """Ask the run to stop; its records continue until it has. Repeating it changes nothing."""

    @property
    def correlation(self) -> str:
        """Correlation id of the last exception text that was withheld; empty if none was."""


class ToolSubstitute(Protocol):
    """Answers tool calls in the tools' place: from a recording, when a run is run again."""

    unanswered: CallNotRecorded | None
    """The call that has no answer: the run fails with it."""

    @property
    def missing(self) -> list[str]:
        """Artifacts that a tool saved, and that are not there any more."""

    def enter(self, session: Session) -> None:
        """Prepare the session of a run."""

    def is_called(self, tool: BaseTool) -> bool:
        """Return whether a tool is called all the same."""

    async def answer(
        self, tool: BaseTool, arguments: dict[str, Any], context: ToolContext
    ) -> Any | None:
        """Return the answer to a call; None for a tool that is called."""


# ---------------------------------------------------------------------------


class Repeats(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which run is run again, and what was changed."""

    run: str
    """The first run of the message that is answered again."""
    model: str = ""
    """Empty: each agent has its own."""
    instructions: list[str] = []
    """Names of the agents with another instruction."""
    tools: Literal["recorded", "live", "auto"] = "recorded"
    """Whether tools were answered from the recording, or called; `auto`: called where that has no answer."""
    models: Literal["recorded", "live", "auto"] = "live"
    """The same of models; `auto`: from the recording until a request differed."""
    parameters: list[str] = []
    """Names of the agents with other parameters of their model."""
    calls: list[str] = []
    """Names of the tools that were called with other arguments."""
    message: bool = False
    """Whether the message says something else."""


REPEATS: records.Label[Repeats | None] = records.Label("repeats", Repeats, None)
"""The run is another one, run again. Nobody else can go on with it: its app was changed for it."""


class CallAnswer(Struct, frozen=True, kw_only=True):
    """The result of a call that the client ran, or the answer to a question of ADK's."""

    call: str
    name: str
    response: Raw
    """Any JSON value; one that is not an object is sent as `{"result": value}`."""

    def function_response(self) -> types.FunctionResponse:
        """Return the answer as ADK takes it."""
        value = storable(msgspec.json.decode(self.response))
        response = value if isinstance(value, dict) else {"result": value}
        return types.FunctionResponse(id=self.call, name=self.name, response=response)


def decision_response(decision: records.Decision) -> types.FunctionResponse:
    """Return a person's decision as ADK takes it; the reason of a denial reaches the model in the payload."""
    response: dict[str, Any] = {"confirmed": decision.approved}
    absent = records.is_absent(decision.payload)
    payload = None if absent else msgspec.json.decode(decision.payload)
    if decision.reason and not decision.approved and (payload is None or isinstance(payload, dict)):
        payload = {REASON: decision.reason, **(payload or {})}
    if payload is not None:
        response["payload"] = payload
    return types.FunctionResponse(id=decision.approval, name=CONFIRMATION, response=response)


class Variant(Struct, frozen=True, kw_only=True):
    """An app with changes, for a run that is run again."""

    runner: Runner
    repeats: Repeats
    tools: ToolSubstitute | None
    """None: tools are called."""


class RunRequest(Struct, frozen=True, kw_only=True):
    """One run. It has a message, answers, or the invocation to resume."""

    run: str
    origin: records.Origin
    invocation: str = ""
    """Empty: one is chosen, or found from the answers. With a message: the id to start under, so
    that a repeated start is one start. Alone: the invocation to resume."""
    message: types.Content | None = None
    may_be_empty: bool = False
    """The message may have no parts: ADK's own routes run the agent all the same."""
    message_id: str = ""
    extras: Mapping[str, Raw] = {}
    """What was sent with the message for the client's own use."""
    client_tools: Sequence[records.BroughtTool] = ()
    warnings: Sequence[records.Warned] = ()
    typed: types.Content | None = None
    """What the person said, where that is not the message but became one of the answers."""
    streaming: bool = True
    state_delta: Mapping[str, Any] = {}
    """Applied before the run, like ADK's PATCH: the agent's first step sees it, and it stays."""
    continues: records.Continues | None = None
    replaces: str = ""
    restores: str = ""
    rewound: Sequence[str] = ()
    answers: Sequence[CallAnswer] = ()
    decisions: Sequence[records.Decision] = ()
    answered: Mapping[str, records.Response] = {}
    """What the answers are to a run that is a turn of its own, as the log keeps it."""
    fitted: Mapping[str, Raw] = {}
    """Answers of the message as they were asked for, by their id: they take the place of what came."""
    custom_metadata: Mapping[str, Any] = {}
    variant: Variant | None = None
    """The app as it is run, where that is not as it is served."""

    def responses(self) -> list[types.FunctionResponse]:
        """Return every answer in the request, those that came as parts of the message included."""
        parts = self.message.parts or [] if self.message else []
        sent = [self._fit(part.function_response) for part in parts if part.function_response]
        return [
            *sent,
            *(answer.function_response() for answer in self.answers),
            *map(decision_response, self.decisions),
        ]

    def _fit(self, response: types.FunctionResponse) -> types.FunctionResponse:
        fitted = self.fitted.get(response.id or "")
        if fitted is None:
            return response
        return response.model_copy(update={"response": storable(msgspec.json.decode(fitted))})


def run_started(
    request: RunRequest, agents: Sequence[records.Agent], state: Mapping[str, Any], **more: Any
) -> records.RunStarted:
    """Return the first record of a run, as it may enter a log; `more` are fields that the request lacks."""
    said = request.typed if request.responses() else request.message
    extras = {key: msgspec.json.decode(value) for key, value in request.extras.items()}
    started = records.RunStarted(
        run=request.run,
        origin=request.origin,
        message=content_json(said) if said is not None else records.NOTHING,
        message_id=request.message_id,
        client_tools=list(request.client_tools),
        agents=list(agents),
        state=state_json(state),
        continues=redacted_continues(request.continues),
        replaces=request.replaces,
        restores=request.restores,
        rewound=list(request.rewound),
        labels=records.labels(
            records.EXTRAS(values_json(extras)),
            records.WARNINGS(list(request.warnings)),
            records.STREAMING(request.streaming),
            records.CUSTOM_METADATA(values_json(request.custom_metadata)),
            records.RESPONSES(dict(request.answered)),
            REPEATS(request.variant.repeats if request.variant is not None else None),
            records.WRITTEN_BY(VERSION),
        ),
    )
    return structs.replace(started, **more)


def checked_message(message: types.Content, *, may_be_empty: bool = False) -> types.Content:
    """Return the message as it can be stored. Raise `Unprocessable` for one ADK would refuse."""
    parts = message.parts or []
    if not parts and not may_be_empty:
        raise Unprocessable("The message has no parts; send at least one, e.g. {'text': 'Hello'}.")
    if any(part.function_call for part in parts):
        raise Unprocessable(
            "A user message cannot contain function calls; only agents call functions."
        )
    if any(part.function_response for part in parts) and any(part.text for part in parts):
        raise Unprocessable(
            "A message must contain either text or function responses: text starts a turn, responses "
            "continue one. Send them one after the other."
        )
    stored = [_storable_part(part) for part in parts]
    return types.Content(role="user", parts=None if message.parts is None else stored)


def _storable_part(part: types.Part) -> types.Part:
    text = part.text
    if text is None or (clean := replace_unstorable(text)) == text:
        return part
    return part.model_copy(update={"text": clean})


def read_content(json: bytes | Raw) -> types.Content:
    """Read a genai `Content`, camelCase or snake_case. Raise `Unprocessable`."""
    try:
        return types.Content.model_validate_json(bytes(json))
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(step) for step in first["loc"]) or "content"
        raise Unprocessable(
            f"The message is not valid at {where[:80]!r}: {first['msg']}. "
            "Expected {'role': 'user', 'parts': [{'text': …}]}."
        ) from None
    except AttributeError:  # genai's enumerations expect text (genai 2.34)
        raise Unprocessable(
            "The message has a number where the name of an enumeration value is expected."
        ) from None


def answers_of(continues: records.Continues) -> tuple[list[CallAnswer], list[records.Decision]]:
    """Return the answers of a continuation, as ADK takes them."""
    results = [
        CallAnswer(
            call=continues.adk_ids.get(call, call),
            name=continues.open_calls.get(call, ""),
            response=response,
        )
        for call, response in continues.answers.items()
    ]
    return results, list(continues.decisions.values())


def responses_of(
    responses: Mapping[str, records.Response],
) -> tuple[list[CallAnswer], list[records.Decision]]:
    """Return the answers of a user's message, as ADK takes them; a credential is not kept."""
    results = [
        CallAnswer(call=request, name=request_name(given.kind), response=given.response)
        for request, given in responses.items()
        if not records.is_absent(given.response)
    ]
    return results, [each.decision for each in responses.values() if each.decision is not None]
