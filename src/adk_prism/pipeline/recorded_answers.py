"""What people and clients answered in a message, to be given again when the same is asked. Pure.

An approval is the same if the call is: its tool and arguments. So is the result of a call that the client
ran. A request for input is the same if it asks for the same. Credentials are not in a log.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from msgspec import Raw

from adk_prism.commands import Answer, AnswerQuestions, QuestionAnswer, ToolAnswer
from adk_prism.facts.calls.pending import Pending, PendingCall
from adk_prism.facts.json_value import read_value
from adk_prism.facts.model import CallRequested, InputRequested
from adk_prism.facts.run_reader import Reader
from adk_prism.runlog.entry import Continues, Decision, Entry, RunStarted
from adk_prism.source.rerun.recorded_calls import canonical

Given = TypeVar("Given")
_Asked = tuple[str, bytes]
"""A tool's name and arguments; or `input`, and what was asked for."""


class RecordedAnswers:
    """The answers of one message. Each is given once."""

    def __init__(self, runs: Iterable[Sequence[Entry]]) -> None:
        """Read the runs of a message, in their order."""
        self._decisions: dict[_Asked, list[Decision]] = {}
        self._results: dict[_Asked, list[Raw]] = {}
        asked: dict[str, _Asked] = {}
        for entries in runs:
            reader = Reader()
            head = entries[0].record
            if isinstance(head, RunStarted) and head.continues is not None:
                self._read(head.continues, asked)
            for entry in entries:
                for fact in reader.feed(entry):
                    if isinstance(fact, CallRequested):
                        asked[fact.call] = _of_call(fact.name, fact.input)
                    elif isinstance(fact, InputRequested) and fact.kind == "input":
                        asked[fact.call] = _of_request(fact.request)

    def _read(self, continues: Continues, asked: dict[str, _Asked]) -> None:
        if continues.held:
            return  # The run that passes the answers on has them, too.
        for call, decision in continues.decisions.items():
            if call in asked:
                self._decisions.setdefault(asked[call], []).append(decision)
        for call, answer in continues.answers.items():
            if call in asked:
                self._results.setdefault(asked[call], []).append(answer)

    def next(self, pending: Pending) -> Answer | AnswerQuestions | None:
        """Take the answers to what a message waits for now.

        None if nothing can be answered, or not everything that has to be answered in one.
        """
        calls = pending.client_calls
        is_asked = bool(pending.approvals or pending.requests or calls)
        if not is_asked:
            calls = pending.late_calls
        results = [
            ToolAnswer(call=name, output=output)
            for name, call in calls.items()
            if (output := _pop(self._results, _of(call))) is not None
        ]
        questions = self._questions(pending)
        is_whole = len(results) == len(calls) or not is_asked
        if not is_whole or len(questions) < len(pending.approvals) + len(pending.requests):
            return None
        if questions:
            return AnswerQuestions(answers=questions, results=results)
        return Answer(answers=results) if results else None

    def _questions(self, pending: Pending) -> list[QuestionAnswer]:
        found: list[QuestionAnswer] = []
        for name, approval in pending.approvals.items():
            decision = _pop(self._decisions, _of(approval.call))
            if decision is not None:
                own = Decision(
                    approval=name,
                    approved=decision.approved,
                    reason=decision.reason,
                    payload=decision.payload,
                )
                found.append(QuestionAnswer(question=name, decision=own))
        for name, request in pending.requests.items():
            is_known = request.kind == "input"
            answer = _pop(self._results, _of_request(request.request)) if is_known else None
            if answer is not None:
                found.append(QuestionAnswer(question=name, response=answer))
        return found


def _of(call: PendingCall) -> _Asked:
    return _of_call(call.name, call.input)


def _of_call(name: str, input: Raw) -> _Asked:
    return name, canonical(read_value(input))


def _of_request(request: Raw) -> _Asked:
    return "input", canonical(_without_ids(read_value(request)))


def _without_ids(request: Any) -> Any:
    """Return a request without what ADK draws for each."""
    if not isinstance(request, dict):
        return request
    return {key: value for key, value in request.items() if not key.lower().endswith("id")}


def _pop(found: dict[_Asked, list[Given]], asked: _Asked) -> Given | None:
    given = found.get(asked)
    return given.pop(0) if given else None
