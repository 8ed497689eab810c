"""The facts: everything that an entry can mean, in no protocol's words.

A fact is decided once, here and in the reader, and every projection and view takes it as it is. What
only one protocol knows (steps, finish-reason strings, data URLs) is not a fact.
"""

from __future__ import annotations

from typing import Any, Literal, dataclass_transform

from msgspec import Raw, Struct

from adk_prism.log import entry as records

BlockKind = Literal["text", "reasoning", "transcript"]


class Speaker(Struct, frozen=True, gc=False):
    """Who speaks, and where in the agent tree."""

    author: str
    path: str
    branch: str

    @property
    def node(self) -> str:
        """The name of the node: a workflow's events are its own, whichever step speaks."""
        return self.path.rpartition("/")[2].partition("@")[0] or self.author

    def described(self) -> dict[str, Any]:
        """Return who speaks, as protocols write it: what is empty is left out."""
        place = {"path": self.path, "branch": self.branch}
        return {"author": self.author} | {key: value for key, value in place.items() if value}

    def likeness(self, name: str, path: str, branch: str) -> tuple[bool, bool, bool]:
        """Return how far a node is this speaker: by path, by name, by branch. The larger, the more."""
        return path == self.path != "", name == self.node, branch == self.branch


@dataclass_transform(frozen_default=True)
class Fact(Struct, frozen=True, gc=False):
    """Base of all facts."""


# ------------------------------------------------------------------ runs and messages


class RunBegan(Fact):
    run: str
    origin: records.Origin
    agents: list[records.Agent]
    state: dict[str, Raw]
    captured: bool = False
    """Read from a capture, which may hold a person's answers among the events."""
    live: bool = False
    """A live connection: messages begin and end inside the run."""
    query: str = ""
    """The text of the user's message; empty if the run continues an earlier one."""


class MessageBegan(Fact):
    """An assistant turn begins, or continues after a person answered."""

    message: str
    run: str
    continued: bool
    open_calls: dict[str, str]
    decisions: dict[str, records.Decision]
    resumes: list[str]
    """The nodes that asked and now continue, by name."""
    rewound: list[str] = []
    """Ids of the messages in whose place this turn is."""
    warnings: list[records.Warned] = []
    """What of the request was ignored."""


class MessageEnded(Fact):
    message: str
    finish: str
    """The last finish reason that a model gave, in upstream's word; empty if there was none."""
    awaiting: bool
    """A call of it waits for a person or for the client."""
    asks: bool = False
    """It waits for words or a value without a call: the next message is the answer."""


class TakenOver(Fact):
    """Another process continues the run: an agent repeats what it had not finished."""

    epoch: int
    superseded: list[str]
    """Blocks that were ended, of agents that run again from their beginning."""
    in_doubt: list[str]
    """Calls that may have run, or not."""


class RunOver(Fact):
    outcome: records.Outcome
    code: str
    correlation: str
    message: str = ""
    """What the model's provider, or the app, said of the failure, where that may be shown."""


# ------------------------------------------------------------------ what is said


class BlockBegan(Fact):
    block: str
    kind: BlockKind
    speaker: Speaker
    model_call: str
    signature: str


class BlockGrew(Fact):
    block: str
    kind: BlockKind
    text: str


class BlockEnded(Fact):
    block: str
    kind: BlockKind
    speaker: Speaker
    signature: str
    """A signature that came after the block began."""
    provisional: bool = False
    """Its model call is not stored yet: the block may still be replaced."""
    replaced: bool = False
    """ADK stored something else, or nothing: `BlocksReplaced` follows."""
    trimmed: int = 0
    """Characters of white space at its end that ADK did not store."""


class BlocksReplaced(Fact):
    """What these blocks said is not what ADK stored: it no longer counts. What was stored follows."""

    blocks: list[str]


class InputTranscribed(Fact):
    """What the user was heard to say: the whole utterance so far."""

    utterance: str
    text: str
    final: bool


class UserSpoke(Fact):
    """A user's own turn inside a capture, or a live run."""

    text: str
    message: str = ""
    """Its id."""


# ------------------------------------------------------------------ calls


class CallInputGrew(Fact):
    """The arguments of a call, while the model still writes them."""

    call: str
    name: str
    json_fragment: str
    speaker: Speaker
    model_call: str


class CallRequested(Fact):
    call: str
    name: str
    input: Raw
    speaker: Speaker
    model_call: str
    long_running: bool
    provider_executed: bool
    adk_id: str
    """The id by which ADK takes an answer; differs from `call` only where partial and final ids do."""
    signature: str


class CallDelegated(Fact):
    """The call turned out to run an agent, whose own output follows in the stream."""

    call: str


class CallProgressed(Fact):
    """How far the tool of a call is, in its own words; the next report replaces it."""

    call: str
    name: str
    done: float | None
    total: float | None
    message: str
    data: Raw


class CallAnswered(Fact):
    call: str
    name: str
    output: Raw
    provider_executed: bool


