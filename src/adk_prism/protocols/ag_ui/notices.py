"""What AG-UI has no event for: custom events, which pass, and activities, which a client keeps.

Names begin with `adk.` where ADK says something, and with `prism.` where the record of the run does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from msgspec import UNSET, Raw, Struct, UnsetType, json, structs

from adk_prism.facts import model as fact
from adk_prism.facts.event_actions import sources_in
from adk_prism.facts.outcome import BROKEN, with_reference
from adk_prism.facts.pending import payload_schema, plain_schema, response_schema
from adk_prism.facts.state import is_given, read_object, read_value, repair
from adk_prism.facts.transcripts import utterance_id
from adk_prism.log.entry import NodeStatus, RunStarted
from adk_prism.protocols import contract
from adk_prism.protocols.ag_ui import frames
from adk_prism.protocols.contract import Complete

REPLACED = "adk.replaced"
FILE = "adk.file"
ARTIFACT = "adk.artifact"
SOURCES = "adk.sources"
APPROVAL = "adk.approval"
ERROR = "adk.error"


def upstream(event: bytes) -> Any:
    """Return ADK's own event; as text, where a file holds something that is no JSON."""
    if not frames.fits(len(event)):
        return frames.too_large(len(event))
    value = read_value(event)
    return event.decode(errors="replace") if value is None else value


def _model_call(item: fact.ModelCallEnded) -> frames.Json:
    data: frames.Json = {"author": item.speaker.author, "path": item.speaker.path}
    data |= {"model": item.model, "finishReason": item.finish, "finishMessage": item.message}
    data = {key: value for key, value in data.items() if value}
    if item.avg_logprobs is not None:
        data["avgLogprobs"] = item.avg_logprobs
    for key, raw in (("usage", item.usage), ("cache", item.cache), ("logprobs", item.logprobs)):
        if is_given(raw):
            data[key] = frames.bounded(raw)
    return data


def _output(item: fact.NodeOutput) -> frames.Json:
    speaker = item.speaker
    return {"author": speaker.author, "path": speaker.path, "output": frames.bounded(item.output)}


def _audio(item: fact.AudioHeard) -> frames.Json:
    return contract.audio_json(item) | ({} if frames.fits(len(item.data)) else {"content": ""})


_CUSTOM: Mapping[type[Any], tuple[str, Callable[[Any], Any]]] = {
    fact.ModelCallEnded: ("adk.model_call", _model_call),
    fact.MetadataGiven: ("adk.metadata", lambda item: frames.bounded(item.custom)),
    fact.AudioHeard: ("adk.audio", _audio),
    fact.TakenOver: ("prism.takeover", contract.takeover_json),
    fact.AgentTransferred: ("adk.transfer", contract.transfer_json),
    fact.ErrorRaised: (ERROR, contract.error_json),
    fact.NodeOutput: ("adk.output", _output),
    fact.Interrupted: ("adk.interrupted", lambda item: {"author": item.speaker.author}),
    fact.Unrecognised: (
        "adk.unrecognised",
        lambda item: {"kind": item.kind, "raw": frames.bounded(item.raw)},
    ),
}
"""Facts that become a custom event: its name, and its value."""


def custom(item: fact.Fact, tag: Tag = UNSET) -> frames.Custom:
    """Return the custom event that tells a fact."""
    name, value = _CUSTOM[type(item)]
    return frames.Custom(name, value(item), subagent_run_id=tag)


# ---------------------------------------------------------------------------
# What an answer rests on: the sources, citations and grounding of one model call.

_OF_SOURCES = frozenset((fact.SourceCited, fact.SourcesLinked, fact.CitationsGiven))


class Sources:
    """The sources of one run: each has one id, however often it is cited."""

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}

    def read(self, facts: Sequence[fact.Fact]) -> frames.Json:
        """Return what the facts of an entry say of sources; nothing if they say nothing."""
        data: frames.Json = {}
        if _OF_SOURCES.isdisjoint(map(type, facts)):
            return data
        for item in facts:
            match item:
                case fact.SourceCited():
                    self._ids.setdefault(item.uri or item.title, item.source)
                case fact.SourcesLinked():
                    data["sources"] = self._listed(item)
                    data["grounding"] = frames.bounded(item.grounding)
                case fact.CitationsGiven():
                    given = read_object(item.citations).get("citations")
                    data["citations"] = given if isinstance(given, list) else []
                case _:
                    pass  # says nothing of sources
        return data

    def _listed(self, item: fact.SourcesLinked) -> list[frames.Json]:
        found: dict[str, frames.Json] = {}
        for source in sources_in(item.grounding):
            found[source.key] = {
                "id": self._ids.get(source.key, ""),
                "type": "document" if source.document else "url",
                "uri": source.uri,
                "title": source.title,
            }
        return list(found.values())


