"""Models that are answered from a recording: an agent asks as always, and gets the recorded response.

The model of each agent is replaced by a copy that looks its requests up, so that whatever builds or changes a
request has done so: instructions, planners, callbacks, plugins. The copy has the class of the model, because
ADK builds requests by it. Responses go the way of live ones, through callbacks and planners.

A request is looked up by its content (`recorded_requests`), among the calls of the same agent, first those of
the same branch, in their order; each recorded call is given once. Without an equal one it has *changed*, if
the agent has a call left to compare it with, or is *unknown*. Then `recorded` ends the run, and `auto` asks
the live model, from there on in this agent and branch.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Container, Iterable, Sequence
from contextlib import aclosing
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.llm_agent import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.google_llm import Gemini
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.load_artifacts_tool import as_safe_part_for_llm
from msgspec import Struct

from adk_prism.adk.internals.runner import swap_class
from adk_prism.adk.run_observer import SCOPE
from adk_prism.errors import CallNotRecorded, Unprocessable
from adk_prism.features.model_calls.calls import COMPACTION
from adk_prism.features.model_calls.watching import CANCELLED, RequestTexts
from adk_prism.features.rerun import recorded_requests
from adk_prism.log import entry as records

Models = Literal["recorded", "live", "auto"]
"""Whether models are answered from the recording, asked, or asked from the first request that differs."""

AGENT_LABEL = "adk_agent_name"
"""Where ADK notes in a request which agent asks (`flows/llm_flows/core/_model_call.py`)."""

Status = Literal["changed", "unknown", "lost", "over"]


class Difference(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The first request that the recording does not answer."""

    status: Status
    """`changed`: asked otherwise; `unknown`: the agent has no call left; `lost`: the recording has the
    request and not the whole response; `over`: the recording was to be followed until here."""
    agent: str
    call: int
    """The how manyth call of the agent in the message, from 1."""
    run: str = ""
    cursor: int = 0
    """Of the recorded call that it is compared with; 0: there is none."""
    parts: list[recorded_requests.ChangedPart] = []
    more: int = 0
    """Parts that differ, too, and are not shown."""
    rules: list[str] = []
    """The rules that would leave out all that differs: a clock, an id."""
    detail: str
    """What happened, for a person."""

    def text(self) -> str:
        """Return the difference as lines for a terminal."""
        lines = [self.detail]
        for part in self.parts:
            lines += [f"  {part.part}:", *(f"    {line}" for line in part.lines())]
        if self.more:
            lines.append(f"  … and {self.more} more parts")
        return "\n".join(lines)


# ---------------------------------------------------------------------- what was recorded


class RecordedModelCall(Struct, kw_only=True):
    """A model call of a recording."""

    run: str
    cursor: int
    agent: str
    branch: str
    number: int
    """The how manyth call of its agent in the message."""
    request: recorded_requests.ComparedRequest
    responses: list[LlmResponse]
    """As the model gave them: the partial ones, then the whole ones."""
    error: str = ""
    """Code of the exception that came instead of a response."""
    lost: str = ""
    """Why the response cannot be given again."""
    is_given: bool = False


class RecordedModelError(Exception):
    """A model failed in the recording, and so it does again."""

    def __init__(self, code: str) -> None:
        super().__init__(f"The model failed in the recording ({code}), and so it does again.")
        self.status = code
        """ADK names the error by it."""


class ChangedCall(Struct, frozen=True, kw_only=True):
    """A recorded call of a tool that gets other arguments."""

    tool: str
    recorded: dict[str, Any]
    """The arguments that it had, as they are in the log."""
    instead: dict[str, Any]


def change_call(calls: Iterable[RecordedModelCall], change: ChangedCall) -> None:
    """Have the model give the first call of a tool with these arguments others.

    Raise `Unprocessable` if no recorded model makes such a call.
    """
    for call in calls:
        found = [
            part.function_call
            for response in call.responses
            for part in (response.content.parts if response.content else None) or ()
            if part.function_call
            and part.function_call.name == change.tool
            and (part.function_call.args or {}) == change.recorded
        ]
        for each in found:
            each.args = dict(change.instead)
        if found:
            return
    raise Unprocessable(
        f"In the recording no model calls {change.tool[:60]!r} with these arguments, so that they cannot be"
        " changed."
    )


