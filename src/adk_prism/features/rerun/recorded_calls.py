"""The tool calls of a message and what answered them, read from the log of its runs.

A call is found by the name of the tool and its arguments, whatever the order of the arguments. Equal calls
are answered in the order in which they were recorded, those of the same agent first; each recorded call
answers one call. A call that asked for an approval has two answers: that it asks, and what came of it.

What an event changed besides (state, artifacts) belongs to a call: calls that ran side by side share one
event, so that a key belongs to the call during which the log saw it change, and what remains goes with
whichever of them is answered first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Raw, Struct

from adk_prism.adk.plain_json import encode_strictly
from adk_prism.adk.redaction import redacted_json
from adk_prism.errors import CallNotRecorded
from adk_prism.facts.adk_event import REQUESTS, Actions, AdkEvent, FunctionCall, read_event
from adk_prism.facts.state import is_given, read_object, read_value
from adk_prism.log.entry import AgentEvent, ChildEvent, Entry, NodeEnded, NodeStarted

LONGEST_ARGUMENTS = 300
"""Characters of a call's arguments that an error shows."""


class Effects(Struct):
    """What came with an answer, beside the result."""

    state: dict[str, Any] = {}
    artifacts: dict[str, int] = {}
    """Names and the versions that were saved."""
    transfer: str = ""
    escalate: bool = False
    skip_summarization: bool = False
    is_done: bool = False


class RecordedResult(Struct):
    """One answer to a call."""

    response: Any
    """An object, mostly. Empty: the tool had no answer yet, and one came later from outside."""
    effects: list[Effects] = []
    """Of the call itself, and of its event, which may be shared with other calls."""
    asks: Mapping[str, Any] | None = None
    """The approval that the tool asked for, with `hint` and `payload`."""
    signs_in: Mapping[str, Any] | None = None
    """The credential that the tool asked for, as ADK's `AuthConfig`."""
    failure: str = ""
    """Code of the exception that the tool raised instead, which ended its run."""

    def take_effects(self) -> list[Effects]:
        """Return what is to be done now: what is shared with other calls is done once."""
        left = [effects for effects in self.effects if not effects.is_done]
        for effects in left:
            effects.is_done = True
        return left


class RecordedCall(Struct):
    """A call of the recording."""

    name: str
    arguments: bytes
    agent: str
    is_long_running: bool
    answers: list[RecordedResult] = []
    given: int = 0
    """How many of the answers were given."""


Made = tuple[str, str, str]
"""Invocation, branch and id of a call that is made again: agents side by side may use the same ids."""


class RecordedCalls:
    """The calls of one message, to be answered again."""

    def __init__(self, runs: Iterable[Iterable[Entry]]) -> None:
        """Read the runs of a message, in their order."""
        self._unused: dict[tuple[str, bytes], list[RecordedCall]] = {}
        self._counts: dict[str, int] = {}
        """By name of the tool."""
        self._bound: dict[Made, RecordedCall] = {}
        self._outputs: dict[str, list[RecordedResult]] = {}
        """Of nodes, by their paths."""
        self.missing: list[str] = []
        """Artifacts that a tool saved, and that are not there any more."""
        reader = _Reader(self)
        for entries in runs:
            for entry in entries:
                reader.feed(entry)
        reader.finish()

    def add(self, call: RecordedCall) -> None:
        """Add a call that was recorded after the others."""
        self._unused.setdefault((call.name, call.arguments), []).append(call)
        self._counts[call.name] = self._counts.get(call.name, 0) + 1

    def add_output(self, path: str, answer: RecordedResult) -> None:
        """Add what a node gave."""
        self._outputs.setdefault(path, []).append(answer)

    def answer(
        self, made: Made, name: str, arguments: Any, agent: str, *, is_again: bool
    ) -> RecordedResult:
        """Return the answer to a call. Raise `CallNotRecorded`.

        `is_again`: ADK makes the call again, after a person has answered what it asked.
        """
        call = self._bound.get(made) if is_again else None
        if call is None:
            call = self._bound[made] = self._take(name, arguments, agent)
        if call.given < len(call.answers):
            call.given += 1
            # What a person signed in with is not kept: the call goes straight to what came of it.
            while call.answers[call.given - 1].signs_in and call.given < len(call.answers):
                call.given += 1
            return call.answers[call.given - 1]
        if call.is_long_running and not call.answers:
            return RecordedResult(response={})
        raise _not_recorded(name, arguments, "In the recording this call was never answered.")

    def answer_of_node(self, path: str, name: str, arguments: Any) -> RecordedResult:
        """Return what a tool gave that is a node of a workflow. Raise `CallNotRecorded`."""
        answers = self._outputs.get(path)
        if not answers:
            raise _not_recorded(name, arguments, f"The recording has no output of node {path!r}.")
        return answers.pop(0)

    def _take(self, name: str, arguments: Any, agent: str) -> RecordedCall:
        found = self._unused.get((name, canonical(arguments)))
        if found:
            own = (place for place, call in enumerate(found) if call.agent == agent)
            return found.pop(next(own, 0))
        count = self._counts.get(name, 0)
        if found is not None:
            why = "The recording has it, and its answers are used up."
        elif count:
            why = f"The recording has this tool only with other arguments ({count} times)."
        else:
            why = "The recording has no call of this tool."
        raise _not_recorded(name, arguments, why)


def canonical(arguments: Any) -> bytes:
    """Return arguments as they are compared: redacted as in a log, keys in order, 2.0 as 2."""
    data = redacted_json(encode_strictly(arguments or {}))
    return msgspec.json.encode(_plain(read_value(data)), order="sorted")


