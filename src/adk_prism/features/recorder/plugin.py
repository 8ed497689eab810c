"""The recorder: an ADK plugin that sends what happens to an adk-prism server, or to files.

For `adk web --extra_plugins adk_prism.Recorder`, `App(plugins=[Recorder()])` and bare Runners. It records
what a server of ours would: events as the client gets them, nodes, and runs inside tools.

It never answers for an agent or a tool, never raises and never waits: whatever goes wrong in it is logged
once, and the run is recorded as far as it was seen. A run whose reader neither goes on nor stops ends here
when ADK has dropped its context.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import time
import weakref
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.agents.run_config import StreamingMode
from google.adk.events.event import Event
from google.adk.plugins.plugin_manager import PluginManager
from google.adk.workflow import BaseNode
from google.genai import types

from adk_prism.adk import nodes
from adk_prism.adk.agents import list_agents
from adk_prism.adk.internals.log_lines import INTERNAL_PREFIX
from adk_prism.adk.internals.runner import CURRENT, final_event, observe_events, observe_runners
from adk_prism.adk.nodes import SIGNALS, NodeCallbacks, code_of, see
from adk_prism.adk.plugin import NAME as OWN_PLUGIN
from adk_prism.adk.redaction import Serialiser, content_json, state_json, values_json
from adk_prism.adk.request import Detail, SeenCall
from adk_prism.adk.run_observer import SCOPE, RunObserver, Scope
from adk_prism.adk.secrets import Secrets, secret_values
from adk_prism.adk.stream_redaction import RunRedaction
from adk_prism.errors import Diagnostic, Report
from adk_prism.facts.run_reader import CaptureEnding
from adk_prism.features.model_calls.watching import ModelCallWatcher, in_file
from adk_prism.features.recorder import sender
from adk_prism.features.recorder.sender import OutboundRun, Outbox
from adk_prism.log import entry as records
from adk_prism.version import VERSION
from adk_prism.voice.conversation import AudioLog, audio_in

# ---------------------------------------------------------------------- recording
#
# One run that a recorder observes: the records that a server of ours would write, in the same order.
#
# As in `observed_runner`, but the Runner is driven by somebody else: events are seen where ADK has asked its
# plugins about them, just before it stores and yields them.


USER = "user"

CALL_BYTES = 256 * 1024
"""A request to a model and its response that are sent whole: a run's records share the room of the outbox."""


