"""One trial of a smaller conversation: its messages are sent to a copy of the app, in a server in memory."""

from __future__ import annotations

import argparse
import inspect
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.readonly_context import ReadonlyContext
from google.adk.runners import Runner
from google.adk.workflow import BaseNode

from adk_prism.adk.agents import walk_agents
from adk_prism.adk.apps import Apps
from adk_prism.adk.request import Repeats, Variant
from adk_prism.commands import Command, Submit
from adk_prism.errors import CallNotRecorded, Unprocessable, ignore
from adk_prism.facts.state import read_object, read_value
from adk_prism.features.compare.comparison import compare
from adk_prism.features.evaluation.evaluation import Evaluation, Trial
from adk_prism.features.evaluation.evaluations import Evaluator
from adk_prism.features.evaluation.shrinking import MOST_SENTENCES, Candidate, Piece, sentences
from adk_prism.features.model_calls.calls import ModelCalls
from adk_prism.features.model_calls.writer import ModelCallWriter
from adk_prism.features.page.outline import outline
from adk_prism.features.rerun import recorded_tools
from adk_prism.features.rerun.changed_app import copy_agents, model_of, with_agents
from adk_prism.features.rerun.command import Gathered
from adk_prism.features.rerun.recorded_models import RecordedModels, read_calls, recorded_copy
from adk_prism.features.rerun.recorded_requests import Rules
from adk_prism.features.rerun.rehearsal import copy_run, memory_server
from adk_prism.features.rerun.reruns import RecordedDecisions
from adk_prism.log import entry as records
from adk_prism.log.memory import MemoryLog
from adk_prism.runs.chats import Chats, Turn
from adk_prism.runs.conversations import Start
from adk_prism.server.context import Context

MOST_CONTINUATIONS = 50
"""Runs of one message: each recorded answer is given once, so that it ends anyhow."""

MOST_KEPT = 20
"""Candidates whose runs are kept: the smallest one is among the last that failed, but for bad luck."""

_INSTRUCTIONS = ("instruction", "global_instruction")
"""The fields of an agent with a text, or a function that makes one."""

Entries = list[records.Entry]


async def read_conversation(
    apps: Apps,
    gathered: Gathered,
    pattern: re.Pattern[str] | None,
    case: tuple[Any, Any] | None,
    args: argparse.Namespace,
) -> Conversation:
    """Read the conversation up to a run, with its app. Raise `PrismError` if it cannot be run again."""
    log = MemoryLog()
    await log.open()
    writer = ModelCallWriter(log, "full", ignore)
    for run, entries in gathered.entries.items():
        await copy_run(log, writer, run, entries)
    wanted = gathered.wanted[0]
    origin = (await log.summary(wanted)).origin
    turns = await Chats(log).turns(origin)
    at = next((n for n, t in enumerate(turns) if wanted in {r.summary.run for r in t.runs}), None)
    if at is None:
        raise Unprocessable(
            f"{wanted} is no message of its conversation any more: take a later run."
        )
    turns = turns[: at + 1]
    for turn in turns:
        _check(turn)
    await apps.open(origin.app)
    return Conversation(
        apps.runner(origin.app, "rerun"), origin, turns, gathered, (pattern, case), args
    )


def _check(turn: Turn) -> None:
    head = turn.first.head
    if head.live:
        raise Unprocessable("A live run cannot be run again: its audio is not in the log.")
    if records.is_absent(head.message):
        raise Unprocessable(
            f"{head.run} has no message of the user, so that it cannot be sent again."
        )


