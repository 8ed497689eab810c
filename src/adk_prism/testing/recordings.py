"""Recordings in tests of agents: played without a key, and made anew on demand. Bare Runners, no server.

A file holds recordings of adk-prism with what was sent to models, one after the other: those that
`pytest --adk-record` writes, or that were downloaded (`GET /api/runs/{run}/recording?modelCalls=true`).
Models are answered from them; tools are called, since they are what a test is about.
"""

from __future__ import annotations

import tempfile
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from google.adk.agents.llm_agent import LlmAgent
from google.adk.events.event import Event
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.models.registry import LLMRegistry
from google.adk.runners import Runner

from adk_prism.errors import PrismError, UsageError
from adk_prism.features.captures.recording_file import read_run
from adk_prism.features.recorder.plugin import Recorder
from adk_prism.features.recorder.sender import LAST
from adk_prism.features.rerun import recorded_models
from adk_prism.features.rerun.recorded_requests import Rules
from adk_prism.log.entry import Entry

_START = b'"type":"RunStarted"'


def recorded_model(
    file: str | Path, *, model: str | BaseLlm = "", ignore: Sequence[str] = ()
) -> BaseLlm:
    """Return a model that answers from a recording, for `LlmAgent(model=…)`.

    A request that is not as recorded raises `AssertionError`, with the difference. `model` is the one that
    was recorded, if ADK cannot make it by its name; several agents may share the returned one. `ignore` names
    what does not count in a request: `clock`, `uuid`, `hex`, `number`, or a regular expression.

    Raise `PrismError` for a file that cannot be played.
    """
    calls = _calls_of(Path(file))
    if isinstance(model, BaseLlm):
        made = model
    else:
        made = _model_named(model or next((_model_of(call) for call in calls), ""))
    # Agents that share the model may have had models of their own when they were recorded.
    models = recorded_models.RecordedModels(
        calls, rules=Rules(ignore), is_test=True, takes_any_model=True
    )
    return recorded_models.recorded_copy(made, "", models)


def _model_of(call: recorded_models.RecordedModelCall) -> str:
    return call.request.parts.get("model", "")


class _NamedModel(BaseLlm):
    """A model whose class is not known here."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        del llm_request, stream
        nothing: list[LlmResponse] = []
        for each in nothing:
            yield each
        raise UsageError(f"The model {self.model!r} cannot be asked here.")


def _model_named(name: str) -> BaseLlm:
    try:
        return LLMRegistry.new_llm(name)
    except Exception:  # ADK does not know the name, or the package of its class is not installed.
        return _NamedModel(model=name)


def _calls_of(file: Path) -> list[recorded_models.RecordedModelCall]:
    return recorded_models.read_calls(read_recordings(file))


def read_recordings(file: Path) -> list[list[Entry]]:
    """Return the runs of a file. Raise `PrismError`, which names the file."""
    try:
        lines = file.read_bytes().splitlines(keepends=True)
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}.") from None
    runs: list[list[bytes]] = []
    for line in lines:
        if not runs or _START in line[:200]:
            runs.append([])
        runs[-1].append(line)
    try:
        return [list(read_run(run)) for run in runs]
    except PrismError as error:
        raise UsageError(f"{file}: {error.detail}") from None


# ---------------------------------------------------------------------- around a test


@contextmanager
def playing(file: Path, ignore: Sequence[str] = ()) -> Iterator[recorded_models.RecordedModels]:
    """Answer the models of all agents from a file. Raise `PrismError` for one that cannot be played."""
    models = recorded_models.RecordedModels(_calls_of(file), rules=Rules(ignore), is_test=True)
    usual = LlmAgent.canonical_model
    made: dict[int, tuple[LlmAgent, BaseLlm]] = {}
    """By the identity of the agent, which is kept so that no other gets the same."""

    def canonical_model(agent: LlmAgent) -> BaseLlm:
        known = made.get(id(agent))
        if known is None:
            own: BaseLlm = usual.__get__(agent)
            known = made[id(agent)] = agent, recorded_models.recorded_copy(own, agent.name, models)
        return known[1]

    setattr(LlmAgent, "canonical_model", property(canonical_model))  # noqa: B010 # mypy: a property
    try:
        yield models
    finally:
        setattr(LlmAgent, "canonical_model", usual)  # noqa: B010


@contextmanager
def recording(file: Path) -> Iterator[Recording]:
    """Record every run of every Runner; `Recording.write` puts them into a file."""
    usual = Runner.run_async
    with tempfile.TemporaryDirectory() as folder:
        recorder = _FullRecorder(file=folder)

        def run_async(runner: Runner, **asked: Any) -> AsyncGenerator[Event, None]:
            plugins = runner.plugin_manager.plugins
            if recorder not in plugins:
                plugins.insert(0, recorder)
            added.append(runner)
            return usual(runner, **asked)

        added: list[Runner] = []
        setattr(Runner, "run_async", run_async)  # noqa: B010 # mypy: a method
        try:
            yield Recording(recorder, Path(folder), file)
        finally:
            setattr(Runner, "run_async", usual)  # noqa: B010
            for runner in added:
                kept = [each for each in runner.plugin_manager.plugins if each is not recorder]
                runner.plugin_manager.plugins = kept


class _FullRecorder(Recorder):
    """Records also what was sent to models: the file is its user's own, and secrets are redacted."""

    def __init__(self, *, file: str) -> None:
        super().__init__(file=file, name="adk_prism_test_recorder")
        self._detail = "full"

    def finish(self) -> None:
        """Wait until everything is in the files."""
        if self._sender is not None:
            self._sender.flush(LAST)


class Recording:
    """Runs that were recorded in a test."""

    def __init__(self, recorder: _FullRecorder, folder: Path, file: Path) -> None:
        self._recorder = recorder
        self._folder = folder
        self._file = file

    def write(self) -> int:
        """Put the runs into the file, in the order in which they began; return how many there are."""
        self._recorder.finish()
        runs = [file.read_bytes() for file in self._folder.glob("*.jsonl")]
        runs.sort(key=lambda data: next(iter(read_run([data]))).time)
        if runs:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._file.write_bytes(b"".join(runs))
        return len(runs)