Place = tuple[str, str]
"""Agent and branch."""


def read_calls(
    runs: Iterable[Sequence[records.Entry]], *, with_pieces: bool = True
) -> list[RecordedModelCall]:
    """Return the model calls of a message, whose runs are given as files have them, in order.

    `with_pieces`: responses come in the pieces in which they were streamed.
    Raise `Unprocessable` if the recording does not have what was sent to models.
    """
    calls: list[RecordedModelCall] = []
    numbers: Counter[str] = Counter()
    is_missing = False
    for entries in runs:
        reader = _CallReader(with_pieces)
        for entry in entries:
            record = entry.record
            if not isinstance(record, records.ModelCalled):
                reader.feed(record)
                is_missing = is_missing or _is_of_model(record)
            elif record.agent == COMPACTION:
                continue  # ADK's summary of a long session, which no agent asks for
            elif records.is_absent(record.request):
                is_missing = True
                numbers[record.agent] += 1
            else:
                numbers[record.agent] += 1
                calls.append(reader.call(entry.cursor, record, numbers[record.agent]))
    if is_missing and not calls:
        raise Unprocessable(
            "The recording does not have what was sent to models, so they cannot be answered from it."
            " Record the conversation again with --model-calls full (and download recordings with"
            " ?modelCalls=true), or run it with --models live."
        )
    return calls


def _is_of_model(record: records.Record) -> bool:
    """Return whether an event tells of a model's response; those of other agents do not."""
    return isinstance(record, records.AgentEvent) and any(key in record.event for key in _OF_MODELS)


_OF_MODELS = (b'"finishReason":"', b'"usageMetadata":{', b'"modelVersion":"')


class _Spoken(Struct):
    """What is read of an event."""

    id: str = ""
    author: str = ""
    branch: str | None = None
    partial: bool | None = None


_read_spoken = msgspec.json.Decoder(_Spoken).decode


class _CallReader:
    """Reads the calls of one run, with the pieces in which each of them was streamed."""

    def __init__(self, with_pieces: bool) -> None:
        self._with_pieces = with_pieces
        self._run = ""
        self._branches: dict[str, str] = {}
        """Of nodes, by id."""
        self._pieces: dict[Place, list[bytes]] = {}
        """The partial events of each agent since its last call."""
        self._broken: dict[str, RecordedModelCall] = {}
        """Calls whose stream broke, by the id of its pieces: the last one is recorded after the call."""

    def feed(self, record: records.Record) -> None:
        match record:
            case records.RunStarted(run=run):
                self._run = run
            case records.NodeStarted(node=node, branch=branch):
                self._branches[node] = branch
            case records.AgentEvent(event=event):
                said = _read_spoken(event)
                if (broken := self._broken.get(said.id)) is not None and said.partial:
                    broken.responses.append(_piece(msgspec.json.decode(event), ()))
                elif said.partial:
                    self._pieces.setdefault((said.author, said.branch or ""), []).append(event)
            case _:
                pass  # says nothing of models; of an agent inside a tool no piece is recorded

    def call(self, cursor: int, record: records.ModelCalled, number: int) -> RecordedModelCall:
        """Return the call that a record is about."""
        branch = self._branches.get(record.node, "")
        pieces = self._pieces.pop((record.agent, branch), [])
        call = RecordedModelCall(
            run=self._run,
            cursor=cursor,
            agent=record.agent,
            branch=branch,
            number=number,
            request=recorded_requests.ComparedRequest.read(
                msgspec.json.decode(record.request), record.model
            ),
            responses=_responses(record, pieces, with_pieces=self._with_pieces),
            error="" if record.responses else record.error,
            lost=_why_lost(record),
        )
        if call.error and pieces:
            self._broken[_read_spoken(pieces[-1]).id] = call
        return call