class Conversation:
    """A conversation, and what can be left out of it."""

    def __init__(
        self,
        runner: Runner,
        origin: records.Origin,
        turns: Sequence[Turn],
        gathered: Gathered,
        judge: tuple[re.Pattern[str] | None, tuple[Any, Any] | None],
        args: argparse.Namespace,
    ) -> None:
        self._runner = runner
        self._origin = origin
        self._pattern, self._case = judge
        self._calls_tools = args.tools == "auto"
        self._rules = Rules(args.ignore)
        self._recorded = [gathered.entries[r.summary.run] for turn in turns for r in turn.runs]
        read_calls(self._recorded)  # refuses a recording without what was sent to models
        if self._case is None:
            self._messages = [turn.first.head.message for turn in turns]
        else:
            said = self._case[0].eval_cases[0].conversation or []
            if not said:
                raise Unprocessable("The case has no messages: a simulated user cannot be shrunk.")
            contents = (each.user_content for each in said)
            self._messages = [
                records.to_raw(c.model_dump(mode="json", by_alias=True, exclude_none=True))
                for c in contents
            ]
        head = _head(self._recorded[0])  # the whole one: that of a turn has no state
        self._run = _head(self._recorded[-1]).run
        own = self._case[0].eval_cases[0].session_input if self._case is not None else None
        self._state: dict[str, Any] = (
            dict(own.state)
            if own is not None
            else {k: read_value(v) for k, v in head.state.items()}
        )
        nodes = list(walk_agents(runner.agent))
        self._agents = [node for node in nodes if isinstance(node, LlmAgent)]
        self._parents = [node for node in nodes if isinstance(node, BaseAgent) and node.sub_agents]
        self._sentences = {
            _owner(agent, field): list[str]() for agent in self._agents for field in _INSTRUCTIONS
        }
        """Of each instruction. What a function says becomes known when it is called."""
        for agent in self._agents:
            for field in _INSTRUCTIONS:
                if isinstance(text := getattr(agent, field), str):
                    self._sentences[_owner(agent, field)] = sentences(text)
        self._heard: dict[str, list[Sequence[str]]] | None = {}
        """The sentences of each text that a function made, until everything was tried once."""
        self.fixed = [
            f"the static instruction of {agent.name}"
            for agent in self._agents
            if agent.static_instruction
        ]
        """What cannot be shrunk."""
        self.failing: dict[Candidate, dict[records.RunId, Entries]] = {}
        """The runs of the last candidates that failed."""
        self.unanswered = 0
        """Runs that ended because there was no answer to a request or call."""
        self.last = ""
        """How the last run ended."""

    def pieces(self) -> Sequence[Piece]:
        """Return all that can be left out; what functions say is not known from the start."""
        found = [Piece("message", "", str(n)) for n in range(len(self._messages) - 1)]
        found += [Piece("state", "", key) for key in self._state]
        for parent in self._parents:
            found += [Piece("agent", parent.name, agent.name) for agent in parent.sub_agents]
        for agent in self._agents:
            found += [Piece("tool", agent.name, name) for name in map(_tool_name, agent.tools)]
        for owner, parts in self._sentences.items():
            found += [Piece("instruction", owner, str(n)) for n in range(len(parts))]
        return list(dict.fromkeys(found))

    def learned(self) -> Sequence[Piece]:
        """Return all that can be left out, now that everything was tried together."""
        for owner, texts in (self._heard or {}).items():
            counts = Counter(each for parts in texts for each in set(parts))
            # What is said once only, such as the time of day, cannot be known again, and stays.
            least = min(2, len(texts))
            often = (each for parts in texts for each in parts if counts[each] >= least)
            self._sentences[owner] = list(dict.fromkeys(often))[:MOST_SENTENCES]
        self._heard = None
        return self.pieces()

    def used(self, candidate: Candidate) -> Candidate:
        """Return a candidate without the parts of agents that are left out, with a tool or by themselves."""
        nodes = walk_agents(copy_agents(self._runner.agent, lambda agent: _parts(agent, candidate)))
        names = {_owner(node, field) for node in nodes for field in _INSTRUCTIONS}
        return frozenset(piece for piece in candidate if not piece.owner or piece.owner in names)

    # -------------------------------------------------------------- what is left

    def texts(self, candidate: Candidate) -> list[str]:
        """Return what the user says in a candidate."""
        return [_text(message) for message in self._kept_messages(candidate)]

    def instructions(self, candidate: Candidate) -> dict[str, str]:
        """Return what is left of the instructions of a candidate's agents."""
        owners = {piece.owner for piece in candidate if piece.kind == "instruction"}
        return {o: self._left_of(o, candidate) for o in self._sentences if o in owners}

    def _left_of(self, owner: str, candidate: Candidate) -> str:
        parts = enumerate(self._sentences[owner])
        return "".join(t for n, t in parts if Piece("instruction", owner, str(n)) in candidate)

    def _instruction(self, agent: LlmAgent, field: str, candidate: Candidate) -> Any:
        """Return an instruction of which a candidate has less: a text, or a function that makes it."""
        owner, given = _owner(agent, field), getattr(agent, field)
        if isinstance(given, str):
            return self._left_of(owner, candidate)

        async def made(context: ReadonlyContext) -> str:
            text = given(context)
            parts = sentences(await text if inspect.isawaitable(text) else text)
            if self._heard is not None:
                self._heard.setdefault(owner, []).append(parts)
                return "".join(parts)
            left_out = {
                text
                for n, text in enumerate(self._sentences[owner])
                if Piece("instruction", owner, str(n)) not in candidate
            }
            return "".join(each for each in parts if each not in left_out)

        return made

    def eval_case(self, candidate: Candidate) -> dict[str, Any]:
        """Return an eval case: that of `--eval` with less in it; else one that expects nothing yet."""
        kept = [int(p.name) for p in sorted(candidate) if p.kind == "message"]
        kept = [*sorted(kept), len(self._messages) - 1]
        state = {
            key: self._state[key] for key in self._state if Piece("state", "", key) in candidate
        }
        about = {"appName": self._origin.app, "userId": self._origin.user, "state": state}
        if self._case is not None:
            given = self._case[0].eval_cases[0]
            tree: dict[str, Any] = given.model_dump(mode="json", by_alias=True, exclude_none=True)
            said = [tree["conversation"][n] for n in kept]
            name = f"{given.eval_id}-shrunk"
            return tree | {"evalId": name, "conversation": said, "sessionInput": about}
        said = [
            {"invocationId": f"m{n + 1}", "userContent": read_object(self._messages[n])}
            for n in kept
        ]
        name = f"shrunk-{self._run}"[:80]
        return {"evalId": name, "conversation": said, "sessionInput": about}

    def _kept_messages(self, candidate: Candidate) -> list[msgspec.Raw]:
        last = len(self._messages) - 1
        return [
            message
            for n, message in enumerate(self._messages)
            if n == last or Piece("message", "", str(n)) in candidate
        ]

    # -------------------------------------------------------------- one trial

    async def fails(self, candidate: Candidate) -> bool:
        """Run a candidate once; return whether it fails."""
        async with memory_server(self._runner, self._origin) as context:
            models = RecordedModels(
                read_calls(self._recorded, with_pieces=False),
                mode="auto",
                rules=self._rules,
                returns=True,
            )
            runner = context.apps.runner(self._origin.app, "rerun")
            variant = self._variant(runner, candidate, models)
            if self._case is not None:
                has_failed = await self._evaluate(context, candidate, variant)
            else:
                has_failed = await self._converse(context, candidate, variant)
            tools = variant.tools
            stopped = models.failure or getattr(tools, "unanswered", None)
            if isinstance(stopped, CallNotRecorded) and not has_failed:
                self.unanswered += 1
            if has_failed:
                calls = ModelCalls(context.log)
                while len(self.failing) >= MOST_KEPT:
                    del self.failing[next(iter(self.failing))]
                self.failing[candidate] = {
                    each.run: await calls.filled(each.run, await _entries(context, each.run))
                    for each in await context.log.list()
                }
            return has_failed

    def _variant(self, own: Runner, candidate: Candidate, models: RecordedModels) -> Variant:
        def change(agent: BaseAgent) -> dict[str, Any]:
            update = _parts(agent, candidate)
            if isinstance(agent, LlmAgent):
                update["model"] = recorded_copy(model_of(agent), agent.name, models)
                for field in _INSTRUCTIONS:
                    update[field] = self._instruction(agent, field, candidate)
            return update

        runner = with_agents(own, change, models)
        artifacts = recorded_tools.stored_artifacts(runner.artifact_service, self._origin)
        calls = recorded_tools.RecordedCalls(self._recorded)
        tools = recorded_tools.RecordedTools(calls, artifacts, None, calls_others=self._calls_tools)
        models.on_stop = tools.fail
        return Variant(runner=runner, repeats=Repeats(run=self._run), tools=tools)

    async def _converse(self, context: Context, candidate: Candidate, variant: Variant) -> bool:
        session = "shrunk"
        origin = records.Origin(app=self._origin.app, user=self._origin.user, session=session)
        state = {k: v for k, v in self._state.items() if Piece("state", "", k) in candidate}
        await context.apps.sessions(origin.app).ensure(origin, state)
        start = Start(origin=origin, policy="wait", streaming=False, variant=variant)
        answers = RecordedDecisions(self._recorded)
        said = ""
        for message in self._kept_messages(candidate):
            command: Command | None = Submit(content=message, text=_text(message))
            said = ""
            for _ in range(MOST_CONTINUATIONS):
                if command is None:
                    break
                run = await context.conversations.perform(start, command)
                await context.runs.wait(run)
                said += f"{_outcome(await _entries(context, run))}\n"
                turn = (await context.chats.turns(origin))[-1]
                command = answers.next(await context.chats.pending(turn))
        self.last = " ".join(said.split())[:300]
        assert self._pattern is not None, "there is a pattern or a case"
        return self._pattern.search(said) is not None

    async def _evaluate(self, context: Context, candidate: Candidate, variant: Variant) -> bool:
        from google.adk.evaluation.eval_case import EvalCase

        assert self._case is not None, "there is a pattern or a case"
        eval_set, criteria = self._case
        tree = self.eval_case(candidate)
        case = EvalCase.model_validate(tree | {"evalId": eval_set.eval_cases[0].eval_id})
        smaller = eval_set.model_copy(update={"eval_cases": [case]})
        evaluation = Evaluation(
            self._origin.app, smaller, criteria, answers=True, trial=Trial(variant)
        )
        [found] = await Evaluator(context).run(evaluation)
        self.last = f"{found.score.verdict} {found.score.error}".strip()
        if found.score.verdict == "not evaluated":
            raise Unprocessable(
                f"The case cannot be evaluated: {found.score.error or 'no metric'}."
            )
        return found.score.verdict == "failed"


