"""The model calls of a live run: each turn of the model is one, with its times and tokens.

The request is not known: google-adk 2.13 gives no callback the request with which it opens a live connection.
What was said in a turn is in the events of the run. So a call of a live run says in `cut` that it has neither
request nor response.

A turn is over when the model says so, is interrupted, or goes on with the results of its tools. Tokens may be
reported after that: then the call waits for them, until the next input.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Concatenate, ParamSpec

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.live_request_queue import LiveRequest
from google.adk.agents.llm_agent import LlmAgent
from google.adk.events.event import Event
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from msgspec import Raw

from adk_prism.adk.redaction import model_json, safe_code
from adk_prism.adk.request import LiveCallWatcher, SeenCall
from adk_prism.errors import Diagnostic, Report, cause_of, ignore
from adk_prism.log.entry import NOTHING, ModelCalled

_OURS = "adk_prism."
_Given = ParamSpec("_Given")

NOT_KNOWN = ["request", "response"]
"""Parts that no call of a live run has."""


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


class _Turn:
    """A turn of the model that has begun."""

    def __init__(self, agent: str, model: str, asked: tuple[float, float] | None) -> None:
        """`asked` is when the model was sent something, on both clocks; None: unknown."""
        now = time.time(), time.perf_counter()
        self.agent = agent
        self._model = model
        self._began = asked or now
        self._first = now[1] - asked[1] if asked else None
        self._last = now[1]
        self._usage: Raw = NOTHING
        self._finish = self._error = ""

    @property
    def has_usage(self) -> bool:
        """Whether the model has reported its tokens."""
        return bool(bytes(self._usage))

    def note_audio(self) -> None:
        """Note that the model still speaks."""
        self._last = time.perf_counter()

    def read(self, event: Event) -> None:
        """Read an event of the model."""
        self._last = time.perf_counter()
        if event.usage_metadata is not None:
            self._usage = Raw(model_json(event.usage_metadata))
        self._finish = _name(event.finish_reason) or self._finish
        self._error = _name(event.error_code) or self._error

    def call(self) -> SeenCall:
        """Return the call, now that the turn is over."""
        record = ModelCalled(
            agent=self.agent,
            model=self._model,
            started=round(self._began[0], 3),
            first_token=None if self._first is None else round(self._first * 1000),
            duration=max(0, round((self._last - self._began[1]) * 1000)),
            usage=self._usage,
            finish=self._finish,
            error=safe_code(self._error) if self._error else "",
            responses=1,
            cut=NOT_KNOWN,
        )
        return SeenCall(record, None)


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


class LiveCalls(LiveCallWatcher):
    """Watches one live run."""

    def __init__(
        self,
        model_name: Callable[[], str],
        has_callbacks: Callable[[], bool],
        report: Report = ignore,
    ) -> None:
        """`has_callbacks` returns whether code of the app may answer in place of the model."""
        self._model_name = model_name
        self._has_callbacks = has_callbacks
        self._report_failure: Report | None = report
        self._has_agent = False
        self._turn: _Turn | None = None
        self._unreported: _Turn | None = None
        """One that is over, without its tokens."""
        self._over: list[SeenCall] = []
        self._asked: tuple[float, float] | None = None

    def fail(self, error: Exception) -> None:
        """Report that something could not be watched, once; a turn in which that happened is left out."""
        self._turn = self._unreported = None
        if self._report_failure is not None:
            self._report_failure(Diagnostic(kind="model call not kept", cause=cause_of(error)))
            self._report_failure = None

    @_watching
    def enter_agent(self) -> None:
        """Note that an agent starts; one after another agent is sent the history when it connects."""
        self._end()
        self._report()
        if self._has_agent:
            self._ask()
        self._has_agent = True

    @_watching
    def send(self, request: LiveRequest) -> None:
        """Note what ADK sends to the model."""
        if request.activity_end or request.audio_stream_end:
            self._ask()
        content = request.content
        if content is None:
            return
        if any(part.function_response for part in content.parts or ()):
            self._end()
        self._report()
        self._ask()

    @_watching
    def play(self, agent: str) -> None:
        """Note audio of the model. Called for every chunk."""
        (self._turn or self._begin(agent)).note_audio()

    @_watching
    def read(self, event: Event) -> None:
        """Read an event that has been recorded, unless it is all audio."""
        if event.author == "user" or event.get_function_responses():
            return
        if event.turn_complete and event.content is not None and self._has_callbacks():
            # A callback has answered: its words are not the model's, which may not have been asked.
            self._asked = None
            self._end()
            return
        if self._turn is None and event.content is None and event.output_transcription is None:
            self._read_late(event)
            return
        (self._turn or self._begin(event.author)).read(event)
        if event.turn_complete or event.interrupted:
            self._end()

    def _read_late(self, event: Event) -> None:
        """Read the tokens of a turn that is over."""
        if event.usage_metadata is not None and self._unreported is not None:
            self._unreported.read(event)
            self._report()

    def _ask(self) -> None:
        self._asked = time.time(), time.perf_counter()

    def _begin(self, agent: str) -> _Turn:
        self._report()
        self._turn = turn = _Turn(agent, self._model_name(), self._asked)
        self._asked = None
        return turn

    def _end(self) -> None:
        """Note that the turn is over; without its tokens, it waits for them."""
        self._report()
        self._unreported, self._turn = self._turn, None
        if self._unreported is not None and self._unreported.has_usage:
            self._report()

    def _report(self) -> None:
        if self._unreported is not None:
            self._over.append(self._unreported.call())
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


def _name(value: object) -> str:
    name = getattr(value, "value", value)
    return name if isinstance(name, str) else ""
