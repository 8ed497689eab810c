"""Starts the run that a client asks for, whatever protocol it asks in.

Every route and socket that starts runs goes through here: is the server open, does the app load, who asks,
which state, tools and files may the request bring, was the same request sent before.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Annotated, Any
from uuid import uuid4

import msgspec
from fastapi import Header, Request
from msgspec import Raw, Struct, structs

from adk_prism import commands
from adk_prism.adk.apps import Apps
from adk_prism.adk.client_tools import read_tools
from adk_prism.adk.redaction import state_json
from adk_prism.adk.sessions import SHARED
from adk_prism.errors import Forbidden, NotFound, Unprocessable, UsageError
from adk_prism.facts.state import same_json
from adk_prism.log.contract import RunLog
from adk_prism.log.entry import BroughtTool, Origin, RunId, RunStarted, Warned, to_raw
from adk_prism.log.private_files import Recent
from adk_prism.protocols.contract import UPLOADED, ProtocolSpec
from adk_prism.runs.conversations import Conversations, Start
from adk_prism.runs.recorder import REQUEST_DIGEST
from adk_prism.runs.session_locks import Policy, SessionLocks
from adk_prism.server.identity.caller import Caller, acting_user, caller_of, spoken_user
from adk_prism.server.lifecycle import Lifecycle
from adk_prism.server.request_bodies import StrictRequest, check_session, check_user
from adk_prism.server.request_tracking import called_by
from adk_prism.server.settings import Settings

# ---------------------------------------------------------------------------
# `Idempotency-Key`: the same key and body start one run, however often they are sent.
#
# The run's id is derived from the key and its scope, and the body's digest is in the run's first
# record, so nothing has to be kept beside the log: it holds after a restart and as long as the run
# does.

LONGEST_KEY = 255

Begin = Callable[[RunId | None, str], Awaitable[RunId]]
"""Starts a run under the given id, with the given digest; with None, under an id of its own."""


Key = Annotated[str, Header(alias="Idempotency-Key")]


class Idempotency:
    """Keys of one server."""

    def __init__(self, log: RunLog, keys: SessionLocks | None = None) -> None:
        """`keys` keeps requests with one key apart, in all processes that share the log."""
        self._log = log
        self._keys = keys or SessionLocks()

    async def once(
        self, key: str, scope: str, body: bytes, begin: Begin, *, digest: str = ""
    ) -> RunId:
        """Start a run, or return the one that this key started. Raise `Unprocessable` for another body.

        `digest`: the SHA-256 of the body, where only a part of it was kept.
        """
        if not key:
            return await begin(None, "")
        if len(key) > LONGEST_KEY or not key.isprintable():
            raise UsageError(f"Idempotency-Key must have 1 to {LONGEST_KEY} printable characters.")
        named = sha256(f"{scope}\0{key}".encode()).hexdigest()
        run = RunId(f"run-{named[:32]}")
        digest = digest or sha256(body).hexdigest()
        async with self._keys.held(Origin(app="", user="", session=run)):
            known = await self._digest(run)
            if known is None:
                return await begin(run, digest)
            if known != digest:
                raise Unprocessable(
                    "This Idempotency-Key, or run id, was used with another request."
                )
            return run

    async def _digest(self, run: RunId) -> str | None:
        try:
            async with aclosing(self._log.read(run)) as batches:
                async for batch in batches:
                    head = batch[0].record
                    return REQUEST_DIGEST.read(head) if isinstance(head, RunStarted) else None
        except NotFound:
            return None
        return None


# ---------------------------------------------------------------------------
# Sessions whose run was left by the client that had started it through ADK's own routes.
#
# `adk api_server` ends a run when its client closes the connection: that is how ADK's clients stop
# one. Here a run survives its client. So that the person can go on at once, the next message to the
# session interrupts it.

MOST = 10_000
"""Sessions that are remembered: far more than are left within one run's time. Of a forgotten one, the next
message is treated as the setting says."""


# ---------------------------------------------------------------------------
# Which state a client may write: what its app declares, else its session's own keys.
#
# An app that declares keys (`adk_prism.accept_client_state`) lets clients write these and no others. For any
# other app the scopes decide: ADK shares `app:` keys among all users and `user:` keys among a user's
# sessions, so a client that writes them reaches into conversations that are not its own; `temp:` keys live
# inside a run, `_adk` ones are ADK's own. The setting `client_state` exempts prefixes from both.

_RESERVED = (*SHARED, "_adk")
SHOWN = 5
"""Keys or tools that a warning names."""


class ClientState:
    """Which state keys the clients of each app may write."""

    def __init__(self, apps: Apps, allowed: tuple[str, ...]) -> None:
        """`allowed` are prefixes of reserved keys that clients may write all the same."""
        self._apps = apps
        self._allowed = allowed

    def refused_keys(self, app: str, keys: Iterable[str]) -> Sequence[str]:
        """Return the keys that a client of a loaded app may not write."""
        rest = [key for key in keys if not key.startswith(self._allowed)]
        declared = self._apps.client_keys(app)
        if declared is None:
            return [key for key in rest if key.startswith(_RESERVED)]
        return [key for key in rest if key not in declared]

    async def check(self, app: str, delta: Mapping[str, Any]) -> None:
        """Raise `Forbidden` if a client's state has a key that it may not write.

        What the app declares is known once it is loaded, so a state that is not empty loads it.
        """
        if not delta:
            return
        await self._apps.open(app)
        if refused := self.refused_keys(app, delta):
            declared = self._apps.client_keys(app)
            why = (
                "the prefixes app:, user:, temp: and _adk are reserved. Use another key, or have it allowed."
                if declared is None
                else f"the app {app!r} lets clients write {', '.join(sorted(declared)) or 'none'}."
            )
            raise Forbidden(f"A client may not write the state key {refused[0][:60]!r}: {why}")

    async def changes(
        self, origin: Origin, copy: Mapping[str, Any]
    ) -> tuple[dict[str, Any], list[Warned]]:
        """Return what a client changed in its copy of the state, and a warning about what it may not write.

        A client sends the whole copy with every request, and most of it is what it was sent: a key whose
        value is as clients see it did not change. One that is not there was not taken away, since pages
        keep only what they use.
        """
        if not copy:
            return {}, []
        shown = state_json(await self._current(origin))
        changed = {
            key: value
            for key, value in copy.items()
            if key not in shown or not _is_same(shown[key], to_raw(value))
        }
        refused = set(self.refused_keys(origin.app, changed))
        kept = {key: value for key, value in changed.items() if key not in refused}
        return kept, [_state_ignored(refused)] if refused else []

    async def _current(self, origin: Origin) -> Mapping[str, Any]:
        try:
            return await self._apps.sessions(origin.app).state(origin)
        except NotFound:  # the session is made with its first message
            return {}

    def declared(self, app: str, state: Mapping[str, Any]) -> dict[str, Any]:
        """Return what of some state the app declares for clients."""
        declared = self._apps.client_keys(app) or ()
        return {key: value for key, value in state.items() if key in declared}


def _is_same(shown: Raw, value: Raw) -> bool:
    try:
        return same_json(shown, value)
    except (msgspec.MsgspecError, OverflowError, RecursionError):
        return True  # what cannot be compared a client cannot have changed


def _state_ignored(keys: Iterable[str]) -> Warned:
    shown = _shown(sorted(keys))
    return Warned(
        code="state-ignored",
        text=f"The state of the request was not written for {shown}: clients may not write these keys.",
    )


# ---------------------------------------------------------------------------


class Sent(Struct, frozen=True, kw_only=True):
    """How a request was sent."""

    caller: Caller
    key: str = ""
    """Its `Idempotency-Key`."""
    body: bytes = b""
    digest: str = ""
    """Of the body, where only a part of it was kept."""
    base: str = ""
    """The address of the server that the client sees."""
    trusted: bool = False
    """By the program itself, which may write any state."""


async def read_sent(request: Request, key: str, base: str = "") -> Sent:
    """Return how a request was sent."""
    digest = request.digest if isinstance(request, StrictRequest) else ""
    body = await request.body()
    return Sent(caller=caller_of(request), key=key, body=body, digest=digest, base=base)


Attach = Callable[[Raw, Origin, str], Awaitable[Raw]]
"""Takes a message's content, where it is sent, and the server's address; returns what the agent gets."""


@dataclass(frozen=True, slots=True)
class RunStarter:
    """Starts runs for clients of one server."""

    lifecycle: Lifecycle
    apps: Apps
    conversations: Conversations
    idempotency: Idempotency
    client_state: ClientState
    settings: Settings
    left: Recent[Origin, bool] = field(default_factory=lambda: Recent(MOST))
    """Sessions whose run was left."""
    attach: list[Attach] = field(default_factory=list)
    """Puts files in the place of references to them: features add theirs."""

    async def _find_session(self, origin: Origin) -> None:
        """Create the session, if the operator allows that. Raise `NotFound` for one that is not there."""
        sessions = self.apps.sessions(origin.app)
        if self.settings.auto_create_session:
            await sessions.ensure(origin)
        elif not await sessions.exists(origin):
            raise NotFound("Session not found.")

    async def start(
        self, spec: ProtocolSpec[Any], app: str, asked: commands.ClientRequest, sent: Sent
    ) -> RunId:
        """Start a run, or return the one that the same key and body started.

        Raise what the client did wrong, before anything has changed.
        """
        self.lifecycle.check_open()
        await self.apps.open(app)
        with self.apps.read_once(app):
            return await self._start(spec, app, asked, sent)

    async def _start(
        self, spec: ProtocolSpec[Any], app: str, asked: commands.ClientRequest, sent: Sent
    ) -> RunId:
        origin = self._origin(spec, app, asked, sent.caller)
        if not sent.trusted:
            await self.client_state.check(app, asked.state_delta)
        if _is_adk(asked):
            await self._find_session(origin)
        tools, warnings = _tools_of_request(self.apps, app, asked)
        changed, ignored = await self.client_state.changes(origin, asked.state)
        declared = self.client_state.declared(app, asked.declared_state)
        start = Start(
            origin=origin,
            policy=self._policy(asked, origin),
            by=called_by(),
            streaming=asked.streaming,
            state_delta={**changed, **declared, **asked.state_delta},
            custom_metadata=asked.custom_metadata,
            client_tools=tools,
            warnings=[*warnings, *ignored],
            client_run=asked.run,
        )

        async def begin(run: RunId | None, digest: str) -> RunId:
            command = await self._with_files(asked.command, origin, sent.base)
            known = structs.replace(start, run=run, digest=digest)
            return await self.conversations.perform(known, command)

        # The session that was asked for: one that is drawn here differs with every repetition.
        scope = f"{spec.name} {origin.app} {origin.user} {asked.session}"
        key, digest = sent.key, sent.digest
        if asked.run and not key:
            key, digest = _of_run(asked)
        return await self.idempotency.once(key, scope, sent.body, begin, digest=digest)

    def _policy(self, asked: commands.ClientRequest, origin: Origin) -> Policy:
        """Return what becomes of the session's active run, if there is one."""
        was_left = self.left.pop(origin, False)  # another run is about to begin
        if not _is_adk(asked):
            return self.settings.chat_busy
        return "interrupt" if was_left else self.settings.adk_busy

    async def _with_files(
        self, command: commands.Command, origin: Origin, base: str
    ) -> commands.Command:
        """Return a command whose message has the files that it refers to."""
        if isinstance(command, commands.Submit | commands.RunAgent):
            content = await self.attached(command.content, origin, base)
            return structs.replace(command, content=content)
        if isinstance(command, commands.Regenerate) and command.message is not None:
            message = await self._with_files(command.message, origin, base)
            return structs.replace(command, message=message)
        return command

    async def attached(self, content: Raw, origin: Origin, base: str) -> Raw:
        """Return a message's content with the files that it refers to. Raise `UsageError`."""
        for attach in self.attach:
            content = await attach(content, origin, base)
        if f'"fileUri":"{UPLOADED}'.encode() in bytes(content):  # never inside of a text
            raise Unprocessable("The message names an uploaded file that does not exist.")
        return content

    def _origin(
        self, spec: ProtocolSpec[Any], app: str, asked: commands.ClientRequest, caller: Caller
    ) -> Origin:
        user = check_user(asked.user)
        # ADK's requests always name their user; others may leave it out.
        acting = acting_user(caller, user) if _is_adk(asked) else spoken_user(caller, user)
        is_new = not asked.session and not _is_adk(asked)
        session = f"{spec.name}-{uuid4()}" if is_new else check_session(asked.session)
        return Origin(app=app, user=acting, session=session)