# ---------------------------------------------------------------------------
# Token counts of a run, summed per model, under AG-UI's names.
#
# AG-UI counts reasoning among the output, and what was found in a cache among the input. Gemini
# counts what a model thought beside what it said, so both are added.

_COUNTS = (
    ("promptTokenCount", "inputTokens"),
    ("toolUsePromptTokenCount", "inputTokens"),
    ("candidatesTokenCount", "outputTokens"),
    ("thoughtsTokenCount", "outputTokens"),
    ("totalTokenCount", "totalTokens"),
    ("thoughtsTokenCount", "reasoningTokens"),
    ("cachedContentTokenCount", "cachedInputTokens"),
)
"""Upstream's counts, and AG-UI's that each is part of."""

LARGEST = 2**53 - 1
"""A larger count is none: JavaScript could not tell it from its neighbours."""


class Usage:
    """The token counts of one run."""

    def __init__(self) -> None:
        self._models: dict[str, dict[str, int]] = {}
        self.metadata: frames.Json | UnsetType = UNSET
        """What annotations say of it, as the last event has it."""

    def add(self, item: fact.ModelCallEnded) -> None:
        """Add a model call's counts."""
        given = read_object(item.usage)
        if not given:
            return
        sums = self._models.setdefault(item.model, {})
        for part, name in _COUNTS:
            count = contract.token_count(given.get(part))
            if count is not None and 0 <= count <= LARGEST:
                sums[name] = sums.get(name, 0) + count

    def listed(self) -> list[frames.Json]:
        """Return an entry for each model that counted anything."""
        return [
            ({"model": model} if model else {}) | dict(sums)
            for model, sums in self._models.items()
            if sums
        ]


# ---------------------------------------------------------------------------
# Who says something, as metadata of what is said.


def spoken_by(speaker: fact.Speaker, **more: Any) -> frames.Json:
    """Return the metadata of a message or call: its author, and where in the agent tree that is."""
    return {"adk": speaker.described() | more}


# ---------------------------------------------------------------------------
# The last event of a run: finished, with what it waits for, or an error.

STOPPED = "STOPPED"
"""The code of a run that somebody stopped, where the protocol has no outcome for it."""


class Ending(Struct, frozen=True):
    """What is known when a run ends."""

    thread: str
    run: str
    interrupts: list[frames.Json]
    pending: list[str]
    """Calls that wait for the client."""
    usage: list[frames.Json]

    def frame(
        self, over: fact.RunOver, speaks: frames.Dialect
    ) -> frames.RunFinished | frames.RunError:
        """Return the last event of a run."""
        usage = self.usage or UNSET
        outcome: frames.Json = {"type": "success"}
        if over.outcome in BROKEN:
            code = over.outcome if over.outcome == "incomplete" else over.code or "error"
            return frames.RunError(with_reference(over), code, usage)
        if over.outcome == "cancelled":
            if not speaks.cancelled:
                return frames.RunError("The run was stopped.", STOPPED, usage)
            outcome = {"type": "cancelled"}
        elif self.interrupts:
            outcome = {"type": "interrupt", "interrupts": self.interrupts}
        elif self.pending and speaks.pending_calls:
            outcome["pendingToolCallIds"] = self.pending
        return frames.RunFinished(self.thread, self.run, outcome, usage)


# ---------------------------------------------------------------------------
# Session state for a client: a snapshot at the beginning, then JSON patches (RFC 6902).
#
# Patches only `add`, which also replaces, and `remove` what is there: a client drops a whole patch of
# which one operation fails. A value too large for a frame is replaced by its size.

_FORBIDDEN = {"__proto__": "(__proto__)"}
"""Keys that a JavaScript client refuses, and under which names they are sent."""


