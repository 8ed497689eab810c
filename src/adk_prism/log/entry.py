"""What a run log contains: records, and the entries that give each record its place.

Decides the kinds of records and their stored form. Knows no storage, no protocol and no ADK type:
an ADK event is kept as the JSON bytes it was serialised to, and read by `facts`.

Stored form: `(cursor, time, kind, payload)`. The payload of an `AgentEvent` is the event's JSON
itself, so the hot path neither wraps nor re-encodes it; every other payload is the record's JSON.
Records only ever gain optional fields, so an old log stays readable. Members of a `RunStarted` that are no
fields are its labels.
"""

from __future__ import annotations

import re
from typing import (
    Any,
    Generic,
    Literal,
    NamedTuple,
    NewType,
    TypeVar,
    dataclass_transform,
    get_args,
)

import msgspec
from msgspec import Raw, Struct, structs

from adk_prism.errors import BadPosition, SourceError

RunId = NewType("RunId", str)

Outcome = Literal["finished", "failed", "cancelled", "waiting", "incomplete"]
"""How a run ended. *Incomplete* is only read from a file that ends before the run did."""

SESSION_RUN = "session-"
"""How the ids of runs begin that only an ADK session has: the log has none of them."""

NOTHING = Raw(b"")
"""An absent JSON value. (`Raw | None` does not decode, so absence is the empty Raw.)"""