def _of_run(asked: commands.ClientRequest) -> tuple[str, str]:
    """Return the key and digest of a request under its client's own run id.

    Not of the body: a client that asks again sends what it has got in the meantime.
    """
    command = asked.command
    about = msgspec.json.encode([asked.run, type(command).__name__, *commands.ids_of(command)])
    return sha256(about).hexdigest(), sha256(msgspec.json.encode(command)).hexdigest()


def _is_adk(asked: commands.ClientRequest) -> bool:
    """Return whether a request has the meaning that ADK's own routes give it."""
    return isinstance(asked.command, commands.RunAgent | commands.ChangeState)


def _tools_of_request(
    apps: Apps, app: str, asked: commands.ClientRequest
) -> tuple[list[BroughtTool], list[Warned]]:
    """Return the tools that a request brings, and warnings about what of it is ignored.

    An app lets clients bring tools with `accept_client_tools()` (`adk.client_tools`). What the agent is
    instructed to do is up to the app: system messages and `system` of a body never reach the model. Raise
    `Unprocessable` for tools that cannot be used.
    """
    warnings = [_SYSTEM_IGNORED] if asked.has_instructions else []
    if not asked.tools:
        return [], warnings
    if "client tools" in apps.app(app).lacks:
        return [], [*warnings, _tools_ignored(asked.tools)]
    return read_tools(apps.runner(app, "client tools"), asked.tools), warnings


_SYSTEM_IGNORED = Warned(
    code="system-ignored",
    text="The system message was ignored: only the app sets the instructions of its agents.",
)


def _tools_ignored(tools: Any) -> Warned:
    shown = _shown([*tools]) if isinstance(tools, Mapping) else ""
    return Warned(
        code="tools-ignored",
        text=f"The request's tools were ignored ({shown or 'not an object'}): this app takes none from "
        'clients. It does with the plugin accept_client_tools("request").',
    )


def _shown(names: Sequence[Any]) -> str:
    """Return the first names of a list, for a warning."""
    return ", ".join(str(name)[:40] for name in names[:SHOWN]) + (
        ", …" if len(names) > SHOWN else ""
    )