class SharedState:
    """The state of one run, as a client holds it."""

    def __init__(self) -> None:
        self._keys: set[str] = set()

    def begin(self, item: fact.RunBegan) -> list[frames.Frame]:
        """Return the state that the run begins with: what does not fit one frame follows as patches."""
        self._keys = {_key(key) for key in item.state}
        whole, rest, size = {}, [], 0
        for key, value in item.state.items():
            data = _value(value)
            size += len(bytes(data))
            if frames.fits(size):
                whole[_key(key)] = data
            else:
                rest.append(_add(key, data))
        # One patch each: every value fits a frame, several may not.
        return [
            frames.StateSnapshot(Raw(json.encode(whole))),
            *(frames.StateDelta([operation]) for operation in rest),
        ]

    def change(
        self, item: fact.StateChanged | fact.NodeBegan | fact.NodeFinished
    ) -> list[frames.Frame]:
        """Return the patches for a change; none where nothing changes."""
        values: Mapping[str, Raw] = (
            item.delta if isinstance(item, fact.StateChanged) else item.state
        )
        patches: list[list[frames.Json]] = [[]]
        size = 0
        for key, value in values.items():
            data = _value(value)
            size += len(bytes(data))
            if not frames.fits(size):
                patches.append([])
                size = len(bytes(data))
            patches[-1].append(_add(key, data))
            self._keys.add(_key(key))
        for key in () if isinstance(item, fact.StateChanged) else item.gone:
            if _key(key) in self._keys:
                self._keys.discard(_key(key))
                patches[-1].append({"op": "remove", "path": _pointer(key)})
        return [frames.StateDelta(patch) for patch in patches if patch]


def _value(value: Raw) -> Raw:
    sound = repair(bytes(value) or b"null", parsed=True)
    return Raw(sound) if frames.fits(len(sound)) else Raw(json.encode(frames.too_large(len(sound))))


def _add(key: str, value: Raw) -> frames.Json:
    return {"op": "add", "path": _pointer(key), "value": value}


def _key(key: str) -> str:
    return _FORBIDDEN.get(key, key)


def _pointer(key: str) -> str:
    return "/" + _key(key).replace("~", "~0").replace("/", "~1")


# ---------------------------------------------------------------------------
# Where AG-UI's events hold the text of an error: a server completes it for who may see it.


def completed(frame: frames.Frame, complete: Complete) -> frames.Frame:
    """Return a frame with its error text completed; itself, where it tells no error."""
    found = _COMPLETED.get(type(frame))
    return frame if found is None else found(frame, complete)


def _message(frame: frames.RunError | frames.SubagentError, complete: Complete) -> frames.Frame:
    return structs.replace(frame, message=complete(frame.message))


def _result(frame: frames.ToolCallResult, complete: Complete) -> frames.Frame:
    about = frame.metadata.get("adk", {}) if isinstance(frame.metadata, dict) else {}
    if "error" not in about:
        return frame
    data = {**about, "error": complete(about["error"])}
    return structs.replace(frame, metadata={"adk": data})


def _custom(frame: frames.Custom, complete: Complete) -> frames.Frame:
    if frame.name != ERROR or "message" not in frame.value:
        return frame
    # The code is beside it, and is not said twice.
    full = complete(frame.value["message"]).removeprefix(f"{frame.value.get('code')}: ")
    return structs.replace(frame, value={**frame.value, "message": full})


_COMPLETED: dict[type[Any], Callable[[Any, Complete], frames.Frame]] = {
    frames.RunError: _message,
    frames.SubagentError: _message,
    frames.ToolCallResult: _result,
    frames.Custom: _custom,
}


# ---------------------------------------------------------------------------
# What a run asks a person: the interrupts with which it ends.
#
# An interrupt's id is the id of ADK's request call, by which an answer finds it in the log. An approval
# is about a call that the client knows: it gets that call's id, and ADK's own request stays hidden.

CALL_APPROVAL = "tool_call"
INPUT = "input_required"
CREDENTIAL = "adk:credential"
"""Reasons of interrupts; the last one is no word of the protocol, and so has a namespace."""

_MESSAGES = {
    CALL_APPROVAL: "{} waits for your approval.",
    INPUT: "An answer is needed.",
    CREDENTIAL: "A sign-in is needed.",
}


class _Asked(Struct, frozen=True):
    """An open question."""

    call: str
    """The call that waits for the answer, as facts name it; empty if none does."""
    interrupt: frames.Json
    tag: Tag


