"""A server inside another program: an ASGI application, and its runs from Python.

    prism = Prism(runners={"support": runner})
    app = FastAPI(lifespan=prism.lifespan)
    app.mount("/agents", prism)

    async with prism:
        run = await prism.start("support", "Where is my order?", user="ann")
        async for frame in prism.stream(run, protocol="ai-sdk"):
            print(frame.data)

What Python asks passes the same checks as a request (`run_starter`), but for who asks: the program is trusted
to name the user. Whatever is refused is a `PrismError` whose text says what to do.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

import msgspec
from fastapi import FastAPI
from google.adk.apps.app import App
from google.adk.runners import Runner
from google.adk.workflow import BaseNode
from google.genai.types import Content, Part
from msgspec import Raw, Struct
from starlette.types import Receive, Scope, Send

from adk_prism import commands
from adk_prism.adk import services as adk_services
from adk_prism.adk.apps import Apps
from adk_prism.adk.tools import ToolTimeouts
from adk_prism.errors import Expired, Report, Unprocessable, UsageError
from adk_prism.extension import chosen
from adk_prism.facts.pending import Pending, payload_schema, response_schema
from adk_prism.facts.state import read_object
from adk_prism.log import entry as records
from adk_prism.log.contract import RunLog, RunSummary
from adk_prism.protocols import adk
from adk_prism.protocols.contract import FileLinks, ProjectedFrame
from adk_prism.protocols.registry import protocol as find_protocol
from adk_prism.runs.answers import last_asked
from adk_prism.runs.broadcast import positioned_frames
from adk_prism.server.app import assemble, folder_context, make_services
from adk_prism.server.context import Context, make_context
from adk_prism.server.identity.caller import Anyone
from adk_prism.server.identity.methods import Authenticate
from adk_prism.server.lifecycle import Lifecycle, close_data_folder
from adk_prism.server.observability import Observability, open_observability, secrets_of
from adk_prism.server.routes import cancel_run, shown_run
from adk_prism.server.run_starter import Sent
from adk_prism.server.settings import Settings

MOST_LISTED = 1000
"""Runs in one list: a page of them has at most a few hundred."""


class Run(Struct, frozen=True, kw_only=True):
    """A run as it was when it was asked for."""

    id: str
    app: str
    user: str
    session: str
    message: str
    """Id of the answer that the run belongs to: of the first of the runs that continue each other."""
    invocation: str
    started: float
    """Seconds since 1970; so is `ended`."""
    ended: float | None
    outcome: records.Outcome | None
    """None while it goes on. One that is `waiting` continues with the answers to its questions."""
    cursor: int
    """Of its last entry: `stream(run, after=…)` goes on behind it."""
    bytes: int
    """What it takes in the log."""


class Question(Struct, frozen=True, kw_only=True):
    """What a run waits for."""

    id: str
    kind: Literal["approval", "input", "credential", "client tool"]
    tool: str
    """The tool that is to be approved, or that the client runs; empty for the others."""
    input: Any
    """Its arguments; what is asked, for the others."""
    schema: dict[str, Any]
    """JSON schema of the answer, or of what an approval carries; empty if anything will do."""


AnyRun = Run | str
"""A run, or its id."""


def _id(run: AnyRun) -> records.RunId:
    return records.RunId(run.id if isinstance(run, Run) else run)


def _run(summary: RunSummary) -> Run:
    shown = shown_run(summary) | {"id": summary.run}
    return Run(**{name: shown[name] for name in Run.__struct_fields__})


class StoredRuns:
    """The runs of a server, those that are over and those that go on: `prism.runs`."""

    def __init__(self, context: Context) -> None:
        self._context = context

    async def get(self, run: AnyRun) -> Run:
        """Return a run as it is now. Raise `NotFound`, or `Gone` for one that was removed or deleted."""
        await self._context.lifecycle.start_for_request()
        return _run(await self._context.log.summary(_id(run)))

    async def list(
        self, *, app: str = "", user: str = "", session: str = "", limit: int = 100
    ) -> Sequence[Run]:
        """Return runs, newest first; an empty text matches any. Raise `Gone` for a deleted session."""
        if not 1 <= limit <= MOST_LISTED:
            raise UsageError(f"`limit` must be from 1 to {MOST_LISTED}, got {limit!r:.40}.")
        await self._context.lifecycle.start_for_request()
        found = await self._context.log.list(app=app, user=user, session=session)
        return [_run(each) for each in found[: -limit - 1 : -1]]

    async def wait(self, run: AnyRun) -> Run:
        """Return a run when it is over. Raise as `get` does, and `LogError` if the log fails meanwhile."""
        known = await self.get(run)
        reading = self._context.log.read(records.RunId(known.id), known.cursor, follow=True)
        async with aclosing(reading) as batches:
            async for _ in batches:
                pass
        return await self.get(run)

    async def questions(self, run: AnyRun) -> Sequence[Question]:
        """Return what a run waits for: nothing while it goes on, or if its session has continued since."""
        known, pending = await self.get(run), Pending()
        origin = records.Origin(app=known.app, user=known.user, session=known.session)
        chats = self._context.chats
        asked = await last_asked(chats, await chats.turns(origin))
        if asked is not None and asked.turn.message == known.message:
            pending = asked.pending
        return [*_questions(pending)]


def _questions(pending: Pending) -> Iterator[Question]:
    for name, approval in pending.approvals.items():
        if name not in pending.held_decisions:
            call, schema = approval.call, payload_schema(approval.payload)
            given = read_object(call.input)
            yield Question(id=name, kind="approval", tool=call.name, input=given, schema=schema)
    for name, request in pending.requests.items():
        given, schema = read_object(request.request), response_schema(request.request)
        yield Question(id=name, kind=request.kind, tool="", input=given, schema=schema)
    for name, call in pending.client_calls.items():
        given = read_object(call.input)
        yield Question(id=name, kind="client tool", tool=call.name, input=given, schema={})


class Prism:
    """A server in your program: mount it or serve it as an ASGI application, or use its runs from Python."""

    def __init__(
        self,
        runners: Mapping[str, Runner] | None = None,
        settings: Settings | None = None,
        *,
        apps: Mapping[str, App | BaseNode] | None = None,
        agents_dir: str | Path | None = None,
        log: RunLog | None = None,
        report: Report | None = None,
        authenticate: Authenticate | None = None,
    ) -> None:
        """Serve Runners, whose services stay yours to close; or ADK apps and agents; or those of a folder.

        With none of them, the example apps. Without `settings` the environment and pyproject.toml decide;
        `log` overrides theirs. `authenticate` says who calls, e.g. from the host's own cookie; then everybody
        has to be known. Raise `UsageError` for what cannot be served. Nothing is opened before the start.
        """
        if sum(each is not None for each in (runners, apps, agents_dir)) > 1:
            raise UsageError("Prism takes only one of `runners`, `apps` and `agents_dir`.")
        settings = settings or Settings.from_environment()
        observability = open_observability(settings, secrets_of(settings), report)
        found = runners if runners is not None else apps
        if found is None:
            context = folder_context(agents_dir, settings, observability, authenticate, log)
        else:
            context = _given_context(found, settings, observability, authenticate, log)
        self.context = context
        self.runs = StoredRuns(context)
        self._app = assemble(context)
        self._app.router.lifespan_context = self.lifespan

    @classmethod
    def from_folder(
        cls,
        agents_dir: str | Path | None = None,
        *,
        report: Report | None = None,
        authenticate: Authenticate | None = None,
        **settings: Any,
    ) -> Prism:
        """Serve every ADK app of a folder, as `adk-prism serve` does; settings are given by name."""
        chosen = Settings.from_environment(**settings)
        return cls(settings=chosen, agents_dir=agents_dir, report=report, authenticate=authenticate)

    # ------------------------------------------------------------------ as an application

    def asgi(self) -> FastAPI:
        """Return the application, to mount or to serve by itself."""
        return self._app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Be the application."""
        await self._app(scope, receive, send)

    @asynccontextmanager
    async def lifespan(self, app: object) -> AsyncIterator[None]:
        """Run the server while the host's application runs."""
        del app
        async with self:
            yield

    async def __aenter__(self) -> Prism:
        """Open the log and what else is needed; continue runs that a crash cut off."""
        await self.context.lifecycle.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Let runs finish within the grace period, end the others, and close what was opened."""
        lifecycle = self.context.lifecycle
        try:
            await lifecycle.drain(self.context.settings.grace)
        finally:
            await lifecycle.stop()

    # ------------------------------------------------------------------ runs, from Python

    async def start(
        self,
        app: str,
        message: str | Content,
        *,
        user: str = commands.DEFAULT_USER,
        session: str = "",
        state: Mapping[str, Any] | None = None,
        key: str = "",
    ) -> Run:
        """Start a run with a user's message; return once it is recorded. It goes on without its caller.

        Without a session there is a new one; one that is not there is made. `state` is written to the session
        first. The same `key` and message start one run, however often. Raise `NotFound` for an unknown app,
        `Gone` for a deleted session, `Conflict` for a busy one (`Settings.chat_busy`), `TooMany`, `Draining`.
        """
        command = commands.Submit(**_said(message))
        asked = commands.ClientRequest(
            command=command,
            user=user,
            session=session or f"python-{uuid4()}",
            state_delta=state or {},
        )
        return await self._start(app, asked, key)

    async def answer(self, run: AnyRun, answers: Mapping[str, Any]) -> Run:
        """Answer the questions of a run, by their ids; return the run that continues it.

        An approval is answered with true or false, or with an object `{approved, reason, payload}`; anything
        else with its value. Approvals and inputs are answered together. Raise `QuestionsOpen` if one is
        missing, `Expired` for one that is not open (any more), `Unprocessable` for a wrong answer.
        """
        known = await self.runs.get(run)
        kinds = {each.id: each.kind for each in await self.runs.questions(known)}
        if unknown := [name for name in answers if name not in kinds]:
            raise Expired(
                f"Run {known.id} does not ask {unknown[0][:80]!r} (any more); its open questions are"
                f" {', '.join(map(repr, kinds)) or 'none'}."
            )
        tools = {name for name in answers if kinds[name] == "client tool"}
        results = [
            commands.ToolAnswer(call=name, output=records.to_raw(answers[name])) for name in tools
        ]
        given = [
            _decided(name, value)
            if kinds[name] == "approval"
            else commands.QuestionAnswer(question=name, response=records.to_raw(value))
            for name, value in answers.items()
            if name not in tools
        ]
        command = (
            commands.AnswerQuestions(answers=given, results=results)
            if given or not results
            else commands.Answer(answers=results)
        )
        asked = commands.ClientRequest(command=command, user=known.user, session=known.session)
        return await self._start(known.app, asked)

    async def _start(self, app: str, asked: commands.ClientRequest, key: str = "") -> Run:
        context = self.context
        await context.lifecycle.start_for_request()
        body = msgspec.json.encode([asked.command, asked.state_delta])
        sent = Sent(caller=Anyone(), key=key, body=body, trusted=True)
        run = await context.starter.start(adk.SPEC, app, asked, sent)
        return await self.runs.get(run)

    async def stream(
        self, run: AnyRun, protocol: str = "ai-sdk", *, after: str = "", dialect: str = ""
    ) -> AsyncGenerator[ProjectedFrame, None]:
        """Yield a run in a protocol until it is over: from its beginning, or after a position or a cursor.

        Raise `NotFound` or `Gone` for the run, `BadPosition`, `UsageError` for the protocol or its dialect.
        """
        context, name = self.context, _id(run)
        await context.lifecycle.start_for_request()
        spec = find_protocol(protocol).annotated_by(context.streams.annotators)
        format = spec.format(dialect, FileLinks(context.settings.public_url.rstrip("/")))
        position = records.parse_position(after, name) if after else records.BEGINNING
        # What it checks, it checks before the first frame.
        await context.streams.broadcaster.open(name, format, position)
        prefix = f"{name}:" if format.names_run else ""
        reading = positioned_frames(context.log, name, format, position)
        async with aclosing(reading) as frames:
            async for place, payload in frames:
                yield ProjectedFrame(f"{prefix}{place}", payload.data.decode(), payload.event)

    async def stop(self, run: AnyRun) -> Run:
        """Stop a run; one that is over stays as it is.

        Returns soon: while a tool ignores that it was cancelled, the run that is returned has no outcome yet.
        """
        await self.context.lifecycle.start_for_request()
        return _run((await cancel_run(self.context, _id(run)))[0])


def _given_context(
    given: Mapping[str, Runner] | Mapping[str, App | BaseNode],
    settings: Settings,
    observability: Observability,
    authenticate: Authenticate | None = None,
    log: RunLog | None = None,
) -> Context:
    """Return the parts of a server of Runners, or of apps and agents that get one here, by name."""
    lifecycle = Lifecycle(observability.report)
    runners = {name: each for name, each in given.items() if isinstance(each, Runner)}
    others = {name: each for name, each in given.items() if not isinstance(each, Runner)}
    if others:
        services = make_services(settings, observability, None)
        built = {
            name: adk_services.make_runner(name, each, services) for name, each in others.items()
        }
        runners |= built

        @asynccontextmanager
        async def built_runners() -> AsyncIterator[None]:
            try:
                await adk_services.check_services(services)
                yield
            finally:
                for runner in built.values():
                    await runner.close()
                await adk_services.close_services(services)

        lifecycle.hold(built_runners)
    elif log is None:
        close_data_folder(Path(settings.data_dir), observability.report)
    apps = Apps.of_runners(
        runners,
        report=observability.report,
        tool_threads=settings.tool_threads,
        tool_timeouts=ToolTimeouts(*settings.tool_timeouts),
        max_llm_calls=settings.max_llm_calls,
        change_store=chosen(settings.without).change_store,
    )
    return make_context(settings, apps, lifecycle, observability, log, authenticate=authenticate)


def _said(message: str | Content) -> dict[str, Any]:
    """Return a message as `Submit` takes it."""
    parts = [Part(text=message)] if isinstance(message, str) else message.parts or []
    text = "".join(part.text for part in parts if part.text)
    if not text and not any(part.inline_data or part.file_data for part in parts):
        raise Unprocessable("The message is empty: it needs a text or a file.")
    content = Content(role="user", parts=parts).model_dump_json(by_alias=True, exclude_none=True)
    return {"content": Raw(content.encode()), "text": text}


def _decided(name: str, value: Any) -> commands.QuestionAnswer:
    """Read a decision. Raise `Unprocessable`."""
    given = value if isinstance(value, Mapping) else {"approved": value}
    approved, reason = given.get("approved"), given.get("reason", "")
    if not isinstance(approved, bool) or not isinstance(reason, str):
        raise Unprocessable(
            f"{name[:80]!r} asks for an approval: answer with true or false, or with"
            " {'approved': True, 'reason': 'a text', 'payload': …}."
        )
    decision = records.Decision(
        approval=name,
        approved=approved,
        reason=reason,
        payload=records.given_raw(given.get("payload")),
    )
    return commands.QuestionAnswer(question=name, decision=decision)