def _why_lost(record: records.ModelCalled) -> str:
    if record.error == CANCELLED:
        return "it was stopped before the model had answered"
    cut = [name for name in record.cut if name.startswith("response")]
    if cut or (record.responses and records.is_absent(record.response)):
        return "its response was too large to be kept whole"
    if not record.responses and not record.error:
        return "it has no response"
    return ""


def _responses(
    record: records.ModelCalled, streamed: Sequence[bytes], *, with_pieces: bool
) -> list[LlmResponse]:
    """Return what a model gave: its whole response, and before it the pieces in which it came.

    Of a stream that broke there are the pieces alone.
    """
    if records.is_absent(record.response) or not record.responses:
        broken = streamed if record.error and not record.responses else ()
        return [_piece(msgspec.json.decode(event), ()) for event in broken]
    if not with_pieces:
        streamed = ()
    whole = LlmResponse.model_validate(msgspec.json.decode(record.response))
    parts = (whole.content.parts if whole.content else None) or ()
    ids = {part.function_call.id for part in parts if part.function_call}
    pieces = [_piece(msgspec.json.decode(event), ids) for event in streamed]
    # A callback may have changed what came out; then only the whole response is what the model gave.
    if pieces and (_words(pieces) == _words([whole]) or not whole.content):
        return [*pieces, whole.model_copy(update={"partial": False})]
    return [whole]


def _piece(event: dict[str, Any], ids: Container[str | None]) -> LlmResponse:
    """Return the response that an event was made of: with the `ids` of its calls that the model gave."""
    for part in (event.get("content") or {}).get("parts") or ():
        call = part.get("functionCall") or {}
        if call.get("id") not in ids:
            call.pop("id", None)  # ADK has added it.
    return LlmResponse.model_validate({k: v for k, v in event.items() if k in _OF_RESPONSE})


_OF_RESPONSE = frozenset(field.alias or name for name, field in LlmResponse.model_fields.items())
"""What an event has of a response, as JSON spells it."""


def _words(responses: Iterable[LlmResponse]) -> tuple[str, str]:
    """Return what is said and what is thought, without spaces: a model may join its pieces otherwise."""
    said = [
        part for each in responses if each.content for part in each.content.parts or () if part.text
    ]
    spoken = "".join(part.text or "" for part in said if not part.thought)
    thought = "".join(part.text or "" for part in said if part.thought)
    return "".join(spoken.split()), "".join(thought.split())


# ---------------------------------------------------------------------- looking up


