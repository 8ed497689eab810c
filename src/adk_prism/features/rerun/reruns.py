"""A message that is answered again, with another model, another instruction, or the current code.

The new runs are in a session of their own, a fork from before the message: they see the history, state and
artifacts that the recorded ones saw. Where a recorded run waited for a person or for the client, the
recorded answer is given again if the same is asked. Whatever is asked besides has no answer: the message ends
waiting, and stays so, because its app was changed for it alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, TypeVar

import msgspec
from fastapi import APIRouter, Request, Response
from msgspec import Raw, Struct, structs
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from adk_prism import errors
from adk_prism.adk.request import REPEATS, Repeats, Variant
from adk_prism.adk.sessions import recorded_state
from adk_prism.commands import Answer, AnswerQuestions, QuestionAnswer, ToolAnswer
from adk_prism.facts.model import CallRequested, InputRequested
from adk_prism.facts.pending import Pending
from adk_prism.facts.run_reader import Reader
from adk_prism.facts.state import read_value
from adk_prism.features.forks.forks import ForkRequest, Forks, said_again
from adk_prism.features.model_calls.calls import ModelCalls
from adk_prism.features.rerun import recorded_models, recorded_tools
from adk_prism.features.rerun.changed_app import Changes, Tools, changed_runner
from adk_prism.features.rerun.recorded_requests import LONGEST_RULE, MOST_RULES, Rules
from adk_prism.log import entry as records
from adk_prism.log.contract import RunLog
from adk_prism.runs.chats import ChatRun, Turn
from adk_prism.runs.conversations import Start
from adk_prism.runs.runs import new_run
from adk_prism.runs.session_log import AuditedAction
from adk_prism.server.context import Context
from adk_prism.server.identity.caller import Caller, Guest, may_operate
from adk_prism.server.identity.identity import CallerOf, Run
from adk_prism.server.lifecycle import Lifecycle
from adk_prism.server.observability import AuditLog
from adk_prism.server.request_bodies import StrictRoute
from adk_prism.server.run_starter import Idempotency, Key
from adk_prism.server.run_streams import RUN_HEADER

# ---------------------------------------------------------------------------
# What people and clients answered in a message, to be given again when the same is asked. Pure.
#
# An approval is the same if the call is: its tool and arguments. So is the result of a call that the
# client ran. A request for input is the same if it asks for the same. Credentials are not in a log.

Given = TypeVar("Given")
_Asked = tuple[str, bytes]
"""A tool's name and arguments; or `input`, and what was asked for."""


class RecordedDecisions:
    """The answers of one message. Each is given once."""

    def __init__(self, runs: Iterable[Sequence[records.Entry]]) -> None:
        """Read the runs of a message, in their order."""
        self._decisions: dict[_Asked, list[records.Decision]] = {}
        self._results: dict[_Asked, list[Raw]] = {}
        asked: dict[str, _Asked] = {}
        runs = list(runs)
        for entries in runs if len(runs) > 1 else ():  # One run alone waited for nobody's answer.
            reader = Reader()
            head = entries[0].record
            if isinstance(head, records.RunStarted) and head.continues is not None:
                self._read(head.continues, asked)
            for entry in entries:
                for fact in reader.feed(entry):
                    if isinstance(fact, CallRequested):
                        asked[fact.call] = _of_call(fact.name, fact.input)
                    elif isinstance(fact, InputRequested) and fact.kind == "input":
                        asked[fact.call] = _of_request(fact.request)

    @property
    def is_empty(self) -> bool:
        """Whether nobody answered anything."""
        return not (self._decisions or self._results)

    def _read(self, continues: records.Continues, asked: dict[str, _Asked]) -> None:
        if continues.held:
            return  # The run that passes the answers on has them, too.
        for call, decision in continues.decisions.items():
            if call in asked:
                self._decisions.setdefault(asked[call], []).append(decision)
        for call, answer in continues.answers.items():
            if call in asked:
                self._results.setdefault(asked[call], []).append(answer)

    def next(self, pending: Pending) -> Answer | AnswerQuestions | None:
        """Take the answers to what a message waits for now.

        None if nothing can be answered, or not everything that has to be answered in one.
        """
        calls = pending.client_calls
        is_asked = bool(pending.approvals or pending.requests or calls)
        if not is_asked:
            calls = pending.late_calls
        results = [
            ToolAnswer(call=name, output=output)
            for name, call in calls.items()
            if (output := _pop(self._results, _of(call))) is not None
        ]
        questions = self._questions(pending)
        is_whole = len(results) == len(calls) or not is_asked
        if not is_whole or len(questions) < len(pending.approvals) + len(pending.requests):
            return None
        if questions:
            return AnswerQuestions(answers=questions, results=results)
        return Answer(answers=results) if results else None

    def _questions(self, pending: Pending) -> list[QuestionAnswer]:
        found: list[QuestionAnswer] = []
        for name, approval in pending.approvals.items():
            decision = _pop(self._decisions, _of(approval.call))
            if decision is not None:
                own = records.Decision(
                    approval=name,
                    approved=decision.approved,
                    reason=decision.reason,
                    payload=decision.payload,
                )
                found.append(QuestionAnswer(question=name, decision=own))
        for name, request in pending.requests.items():
            is_known = request.kind == "input"
            answer = _pop(self._results, _of_request(request.request)) if is_known else None
            if answer is not None:
                found.append(QuestionAnswer(question=name, response=answer))
        return found