@dataclass_transform(frozen_default=True, kw_only_default=True)
class _Record(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type", tag=True):
    """Base of all records; `type` is the class name."""


class Origin(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where a run belongs."""

    app: str
    user: str
    session: str


class Decision(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A person's answer to an approval request."""

    approval: str
    approved: bool
    reason: str = ""
    by: str = ""
    """Who answered, if callers are authenticated."""
    payload: Raw = NOTHING
    """What the tool asked for beyond yes or no."""


class Response(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a user's message answered, if its run is a separate turn."""

    kind: Literal["input", "credential", "confirmation"]
    response: Raw = NOTHING
    """As ADK takes it; absent for a credential, which is a secret, and for a confirmation."""
    decision: Decision | None = None
    """Of a confirmation."""
    typed: bool = False
    """The answer is what the person typed, and so in the message itself."""


class Continues(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a continuation run continues; resolved by the server from its own pending calls."""

    message: str
    """Id of the message that continues: the id of its first run."""
    open_calls: dict[str, str] = {}
    """Calls of that message without an answer: call id → tool name."""
    adk_ids: dict[str, str] = {}
    """Call id → the id by which ADK knows it, where that is another one."""
    decisions: dict[str, Decision] = {}
    """Answers to approvals, by the id of the gated call."""
    answers: dict[str, Raw] = {}
    """Results of calls that the client ran, by call id."""
    askers: dict[str, str] = {}
    """What is answered (a call, a request) → name of the node that asked."""
    delegated: list[str] = []
    """Those of the open calls that run agents, which continue with the run."""
    held: bool = False
    """The answers are only stored: others of their batch are missing, and ADK is not called yet."""
    unasked: bool = False
    """The answers are in the session, and the model is not asked before the user's next message."""


class Agent(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One agent of the app, as it was when the run began."""

    name: str
    model: str = ""
    tools: int = 0


class BroughtTool(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A tool that the client declared with its request, and runs."""

    name: str
    description: str = ""
    parameters: Raw = NOTHING
    """A JSON Schema."""


class Warned(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A part of a request that was ignored, and why."""

    code: str
    text: str


class RunStarted(_Record):
    """The first record of every run: what every reader of it needs."""

    run: str
    origin: Origin
    invocation: str = ""
    """ADK's invocation id; chosen by us, so that a repeated start is one start."""
    message: Raw = NOTHING
    """The user's content (genai `Content` JSON), empty for a continuation or a capture."""
    message_id: str = ""
    """The client's id of the user's message, for the history."""
    client_tools: list[BroughtTool] = []
    """Tools that the client declared."""
    live: bool = False
    """The run is a live connection: it holds many messages, each a turn of the agent."""
    agents: list[Agent] = []
    state: dict[str, Raw] = {}
    """Session state before the run's first event, `temp:` keys apart."""
    continues: Continues | None = None
    kind: Literal["turn", "state", "rewind"] = "turn"
    """A turn of the conversation, a state-only update, or a rewind that no turn follows."""
    replaces: str = ""
    """Id of the message that was rewound (regenerate, edit, rewind): it and all after are void."""
    restores: str = ""
    """Id of a message that had been rewound, and that the run follows: it is valid again, with all before."""
    rewound: list[str] = []
    """Ids of all rewound chat messages, the user's and the assistant's, oldest first."""
    labels: dict[str, Raw] = {}
    """What features put here (`labels.py`). In the stored form they stand beside the fields."""


class AgentEvent(Struct, frozen=True, gc=False, eq=False):
    """One event of the agent, as ADK serialised it (camelCase JSON), redacted."""

    event: bytes
    more: str = ""
    """What the event adds to the text of the delta before it, if it differs from that in nothing else. Saves
    whoever has just read that delta from decoding this one. Not stored, and no part of what the event is."""

    def __eq__(self, other: object) -> bool:
        return type(other) is AgentEvent and other.event == self.event

    def __hash__(self) -> int:
        return hash(self.event)


class ChildEvent(_Record):
    """One event of a run hidden inside a tool call (`AgentTool`)."""

    call: str
    """The parent's call whose tool runs the child."""
    event: Raw
    node: str = ""
    """The tool's node, the parent of the child's nodes."""


NodeKind = Literal["agent", "tool", "workflow", "function", "join", "node"]
NodeStatus = Literal["finished", "failed", "cancelled", "waiting", "incomplete"]


class NodeStarted(_Record):
    """A node began to run."""

    node: str
    """Its id in the run, counted in the order of starts."""
    name: str
    kind: NodeKind
    path: str = ""
    branch: str = ""
    call: str = ""
    """A tool's call; for an agent that a call runs, that call."""
    parent: str = ""
    """The node that it runs in."""
    iteration: int = 1
    """How often a node of this name has started in its parent, with this time."""
    state: dict[str, Raw] = {}
    """Where the state before the node differs from the log so far: the keys and their values."""
    gone: list[str] = []
    """Keys that the log so far has, and the state has not."""
    derived: bool = False
    """Inferred, not seen."""


class NodeEnded(_Record):
    """A node stopped running."""

    node: str
    status: NodeStatus
    error: str = ""
    """For *failed*: the error's code."""
    state: dict[str, Raw] = {}
    gone: list[str] = []
    derived: bool = False


class ApprovalAsked(_Record):
    """A live run asks a person before it runs a tool."""

    approval: str
    call: str
    name: str
    hint: str = ""
    payload: Raw = NOTHING
    """A sample of what the tool wants with the approval."""


class ApprovalGiven(_Record):
    """The person answered."""

    approval: str
    approved: bool
    reason: str = ""
    by: str = ""
    """Who, if callers are authenticated."""


class SpeakerInterrupted(_Record):
    """The person interrupted the agent: the rest of this turn is not played."""

    reason: str = ""


class CallPieces(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a request to a model was made of: numbers of texts beside the log (`SideStore.add`).

    0: there is none, or it was not kept.
    """

    instruction: int = 0
    """The system instruction."""
    config: int = 0
    """The rest of the config, without tools."""
    tools: int = 0
    contents: int = 0
    """A list: the JSON array `[base, keep, piece, …]`, the first `keep` of another such list, and more."""
    answer: int = 0
    """The content of the response, as the next request repeats it."""
    response: int = 0
    """The rest of the response, without its usage."""


class ModelCalled(_Record):
    """A request to a model was answered, failed, or was cancelled. In a log it contains no text of them."""

    agent: str = ""
    node: str = ""
    """The agent's node."""
    model: str = ""
    started: float = 0.0
    """When the request was made, in seconds since 1970."""
    first_token: int | None = None
    """Milliseconds until the first response, whole or partial."""
    duration: int = 0
    """Milliseconds until the last."""
    usage: Raw = NOTHING
    """ADK's `usageMetadata`."""
    finish: str = ""
    error: str = ""
    """Code of the error, or `cancelled`."""
    responses: int = 0
    """How many whole responses came."""
    cut: list[str] = []
    """Parts of the request and the response that were too large to be kept whole, such as `contents/3`."""
    pieces: CallPieces | None = None
    """None: only this summary was kept."""
    request: Raw = NOTHING
    """In a file only, which has no pieces: the request, as `GET /api/runs/{run}/model-calls` shows it."""
    response: Raw = NOTHING


class RunTakenOver(_Record):
    """Another replica continues the run."""

    epoch: int
    in_doubt: list[str] = []
    planned: bool = False
    """The replica before it handed the run over, and did not die."""


class RunEnded(_Record):
    """The last record of every run, whatever happened."""

    outcome: Outcome
    code: str = ""
    """For *failed*: ADK's error code, an exception's class name, or one of ours (`owner_lost`, a limit)."""
    correlation: str = ""
    """Correlation id of the operator's diagnostic, which has what the client must not see."""


_Framed = (
    RunStarted
    | ChildEvent
    | NodeStarted
    | NodeEnded
    | ApprovalAsked
    | ApprovalGiven
    | SpeakerInterrupted
    | ModelCalled
    | RunTakenOver
    | RunEnded
)
Record = AgentEvent | _Framed


class Entry(Struct, frozen=True, gc=False):
    """A record at its place in a run's log."""

    cursor: int
    time: float
    record: Record


# --------------------------------------------------------------------------- positions

_POSITION = re.compile(
    r"(?:(?P<run>[A-Za-z0-9_-]{1,640}):)?"
    r"(?P<cursor>0(?!\.)|[1-9][0-9]{0,14})(?:\.(?P<part>[1-9][0-9]{0,8}))?"
)
"""Fifteen digits stay exact in every JSON reader; longer ones are not cursors of ours. Entries and their
frames are counted from 1; `0` is the beginning."""


class Position(NamedTuple):
    """A frame's place: after frame `part` of entry `cursor`; `part` None = after the whole entry."""

    cursor: int
    part: int | None = None

    def __str__(self) -> str:
        return str(self.cursor) if self.part is None else f"{self.cursor}.{self.part}"


BEGINNING = Position(0)


def parse_position(text: str, run: str = "") -> Position:
    """Read `12`, `12.3` or `run:12.3`. Raise `BadPosition` for anything else, or another run's."""
    match = _POSITION.fullmatch(text)
    if match is None:
        raise BadPosition(
            f"{text[:60]!r} is not a position; expected CURSOR or CURSOR.PART, such as 12 or 12.3."
        )
    if match["run"] and run and match["run"] != run:
        raise BadPosition(f"Position {text[:60]!r} belongs to another run.")
    part = match["part"]
    return Position(int(match["cursor"]), None if part is None else int(part))


def run_of_position(text: str) -> RunId:
    """Return the run that `run:12.3` names. Raise `BadPosition` for a position that names none."""
    match = _POSITION.fullmatch(text)
    if match is None or not match["run"]:
        raise BadPosition(f"{text[:60]!r} has no run id; expected RUN:CURSOR.PART.")
    return RunId(match["run"])


# --------------------------------------------------------------------------- stored form

EVENT = "AgentEvent"
FRAMED = frozenset(each.__name__ for each in get_args(_Framed))
"""The kinds of all other records."""
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_Framed).decode


_FIELDS = frozenset((*RunStarted.__struct_fields__, "type", "cursor", "time"))
"""Members that are no labels; the last two are of a line of a recording."""
_decode_members = msgspec.json.Decoder(dict[str, Raw]).decode


def pack(record: Record) -> tuple[str, bytes]:
    """Return a record's stored form: its kind and its payload."""
    if type(record) is AgentEvent:
        return EVENT, record.event
    if type(record) is RunStarted and record.labels:
        fields, labels = _encode(structs.replace(record, labels={})), _encode(record.labels)
        return "RunStarted", fields[:-1] + b"," + labels[1:]
    return type(record).__name__, _encode(record)


def unpack(kind: str, payload: bytes) -> Record:
    """Read a stored record. Raise `SourceError` if the payload is not one."""
    if kind == EVENT:
        return AgentEvent(payload)
    try:
        record: Record = _decode(payload)
        if type(record) is RunStarted:
            members = _decode_members(payload).items()
            labels = {name: value for name, value in members if name not in _FIELDS}
            return structs.replace(record, labels=labels)
        return record
    except msgspec.MsgspecError as error:
        raise SourceError(f"A {kind[:40]!r} record is not valid: {error}.") from error


def is_absent(value: Raw) -> bool:
    """Return whether a Raw field is absent."""
    return len(value) == 0


def to_raw(value: Any) -> Raw:
    """Encode a plain JSON value."""
    return Raw(_encode(value))


def given_raw(value: Any) -> Raw:
    """Encode a plain JSON value; None stands for an absent one."""
    return NOTHING if value is None else to_raw(value)


# --------------------------------------------------------------------------- recorder run id

# Ids of runs that a recorder in another process sends (`features/recorder`).

RECORDED_RUN = "rec-"


def is_recorded(run: str) -> bool:
    """Return whether a run comes from a recorder: no process of this server owns it."""
    return run.startswith(RECORDED_RUN)


# ---------------------------------------------------------------------------
# Labels of a run: what features put into its first record, by name.
#
# `RunStarted` has fields for what every reader of a run needs. Anything else is a label: a JSON value
# that its feature writes and reads with a typed `Label`, and that nobody else has to know. In the
# stored form a label stands beside the fields (`entry.pack`), so records of adk-prism 0.1, where
# these were fields, are read as they are.
#
# Here are the labels that several layers read; a feature's own are in its module.

T = TypeVar("T")

Labelled = tuple[str, Raw | None]
"""A label's name and value; None: it has its default, which is not stored."""


class Label(Generic[T]):
    """A value of one type in the labels of a run."""

    def __init__(self, name: str, kind: Any, default: T) -> None:
        """`kind` is the type as msgspec decodes it; `default` counts for a run without the label."""
        self.name = name
        self._default = default
        self._decoder = msgspec.json.Decoder(kind)

    def __call__(self, value: T) -> Labelled:
        """Return the label with a value, for `labels` and `relabelled`."""
        return self.name, None if value == self._default else Raw(msgspec.json.encode(value))

    def read(self, head: RunStarted) -> T:
        """Return the value that a run has; the default if it has none, or one of another type."""
        stored = head.labels.get(self.name)
        if stored is None:
            return self._default
        try:
            value: T = self._decoder.decode(stored)
        except msgspec.MsgspecError:
            return self._default
        return value

    def check(self, head: RunStarted) -> None:
        """Raise `SourceError` for a value of another type."""
        stored = head.labels.get(self.name)
        try:
            if stored is not None:
                self._decoder.decode(stored)
        except msgspec.MsgspecError as error:
            raise SourceError(
                f"A 'RunStarted' record is not valid: {self.name}: {error}."
            ) from error


def labels(*given: Labelled) -> dict[str, Raw]:
    """Return the labels of a new run."""
    return {name: value for name, value in given if value is not None}


def relabelled(head: RunStarted, *given: Labelled) -> RunStarted:
    """Return a run's first record with other labels; those that are not given stay."""
    changed = dict(given)
    kept = {name: value for name, value in head.labels.items() if name not in changed}
    return structs.replace(head, labels=kept | labels(*given))


# --------------------------------------------------------------------------- of several layers

EXTRAS: Label[dict[str, Raw]] = Label("extras", dict[str, Raw], {})
"""What the client sent with the user's message and the model does not get: `metadata`; `parts`, data parts
and their places among the others; `system`, messages before it; `whole_history`, if all messages before it
came along."""

STREAMING: Label[bool] = Label("streaming", bool, True)
"""Whether the model was asked to stream."""

CUSTOM_METADATA: Label[dict[str, Raw]] = Label("custom_metadata", dict[str, Raw], {})
"""What the caller wants on every event of the run."""

RESPONSES: Label[dict[str, Response]] = Label("responses", dict[str, Response], {})
"""What the message answers, by the id of the request or approval: the run continues an earlier invocation,
but has its own message."""

WARNINGS: Label[list[Warned]] = Label("warnings", list[Warned], [])
"""Parts of the request that were ignored."""

WRITTEN_BY: Label[str] = Label("version", str, "")
"""Version of adk-prism that wrote the log."""

CLIENT_RUN: Label[str] = Label("client_run", str, "")
"""The client's own id of the run, where its protocol has one."""

DERIVED: Label[bool] = Label("derived", bool, False)
"""The record was not written when the run began, but generated for a capture."""

UPLOADED: Label[bool] = Label("uploaded", bool, False)
"""The run was recorded elsewhere: its session is only a name, not a chat of this server."""

FOREIGN: Label[bool] = Label("foreign", bool, False)
"""The session belongs to this server, but the events did not happen here: a copy of an uploaded run, or
events that a client put into the session."""

_SHARED: tuple[Label[Any], ...] = (
    EXTRAS, STREAMING, CUSTOM_METADATA, RESPONSES, WARNINGS, WRITTEN_BY, CLIENT_RUN,
    DERIVED, UPLOADED, FOREIGN,
)  # fmt: skip


def is_untrusted(head: RunStarted) -> bool:
    """Return whether this server did not record a run: nothing in it is resumed or answered."""
    return UPLOADED.read(head) or FOREIGN.read(head)


def check_labels(head: RunStarted) -> None:
    """Raise `SourceError` for labels that are not of their types, in a record from elsewhere."""
    for label in _SHARED:
        label.check(head)