class RunRecording:
    """Turns what happens in one run into records for the outbox."""

    def __init__(
        self,
        context: InvocationContext,
        root: BaseNode,
        outbox: Outbox,
        secrets: Secrets,
        report: Report,
        *,
        detail: Detail = "summary",
    ) -> None:
        """Begin to record; nothing of the context is kept. `detail`: what of model calls is recorded."""
        self.out = OutboundRun()
        self.invocation = context.invocation_id
        self.has_room = True
        """Whether all records have found room so far."""
        self._outbox = outbox
        self._redaction = RunRedaction(secrets)
        self._ending = CaptureEnding()
        self._is_final = False
        """The last event was an agent's last word, as ADK defines it."""
        self._serialiser = Serialiser(report, run=self.out.run, app=context.session.app_name)
        self._audio = AudioLog(0, self._serialiser.event)
        self._is_live = context.live_request_queue is not None
        self._stored = len(context.session.events)
        """Events of the session that were looked at; of a live run only."""
        self._heard: set[str] = set()
        """Ids of the user's events that were yielded in a live run."""
        started = _started(self.out.run, context, root)
        self._put(started)
        self.observer = RunObserver(
            self._emit,
            started,
            self._serialiser,
            report=report,
            stop=lambda: None,
            watch_calls=partial(ModelCallWatcher, detail),
        )
        self.scope = Scope(self.observer)
        """The place in the run where the last callback was."""
        answer = _message_event(context)
        if answer is not None and answer.get_function_responses():
            self._put(records.AgentEvent(self._serialiser.event(answer)))

    def _put(self, record: records.Record, when: float | None = None) -> None:
        if self.out.state != "open":
            return
        now = time.time() if when is None else when
        kind, data = records.pack(record)
        for each in self._redaction.feed(kind, data):
            clean = record if each[1] is data else records.unpack(*each)
            self._ending.feed(records.Entry(self.out.cursor + 1, 0.0, clean))
            self.has_room = self._outbox.put(self.out, now, clean)

    async def _emit(self, record: records.Record | records.Entry | SeenCall) -> None:
        if isinstance(record, SeenCall):
            self._put(in_file(record, CALL_BYTES))
        elif isinstance(record, records.Entry):
            self._put(record.record, record.time)
        else:
            self._put(record)

    # ------------------------------------------------------------------ events

    def catch_up(self, stored: Sequence[Event]) -> None:
        """Record what the user typed in a live run: ADK stores it in the session, and yields no event."""
        if not self._is_live:
            return
        for event in stored[self._stored :]:
            if event.author == USER and event.id not in self._heard and _is_typed(event):
                self._put_audio()
                self._put(records.AgentEvent(self._serialiser.event(event)))
        self._stored = len(stored)

    async def event(self, event: Event) -> None:
        """Record an event that is about to be yielded."""
        if self._is_live and event.author == USER:
            self._heard.add(event.id)
        chunks = audio_in(event) if self._is_live else None
        if chunks:
            for due in self._audio.add(event.author, chunks, lambda: event):
                self._put(due)
            return
        data = self._serialiser.event(event)
        if event.partial:
            if self.observer.has_pending:
                await self.observer.flush()
            self._put(records.AgentEvent(data))
            return
        self._put_audio(event)
        self.observer.expect(event)
        await self.observer.flush()
        self.observer.fold(data)
        self._put(records.AgentEvent(data))
        self.observer.settle(event)
        self._is_final = event.is_final_response()

    def _put_audio(self, event: Event | None = None) -> None:
        for due in self._audio.flush():
            self._put(due)
        if event is not None and (event.turn_complete or event.interrupted):
            self._audio.end_turn()

    # ------------------------------------------------------------------ ends

    async def end(self, *, is_cut: bool = False) -> None:
        """Record the end of a run that did not fail; `is_cut`: whoever read its events has stopped."""
        await self._finish()
        ended = self._ending.ended()
        if is_cut and not self._is_final and ended.outcome == "finished":
            ended = records.RunEnded(outcome="cancelled")
        elif ended.outcome == "failed":
            ended = records.RunEnded(
                outcome="failed", code=ended.code, correlation=self._serialiser.correlation
            )
        self._put(ended)

    async def fail(self, error: BaseException) -> None:
        """Record the end of a run that raised, or was cancelled."""
        await self._finish()
        if isinstance(error, asyncio.CancelledError):
            self._put(records.RunEnded(outcome="cancelled"))
        known = self._ending.ended()
        if known.outcome != "cancelled":
            code = known.code or code_of(error)
            known = records.RunEnded(
                outcome="failed", code=code, correlation=self._serialiser.correlation
            )
        self._put(known)

    async def _finish(self) -> None:
        self._put_audio()
        await self.observer.finish()


def _is_typed(event: Event) -> bool:
    """Return whether an event of the user is a message or a change of state, not a transcript of speech."""
    if event.input_transcription is not None:
        return False
    return event.content is not None or bool(event.actions.state_delta)


def _message_event(context: InvocationContext) -> Event | None:
    """Return the user's message that began the run: ADK has just stored it. None for a run that resumes."""
    events = context.session.events
    last = events[-1] if events else None
    if last is None or last.author != USER or last.content is None:
        return None
    return last if last.invocation_id == context.invocation_id else None


def _started(run: str, context: InvocationContext, root: BaseNode) -> records.RunStarted:
    session, config = context.session, context.run_config
    asked = _message_event(context)
    said = asked is not None and not asked.get_function_responses()
    metadata = (config.custom_metadata if config is not None else None) or {}
    return records.RunStarted(
        run=run,
        origin=records.Origin(app=session.app_name, user=session.user_id, session=session.id),
        invocation=context.invocation_id,
        message=content_json(asked.content)
        if said and asked and asked.content
        else records.NOTHING,
        message_id=asked.id if said and asked else "",
        live=context.live_request_queue is not None,
        agents=list_agents(root),
        state=state_json(session.state),
        labels=records.labels(
            records.STREAMING(config is not None and config.streaming_mode == StreamingMode.SSE),
            records.CUSTOM_METADATA(
                values_json(
                    {
                        key: value
                        for key, value in metadata.items()
                        if not key.startswith(INTERNAL_PREFIX)
                    }
                )
            ),
            records.WRITTEN_BY(VERSION),
        ),
    )


# ---------------------------------------------------------------------- plugin


DEFAULT_URL = "http://127.0.0.1:8000"
URL, TOKEN, FILE = "ADK_PRISM_RECORD_URL", "ADK_PRISM_TOKEN", "ADK_PRISM_RECORD_FILE"