def _of(call: CallRequested) -> _Asked:
    return _of_call(call.name, call.input)


def _of_call(name: str, input: Raw) -> _Asked:
    return name, recorded_tools.canonical(read_value(input))


def _of_request(request: Raw) -> _Asked:
    return "input", recorded_tools.canonical(_without_ids(read_value(request)))


def _without_ids(request: Any) -> Any:
    """Return a request without what ADK draws for each."""
    if not isinstance(request, dict):
        return request
    return {key: value for key, value in request.items() if not key.lower().endswith("id")}


def _pop(found: dict[_Asked, list[Given]], asked: _Asked) -> Given | None:
    given = found.get(asked)
    return given.pop(0) if given else None


# ---------------------------------------------------------------------------

MOST_WARNED = 100
"""Messages whose warnings are kept until they are asked for."""


class Rerun(Struct, frozen=True, kw_only=True):
    """A message, and the same message answered again."""

    origin: records.Origin
    """The new session."""
    recorded: list[records.RunId]
    runs: list[records.RunId]
    """The new ones, as far as they have begun."""
    warnings: list[str]
    models: ModelReport | None
    """None: models were asked, or this is no longer known."""


class ModelReport(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of the model calls of a message whose models are answered from the recording."""

    recorded: int
    """Calls that were answered from the recording."""
    live: int
    """Calls for which the live model was asked."""
    left: int
    """Recorded calls that were not made."""
    difference: recorded_models.Difference | None = None
    """The first request that the recording does not answer."""


class _Plan(Struct, frozen=True):
    """What is needed to answer a message again."""

    turn: Turn
    variant: Variant
    answers: RecordedDecisions
    models: recorded_models.RecordedModels | None


class Reruns:
    """Answers messages again."""

    def __init__(self, context: Context) -> None:
        self._log = context.log
        self._apps = context.apps
        self._runs = context.runs
        self._chats = context.chats
        self._forks = Forks(context)
        self._conversations = context.conversations
        self._report = context.report
        self._driving: dict[records.RunId, asyncio.Task[None]] = {}
        """By the first new run, while its message is not over."""
        self._warnings: dict[records.RunId, list[str]] = {}
        self._models: dict[records.RunId, recorded_models.RecordedModels] = {}
        """Of the last messages, by their first new run."""

    async def start(
        self,
        run: records.RunId,
        changes: Changes,
        new: records.RunId | None = None,
        digest: str = "",
        *,
        session: str = "",
    ) -> records.RunId:
        """Begin to answer the message of a run again; return the first new run.

        `session` is that of an earlier message that was run again: it goes on there, with the history that
        this has made. Without one, a fork from before the message is made.

        Raise `NotFound` or `Gone` for a run or an app that is not there (any more), `Conflict` for one that
        is not over, `Unprocessable` and `NotSupported` for one that cannot be run again.
        """
        plan = await self._plan(run, changes)
        new = new or new_run()
        if session:
            await self._go_on(plan, new, session)
        else:
            await self._fork(plan, new, digest, changes.message)
        if plan.models is not None:
            self._models[new] = plan.models
            while len(self._models) > MOST_WARNED:
                self._models.pop(next(iter(self._models)))
        origin = (await self._log.summary(new)).origin
        driving = asyncio.create_task(self._drive(new, origin, plan))
        self._driving[new] = driving
        driving.add_done_callback(lambda _: self._driving.pop(new, None))
        return new

    async def _fork(self, plan: _Plan, new: records.RunId, digest: str, text: str) -> None:
        first = plan.turn.first
        wanted = ForkRequest(
            run=first.summary.run,
            at=1,
            message=records.NOTHING,
            streaming=records.STREAMING.read(first.head),
            variant=plan.variant,
            text=text,
        )
        forked = await self._forks.fork(wanted, new, digest)
        self._warn(new, _missing(forked.missing))
        if (
            plan.variant.repeats.tools == "live"
        ):  # With recorded tools the run sees the recorded state.
            changed = [f"The state {key!r} has another value today." for key in forked.differing]
            self._warn(new, changed)

    async def _go_on(self, plan: _Plan, new: records.RunId, session: str) -> None:
        head = plan.turn.first.head
        origin = structs.replace(head.origin, session=session)
        state = await self._apps.sessions(origin.app).state(origin)
        before = recorded_state(state, head.state)
        start = Start(
            origin=origin,
            policy="wait",
            run=new,
            streaming=records.STREAMING.read(head),
            client_tools=head.client_tools,
            # Somebody may have changed it between two messages.
            state_delta={k: v for k, v in before.items() if k not in state or state[k] != v},
            variant=plan.variant,
        )
        await self._conversations.perform(start, said_again(head))

    async def wait(self, run: records.RunId) -> None:
        """Wait until the message that a run began is over; for one of another process, do not wait."""
        driving = self._driving.get(run)
        if driving is not None:
            await asyncio.wait([driving])

    async def result(self, run: records.RunId) -> Rerun:
        """Return what has become of a message that a run began. Raise `NotFound` for any other run."""
        head = await self._chats.beginning(run)
        repeats = REPEATS.read(head)
        if repeats is None:
            raise errors.NotFound("This run is not another one, run again.")
        recorded = await self._turn(records.RunId(repeats.run))
        return Rerun(
            origin=head.origin,
            recorded=[each.summary.run for each in recorded.runs],
            runs=[each.summary.run for each in (await self._turn(run)).runs],
            warnings=self._warnings.get(run, []),
            models=_report_of(self._models.get(run)),
        )

    # -------------------------------------------------------------- planning

    async def _plan(self, run: records.RunId, changes: Changes) -> _Plan:
        turn = await self._turn(run)
        _check(turn)
        origin = turn.first.head.origin
        await self._apps.open(origin.app)
        runs = [await self._filled(each.summary.run) for each in turn.runs]
        models = _recorded_models(runs, changes)
        runner = changed_runner(self._apps.runner(origin.app, "rerun"), changes, models)
        repeats = Repeats(
            run=turn.first.summary.run,
            model=changes.model,
            instructions=sorted(changes.instructions),
            tools=changes.tools,
            models=changes.models,
            parameters=sorted(changes.parameters),
            calls=sorted({each.tool for each in changes.calls}),
            message=bool(changes.message),
        )
        is_recorded = changes.tools != "live"
        if is_recorded and (memory := recorded_tools.recorded_memory(runs)) is not None:
            runner.memory_service = memory
        artifacts = recorded_tools.stored_artifacts(self._apps.artifact_service(origin.app), origin)
        state = await self._chats.state_before(turn.first.summary.run)
        tools: recorded_tools.RecordedTools | recorded_tools.CalledTools | None = None
        if is_recorded:
            calls_others = changes.tools == "auto"
            tools = recorded_tools.RecordedTools(
                recorded_tools.RecordedCalls(runs), artifacts, state, calls_others=calls_others
            )
        elif models is not None:
            tools = recorded_tools.CalledTools()
        if models is not None and tools is not None:
            models.on_stop = tools.fail
        variant = Variant(runner=runner, repeats=repeats, tools=tools)
        return _Plan(turn, variant, RecordedDecisions(runs), models)

    async def _turn(self, run: records.RunId) -> Turn:
        """Return the message that a run belongs to, also one that was taken back."""
        head = await self._chats.head(run)
        message = head.continues.message if head.continues is not None else head.run
        origin = (await self._log.summary(run)).origin
        found: list[ChatRun] = []
        for each in await self._log.list(app=origin.app, user=origin.user, session=origin.session):
            begun = await self._chats.beginning(each.run)
            continued = begun.continues.message if begun.continues is not None else ""
            if message in (begun.run, continued):
                found.append(ChatRun(each, begun))
        if not found or found[0].head.run != message:
            raise errors.Gone("The first run of this message is not in the log any more.")
        return Turn(message, found)

    async def _entries(self, run: records.RunId) -> list[records.Entry]:
        return [entry async for entry in self._chats.entries(run)]

    async def _filled(self, run: records.RunId) -> list[records.Entry]:
        """Return the entries of a run with what was sent to models."""
        return await ModelCalls(self._log).filled(run, await self._entries(run))

    # -------------------------------------------------------------- going on

    async def _drive(self, run: records.RunId, origin: records.Origin, plan: _Plan) -> None:
        """Give the recorded answers until nothing more is asked, or something that has none."""
        try:
            await self._runs.wait(run)
            while (next_run := await self._answer(run, origin, plan)) is not None:
                await self._runs.wait(next_run)
        except errors.PrismError as error:
            self._report(errors.Diagnostic(kind="rerun stopped", detail=error.detail, run=run))
            self._warn(run, [error.detail])
        if (tools := plan.variant.tools) is not None:
            self._warn(run, _missing(tools.missing))
            if tools.unanswered is not None:
                self._warn(run, [tools.unanswered.detail])
        if plan.variant.repeats.model and plan.models is None:
            await self._warn_of_others(run)

    async def _warn_of_others(self, run: records.RunId) -> None:
        """Name the agents that an app makes while it runs: no change reaches them."""
        known, asked = set[str](), set[str]()
        for each in (await self._turn(run)).runs:
            for entry in await self._entries(each.summary.run):
                match entry.record:
                    case records.RunStarted(agents=agents):
                        known.update(agent.name for agent in agents)
                    case records.ModelCalled(agent=agent):
                        asked.add(agent)
                    case _:
                        pass  # says nothing of who asks models
        others = ", ".join(sorted(asked - known))
        if others:
            self._warn(run, [f"Made while the app runs, with a model of their own: {others}."])

    def _warn(self, run: records.RunId, warnings: list[str]) -> None:
        self._warnings.setdefault(run, []).extend(warnings)
        while len(self._warnings) > MOST_WARNED:
            self._warnings.pop(next(iter(self._warnings)))

    async def _answer(
        self, run: records.RunId, origin: records.Origin, plan: _Plan
    ) -> records.RunId | None:
        """Give the next recorded answers; return the run that goes on with them."""
        if plan.answers.is_empty:
            return None
        turn = await self._turn(run)
        if turn.last.summary.outcome not in ("waiting", "finished"):
            return None
        answers = plan.answers.next(await self._chats.pending(turn))
        if answers is None:
            return None
        streaming = records.STREAMING.read(plan.turn.first.head)
        start = Start(origin=origin, policy="wait", streaming=streaming, variant=plan.variant)
        return await self._conversations.perform(start, answers)


def _recorded_models(
    runs: Sequence[Sequence[records.Entry]], changes: Changes
) -> recorded_models.RecordedModels | None:
    """Return what answers the models of a message; None: they are asked. Raise `Unprocessable`."""
    _check_models(changes)
    if changes.models == "live":
        return None
    found = recorded_models.read_calls(runs, with_pieces=changes.is_streamed)
    for each in changes.calls:
        recorded_models.change_call(found, each)
    return recorded_models.RecordedModels(
        found, mode=changes.models, until=changes.until, rules=Rules(changes.ignore)
    )


def _report_of(models: recorded_models.RecordedModels | None) -> ModelReport | None:
    if models is None:
        return None
    return ModelReport(
        recorded=models.given,
        live=models.asked,
        left=len(models.left),
        difference=models.difference,
    )


def _check_models(changes: Changes) -> None:
    """Raise `Unprocessable` for changes that contradict each other."""
    if changes.models == "live" and (changes.until or changes.ignore):
        raise errors.Unprocessable(
            "`until` and `ignore` are about models that are answered from the recording: `models` must be"
            " `recorded` or `auto`."
        )
    if changes.models == "live" and changes.calls:
        raise errors.Unprocessable(
            "Arguments of tools are changed where a recorded model calls them: `models` must be `recorded` or"
            " `auto`."
        )
    if changes.models == "recorded" and changes.model:
        raise errors.Unprocessable(
            f"The recording has no answers of another model, such as {changes.model[:100]!r}. Leave `model`"
            " out, or run it with `models` `auto` or `live`."
        )


def _missing(artifacts: Iterable[str]) -> list[str]:
    return [f"The artifact {name!r} is missing." for name in dict.fromkeys(artifacts)]


def _check(turn: Turn) -> None:
    """Raise for a message that cannot be answered again."""
    head = turn.first.head
    if records.is_untrusted(head):
        raise errors.Unprocessable(
            "This run was recorded elsewhere and imported here. Download its recording, and use "
            "`adk-prism rerun FILE`."
        )
    if head.live:
        raise errors.Unprocessable("A live run cannot be run again: its audio is not in the log.")
    if head.kind != "turn" or (
        records.is_absent(head.message) and not records.RESPONSES.read(head)
    ):
        raise errors.Unprocessable("This run does not answer a message, so it cannot be run again.")
    if turn.live:
        raise errors.Conflict("The run is not over yet. Wait until it is, or stop it.")


# ---------------------------------------------------------------------------
# `POST /api/runs/{run}/rerun`: a message answered again, with another model, instruction or the code of
# now.
#
# Body: `model`; `instructions`, texts by agent; `tools`, `recorded` (default: answered from the
# recording), `live`, or `auto`: called where the recording has no answer; `models`, `live` (default),
# `recorded`, or `auto`: answered from the recording until a request differs; `until`, the last cursor
# at which they are; `ignore`, what does not count in a request; `parameters`, of the models, by agent;
# `message`, what the user says instead; `calls`, other arguments for recorded calls of tools; `wait`,
# false to get the answer when the first run has begun: `GET` of the new run's `rerun` has it later. The
# answer names the new runs, each streamed and compared as any other, and says what became of model
# calls. An instruction decides what an app does: where callers are known, this is for administrators.

MOST_INSTRUCTIONS = 100
LONGEST_NAME = 200
LONGEST_MESSAGE = 100_000
MOST_CALLS = 100


class CallRun(BaseModel):
    """Other arguments for a recorded call of a tool."""

    tool: Annotated[str, Field(max_length=LONGEST_NAME)]
    recorded: dict[str, Any] = {}
    instead: dict[str, Any]


class RerunRun(BaseModel):
    """What is different this time."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    model: Annotated[str, Field(max_length=LONGEST_NAME)] = ""
    instructions: Annotated[dict[str, str], Field(max_length=MOST_INSTRUCTIONS)] = {}
    tools: Tools = "recorded"
    models: recorded_models.Models = "live"
    until: Annotated[int, Field(ge=0, strict=True)] = 0
    ignore: Annotated[
        list[Annotated[str, Field(max_length=LONGEST_RULE)]], Field(max_length=MOST_RULES)
    ] = []
    parameters: Annotated[dict[str, dict[str, Any]], Field(max_length=MOST_INSTRUCTIONS)] = {}
    message: Annotated[str, Field(max_length=LONGEST_MESSAGE)] = ""
    calls: Annotated[list[CallRun], Field(max_length=MOST_CALLS)] = []
    wait: bool = True


def routes(
    log: RunLog, reruns: Reruns, idempotency: Idempotency, audit: AuditLog, lifecycle: Lifecycle
) -> APIRouter:
    """Return the router of reruns."""
    router = APIRouter(prefix="/api/runs", route_class=StrictRoute, tags=["runs"])

    @router.post("/{run}/rerun")
    async def rerun(
        request: Request,
        response: Response,
        caller: CallerOf,
        run: Run,
        asked: RerunRun,
        key: Key = "",
    ) -> dict[str, Any]:
        """Answer the message of a run again, in a new session. Tools are answered from the recording."""
        _check_may_rerun(caller)
        lifecycle.check_open()
        changes = Changes(
            model=asked.model.strip(),
            instructions=asked.instructions,
            tools=asked.tools,
            models=asked.models,
            until=asked.until,
            ignore=asked.ignore,
            parameters=asked.parameters,
            message=asked.message.strip(),
            calls=[recorded_models.ChangedCall(**each.model_dump()) for each in asked.calls],
        )
        begun: list[records.RunId] = []

        async def begin(new: records.RunId | None, digest: str) -> records.RunId:
            begun.append(await reruns.start(run, changes, new, digest))
            return begun[0]

        new = await idempotency.once(key, f"rerun {run}", await request.body(), begin)
        response.headers[RUN_HEADER] = new
        for each in begun:
            origin = (await log.summary(run)).origin
            await audit.note(
                AuditedAction(action="run repeated", origin=origin, run=run, about=each)
            )
        if asked.wait:
            await reruns.wait(new)
        return _shown(new, await reruns.result(new))

    @router.get("/{run}/rerun")
    async def rerun_result(caller: CallerOf, run: Run, wait: bool = False) -> dict[str, Any]:
        """Return what has become of a message that was run again; `wait`: when it is over.

        `run` is the first of the new runs. Warnings are known to the process that ran it.
        """
        _check_may_rerun(caller)
        if wait:
            await reruns.wait(run)
        return _shown(run, await reruns.result(run))

    return router


def _shown(run: records.RunId, done: Rerun) -> dict[str, Any]:
    return {
        "run": run,
        "runs": done.runs,
        "recorded": done.recorded,
        "app": done.origin.app,
        "user": done.origin.user,
        "session": done.origin.session,
        "warnings": done.warnings,
        "models": msgspec.to_builtins(done.models),
    }


def _check_may_rerun(caller: Caller) -> None:
    if isinstance(caller, Guest):
        raise errors.NotFound("A share link does not run anything.")
    if not may_operate(caller):
        raise errors.Forbidden("To run an app with changes is for administrators.")
