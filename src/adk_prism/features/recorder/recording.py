"""One run that a recorder observes: the records that a server of ours would write, in the same order.

As in `observed_runner`, but the Runner is driven by somebody else: events are seen where ADK has asked its
plugins about them, just before it stores and yields them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from functools import partial

from google.adk.agents.invocation_context import InvocationContext
from google.adk.agents.run_config import StreamingMode
from google.adk.events.event import Event
from google.adk.workflow import BaseNode

from adk_prism.adk.agents import list_agents
from adk_prism.adk.internals.log_lines import INTERNAL_PREFIX
from adk_prism.adk.model_calls import Detail, SeenCall
from adk_prism.adk.nodes import code_of
from adk_prism.adk.redaction import Serialiser, content_json, state_json, values_json
from adk_prism.adk.run_observer import RunObserver, Scope
from adk_prism.adk.secrets import Secrets
from adk_prism.adk.stream_redaction import RunRedaction
from adk_prism.errors import Report
from adk_prism.facts.run_reader import CaptureEnding
from adk_prism.features.model_calls.watching import ModelCallWatcher, in_file
from adk_prism.features.recorder.sender import OutboundRun, Outbox
from adk_prism.log import entry as records
from adk_prism.version import VERSION
from adk_prism.voice.conversation import AudioLog, audio_in

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
