"""Whose a frame is: nodes as sub-agents and steps, and the sub-agent that a speaker belongs to.

The node that begins first, without a parent, is the run's own agent: it needs no frame. Every other agent
is a sub-agent, linked to the one around it and to the call that runs it. What else a workflow consists of
is a step of the agent around it; tools are calls. ADK's own scaffolding is not shown.

A sub-agent's id is derived from where it stands, so that a run that goes on after an answer names the
same one again. Within a run a client takes each id and, at a time, each step's name only once.
"""

from __future__ import annotations

from msgspec import UNSET, Raw, UnsetType

from adk_prism.facts import model as fact
from adk_prism.facts.transcripts import utterance_id
from adk_prism.log.entry import NodeStatus
from adk_prism.protocols.ag_ui import frames

INTERNAL = "__"
"""How the names of ADK's own scaffolding begin."""

Tag = str | UnsetType
"""Id of a sub-agent; unset for the run's own agent."""

_CANCELLED: dict[NodeStatus, str] = {
    "cancelled": "The agent was stopped.",
    "incomplete": "The recording ends before the agent did.",
}


class _Node:
    """A node that began."""

    __slots__ = ("branch", "call", "error", "name", "output", "path", "step", "tag", "tool")

    def __init__(self, item: fact.NodeBegan) -> None:
        self.name, self.path, self.branch = item.name, item.path, item.branch
        self.call = item.call
        """The call that runs it, or the nearest node around it that is run by one."""
        self.tag: Tag = UNSET
        """The sub-agent that it is, or runs in."""
        self.tool = ""
        """The node of the tool inside which it runs."""
        self.step = ""
        """Its name as a step; empty for anything else."""
        self.output: Raw | str | UnsetType = UNSET
        self.error = ""
        """What was said of its failure."""

    def likeness(self, speaker: fact.Speaker) -> tuple[bool, bool, bool]:
        return speaker.likeness(self.name, self.path, self.branch)


class Owners:
    """The nodes of one run."""

    def __init__(self) -> None:
        self.message = ""
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
        node, above = _Node(item), self._known.get(item.parent)
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
        wanted = f"{self.message}/{place}"
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
        return f"{self.message}/{within}" if within else UNSET


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
# What the user is heard saying: custom events while it grows, a message when it is over.
#
# A transcript may be corrected, also after it was called final, and a message can only grow at its
# end. So it is sent when the agent begins to answer, when the user says something else, or with the
# run's end. What comes later still, of the same utterance, is a message of its own.

HEARD = "adk.input_transcription"


def user_text(name: str, text: str) -> list[frames.Frame]:
    """Return a message of the user's."""
    return [
        frames.TextMessageStart(name, "user"),
        *(frames.TextMessageContent(name, piece) for piece in frames.pieces(text)),
        frames.TextMessageEnd(name),
    ]


class Utterances:
    """The utterances of one run."""

    def __init__(self, run: str) -> None:
        self._run = run
        self._open: dict[str, fact.InputTranscribed] = {}
        """Those that are not told yet."""
        self._told: dict[str, list[str]] = {}
        """What was told of each, message by message."""

    def hear(self, item: fact.InputTranscribed) -> list[frames.Frame]:
        """Take what is heard; return the frames for it, and for the utterances before it."""
        others = [name for name in self._open if name != item.utterance]
        data = [frame for name in others for frame in self._tell(name)]
        self._open[item.utterance] = item
        return [*data, frames.Custom(HEARD, {"id": item.utterance, "text": item.text})]

    def answer(self) -> list[frames.Frame]:
        """Return the messages of what is over, now that the agent answers."""
        over = [name for name, item in self._open.items() if item.final]
        return [frame for name in over for frame in self._tell(name)]

    def end(self) -> list[frames.Frame]:
        """Return the messages of all that is not told."""
        return [frame for name in list(self._open) for frame in self._tell(name)]

    def _tell(self, utterance: str) -> list[frames.Frame]:
        text = self._open.pop(utterance).text
        before = self._told.setdefault(utterance, [])
        news = text.removeprefix("".join(before))
        if not news.strip():
            return []
        before.append(news)
        name = utterance_id(self._run, utterance)
        return user_text(name if len(before) == 1 else f"{name}~{len(before)}", news)
