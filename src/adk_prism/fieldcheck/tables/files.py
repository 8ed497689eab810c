"""Files and sound: inside an event, or referred to by one."""

from __future__ import annotations

from adk_prism.facts import model as fact
from adk_prism.fieldcheck.kinds import Projected, Rows, at

_NAME = "file.providerMetadata.adk.filename"


def _name() -> Projected:
    return at(_NAME, fact.FileShown)


def _media_type() -> Projected:
    return at("file.mediaType", fact.FileShown)


def _reference() -> Rows:
    reference = "data-file-reference.data"
    unlinked = "where no server can link it, as in `replay`"
    return {
        "file_uri": at("file.url", fact.FileShown, "web links as they are, others as a run file")
        + at(f"{reference}.uri", fact.FileShown, unlinked),
        "mime_type": _media_type() + at(f"{reference}.mediaType", fact.FileShown, unlinked),
        "display_name": _name() + at(f"{reference}.filename", fact.FileShown, unlinked),
    }


BLOB: Rows = {
    "data": at("file.url", fact.FileShown, "a data URL, or a link to the run's file")
    + at("data-pcm.data.content", fact.AudioHeard, "raw PCM sound"),
    "mime_type": _media_type()
    + at("data-pcm.data.sampleRate", fact.AudioHeard, "its parameter `rate`")
    + at("data-pcm.data.channels", fact.AudioHeard, "its parameter `channels`"),
    "display_name": _name(),
}

RESPONSE_BLOB: Rows = {
    "data": at("file.url", fact.FileShown, "a data URL, or a link to the run's file"),
    "mime_type": _media_type(),
    "display_name": _name(),
}

TABLE = {
    "Blob": BLOB,
    "FileData": _reference(),
    "FunctionResponseBlob": RESPONSE_BLOB,
    "FunctionResponseFileData": _reference(),
}