logger = logging.getLogger("adk_prism.recorder")


class Recorder(NodeCallbacks):
    """Records every run of the Runners that have it as a plugin."""

    def __init__(
        self, url: str = "", *, token: str = "", file: str = "", name: str = "adk_prism_recorder"
    ) -> None:
        """`url`: of an adk-prism server; `token`: a token of that server. `file`: a folder, in which each run
        becomes a recording; then nothing is sent.

        Without arguments `ADK_PRISM_RECORD_FILE`, `ADK_PRISM_RECORD_URL` and `ADK_PRISM_TOKEN` count. Never
        raises: a recorder that cannot work says so in the log, and does nothing.
        """
        super().__init__(name=name)
        self._outbox = sender.Outbox()
        self._sender: sender.Sender | None = None
        self._secrets = Secrets(secret_values(os.environ, ()))
        self._open: dict[str, RunRecording] = {}
        """By invocation: runs, and the runs inside their tools."""
        self._managers: weakref.WeakSet[PluginManager] = weakref.WeakSet()
        """Those whose events are observed."""
        self._said: set[str] = set()
        self._detail: Detail = "summary"
        try:
            destination = _destination(url, token, file)
        except ValueError as error:
            logger.warning("adk-prism recorder is off: %s.", error)
        else:
            self._sender = sender.Sender(self._outbox, destination)
            observe_runners()
            # A file has no server that decides who may see what was sent to models.
            self._detail = "summary" if isinstance(destination, sender.RecordingFolder) else "full"
            logger.info("adk-prism recorder is on: runs go to %s.", destination.title)

    async def close(self) -> None:
        """Wait a short time until all is delivered. The recorder can be used further."""
        if self._sender is not None and self._outbox.waiting:
            await asyncio.to_thread(self._sender.flush, sender.LAST)

    # ------------------------------------------------------------------ runs

    async def on_user_message_callback(
        self, *, invocation_context: InvocationContext, user_message: types.Content
    ) -> None:
        del user_message  # It may still change; before the run it is in the session.
        try:
            self._watch(invocation_context.plugin_manager)
        except Exception as error:
            self._failed(error)

    async def before_run_callback(self, *, invocation_context: InvocationContext) -> None:
        context = invocation_context
        try:
            if not self._watch(context.plugin_manager):
                return
            root = _root(context)
            self._begin(context, root)
        except Exception as error:
            self._failed(error)
        else:
            await self.observe(context.invocation_id, nodes.run_started, context, root)

    def _watch(self, manager: PluginManager) -> bool:
        """Be the first to be called, and see every event; return whether to record."""
        if self._sender is None:
            return False
        plugins = manager.plugins
        recorders = [p for p in plugins if p.name == OWN_PLUGIN or isinstance(p, Recorder)]
        if any(p.name == OWN_PLUGIN for p in recorders) or recorders[:1] not in ([], [self]):
            self._say("adk-prism recorder is off for an app: its runs are recorded already.")
            return False
        if plugins[0] is not self and self in plugins:
            plugins.remove(self)
            plugins.insert(0, self)
        if manager not in self._managers:
            self._managers.add(manager)
            observe_events(manager, self._saw)
        return True

    def _begin(self, context: InvocationContext, root: BaseNode) -> None:
        inside = self._around()
        if inside is not None:
            self._open[context.invocation_id] = inside
            return
        assert self._sender is not None
        SIGNALS.attach()
        recording = RunRecording(
            context, root, self._outbox, self._secrets, self._report, detail=self._detail
        )
        self._sender.start()
        self._open[context.invocation_id] = recording
        SCOPE.set(recording.scope)
        if (call := CURRENT.get()) is not None:
            call.on_error = partial(self._raised, recording)
        weakref.finalize(context, self._vanished, recording).atexit = False

    async def _raised(self, recording: RunRecording, error: BaseException) -> None:
        """End a run that raised what ADK tells no plugin; one that has ended stays as it is."""
        await self._close(recording, recording.fail(error))

    def _vanished(self, recording: RunRecording) -> None:
        """End a run whose context is gone. Called at any moment, in any thread: it takes no lock."""
        self._forget(recording)
        if self._sender is not None:
            self._sender.vanished.append(recording.out)

    def _around(self) -> RunRecording | None:
        """Return the run in whose tool or node this happens; None for a run of its own.

        A scope may be left over from another run that the same task reads. Then it is not in a tool.
        """
        scope = SCOPE.get()
        if scope is None or scope.node is None or scope.observer.is_inactive:
            return None
        if scope.node.kind != "tool" and not scope.node.is_signalled:
            return None
        known = list(self._open.values())
        return next((each for each in known if each.observer is scope.observer), None)

    async def after_run_callback(self, *, invocation_context: InvocationContext) -> None:
        # ADK also calls it when whoever reads the events stops: then an exception is under way.
        is_cut = sys.exc_info()[0] in (GeneratorExit, asyncio.CancelledError)
        await self._end(invocation_context, lambda recording: recording.end(is_cut=is_cut))

    async def on_run_error_callback(
        self, *, invocation_context: InvocationContext, error: Exception
    ) -> None:
        await self._end(invocation_context, lambda recording: recording.fail(error))

    async def _end(
        self, context: InvocationContext, end: Callable[[RunRecording], Awaitable[None]]
    ) -> None:
        recording = self._open.get(context.invocation_id)
        if recording is None or recording.invocation != context.invocation_id:
            return  # A run inside a tool ends; it is known until the whole run has ended.
        await self._close(recording, end(recording))

    async def _close(self, recording: RunRecording, end: Awaitable[None]) -> None:
        try:
            await end
        except Exception as error:
            self._failed(error)
        self._check_room(recording)
        self._forget(recording)
        if (scope := SCOPE.get()) is not None and scope.observer is recording.observer:
            SCOPE.set(None)

    def _forget(self, recording: RunRecording) -> None:
        for name, each in list(self._open.items()):
            if each is recording:
                self._open.pop(name, None)

    # ------------------------------------------------------------------ what happens in them

    async def _saw(self, context: InvocationContext, event: Event, replaced: Event | None) -> None:
        recording = self._open.get(context.invocation_id)
        if recording is None:
            return
        try:
            event = final_event(context, event, replaced)
            if recording.invocation == context.invocation_id:
                recording.catch_up(context.session.events)
                await recording.event(event)
            else:
                recording.observer.record_child(context.invocation_id, event)
                await recording.observer.flush()
        except Exception as error:
            self._failed(error)
        self._check_room(recording)

    async def observe(self, invocation: str, look: Callable[..., None], *what: object) -> None:
        """Let the observer of a run see something, at its place in the run. Never raises."""
        recording = self._open.get(invocation)
        if recording is None:
            return
        try:
            scope = SCOPE.get()
            if scope is None or scope.observer is not recording.observer:
                # Whoever reads the events does so in another context each time.
                SCOPE.set(recording.scope)
            await see(look, *what)
            recording.scope = SCOPE.get() or Scope(recording.observer)
        except Exception as error:
            self._failed(error)

    # ------------------------------------------------------------------ the operator

    def _check_room(self, recording: RunRecording) -> None:
        if not recording.has_room and recording.out.state == "cut":
            self._say(
                "adk-prism recorder: too many records wait to be delivered; runs are cut from now on."
            )

    def _failed(self, error: Exception) -> None:
        """Log, once of each kind, that something could not be recorded. The agent goes on."""
        self._say(f"adk-prism recorder: a run is recorded in part ({type(error).__name__}).", error)

    def _say(self, text: str, error: Exception | None = None) -> None:
        if text not in self._said:
            self._said.add(text)
            logger.warning(text, exc_info=error)

    def _report(self, diagnostic: Diagnostic) -> None:
        if diagnostic.kind != "agent error":  # which is recorded, and which ADK logs itself
            self._say(
                f"adk-prism recorder: {diagnostic.kind}; the level DEBUG shows the cause of each."
            )
        logger.debug("%s: %s %s", diagnostic.kind, diagnostic.detail, diagnostic.cause)


def _destination(url: str, token: str, file: str) -> sender.Destination:
    """Return where records go. Raise `ValueError`, with the reason, if that cannot be used."""
    if file or (not url and os.environ.get(FILE)):
        return sender.RecordingFolder(file or os.environ[FILE])
    return sender.PrismServer(
        url or os.environ.get(URL) or DEFAULT_URL, token or os.environ.get(TOKEN, "")
    )


def _root(context: InvocationContext) -> BaseNode:
    """Return the root of the Runner that runs."""
    call, agent = CURRENT.get(), context.agent
    if call is not None and call.runner.plugin_manager is context.plugin_manager:
        return call.runner.agent
    if isinstance(agent, BaseAgent):
        return agent.root_agent
    return agent or BaseNode(name=context.session.app_name)
