"""What a scripted model says in one turn, as data.

A turn is a sequence of steps (say, think, call, show, pause, fail) and the way it finishes. It
knows nothing of ADK's events and nothing of streaming: how a turn becomes chunks is decided in
`chunks.py`, how chunks become responses in `scripted_model.py`. Steps are a closed union.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from google.genai import types


@dataclass(frozen=True, slots=True)
class Say:
    """Text for the reader."""

    text: str


@dataclass(frozen=True, slots=True)
class Think:
    """Reasoning, separate from the answer; the signature is on its last chunk."""

    text: str
    signature: bytes | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """A call of one of the agent's tools.

    Without an `id` ADK gives one, the same for the streamed preview and the final call, unless the
    model is set to drop ids. With `streamed` the arguments arrive piece by piece before the call.
    """

    name: str
    args: Mapping[str, Any] = field(default_factory=dict)
    id: str | None = None
    streamed: bool = False


@dataclass(frozen=True, slots=True)
class Show:
    """Any other part: a file, code, the result of code, a tool that the provider ran."""

    part: types.Part


@dataclass(frozen=True, slots=True)
class Pause:
    """A pause."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Fail:
    """The model call fails here; what came before has been streamed already."""

    error: Exception


Step = Say | Think | Call | Show | Pause | Fail


@dataclass(frozen=True, slots=True)
class Turn:
    """One answer of the model.

    `usage` is counted from the words when it is not given. `blocked` is the refusal of a prompt:
    there is no candidate, so steps and finish reason are ignored. A turn that does not stream comes
    as one response even when a stream was asked for.
    """

    steps: tuple[Step, ...] = ()
    finish_reason: types.FinishReason = types.FinishReason.STOP
    finish_message: str | None = None
    usage: types.GenerateContentResponseUsageMetadata | None = None
    grounding: types.GroundingMetadata | None = None
    citations: types.CitationMetadata | None = None
    blocked: types.BlockedReason | None = None
    streams: bool = True


def say(text: str) -> Turn:
    """Return the turn that says `text` and nothing else."""
    return Turn((Say(text),))
