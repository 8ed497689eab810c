"""The options of a live run, and ADK's `RunConfig` made from them."""

from __future__ import annotations

from typing import Literal

from google.adk.agents.run_config import RunConfig, StreamingMode
from google.genai import types
from msgspec import Struct

from adk_prism.runlog.entry import Origin
from adk_prism.source.adk.telemetry import run_telemetry
from adk_prism.source.adk_settings import limit_of_model_calls

Modality = Literal["audio", "text"]

APPROVAL_TIMEOUT = 30.0
"""Seconds a person has to decide: enough to read the question, short enough for a conversation."""
CLIENT_TIMEOUT = 10.0
"""Seconds a client has to run a tool: the model waits meanwhile."""
AUDIO_LOG_BYTES = 32 * 1024 * 1024
"""Bytes of audio that a run's log keeps: eleven minutes of speech; an hour would be 170 MB."""


class LiveOptions(Struct, frozen=True, kw_only=True):
    """What the client and the operator choose for a live run."""

    modality: Modality = "audio"
    """What the model answers in."""
    manual: bool = False
    """The client signals where speech starts and ends (push-to-talk); otherwise the model detects it."""
    proactive: bool | None = None
    """The model may speak unasked, or stay silent. None, here and below: the model's default."""
    affective: bool | None = None
    """The model reacts to the tone of voice."""
    explicit_activity: bool | None = None
    """The model signals when it detects that speech starts and ends."""
    transparent: bool | None = None
    """The model says which messages it has received, when a connection is resumed."""
    save_audio: bool = False
    """ADK saves the audio of both sides as artifacts."""
    approval_timeout: float = APPROVAL_TIMEOUT
    client_timeout: float = CLIENT_TIMEOUT
    audio_log_bytes: int = AUDIO_LOG_BYTES
    """Bytes of audio that the log keeps; beyond that, only number and size of the chunks."""
    max_llm_calls: int | None = None
    """Most model calls of the run; 0 or less: no limit; None: ADK's."""
    audio_bypass: bool = False
    """Audio skips ADK's flow, where no code of the app would see it there. It changes objects of the app."""


class LiveCall(Struct, frozen=True, kw_only=True):
    """A request for one live run."""

    run: str
    origin: Origin
    invocation: str
    options: LiveOptions = LiveOptions()


def run_config(options: LiveOptions) -> RunConfig:
    """Return ADK's configuration, with session resumption, so that ADK reconnects by itself."""
    detection = types.AutomaticActivityDetection(disabled=True)
    spoken = types.RealtimeInputConfig(automatic_activity_detection=detection)
    return RunConfig(
        max_llm_calls=limit_of_model_calls(options.max_llm_calls),
        streaming_mode=StreamingMode.BIDI,
        response_modalities=[types.Modality(options.modality.upper())],
        realtime_input_config=spoken if options.manual else None,
        session_resumption=types.SessionResumptionConfig(transparent=options.transparent),
        proactivity=(
            None
            if options.proactive is None
            else types.ProactivityConfig(proactive_audio=options.proactive)
        ),
        enable_affective_dialog=options.affective,
        explicit_vad_signal=options.explicit_activity,
        save_live_blob=options.save_audio,
        telemetry=run_telemetry(),
    )
