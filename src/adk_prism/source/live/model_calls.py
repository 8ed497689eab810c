"""The model calls of a live run: each turn of the model is one.

What the model was sent: the setup and history with which the connection was opened
(`source.adk.live_connect_request`), and then the messages and tool results that the request queue gave to
ADK. They are read when the model answers: callbacks may change them until then. A turn is over when the model
says so, is interrupted, or goes on with the results of its tools. Tokens may be reported after that: then the
call waits for them, until the next input.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Concatenate, ParamSpec

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.live_request_queue import LiveRequest
from google.adk.agents.llm_agent import LlmAgent
from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.genai import types

from adk_prism.diagnostics import Diagnostic, Report, cause_of, ignore
from adk_prism.source.live.audio_log import PcmChunk
from adk_prism.source.live.model_turn import ModelTurn, Transcript
from adk_prism.source.model_calls.seen_call import ContentText, Detail, SeenCall
from adk_prism.source.model_calls.texts import RequestTexts, content_text

_OURS = "adk_prism."
_Given = ParamSpec("_Given")

MOST_BYTES = 8 * 1024**2
"""Of the messages of one connection that are remembered; of more, the latest."""


def has_model_callbacks(runner: Runner, agent: BaseAgent | None) -> bool:
    """Return whether a plugin or a callback of the app may answer in place of the model."""
    if isinstance(agent, LlmAgent) and (
        agent.canonical_before_model_callbacks or agent.canonical_after_model_callbacks
    ):
        return True
    kinds = [type(each) for each in runner.plugin_manager.plugins]
    return any(
        kind.before_model_callback is not BasePlugin.before_model_callback
        or kind.after_model_callback is not BasePlugin.after_model_callback
        for kind in kinds
        if not kind.__module__.startswith(_OURS)
    )


class _Connection:
    """What was sent on one connection."""

    def __init__(self, agent: str, request: LlmRequest, history: Sequence[types.Content]) -> None:
        self.agent = agent
        self.request = request
        self._unread: list[types.Content] = list(history)
        self._history = len(self._unread)
        """How many of what is unread is history."""
        self._texts: list[ContentText] = []
        self._setup: RequestTexts | None = None
        self._bytes = 0
        self._is_cut = False

    def send(self, content: types.Content) -> None:
        """Note a message. It is read later: callbacks may change it."""
        self._unread.append(content)

    def withdraw(self) -> None:
        """Note that the last message was not sent, if nothing was read since."""
        if len(self._unread) > self._history:
            self._unread.pop()

    def setup(self) -> RequestTexts:
        """Return what the connection was opened with."""
        if self._setup is None:
            self._setup = RequestTexts(self.request, live=True)
        return self._setup

    def contents(self) -> list[ContentText]:
        """Return what was sent so far, in order."""
        for content in self._unread:
            text = content_text(content)
            self._texts.append(text)
            self._bytes += len(text.text)
        self._unread.clear()
        self._history = 0
        while self._bytes > MOST_BYTES and len(self._texts) > 1:
            self._bytes -= len(self._texts.pop(0).text)
            self._is_cut = True
        return list(self._texts)

    def cut(self, contents: Sequence[ContentText]) -> list[str]:
        """Return which parts of the request are not whole."""
        named = [f"contents/{n}" for n, each in enumerate(contents) if each.is_cut]
        return [*self.setup().cut, *(["contents"] if self._is_cut else []), *named]


_Watch = Callable[Concatenate["LiveCalls", _Given], None]


def _watching(watch: _Watch[_Given]) -> _Watch[_Given]:
    """Have a method report what it raises, once: watching must not fail a run, and its caller is ADK."""

    def safe(self: LiveCalls, /, *args: _Given.args, **kwargs: _Given.kwargs) -> None:
        try:
            watch(self, *args, **kwargs)
        except Exception as error:
            self.fail(error)

    safe.__doc__ = watch.__doc__
    return safe


class LiveCalls:
    """Watches one live run."""

    def __init__(
        self, detail: Detail, has_callbacks: Callable[[], bool], report: Report = ignore
    ) -> None:
        """`has_callbacks` returns whether code of the app may answer in place of the model."""
        self._is_full = detail == "full"
        self._report_failure: Report | None = report
        self._has_callbacks = has_callbacks
        self._connection: _Connection | None = None
        self._turn: tuple[ModelTurn, list[str]] | None = None
        """The turn of the model, and what of its request is cut."""
        self._unreported: tuple[ModelTurn, list[str]] | None = None
        """One that is over, without its tokens."""
        self._over: list[SeenCall] = []
        self._asked: tuple[float, float] | None = None
        self._heard = Transcript()
        self._sound = ""
        """Media type of what the person has said since the last turn."""

    def fail(self, error: Exception) -> None:
        """Report that something could not be watched, once; a turn in which that happened is left out."""
        self._turn = self._unreported = None
        if self._report_failure is not None:
            self._report_failure(Diagnostic(kind="model call not kept", cause=cause_of(error)))
            self._report_failure = None

    @_watching
    def connect(self, agent: str, request: LlmRequest, history: Sequence[types.Content]) -> None:
        """Note that an agent opens a connection."""
        self._end()
        self._report()
        self._connection = _Connection(agent, request, history if self._is_full else ())
        if history and history[-1].role == "user":
            self._ask()

    @_watching
    def send(self, request: LiveRequest) -> None:
        """Note what ADK sends to the model."""
        if request.blob is not None:
            self.hear(request.blob.mime_type or "")
        if request.activity_end or request.audio_stream_end:
            self._ask()
        content = request.content
        if content is None:
            return
        if any(part.function_response for part in content.parts or ()):
            self._end()
        self._report()
        if self._is_full and self._connection is not None:
            given = content if content.role else content.model_copy(update={"role": "user"})
            self._connection.send(given)
        self._ask()

    def hear(self, media_type: str) -> None:
        """Note that audio is sent. Called for every chunk."""
        self._sound = media_type

    @_watching
    def play(self, agent: str, chunks: Sequence[PcmChunk]) -> None:
        """Note audio of the model. Called for every chunk."""
        turn = self._turn[0] if self._turn is not None else self._begin(agent)
        for chunk in chunks:
            turn.play(chunk.media_type)

    @_watching
    def read(self, event: Event) -> None:
        """Read an event that has been recorded, unless it is all audio."""
        heard = self._turn[0].heard if self._turn is not None else self._heard
        heard.add(event.input_transcription)
        if event.author == "user" or event.get_function_responses():
            return
        if event.turn_complete and event.content is not None and self._has_callbacks():
            self._withdraw()
            return
        if self._turn is None and event.content is None and event.output_transcription is None:
            self._read_late(event)
            return
        turn = self._turn[0] if self._turn is not None else self._begin(event.author)
        turn.read(event)
        if event.turn_complete or event.interrupted:
            self._end()

    def _withdraw(self) -> None:
        """Note that a callback has answered: its words are not the model's, which may not have been asked."""
        if self._turn is None and self._connection is not None:
            self._connection.withdraw()
        self._asked = None
        self._end()

    def _read_late(self, event: Event) -> None:
        """Read the tokens of a turn that is over."""
        if event.usage_metadata is not None and self._unreported is not None:
            self._unreported[0].read(event)
            self._report()

    def _ask(self) -> None:
        self._asked = time.time(), time.perf_counter()

    def _begin(self, agent: str) -> ModelTurn:
        self._report()
        connection = self._connection
        contents: list[ContentText] = []
        model, cut = "", list[str]()
        if connection is not None:
            model = connection.request.model or ""
            if self._is_full:
                self._note_sound(connection)
                contents = connection.contents()
                cut = connection.cut(contents)
        turn = ModelTurn(agent, model, self._asked, contents)
        turn.heard, self._heard = self._heard, Transcript()
        self._asked, self._sound = None, ""
        self._turn = turn, cut
        return turn

    def _note_sound(self, connection: _Connection) -> None:
        if self._sound:
            heard = types.Part(inline_data=types.Blob(mime_type=self._sound))
            connection.send(types.Content(role="user", parts=[heard]))

    def _end(self) -> None:
        """Note that the turn is over; without its tokens, it waits for them."""
        self._report()
        self._unreported, self._turn = self._turn, None
        if self._unreported is not None and bytes(self._unreported[0].usage):
            self._report()

    def _report(self) -> None:
        if self._unreported is not None:
            turn, cut = self._unreported
            connection = self._connection
            known = connection.setup() if connection is not None and self._is_full else None
            self._over.append(turn.over(known, cut))
            self._unreported = None

    def take(self) -> list[SeenCall]:
        """Return the calls that are over since the last time."""
        over, self._over = self._over, []
        return over

    @_watching
    def close(self) -> None:
        """Note that the run is over, and so its last turn."""
        self._end()
        self._report()
