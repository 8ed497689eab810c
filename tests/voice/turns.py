"""Live runs as plain records, and what their messages say."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from tests.laws.events import ORIGIN, RUN, answer, call, event, text

from adk_prism.facts import model as fact
from adk_prism.facts.run_reader import Reader
from adk_prism.log.entry import AgentEvent, Entry, Record, RunEnded, RunStarted
from adk_prism.protocols.registry import protocol

Json = dict[str, Any]
Step = Json | Record

DONE = event(turnComplete=True)
CUT = event(interrupted=True)
SOUND = event({"inlineData": {"mimeType": "audio/pcm;rate=24000", "data": "AAAA"}})
CALL = event(call("look", "c1"))
ANSWER = event(answer("look", "c1", {"seen": 1}))
USAGE = event(usageMetadata={"totalTokenCount": 3})


def said(words: str) -> Json:
    """A piece of the agent's transcript."""
    return event(partial=True, outputTranscription={"text": words, "finished": False})


def said_all(words: str) -> Json:
    """The whole of it."""
    return event(partial=False, outputTranscription={"text": words, "finished": True})


def heard(words: str) -> Json:
    """A piece of the user's transcript."""
    told = {"text": words, "finished": False}
    return event(author="user", partial=True, inputTranscription=told)


def heard_all(words: str) -> Json:
    """The whole of it."""
    told = {"text": words, "finished": True}
    return event(author="user", partial=False, inputTranscription=told)


def typed(words: str) -> Json:
    """What the user wrote."""
    return event(text(words), author="user")


def live_run(steps: Sequence[Step], outcome: Any = "finished") -> list[Entry]:
    """Return the entries of a live run."""
    told = [s if not isinstance(s, dict) else AgentEvent(json.dumps(s).encode()) for s in steps]
    records = [RunStarted(run=RUN, origin=ORIGIN, live=True), *told, RunEnded(outcome=outcome)]
    return [Entry(cursor, float(cursor), record) for cursor, record in enumerate(records, 1)]


def messages(entries: Sequence[Entry]) -> list[str]:
    """Tell each message in a line, and between them what is of none."""
    reader = Reader()
    lines: list[list[str]] = [[]]
    for entry in entries:
        for item in reader.feed(entry):
            if isinstance(item, fact.MessageBegan):
                lines.append([f"{item.message.rpartition('-')[2]}:"])
            elif words := _tell(item):
                lines[-1].append(words)
            if isinstance(item, fact.MessageEnded):
                lines.append([])
    return [" ".join(line) for line in lines if line]


_WORDS: dict[type[Any], Callable[[Any], str]] = {
    fact.BlockGrew: lambda f: f.text.strip(),
    fact.AudioHeard: lambda f: "(sound)",
    fact.CallRequested: lambda f: f"{f.name}?",
    fact.CallAnswered: lambda f: f"{f.name}!",
    fact.CallDenied: lambda f: f"{f.name} denied",
    fact.CallAbandoned: lambda f: f"{f.name} abandoned",
    fact.ApprovalRequested: lambda f: "asked",
    fact.ApprovalDecided: lambda f: "yes" if f.approved else "no",
    fact.Interrupted: lambda f: "cut",
    fact.UserSpoke: lambda f: f"user {f.text!r}",
    fact.InputTranscribed: lambda f: f"heard {f.text!r}" if f.final else "",
    fact.ModelCallEnded: lambda f: "usage",
}


def _tell(item: fact.Fact) -> str:
    return _WORDS.get(type(item), lambda _: "")(item)


def streams(entries: Sequence[Entry], dialect: str) -> list[str]:
    """Return each message as a stream of its own, which is what a client of the SDK reads."""
    found: list[list[Json]] = []
    is_open = False
    for chunk in chunks(entries, dialect):
        if chunk["type"] == "start":
            found.append([])
            is_open = True
        if is_open:
            found[-1].append(chunk)
        is_open = is_open and chunk["type"] != "finish"
    return ["".join(_line(chunk) for chunk in told) + "data: [DONE]\n\n" for told in found]


def _line(chunk: Json) -> str:
    return f"data: {json.dumps(chunk)}\n\n"


def chunks(entries: Sequence[Entry], dialect: str = "7") -> list[Json]:
    """Return the AI SDK's chunks of a run, the terminator apart."""
    reader = protocol("ai-sdk").format(dialect).reader()
    frames = [payload.data for entry in entries for payload in reader.feed(entry)]
    return [msgspec.json.decode(frame) for frame in frames if frame != b"[DONE]"]
