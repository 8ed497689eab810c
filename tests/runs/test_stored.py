"""What was streamed and not stored is nowhere but in the log: in no message, view, shared file or pipe."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec
import pytest
from tests.recordings.library import load
from tests.recordings.stored_shapes import SECRET, STORED_SHAPES

from adk_prism.facts.model import Annotated
from adk_prism.facts.run_reader import Reader, StoredFacts
from adk_prism.features.console.history import Transcript, item_rows
from adk_prism.features.mcp.transcript import Steps, transcript
from adk_prism.features.page.film import Film, encode, fold
from adk_prism.features.run.command import Readable
from adk_prism.features.share.page_file import Page, shared_file
from adk_prism.log.entry import AgentEvent, Entry
from adk_prism.protocols import ai_sdk
from adk_prism.protocols.ai_sdk.history import rebuild, settled
from adk_prism.protocols.registry import protocol
from adk_prism.protocols.studio.projection import StudioProjection

Run = tuple[Entry, ...]

NAMES = [f"x_{name}" for name in STORED_SHAPES]


def message(run: Run, dialect: str) -> dict[str, object]:
    projection = ai_sdk.SPEC.make(protocol("ai-sdk").format(dialect).options, run[0])
    return settled(rebuild(frame for entry in run for frame in projection.feed(entry)))


def film(run: Run) -> str:
    return encode(fold(run)).decode()


def views(run: Run) -> str:
    seen = fold(run)
    return msgspec.json.encode([seen.at(cursor) for cursor in range(1, seen.last + 1)]).decode()


def growing_film(run: Run) -> str:
    """What a page that follows a run is sent last: the growth with which the run ended."""
    grows = Film()
    last = ""
    for entry in run:
        before = grows.last
        grows.feed(entry)
        last = encode(grows, before).decode() if before else ""
    return last


def console(run: Run) -> str:
    talk, reader = Transcript(), Reader()
    for entry in run:
        talk.feed(reader.feed(entry))
    return "\n".join(row.text for item in talk.items for row in item_rows(item))


def pipe(run: Run) -> str:
    readable, reader, stored = Readable(colour=False), Reader(), StoredFacts()
    return "".join(readable.show(item) for e in run for item in stored.feed(reader.feed(e)))


def transcript_of(run: Run) -> str:
    steps = Steps()
    for entry in run:
        steps.feed(entry)
    return transcript(steps.rows).text


def response(run: Run) -> str:
    """What a client has at the end of a response."""
    reader = protocol("openai-responses").format().reader()
    return [payload for entry in run for payload in reader.feed(entry)][-1].data.decode()


def proofs(run: Run) -> str:
    reader = Reader()
    given = [i for e in run for i in reader.feed(e) if isinstance(i, Annotated)]
    return msgspec.json.encode([item.value for item in given]).decode()


def studio(run: Run) -> str:
    """The text and thoughts of a client that does what the protocol says."""
    projection = StudioProjection()
    text = thinking = ""
    for entry in run:
        for frame in projection.feed(entry):
            told = getattr(frame, "text", msgspec.UNSET)
            if frame.event == "chunk":
                text += frame.text
            elif frame.event == "thinking":
                thinking += frame.content
            elif frame.event == "log" and told is not msgspec.UNSET:
                text, thinking = frame.text, frame.thinking
    return f"{thinking} {text}"


SURFACES: dict[str, Callable[[Run], str]] = {
    "messages in dialect 6": lambda run: str(message(run, "6")),
    "messages in dialect 7": lambda run: str(message(run, "7")),
    "film": film,
    "views at every cursor": views,
    "growth of a film": growing_film,
    "shared file": lambda run: shared_file(run, Page("", "")),
    "console": console,
    "pipe": pipe,
    "studio": studio,
    "proofs": proofs,
    "transcript": transcript_of,
    "response": response,
}


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("name", NAMES)
def test_what_was_not_stored_is_not_shown(name: str, surface: str) -> None:
    """The log has it, verbatim; nobody who reads it later is shown it."""
    run = load(name)
    streamed = b"".join(e.record.event for e in run if isinstance(e.record, AgentEvent))
    assert SECRET.encode() in streamed
    assert SECRET not in SURFACES[surface](run)


@pytest.mark.parametrize("dialect", ["6", "7"])
@pytest.mark.parametrize("name", NAMES)
def test_the_message_says_what_adk_stored(name: str, dialect: str) -> None:
    """Text for text and thought for thought, in order."""
    parts = message(load(name), dialect)["parts"]
    assert isinstance(parts, list)
    said = [(p["type"], p["text"]) for p in parts if p["type"] in ("text", "reasoning")]
    assert _joined(said) == _joined(_stored(load(name)))


def _stored(run: Run) -> Iterable[tuple[str, str]]:
    for entry in run:
        if not isinstance(entry.record, AgentEvent):
            continue
        event = msgspec.json.decode(entry.record.event)
        if not event.get("partial"):
            for part in (event.get("content") or {}).get("parts") or ():
                if part.get("text"):
                    yield "reasoning" if part.get("thought") else "text", part["text"]


def _joined(said: Iterable[tuple[str, str]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for kind, text in said:
        found[kind] = found.get(kind, "") + text
    return found