class Questions:
    """The open questions of one run."""

    def __init__(self) -> None:
        self._open: dict[str, _Asked] = {}
        """By interrupt id, in the order in which they were asked."""

    def ask_approval(
        self, item: fact.ApprovalRequested, tool: str, tool_call: str, tag: Tag
    ) -> frames.Json:
        """Note a request for an approval; return its interrupt."""
        about: frames.Json = {"toolName": tool} if tool else {}
        if bytes(item.payload):
            about["payload"] = frames.bounded(item.payload)
        interrupt = _interrupt(
            item.approval,
            CALL_APPROVAL,
            item.hint or _MESSAGES[CALL_APPROVAL].format(tool or "A call"),
            toolCallId=tool_call,
            responseSchema=_decision_schema(item.payload),
            metadata={"adk": about} if about else None,
        )
        return self._add(item.approval, item.call, interrupt, tag)

    def ask_input(self, item: fact.InputRequested, tool_call: str, tag: Tag) -> frames.Json:
        """Note a request for input, or for a sign-in; return its interrupt."""
        request = read_object(item.request)
        asked = request.get("message")
        reason = INPUT if item.kind == "input" else CREDENTIAL
        interrupt = _interrupt(
            item.call,
            reason,
            asked if isinstance(asked, str) and asked else _MESSAGES[reason],
            toolCallId=tool_call or None,
            responseSchema=plain_schema(response_schema(item.request)) or None,
            metadata={"adk": {"request": frames.bounded(item.request)}} if request else None,
        )
        return self._add(item.call, item.for_call, interrupt, tag)

    def _add(self, name: str, call: str, interrupt: frames.Json, tag: Tag) -> frames.Json:
        if tag is not UNSET:
            interrupt["subagentRunId"] = tag
        self._open[name] = _Asked(call, interrupt, tag)
        return interrupt

    def decide(self, name: str) -> None:
        """Note an answer that is in the run itself."""
        self._open.pop(name, None)

    def settle(self, call: str) -> None:
        """Note that a call has its result: nothing is asked about it any more."""
        for name in [name for name, asked in self._open.items() if asked.call == call]:
            del self._open[name]

    @property
    def owners(self) -> dict[str, Tag]:
        """Whose the open questions are, by interrupt id."""
        return {name: asked.tag for name, asked in self._open.items()}

    @property
    def calls(self) -> set[str]:
        """The calls that wait for a person, as facts name them."""
        return {asked.call for asked in self._open.values() if asked.call}

    def interrupts(self) -> list[frames.Json]:
        """Return the open questions."""
        return [asked.interrupt for asked in self._open.values()]


def _interrupt(name: str, reason: str, message: str, **more: Any) -> frames.Json:
    given = {key: value for key, value in more.items() if value is not None}
    return {"id": name, "reason": reason, "message": message, **given}


def _decision_schema(payload: Raw) -> frames.Json:
    """Return what an approval is answered with: a decision, and what the tool wants with it.

    Arguments cannot be edited: ADK runs the call as the model made it.
    """
    fields: frames.Json = {"approved": {"type": "boolean"}, "reason": {"type": "string"}}
    schema: frames.Json = {"type": "object", "properties": fields, "required": ["approved"]}
    if wanted := payload_schema(payload):
        fields["payload"] = wanted
        schema["if"] = {"properties": {"approved": {"const": True}}}
        schema["then"] = {"required": ["payload"]}
    return schema


# ---------------------------------------------------------------------------
# Whose a frame is: nodes as sub-agents and steps, and the sub-agent that a speaker belongs to.
#
# The node that begins first, without a parent, is the run's own agent: it needs no frame. Every other agent
# is a sub-agent, linked to the one around it and to the call that runs it. What else a workflow consists of
# is a step of the agent around it; tools are calls. ADK's own scaffolding is not shown.
#
# A sub-agent's id is derived from where it stands, so that a run that goes on after an answer names the
# same one again. Within a run a client takes each id and, at a time, each step's name only once.


INTERNAL = "__"
"""How the names of ADK's own scaffolding begin."""

Tag = str | UnsetType
"""Id of a sub-agent; unset for the run's own agent."""

_CANCELLED: dict[NodeStatus, str] = {
    "cancelled": "The agent was stopped.",
    "incomplete": "The recording ends before the agent did.",
}


class _Node(Struct, eq=False):
    """A node that began."""

    name: str
    path: str
    branch: str
    call: str
    """The call that runs it, or the nearest node around it that is run by one."""
    tag: Tag = UNSET
    """The sub-agent that it is, or runs in."""
    tool: str = ""
    """The node of the tool inside which it runs."""
    step: str = ""
    """Its name as a step; empty for anything else."""
    output: Raw | str | UnsetType = UNSET
    error: str = ""
    """What was said of its failure."""

    def likeness(self, speaker: fact.Speaker) -> tuple[bool, bool, bool]:
        return speaker.likeness(self.name, self.path, self.branch)


