"""What AG-UI has no event for: custom events, which pass, and activities, which a client keeps.

Names begin with `adk.` where ADK says something, and with `prism.` where the record of the run does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import UNSET, Raw, json

from adk_prism.facts import model as fact
from adk_prism.facts.json_value import is_given, read_value
from adk_prism.projection.ag_ui.frame_size import fits, too_large
from adk_prism.projection.ag_ui.frames import ActivitySnapshot, Custom, Json
from adk_prism.projection.ag_ui.json_text import bounded, safe
from adk_prism.projection.ag_ui.owners import Tag
from adk_prism.projection.file_links import plain_base64

REPLACED = "adk.replaced"
FILE = "adk.file"
ARTIFACT = "adk.artifact"
SOURCES = "adk.sources"
PROOF = "adk.proof"
APPROVAL = "adk.approval"
ERROR = "adk.error"


def activity(name: str, kind: str, content: Any, tag: Tag = UNSET) -> ActivitySnapshot:
    """Return an activity; one of the same name replaces it."""
    size = len(json.encode(content))
    told = content if fits(size) else {"size": size}
    return ActivitySnapshot(name, kind, told, subagent_run_id=tag)


def upstream(event: bytes) -> Any:
    """Return ADK's own event; as text, where a file holds something that is no JSON."""
    if not fits(len(event)):
        return too_large(len(event))
    value = read_value(event)
    return event.decode(errors="replace") if value is None else value


def _model_call(item: fact.ModelCallEnded) -> Json:
    told: Json = {"author": item.speaker.author, "path": item.speaker.path}
    told |= {"model": item.model, "finishReason": item.finish, "finishMessage": item.message}
    told = {key: value for key, value in told.items() if value}
    if item.avg_logprobs is not None:
        told["avgLogprobs"] = item.avg_logprobs
    for key, raw in (("usage", item.usage), ("cache", item.cache), ("logprobs", item.logprobs)):
        if is_given(raw):
            told[key] = bounded(raw)
    return told


def _audio(item: fact.AudioHeard) -> Json:
    return {
        "content": plain_base64(item.data) if fits(len(item.data)) else "",
        "sampleRate": item.sample_rate,
        "channels": item.channels,
        "bitDepth": item.bit_depth,
    }


def _takeover(item: fact.TakenOver) -> Json:
    told: Json = {"epoch": item.epoch, "superseded": item.superseded}
    return told | ({"inDoubt": item.in_doubt} if item.in_doubt else {})


def _transfer(item: fact.AgentTransferred) -> Json:
    return {"to": item.to} | ({"reason": item.reason} if item.reason else {})


def _error(item: fact.ErrorRaised) -> Json:
    told = {"code": item.code, "author": item.speaker.author, "path": item.speaker.path}
    return told | ({"message": item.message} if item.message else {})


def _output(item: fact.NodeOutput) -> Json:
    speaker = item.speaker
    return {"author": speaker.author, "path": speaker.path, "output": bounded(item.output)}


_CUSTOM: Mapping[type[Any], tuple[str, Callable[[Any], Any]]] = {
    fact.ModelCallEnded: ("adk.model_call", _model_call),
    fact.MetadataGiven: ("adk.metadata", lambda item: bounded(item.custom)),
    fact.AudioHeard: ("adk.audio", _audio),
    fact.TakenOver: ("prism.takeover", _takeover),
    fact.AgentTransferred: ("adk.transfer", _transfer),
    fact.ErrorRaised: (ERROR, _error),
    fact.NodeOutput: ("adk.output", _output),
    fact.Interrupted: ("adk.interrupted", lambda item: {"author": item.speaker.author}),
    fact.Unrecognised: (
        "adk.unrecognised",
        lambda item: {"kind": item.kind, "raw": bounded(item.raw)},
    ),
}
"""Facts that become a custom event: its name, and its value."""


def custom(item: fact.Fact, tag: Tag = UNSET) -> Custom:
    """Return the custom event that tells a fact."""
    name, value = _CUSTOM[type(item)]
    return Custom(name, value(item), subagent_run_id=tag)


def proof_content(item: fact.ProofGiven) -> Any:
    """Return what stands behind an answer."""
    return safe(Raw(json.encode(item.proof)))
