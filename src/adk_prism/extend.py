"""What a package needs to add a protocol: `docs/write-a-projection.md`."""

from __future__ import annotations

from adk_prism.commands import (
    Answer,
    AnswerQuestions,
    Before,
    ChangeState,
    ClientRequest,
    Command,
    QuestionAnswer,
    Regenerate,
    RunAgent,
    Submit,
    ToolAnswer,
)
from adk_prism.errors import Unprocessable
from adk_prism.facts import model as facts
from adk_prism.facts.run_reader import Reader, StoredFacts
from adk_prism.log.entry import Decision, Entry, RunId, RunStarted, to_raw
from adk_prism.protocols.contract import (
    Complete,
    Fault,
    FileLinks,
    Grammar,
    History,
    Options,
    Payload,
    Projection,
    ProtocolSpec,
    Scope,
)

__all__ = [
    "Answer",
    "AnswerQuestions",
    "Before",
    "ChangeState",
    "ClientRequest",
    "Command",
    "Complete",
    "Decision",
    "Entry",
    "Fault",
    "FileLinks",
    "Grammar",
    "History",
    "Options",
    "Payload",
    "Projection",
    "ProtocolSpec",
    "QuestionAnswer",
    "Reader",
    "Regenerate",
    "RunAgent",
    "RunId",
    "RunStarted",
    "Scope",
    "StoredFacts",
    "Submit",
    "ToolAnswer",
    "Unprocessable",
    "facts",
    "to_raw",
]