class RecordedModels:
    """The model calls of one message, to be answered again."""

    def __init__(
        self,
        calls: Sequence[RecordedModelCall],
        *,
        mode: Models = "recorded",
        until: int = 0,
        rules: recorded_requests.Rules | None = None,
        is_test: bool = False,
        takes_any_model: bool = False,
        returns: bool = False,
    ) -> None:
        """`until`: the last cursor at which a call is answered from the recording; 0: no limit. In a test a
        request without an answer raises `AssertionError`, with the difference. `takes_any_model`: the name of
        the model does not count. `returns`: where the live model was asked, later requests are answered from
        the recording again if it has them."""
        self.is_test = is_test
        self._returns = returns
        self._takes_any_model = takes_any_model
        self._calls = list(calls)
        for call in self._calls if takes_any_model else ():
            call.request.parts.pop("model", None)
        self._mode = mode
        self._until = until
        self._rules = rules or recorded_requests.Rules()
        self._live: set[Place] = set()
        """Where the live model was asked, and is asked from now on."""
        self._counts: Counter[str] = Counter()
        self.given = 0
        """Calls that were answered from the recording."""
        self.asked = 0
        """Calls for which the live model was asked."""
        self.difference: Difference | None = None
        """The first one."""
        self.failure: CallNotRecorded | None = None
        """What ends the run, in `recorded`; or in `auto`, where no live model can be asked."""
        self.on_stop: Callable[[CallNotRecorded], None] = lambda _: None
        """Is called when the run is to end."""

    @property
    def left(self) -> list[RecordedModelCall]:
        """The recorded calls that were not made."""
        return [call for call in self._calls if not call.is_given]

    def find(self, place: Place, request: LlmRequest) -> RecordedModelCall | None:
        """Return the recorded call that answers a request; None: the live model is to be asked.

        Raise `CallNotRecorded` if there is no answer, and the live model is not to be asked.
        """
        if self.failure is not None:
            raise self.failure
        self._counts[place[0]] += 1
        if place in self._live and not self._returns:
            return None
        now = compared(request)
        if self._takes_any_model:
            now.parts.pop("model", None)
        near = self._near(place)
        found = next((c for c in near if c.request.is_same(now, self._rules)), None)
        difference = self._problem(place[0], found, near, now)
        if difference is None and found is not None:
            found.is_given = True
            self.given += 1
            return found
        assert difference is not None, "a call is found, or there is a reason"
        self.difference = self.difference or difference
        if self._mode != "auto":
            self.stop(difference.detail)
        self._live.add(place)
        return None

    def stop(self, detail: str) -> None:
        """End the run: raise `CallNotRecorded`, now and for every later call."""
        self.failure = CallNotRecorded(detail)
        self.on_stop(self.failure)
        raise self.failure

    def _near(self, place: Place) -> list[RecordedModelCall]:
        """Return the calls of an agent that were not given yet, those of its branch first."""
        own = [c for c in self._calls if place[0] in (c.agent, "") and not c.is_given]
        return sorted(own, key=lambda call: call.branch != place[1])

    def _problem(
        self,
        agent: str,
        found: RecordedModelCall | None,
        near: Sequence[RecordedModelCall],
        now: recorded_requests.ComparedRequest,
    ) -> Difference | None:
        """Return why a request has no recorded answer; None if it has one."""
        call = found or (near[0] if near else None)
        number = self._counts[agent]
        if call is None:
            had = sum(each.agent == agent for each in self._calls)
            detail = (
                f"Call {number} of {agent} was not recorded: the recording has {had} of its calls."
            )
            return Difference(status="unknown", agent=agent, call=number, detail=detail)
        where: dict[str, Any] = {
            "agent": agent,
            "call": call.number,
            "run": call.run,
            "cursor": call.cursor,
        }
        if self._until and call.cursor > self._until:
            detail = f"Call {call.number} of {agent} comes after cursor {self._until}."
            return Difference(status="over", detail=detail, **where)
        if found is None:
            return _changed(call, now, self._rules, where)
        if found.lost:
            detail = f"Call {call.number} of {agent} cannot be answered again: {found.lost}."
            return Difference(status="lost", detail=detail, **where)
        return None


def _changed(
    call: RecordedModelCall,
    now: recorded_requests.ComparedRequest,
    rules: recorded_requests.Rules,
    where: dict[str, Any],
) -> Difference:
    parts = call.request.differing(now, rules)
    rules_for, cause = recorded_requests.find_cause(parts)
    names = ", ".join(part.part for part in parts[:3]) + (", …" if len(parts) > 3 else "")
    return Difference(
        status="changed",
        parts=[part.shown() for part in parts[: recorded_requests.MOST_SHOWN]],
        more=max(0, len(parts) - recorded_requests.MOST_SHOWN),
        rules=rules_for,
        detail=f"Call {call.number} of {call.agent} differs from the recording in: {names}."
        + (f" {cause}" if cause else ""),
        **where,
    )


def compared(request: LlmRequest) -> recorded_requests.ComparedRequest:
    """Return a request as it is compared: redacted and cut as those in a log are."""
    texts = RequestTexts(request)
    config = msgspec.json.decode(texts.config or b"{}")
    if texts.instruction:
        config["systemInstruction"] = msgspec.json.decode(texts.instruction)
    sent = {
        "config": config,
        "tools": msgspec.json.decode(texts.tools or b"[]"),
        "contents": [msgspec.json.decode(each.text) for each in texts.contents],
    }
    return recorded_requests.ComparedRequest.read(sent, request.model or "")


# ---------------------------------------------------------------------- models of agents

_STATE = "_adk_prism_recorded"


