"""The digest of a run, folded from its facts: what a search finds it by.

Everything is bounded, so a digest is small whatever the run was. Of a text the beginning counts.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Raw

from adk_prism.facts import model as fact
from adk_prism.facts.json_value import read_object
from adk_prism.facts.model import Fact
from adk_prism.facts.model_use import ModelUse, UseFold
from adk_prism.facts.run_reader import Reader
from adk_prism.runlog.entry import Agent, AgentEvent, Entry
from adk_prism.runlog.run_digest import DIGEST_VERSION, NameKind, RunDigest

MOST_USER, MOST_AGENT, MOST_CALLS = 2000, 6000, 4000
"""Characters: a question and its answer, and what the first tools did."""

MOST_OF_A_VALUE = 500
"""Characters of one argument list or result."""

MOST_NAMES, LONGEST_NAME = 100, 200
"""Names of a kind, and characters of one."""


class _Text:
    """The beginning of a text that comes in pieces, some of which may be withdrawn."""

    def __init__(self, most: int) -> None:
        self._left = most
        self._pieces: list[tuple[str, str]] = []

    def add(self, text: str, of: str = "") -> None:
        """Add a piece; `of` names what it may be withdrawn with."""
        if self._left > 0 and text:
            self._pieces.append((of, text[: self._left]))
            self._left -= len(text)

    @property
    def is_full(self) -> bool:
        """Whether nothing more is taken."""
        return self._left <= 0

    def withdraw(self, blocks: Iterable[str]) -> None:
        """Forget all pieces of some blocks."""
        gone = frozenset(blocks)
        self._left += sum(len(text) for of, text in self._pieces if of in gone)
        self._pieces = [piece for piece in self._pieces if piece[0] not in gone]

    def __str__(self) -> str:
        """Return the text: the pieces of a block together, where parallel agents send theirs in turns."""
        blocks: dict[str | int, list[str]] = {}
        for at, (of, text) in enumerate(self._pieces):
            blocks.setdefault(of or at, []).append(text)
        return "".join(text for texts in blocks.values() for text in texts).strip()


class DigestFold:
    """Folds one run."""

    def __init__(self) -> None:
        self._reader = Reader()
        self._user, self._agent, self._calls = map(_Text, (MOST_USER, MOST_AGENT, MOST_CALLS))
        self._names: dict[NameKind, dict[str, None]] = {}
        self._agents: list[Agent] = []
        self._tokens = 0
        self._uses = UseFold()
        self._began = self._last = 0.0

    def feed(self, entry: Entry) -> None:
        """Read the next entry."""
        if entry.time:  # The start of a capture has none.
            self._began = self._began or entry.time
            self._last = entry.time
        record = entry.record
        if type(record) is AgentEvent and record.more and self._agent.is_full:
            return  # More of a text of which there is enough: the stored event ends it.
        for item in self._reader.feed(entry):
            self._take(item)

    def digest(self) -> RunDigest:
        """Return what is known by now."""
        acted = self._names.get("agent", {})
        for agent in self._agents:
            if agent.name in acted and agent.model:
                self._name("model", agent.model)
        return RunDigest(
            user=str(self._user),
            agent=str(self._agent),
            calls=str(self._calls),
            names={kind: list(names) for kind, names in self._names.items()},
            tokens=self._tokens,
            used=_used(self._uses.calls),
            duration=max(0.0, round(self._last - self._began, 6)),
            version=DIGEST_VERSION,
        )

    def _take(self, item: Fact) -> None:
        match item:
            case fact.BlockGrew():
                if item.kind != "reasoning":
                    self._agent.add(item.text, item.block)
            case fact.BlockEnded():
                self._agent.add("\n", item.block)
            case fact.BlocksReplaced():
                self._agent.withdraw(item.blocks)
            case fact.RunBegan():
                self._agents = item.agents
                self._uses.feed(item)
                self._user.add(f"{item.query}\n")
            case fact.UserSpoke() | fact.InputTranscribed(final=True):
                self._user.add(f"{item.text}\n")
            case fact.ModelCalled():
                self._uses.feed(item)
            case fact.Nested():
                self._take(item.fact)
            case _:
                self._take_deed(item)

    def _take_deed(self, item: Fact) -> None:
        """Read what was done, and by whom."""
        match item:
            case fact.CallRequested():
                self._name("tool", item.name)
                self._value(item.name, item.input)
            case fact.CallAnswered():
                self._value(item.name, item.output)
            case fact.CallFailed():
                self._calls.add(f"{item.name} {item.error[:MOST_OF_A_VALUE]}\n")
            case fact.NodeBegan():
                self._name("tool" if item.kind == "tool" else "agent", item.name)
            case fact.NodeFinished():
                self._name("error", item.error)
            case fact.StateChanged():
                for key in item.delta:
                    self._name("state", key)
            case fact.ModelCallEnded():
                self._uses.feed(item)
                self._name("model", item.model)
                self._tokens += _total(item.usage)
            case fact.ErrorRaised() | fact.RunOver(outcome="failed"):
                self._name("error", item.code)
                self._calls.add(f"{item.message[:MOST_OF_A_VALUE]}\n")
            case _:
                pass  # nothing to find a run by

    def _name(self, kind: NameKind, name: str) -> None:
        names = self._names.setdefault(kind, {})
        if name and len(names) < MOST_NAMES:
            names[name[:LONGEST_NAME]] = None

    def _value(self, name: str, value: Raw) -> None:
        text = bytes(value)[: MOST_OF_A_VALUE * 4].decode(errors="replace")
        self._calls.add(f"{name} {text[:MOST_OF_A_VALUE]}\n")


def _used(calls: Iterable[ModelUse]) -> dict[str, dict[str, int]]:
    """Return what was used of each model."""
    used: dict[str, dict[str, int]] = {}
    for call in calls:
        name = call.model[:LONGEST_NAME] if call.tokens or not call.is_failed else ""
        sums = used.setdefault(name if name in used or len(used) < MOST_NAMES else "", {})
        for kind, count in {**call.tokens, "calls": 1, "ms": call.duration}.items():
            sums[kind] = sums.get(kind, 0) + count
    return used


def uses_of(digest: RunDigest) -> list[ModelUse]:
    """Return what a run used of each model."""
    uses = []
    for model, sums in digest.used.items():
        tokens = {kind: count for kind, count in sums.items() if kind not in ("calls", "ms")}
        use = ModelUse(
            agent="",
            model=model,
            tokens=tokens,
            calls=sums.get("calls", 0),
            duration=sums.get("ms", 0),
            is_failed=not model,
        )
        uses.append(use)
    return uses


def _total(usage: Raw) -> int:
    total = read_object(usage).get("totalTokenCount")
    return total if isinstance(total, int) and total > 0 else 0
