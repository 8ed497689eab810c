"""How a live run is set up: what the client chose, what the operator allows, as ADK's `RunConfig`."""

from __future__ import annotations

from typing import Literal

from google.adk.agents.run_config import RunConfig, StreamingMode
from google.genai import types
from msgspec import Struct

from adk_prism.runlog.entry import Origin
from adk_prism.source.telemetry import run_telemetry

Modality = Literal["audio", "text"]

APPROVAL_TIMEOUT = 30.0
"""Seconds a person has to decide: long enough to read a question, short enough for a conversation."""
CLIENT_TIMEOUT = 10.0
"""Seconds a client has for a tool of its own: the model stands waiting."""
SOUND_KEPT = 32 * 1024 * 1024
"""Bytes of sound a run's log keeps: eleven minutes of speech; an hour would be 170 MB."""


class LiveOptions(Struct, frozen=True, kw_only=True):
    """What can be chosen for a live run."""

    modality: Modality = "audio"
    """What the model answers in; of most models one or the other."""
    manual: bool = False
    """The client says where speech begins and ends (push-to-talk); else the model finds out."""
    proactive: bool | None = None
    """The model may say something unasked, or say nothing; None, here and below: as the model does."""
    affective: bool | None = None
    """The model answers to how something is said."""
    explicit_activity: bool | None = None
    """The model tells when it hears that speech begins and ends."""
    transparent: bool | None = None
    """The model tells which of the client's messages it has, when a connection is resumed."""
    save_sound: bool = False
    """ADK keeps what is said, both ways, as artifacts."""
    approval_timeout: float = APPROVAL_TIMEOUT
    client_timeout: float = CLIENT_TIMEOUT
    audio_log_bytes: int = SOUND_KEPT
    """Bytes of sound that the log keeps; of what comes after it only keeps how much it was."""
    audio_bypass: bool = True
    """Sound may go past ADK's flow, where nothing of the app would have seen it there."""


class LiveCall(Struct, frozen=True, kw_only=True):
    """One live run that is asked for."""

    run: str
    origin: Origin
    invocation: str
    options: LiveOptions = LiveOptions()


def run_config(options: LiveOptions) -> RunConfig:
    """Return ADK's configuration. Resumption is asked for, so that ADK reconnects without a word."""
    detection = types.AutomaticActivityDetection(disabled=True)
    spoken = types.RealtimeInputConfig(automatic_activity_detection=detection)
    return RunConfig(
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
        save_live_blob=options.save_sound,
        telemetry=run_telemetry(),
    )