def recorded_copy(model: BaseLlm, agent: str, models: RecordedModels) -> BaseLlm:
    """Return a copy of an agent's model that is answered from a recording. Raise `Unprocessable`.

    `agent` is empty where several share the model: then each request says whose it is.
    """
    made = model.model_copy()
    is_copy = isinstance(model, _Recorded)  # of an agent that has its model from the one above it
    if not is_copy and not swap_class(made, _recorded_class(type(model))):
        kind = type(model).__name__
        raise Unprocessable(
            f"The model of {agent!r} ({kind}) cannot be answered from a recording: its class has slots."
        )
    made.__dict__[_STATE] = (agent, models)
    return made


if TYPE_CHECKING:
    _AnyLlm = BaseLlm
else:
    _AnyLlm = object  # A pydantic class would give the model fields that it has already.


class _Recorded(_AnyLlm):
    """Stands before a model's class, and answers its requests."""

    __slots__ = ()

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        agent, models = self.__dict__[_STATE]
        agent = agent or (llm_request.config.labels or {}).get(AGENT_LABEL, "")
        if isinstance(self, Gemini):
            _replace_files(llm_request)
        try:
            call = models.find((agent, _branch()), llm_request)
            if call is None:
                _check_key(self, models)
        except CallNotRecorded as error:
            yield _refusal(error, models)
            return
        if call is not None:
            for response in replayed(call, stream):
                # As with a live model, others may run between two pieces.
                await asyncio.sleep(0)
                yield response
            if call.error:
                raise RecordedModelError(call.error)
            return
        models.asked += 1
        async with aclosing(super().generate_content_async(llm_request, stream=stream)) as live:
            async for response in live:
                yield response


def _replace_files(request: LlmRequest) -> None:
    """Put a text in the place of files that Gemini does not take, as ADK's class does before it sends."""
    for content in request.contents:
        content.parts = [
            as_safe_part_for_llm(part, "inline-file") if part.inline_data else part
            for part in content.parts or ()
        ]


@cache
def _recorded_class(kind: type[BaseLlm]) -> type[BaseLlm]:
    names = {name: getattr(kind, name) for name in ("__module__", "__qualname__", "__doc__")}
    return type(kind.__name__, (_Recorded, kind), names)


def _branch() -> str:
    scope = SCOPE.get()
    node = scope.node if scope is not None else None
    return node.branch if node is not None else ""


def replayed(call: RecordedModelCall, stream: bool) -> list[LlmResponse]:
    """Return the responses of a call: without streaming the whole ones."""
    given = [each for each in call.responses if stream or not each.partial]
    # ADK changes what it is given.
    return [each.model_copy(deep=True) for each in given]


def _refusal(error: CallNotRecorded, models: RecordedModels) -> LlmResponse:
    """Return what an agent gets instead of an answer: an exception could be hidden by the app's callbacks."""
    if models.is_test:
        difference = models.difference
        raise AssertionError(difference.text() if difference is not None else error.detail)
    return LlmResponse(error_code=error.kind, error_message=error.detail)


def _check_key(model: BaseLlm, models: RecordedModels) -> None:
    """Stop if a live model cannot be asked, because there is no key for it."""
    if not isinstance(model, Gemini):
        return  # Other models say so themselves.
    try:
        _ = model.api_client
    except ValueError:
        reason = models.difference.detail if models.difference is not None else ""
        models.stop(
            f"{reason} The live model cannot be asked: there is no API key (GOOGLE_API_KEY).".strip()
        )


class OnlyRecorded(BasePlugin):
    """Answers agents whose model was not replaced: those that the app makes while it runs."""

    def __init__(self, models: RecordedModels) -> None:
        super().__init__(name="adk_prism_recorded_models")
        self._models = models

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> LlmResponse | None:
        """Return the recorded response, whole; None: the model answers, recorded or live."""
        context = callback_context.get_invocation_context()
        agent = context.agent
        if isinstance(agent, LlmAgent) and isinstance(agent.canonical_model, _Recorded):
            return None
        place = callback_context.agent_name, callback_context.branch or ""
        try:
            call = self._models.find(place, llm_request)
            if call is None:
                self._models.asked += 1
                return None
            if call.error:
                raise RecordedModelError(call.error)
            return replayed(call, stream=False)[-1]
        except CallNotRecorded as error:
            return _refusal(error, self._models)