def _head(entries: Entries) -> records.RunStarted:
    head = entries[0].record
    assert isinstance(head, records.RunStarted), "a run begins with its start"
    return head


async def _entries(context: Context, run: records.RunId) -> Entries:
    return [entry async for batch in context.log.read(run) for entry in batch]


def _outcome(entries: Entries) -> str:
    """Return what a run said, and how it ended."""
    found = outline(entries)
    said = compare(found, found).answer["a"]
    return f"{said}\n{found.outcome}: {found.code}" if found.outcome != "finished" else said


def _owner(agent: BaseNode, field: str) -> str:
    """Return the name of an agent's instruction in pieces."""
    return f"{agent.name} (global)" if field == "global_instruction" else agent.name


def _parts(agent: BaseAgent, candidate: Candidate) -> dict[str, Any]:
    """Return the sub-agents and tools that an agent has in a candidate."""
    agents = [a for a in agent.sub_agents if Piece("agent", agent.name, a.name) in candidate]
    if not isinstance(agent, LlmAgent):
        return {"sub_agents": agents}
    tools = [t for t in agent.tools if Piece("tool", agent.name, _tool_name(t)) in candidate]
    return {"sub_agents": agents, "tools": tools}


def _tool_name(tool: Any) -> str:
    return str(getattr(tool, "name", "") or getattr(tool, "__name__", "") or type(tool).__name__)


def _text(message: msgspec.Raw) -> str:
    parts: list[Mapping[str, Any]] = read_object(message).get("parts") or []
    return " ".join(part["text"] for part in parts if part.get("text"))
