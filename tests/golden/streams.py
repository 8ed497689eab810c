"""Golden streams: what each recording is in each protocol, as files that a person can read and compare.

One frame a line: its position, its event name where the protocol has such, its payload. In the folders
`…-message` a message that spans several runs is one stream, as a client gets it that comes back to its
chat, without the positions. Media stands as its length and SHA-256: nobody reads base64.

Dialects 5 and 7 of the AI SDK are nearly dialect 6, AG-UI 1.0 is nearly 0.0.59, and a chat completion with
tools is one without where there are none. Of them only streams are
kept that are not what the default dialect makes one expect, so that the folder shows what differs.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.recordings.library import RECORDINGS, continues, first_of, load

from adk_prism.log.entry import Entry, Origin, RunId, RunStarted
from adk_prism.log.memory import MemoryLog
from adk_prism.protocols.ai_sdk import SPEC
from adk_prism.protocols.ai_sdk.frames import Frame
from adk_prism.protocols.contract import Payload
from adk_prism.protocols.registry import formats, protocol
from adk_prism.runs.chats import Chats, Shown, scope_of, without_held_runs

HERE = Path(__file__).parent

PROTOCOLS = {format.title.replace(" ", "-"): format for format in formats()}
"""By the name of their folder."""
MESSAGES = {f"ai-sdk-{dialect}-message": dialect for dialect in SPEC.dialects}
"""Folders of whole messages, and their dialect."""

_WITH_GAPS = ("mixed_batch.2", "mixed_batch.denied")
"""Their message has another run in between, of which there is no recording."""
SPANNING = [name for name in RECORDINGS if continues(name) and name not in _WITH_GAPS]
"""Recordings that end a message of several runs."""

CASES = [
    *((folder, name) for folder in PROTOCOLS for name in RECORDINGS),
    *((folder, name) for folder in MESSAGES for name in SPANNING),
]


_NO_REASON = re.compile(r'("type":"finish"),"finishReason":"[a-z-]+"')
_RUN_STARTED = re.compile(r'("type":"RUN_STARTED","threadId":"[^"]*","runId":"[^"]*")')
ALIKE: dict[str, tuple[str, Callable[[str], str]]] = {
    "ai-sdk-5": ("ai-sdk-6", lambda text: _NO_REASON.sub(r"\1", text)),
    "ai-sdk-7": ("ai-sdk-6", lambda text: text),
    "openai-chat-answer": ("openai-chat-tools", lambda text: text),
    "ag-ui-1.0": (
        "ag-ui-0.0.59",
        lambda text: _RUN_STARTED.sub(r'\1,"protocolVersion":"1.0"', text),
    ),
}
"""Of each other dialect: the default one, and what a stream of that is in it, if nothing special happens."""


_MEDIA = re.compile(r"[A-Za-z0-9+/_-]{256,}={0,2}")


def readable(text: str) -> str:
    """Return a stream with its media by hash."""

    def named(found: re.Match[str]) -> str:
        digest = hashlib.sha256(found[0].encode()).hexdigest()
        return f"<{len(found[0])} characters of base64, sha256 {digest}>"

    return _MEDIA.sub(named, text)


def golden_file(folder: str, name: str) -> Path:
    return HERE / folder / f"{name}.txt"


def expected(folder: str, name: str) -> str | None:
    """Return what a stream is if it has no file of its own; None if it must have one."""
    found = ALIKE.get(folder.removesuffix("-message"))
    if found is None:
        return None
    base, rule = found
    base += "-message" if folder.endswith("-message") else ""
    return rule(golden_file(base, name).read_bytes().decode())


def golden_text(folder: str, name: str) -> str:
    """Return what the golden file has to hold."""
    if folder in MESSAGES:
        frames = message_of(name, MESSAGES[folder])
        return readable("".join(f"{_line(SPEC.payload(frame))}\n" for frame in frames))
    lines = (f"{place} {_line(payload)}\n" for place, payload in placed(folder, name))
    return readable("".join(lines))


def placed(folder: str, name: str) -> Iterator[tuple[str, Payload]]:
    """Yield the frames of a recording with their positions."""
    reader = PROTOCOLS[folder].reader()
    for entry in load(name):
        for part, payload in enumerate(reader.feed(entry), 1):
            yield f"{entry.cursor}.{part}", payload


def message_of(name: str, dialect: str) -> list[Frame]:
    """Return a message as one stream, from its first run to the recording of that name."""
    runs = [other for other in RECORDINGS if first_of(other) == first_of(name)]
    chain = [run for run in runs if run == first_of(name) or _leads_to(run, name)]
    return asyncio.run(_message_frames([load(run) for run in chain], dialect))


def _leads_to(run: str, name: str) -> bool:
    going_on = continues(run)
    return run == name or (going_on is not None and going_on.held and run < name)


async def _message_frames(runs: list[tuple[Entry, ...]], dialect: str) -> list[Frame]:
    log = MemoryLog()
    await log.open()
    origin: Origin | None = None
    for entries in runs:
        head = entries[0].record
        assert isinstance(head, RunStarted)
        origin = head.origin
        records, times = [e.record for e in entries], [e.time for e in entries]
        await log.append(RunId(head.run), records, times=times)
    assert origin is not None
    chats = Chats(log)
    (turn,) = await chats.turns(origin)
    place = without_held_runs(Shown(turn))
    frames: list[Frame] = []
    for index, run in enumerate(place.turn.runs):
        options = protocol("ai-sdk").format(dialect, scope=scope_of(place, index)).options
        entries = [entry async for entry in chats.entries(run.summary.run)]
        projection = SPEC.make(options, entries[0])
        frames += [frame for entry in entries for frame in projection.feed(entry)]
    return frames


def _line(payload: Payload) -> str:
    text = payload.data.decode()
    if not payload.event:
        return text
    # Under an event name the payload may be plain text, with line ends of its own.
    escaped = text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    return f"{payload.event} {escaped}"