class Owners:
    """The nodes of one run."""

    def __init__(self, message: str) -> None:
        self._message = message
        """What ids of sub-agents begin with."""
        self._known: dict[str, _Node] = {}
        self._open: dict[str, _Node] = {}
        self._subagents: dict[str, _Node] = {}
        """Open nodes that are sub-agents, by node."""
        self._root = ""
        self._ids: dict[str, int] = {}
        """How often an id of a sub-agent was wanted."""
        self._steps: set[tuple[Tag, str]] = set()
        self._found: dict[tuple[fact.Speaker, str], Tag] = {}
        """What was looked up since a node began or ended."""

    # -------------------------------------------------------------- begin and end

    def begin(self, item: fact.NodeBegan) -> frames.Frame | None:
        """Note a start; return its frame, or None for a node that has none."""
        self._found.clear()
        node = _Node(item.name, item.path, item.branch, item.call)
        above = self._known.get(item.parent)
        if above is not None:
            node.tag, node.tool = above.tag, above.tool
            node.call = node.call or above.call
        self._known[item.node] = self._open[item.node] = node
        is_root = not item.parent and self._root in ("", item.name)
        if is_root:
            self._root = item.name
        if item.kind == "tool":
            node.tool = item.node
        if is_root or item.kind == "tool" or item.name.startswith(INTERNAL):
            return None
        if item.kind == "agent":
            return self._begin_subagent(item, node)
        return self._begin_step(node)

    def _begin_subagent(self, item: fact.NodeBegan, node: _Node) -> frames.SubagentStarted:
        around, call = node.tag, node.call
        node.tag = self._new_id(item)
        node.call = ""
        self._subagents[item.node] = node
        return frames.SubagentStarted(
            item.name,
            parent_subagent_run_id=around,
            parent_tool_call_id=call or UNSET,
            subagent_run_id=node.tag,
        )

    def _new_id(self, item: fact.NodeBegan) -> str:
        place = item.path or ".".join(filter(None, (item.branch, item.name)))
        wanted = f"{self._message}/{place}"
        if item.call and item.call not in wanted:
            wanted = f"{wanted}/{item.call}"
        number = self._ids[wanted] = self._ids.get(wanted, 0) + 1
        return wanted if number == 1 else f"{wanted}~{number}"

    def _begin_step(self, node: _Node) -> frames.StepStarted:
        name, number = node.name, 1
        while (node.tag, name) in self._steps:
            number += 1
            name = f"{node.name} {number}"
        node.step = name
        self._steps.add((node.tag, name))
        return frames.StepStarted(name, subagent_run_id=node.tag)

    def give(self, item: fact.NodeOutput) -> bool:
        """Keep what a sub-agent returns for its end; return whether there is such a one."""
        node = self._subagent_at(item.speaker)
        if node is not None:
            node.output = frames.bounded(item.output)
        return node is not None

    def fail(self, item: fact.ErrorRaised) -> None:
        """Keep what is said of a sub-agent's failure for its end."""
        node = self._subagent_at(item.speaker)
        if node is not None:
            node.error = item.message

    def _subagent_at(self, speaker: fact.Speaker) -> _Node | None:
        found = (n for n in reversed(self._subagents.values()) if n.path == speaker.path != "")
        return next(found, None)

    def end(self, item: fact.NodeFinished, interrupts: dict[str, Tag]) -> frames.Frame | None:
        """Note an end; return its frame. `interrupts` are the open ones, and whose they are."""
        self._found.clear()
        node = self._open.pop(item.node, None)
        if node is None:
            return None
        if self._subagents.pop(item.node, None) is not None:
            return _subagent_ended(item, node, interrupts)
        if node.step:
            self._steps.discard((node.tag, node.step))
            data: frames.Json | UnsetType = UNSET
            if item.status != "finished":
                data = {"adk": {"status": item.status}}
            return frames.StepFinished(node.step, subagent_run_id=node.tag, metadata=data)
        return None

    # -------------------------------------------------------------- speakers

    def around(self, item: fact.NodeBegan) -> Tag:
        """Return the sub-agent in which a node runs."""
        above = self._known.get(item.parent)
        return above.tag if above is not None else UNSET

    def of(self, speaker: fact.Speaker, within: str = "") -> Tag:
        """Return the sub-agent that a speaker is, or speaks in. `within`: the tool's node."""
        key = (speaker, within)
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = self._find(speaker, within)
        return found

    def _find(self, speaker: fact.Speaker, within: str) -> Tag:
        for nodes in (self._open, self._known):
            fits = [n for n in nodes.values() if n.tool == within or not within]
            likest = max(reversed(fits), key=lambda n: n.likeness(speaker), default=None)
            if likest is not None and any(likest.likeness(speaker)[:2]):
                return likest.tag
        # What runs inside a tool is never the run's own agent, even where no node tells of it.
        return f"{self._message}/{within}" if within else UNSET