def _plain(value: Any) -> Any:
    match value:
        case dict():
            return {key: _plain(item) for key, item in value.items()}
        case list():
            return [_plain(item) for item in value]
        case float() if value.is_integer():
            return int(value)
        case _:
            return value  # compared as it is


def _not_recorded(name: str, arguments: Any, why: str) -> CallNotRecorded:
    shown = canonical(arguments).decode()
    if len(shown) > LONGEST_ARGUMENTS:
        shown = f"{shown[:LONGEST_ARGUMENTS]}…"
    return CallNotRecorded(f"Call not recorded: {name[:100]}({shown}). {why}")


class _Reader:
    """Reads the calls and answers of a message."""

    def __init__(self, calls: RecordedCalls) -> None:
        self._calls = calls
        self._open: dict[tuple[str, str], dict[_Place, RecordedCall]] = {}
        """By the call inside which they were made and their id, which may come again; then by the caller."""
        self._failed: list[tuple[RecordedCall, str]] = []
        """Calls whose tool raised something, each with the code."""
        self._nodes: dict[str, str] = {}
        """Tools that run: node → call."""
        self._changed: dict[str, set[str]] = {}
        """Keys of the state that changed while a call ran."""

    def feed(self, entry: Entry) -> None:
        match entry.record:
            case AgentEvent(event=event):
                self._read(read_event(event), "")
            case ChildEvent(event=event, call=call):
                self._read(read_event(bytes(event)), call)
            case NodeStarted(kind="tool", node=node, call=call):
                self._nodes[node] = call
            case NodeEnded(node=node, state=state, status=status, error=error):
                call = self._nodes.pop(node, "")
                if call:
                    self._changed.setdefault(call, set()).update(state)
                if call and status == "failed":
                    made = self._made(call)
                    self._failed += [(each, error) for each in made if not each.answers]
            case _:
                pass  # says nothing of calls

    def finish(self) -> None:
        """Answer calls that raised something, and were not answered after that, with their failure."""
        for call, code in self._failed:
            if not call.answers:
                call.answers.append(RecordedResult(response={}, failure=code or "error"))

    def _made(self, name: str) -> list[RecordedCall]:
        """Return the calls with an id, wherever they were made."""
        return [
            call for (_, id_), made in self._open.items() if id_ == name for call in made.values()
        ]

    def _read(self, event: AdkEvent, inside: str) -> None:
        if event.partial:
            return
        parts = (event.content.parts or []) if event.content is not None else []
        for part in parts:
            if part.function_call is not None:
                self._request(event, part.function_call, inside)
        actions = event.actions or Actions()
        responses = [r for part in parts if (r := part.function_response) is not None]
        shared = self._shared(actions, [response.id or "" for response in responses])
        for response in responses:
            name = response.id or ""
            call = self._asked_by(event, inside, name)
            if call is not None:
                own = Effects(state=self._own(actions, name))
                call.answers.append(
                    RecordedResult(
                        response=read_object(response.response),
                        effects=[own, shared],
                        asks=_asked(actions.requested_tool_confirmations, name),
                        signs_in=_asked(actions.requested_auth_configs, name),
                    )
                )
        if event.node_info is not None and not inside and not parts:
            self._read_output(event, actions, event.node_info.path)

    def _asked_by(self, event: AdkEvent, inside: str, name: str) -> RecordedCall | None:
        """Return the call that an event answers: that of its own agent, if several have the id."""
        made = self._open.get((inside, name), {})
        own = made.get(_place_of(event))
        unanswered = (call for call in made.values() if not call.answers)
        return own or next(unanswered, None) or next(reversed(made.values()), None)

    def _request(self, event: AdkEvent, asked: FunctionCall, inside: str) -> None:
        name = asked.name or ""
        if name in REQUESTS:
            return
        call = RecordedCall(
            name=name,
            arguments=canonical(read_object(asked.args)),
            agent=event.author,
            is_long_running=asked.id in (event.long_running_tool_ids or ()),
        )
        self._open.setdefault((inside, asked.id or ""), {})[_place_of(event)] = call
        self._calls.add(call)

    def _read_output(self, event: AdkEvent, actions: Actions, path: str) -> None:
        value = read_value(event.output) if is_given(event.output) else {}
        effects = [_effects(actions, actions.state_delta)]
        self._calls.add_output(path, RecordedResult(response=value, effects=effects))

    def _own(self, actions: Actions, call: str) -> dict[str, Any]:
        changed = self._changed.get(call, ())
        return {k: read_value(v) for k, v in actions.state_delta.items() if k in changed}

    def _shared(self, actions: Actions, calls: list[str]) -> Effects:
        owned = {key for call in calls for key in self._changed.get(call, ())}
        return _effects(actions, {k: v for k, v in actions.state_delta.items() if k not in owned})


_Place = tuple[str, str]
"""Agent and branch."""


def _place_of(event: AdkEvent) -> _Place:
    return event.author, event.branch or ""


def _effects(actions: Actions, state: Mapping[str, Raw]) -> Effects:
    return Effects(
        state={key: read_value(value) for key, value in state.items()},
        artifacts=dict(actions.artifact_delta),
        transfer=actions.transfer_to_agent or "",
        escalate=bool(actions.escalate),
        skip_summarization=bool(actions.skip_summarization),
    )


def _asked(requests: Mapping[str, Raw], call: str) -> Mapping[str, Any] | None:
    asked = requests.get(call)
    return read_object(asked) if asked is not None else None