class CallFailed(Fact):
    call: str
    name: str
    output: Raw
    error: str
    provider_executed: bool


class CallDenied(Fact):
    call: str
    name: str
    reason: str


class CallAbandoned(Fact):
    """Nobody will answer it: the run ended, or was stopped, first."""

    call: str
    name: str
    input_known: bool
    withdrawn: bool = False
    """It was streamed, and the model call that ADK stored does not make it."""


class CallPending(Fact):
    """A long-running call: its answer may come much later, or from the client."""

    call: str
    name: str


class ApprovalRequested(Fact):
    approval: str
    call: str
    hint: str
    payload: Raw


class ApprovalDecided(Fact):
    """A person's answer inside the run: of a live one, or of a capture of a whole session."""

    approval: str
    call: str
    approved: bool
    reason: str = ""


class InputRequested(Fact):
    kind: Literal["credential", "input"]
    call: str
    """The reserved call, by whose id the answer is given."""
    for_call: str
    """For a credential: the call that needs it."""
    request: Raw
    speaker: Speaker


# ------------------------------------------------------------------ what is shown


class FileShown(Fact):
    media_type: str
    data: str
    """Base64 as ADK writes it; empty for a reference."""
    uri: str
    name: str
    part: str
    """Which part of the event: `2`, or `2-0` for the first file inside the answer in part 2."""
    speaker: Speaker
    model_call: str


class AudioHeard(Fact):
    """A piece of raw PCM sound."""

    data: str
    sample_rate: int
    channels: int
    bit_depth: int
    speaker: Speaker
    chunks: int = 1
    """Pieces in which it came; a live run's log gathers them."""
    size: int = 0
    """Bytes, where the log says so: if it did not keep the sound, `data` is empty."""


class CodeShown(Fact):
    code: Raw
    speaker: Speaker
    model_call: str


class CodeResultShown(Fact):
    result: Raw
    speaker: Speaker
    model_call: str


class Interrupted(Fact):
    speaker: Speaker


# ------------------------------------------------------------------ what it rests on


class SourceCited(Fact):
    source: str
    uri: str
    title: str
    document: bool


class SourcesLinked(Fact):
    """A model call's grounding metadata, verbatim."""

    grounding: Raw


class CitationsGiven(Fact):
    """A model call's citation metadata, verbatim."""

    citations: Raw


class Annotated(Fact):
    """What an annotator says of a run, in no protocol's words; it replaces the last one with its id."""

    name: str
    """What kind of annotation it is: `proof`."""
    id: str
    value: Any
    """A structure that can be written as JSON."""
    text: str = ""
    """The same in one line, for a person."""
    place: Literal["part", "usage", "views"] = "part"
    """Where it is shown: a part of its own, with the token counts of the run, or only in views."""


class ModelCallEnded(Fact):
    model_call: str
    speaker: Speaker
    finish: str
    usage: Raw
    model: str
    cache: Raw
    logprobs: Raw
    avg_logprobs: float | None
    message: str
    """The model's own words on why it stopped."""


class ModelCalled(Fact):
    """A request to a model was answered, failed, or was cancelled, as its source measured it.

    `ModelCallEnded` is what events say of the same; only some sources see the request.
    """

    agent: str
    node: str
    model: str
    started: float
    first_token: int | None
    duration: int
    usage: Raw
    finish: str
    error: str
    kept: bool
    """Request and response can be looked up beside the log."""


class MetadataGiven(Fact):
    """The app's own metadata on an event."""

    custom: Raw


# ------------------------------------------------------------------ what changes


class StateChanged(Fact):
    delta: dict[str, Raw]
    speaker: Speaker


class ArtifactSaved(Fact):
    filename: str
    version: int
    speaker: Speaker
    part: str
    """Which of the event's: `artifact-0` for the first that it saved."""


class AgentTransferred(Fact):
    to: str
    reason: str


class NodeOutput(Fact):
    output: Raw
    speaker: Speaker


class NodeBegan(Fact):
    """A node began to run; the state it found is the state so far, with these differences."""

    node: str
    name: str
    kind: records.NodeKind
    path: str
    branch: str
    call: str
    parent: str
    iteration: int
    state: dict[str, Raw]
    gone: list[str]
    derived: bool


class NodeFinished(Fact):
    node: str
    status: records.NodeStatus
    error: str
    state: dict[str, Raw]
    gone: list[str]
    derived: bool


class Nested(Fact):
    """Something that happened inside a tool that runs an agent: no part of the message."""

    node: str
    call: str
    fact: Fact


class ErrorRaised(Fact):
    """A node failed; the run may survive it."""

    code: str
    message: str
    speaker: Speaker


class Unrecognised(Fact):
    """Something that this version does not know; shown, never dropped."""

    kind: str
    raw: Raw = records.NOTHING


FACTS: tuple[type[Fact], ...] = tuple(Fact.__subclasses__())
"""Every kind of fact."""