def _subagent_ended(
    item: fact.NodeFinished, node: _Node, interrupts: dict[str, Tag]
) -> frames.Frame:
    tag = node.tag
    if item.status == "failed":
        text = node.error or f"The agent failed ({item.error or 'error'})."
        return frames.SubagentError(text, item.error or UNSET, subagent_run_id=tag)
    if item.status in _CANCELLED:
        return frames.SubagentError(_CANCELLED[item.status], item.status, subagent_run_id=tag)
    outcome: frames.Json = {"type": "success"}
    if item.status == "waiting":
        own = [name for name, whose in interrupts.items() if whose == tag]
        outcome = {"type": "suspended"} | ({"interruptIds": own} if own else {})
    return frames.SubagentFinished(node.output, outcome, subagent_run_id=tag)


# ---------------------------------------------------------------------------


class Stream:
    """What the frames of one run have in common: their ids, and whose each is."""

    def __init__(self, head: RunStarted) -> None:
        self.run = head.run
        self.message = head.continues.message if head.continues else head.run
        self.owners = Owners(self.message)
        self.cursor = 0
        self.within = ""
        """The tool inside which all this happens, while a nested fact is shown."""
        self.out: list[frames.Frame] = []
        """The frames of the entry that is being read."""

    def id(self, *names: str) -> str:
        """Return an id of this run's own."""
        return "-".join(filter(None, (self.run, self.within, *names)))

    def tag(self, speaker: fact.Speaker) -> Tag:
        """Return the sub-agent that a speaker is, or speaks in."""
        return self.owners.of(speaker, self.within)

    def show(self, *shown: frames.Frame | None) -> None:
        """Add frames."""
        self.out.extend(frame for frame in shown if frame is not None)

    def activity(self, name: str, kind: str, content: Any, tag: Tag = UNSET) -> None:
        """Add an activity; one of the same name replaces it."""
        size = len(json.encode(content))
        data = content if frames.fits(size) else {"size": size}
        self.show(frames.ActivitySnapshot(name, kind, data, subagent_run_id=tag))

    def sign(self, what: Literal["message", "tool-call"], name: str, by: str, tag: Tag) -> None:
        """Add the signature of a message or a call, if it has one."""
        if by:
            self.show(frames.ReasoningEncryptedValue(what, name, by, subagent_run_id=tag))

    def say_as_user(self, name: str, text: str) -> None:
        """Add a message of the user's."""
        self.show(
            frames.TextMessageStart(name, "user"),
            *(frames.TextMessageContent(name, piece) for piece in frames.pieces(text)),
            frames.TextMessageEnd(name),
        )


# ---------------------------------------------------------------------------
# What the user is heard saying: custom events while it grows, a message when it is over.
#
# A transcript may be corrected, also after it was called final, and a message can only grow at its
# end. So it is sent when the agent begins to answer, when the user says something else, or with the
# run's end. What comes later still, of the same utterance, is a message of its own.

HEARD = "adk.input_transcription"


class Utterances:
    """The utterances of one run."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._open: dict[str, fact.InputTranscribed] = {}
        """Those that are not sent yet."""
        self._told: dict[str, list[str]] = {}
        """What was sent of each, message by message."""

    def hear(self, item: fact.InputTranscribed) -> None:
        """Show what is heard, and the utterances before it."""
        for name in [name for name in self._open if name != item.utterance]:
            self._tell(name)
        self._open[item.utterance] = item
        self._stream.show(frames.Custom(HEARD, {"id": item.utterance, "text": item.text}))

    def end(self, *, final: bool = False) -> None:
        """Show the messages of all that is not sent; with `final`, of what is over."""
        for name in [name for name, item in self._open.items() if item.final or not final]:
            self._tell(name)

    def _tell(self, utterance: str) -> None:
        text = self._open.pop(utterance).text
        before = self._told.setdefault(utterance, [])
        added = text.removeprefix("".join(before))
        if added.strip():
            before.append(added)
            name = utterance_id(self._stream.run, utterance)
            self._stream.say_as_user(name if len(before) == 1 else f"{name}~{len(before)}", added)
