"""A conversation as an eval case of ADK: what the user said, what was called, what was answered.

Follows google-adk 2.13, in camelCase: `evaluation/eval_case.py`, and for what the final response is
`evaluation/evaluation_generator.py`. Deliberate differences to what `adk web` writes:
- a message that went on after an approval or a client's tool is one invocation, and its user content is what
  the user said; ADK takes the answer for another message;
- the calls by which ADK asks a person (`adk_request_…`), and the responses that stand in until the person
  answers, are not tool uses of the agent;
- thoughts are left out;
- what was answered is kept beside the conversation (`prismAnswers`, an additional field, which ADK keeps);
- the session begins with the state that it had; ADK writes an empty one.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from adk_prism.cli import RUN_OR_FILE
from adk_prism.cli.terminal import write_text
from adk_prism.errors import Conflict, PrismError, SourceError, TooLarge
from adk_prism.facts.adk_event import REQUESTS
from adk_prism.facts.state import read_object, read_value
from adk_prism.features.captures.client import Client
from adk_prism.features.captures.stored_runs import add_arguments, is_file, opened, read_stored
from adk_prism.log import entry as records
from adk_prism.log.contract import LogReader, RunSummary
from adk_prism.log.entry import RunId
from adk_prism.runs.chats import ChatRun, Chats, fold_recorded, fold_turns

Json = dict[str, Any]

_SHOWN = frozenset({"functionCall", "functionResponse", "text", "inlineData"})
"""A part with one of these makes an event worth keeping, as for ADK."""
_UNUSABLE: dict[records.Outcome | None, str] = {
    None: "is still running",
    "failed": "failed",
    "cancelled": "was cancelled",
    "incomplete": "was recorded only in part",
}


class _Turn:
    """What the user said, and what came of it."""

    def __init__(self, message: str, invocation: str, said: Json, time: float) -> None:
        self.message = message
        """Id of the message: of its first run."""
        self.invocation = invocation
        self.said = said
        self.time = time
        self.outcome: records.Outcome | None = "finished"
        self.final: Json | None = None
        self.answers: list[Json] = []
        """What the person or the client answered, by the name of the tool."""
        self._final_at = -1
        self._events: list[Json] = []

    def add(self, event: Json) -> None:
        """Take an event of the agent."""
        parts = list(_kept(event))
        if not parts:
            return
        kept = {"role": _object(event.get("content")).get("role") or "model", "parts": parts}
        if _is_final(event) and (
            self.final is None or not _has_text(self.final) or _has_text(kept)
        ):
            self.final, self._final_at = kept, len(self._events)
        if any(_SHOWN & part.keys() for part in parts):
            self._events.append({"author": event.get("author") or "agent", "content": kept})
        elif self._final_at == len(self._events):
            self._final_at = -1

    def invocation_json(self) -> Json:
        """Return the turn as an `Invocation`. Its final response is not repeated among its events."""
        events = [
            event
            for place, event in enumerate(self._events)
            if place != self._final_at or _has_call(event["content"])
        ]
        found = {
            "invocationId": self.invocation,
            "userContent": self.said,
            "finalResponse": self.final,
            "intermediateData": {"invocationEvents": events},
            "creationTimestamp": self.time,
        }
        return {key: value for key, value in found.items() if value is not None}


def eval_case(runs: Sequence[Sequence[records.Entry]], eval_id: str) -> Json:
    """Return the eval case of a conversation: its runs that count, oldest first.

    Raise `Conflict` for one that cannot be asked again: no message, no end, no answer.
    """
    turns = _turns(runs)
    if not turns:
        raise Conflict("There is no message of the user, so nothing can be asked again.")
    for number, turn in enumerate(turns, 1):
        _check(turn, number, len(turns))
    head = _head(runs[0])
    answers = [
        {"message": place, **each} for place, turn in enumerate(turns) for each in turn.answers
    ]
    return {
        "evalId": eval_id,
        "conversation": [turn.invocation_json() for turn in turns],
        "sessionInput": {
            "appName": head.origin.app,
            "userId": head.origin.user,
            "state": {key: read_value(value) for key, value in head.state.items()},
        },
        "creationTimestamp": runs[-1][-1].time,
        "prismRun": _head(runs[-1]).run,
        **({"prismAnswers": answers} if answers else {}),
    }


def _head(entries: Sequence[records.Entry]) -> records.RunStarted:
    head = entries[0].record
    assert isinstance(head, records.RunStarted), "every log begins with its RunStarted"
    return head


def _check(turn: _Turn, number: int, count: int) -> None:
    name = "The run" if number == count else f"Message {number} of the conversation"
    wrong = _UNUSABLE.get(turn.outcome)
    # A long-running tool may be awaited after the agent has answered.
    if turn.outcome == "waiting" and not (
        turn.final and _has_text(turn.final) and not _has_call(turn.final)
    ):
        wrong = "waits for an answer"
    if wrong is not None:
        raise Conflict(
            f"{name} {wrong}, so there is no answer to expect. "
            "Take another run, or regenerate that message first."
        )


def _turns(runs: Sequence[Sequence[records.Entry]]) -> list[_Turn]:
    turns: list[_Turn] = []
    for entries in runs:
        head = _head(entries)
        if head.live:
            raise Conflict("A live run is a conversation by voice, which cannot be asked again.")
        turn = _begun(turns, head, entries[0].time)
        for entry in entries:
            record = entry.record
            if isinstance(record, records.AgentEvent):
                event = read_object(record.event)
                if _is_said(event):
                    turn = _of_capture(event, head.run, entry.time)
                    turns.append(turn)
                elif turn is not None and not _is_users(event) and not event.get("partial"):
                    turn.add(event)
        if turn is not None:
            end = entries[-1].record
            turn.outcome = end.outcome if isinstance(end, records.RunEnded) else None
    return turns


def _begun(turns: list[_Turn], head: records.RunStarted, time: float) -> _Turn | None:
    """Return the turn that a run begins or continues; None if only its events can tell."""
    if head.continues is not None:
        found = [turn for turn in turns if turn.message == head.continues.message]
        if not found:
            raise Conflict(
                "The run continues a message that began in another one; take both together."
            )
        found[0].answers += _answers(head.continues)
        return found[0]
    if records.is_absent(head.message):
        # Recorded elsewhere, or read from a session: it goes on with what was answered.
        return turns[-1] if turns else None
    turns.append(_Turn(head.run, head.invocation, read_object(head.message), time))
    return turns[-1]


def _answers(given: records.Continues) -> Iterator[Json]:
    """Yield the answers with which a run continued, without those that were only held until then."""
    if given.held:
        return
    for call, decision in given.decisions.items():
        extras = {"reason": decision.reason, "payload": _plain(decision.payload)}
        answer = {"tool": given.open_calls.get(call, ""), "approved": decision.approved}
        yield answer | {key: value for key, value in extras.items() if value}
    for call, output in given.answers.items():
        yield {"tool": given.open_calls.get(call, ""), "output": _plain(output)}


def _plain(value: msgspec.Raw) -> Any:
    return None if records.is_absent(value) else read_value(value)


def _of_capture(event: Json, run: str, time: float) -> _Turn:
    content = event["content"]
    return _Turn(run, event.get("invocationId") or "", {"role": "user", **content}, time)


def _is_users(event: Json) -> bool:
    return str(event.get("author") or "").lower() == "user"


def _is_said(event: Json) -> bool:
    """Return whether an event is a message of the user, and not an answer to a call."""
    parts = _parts(event)
    return _is_users(event) and bool(parts) and not any("functionResponse" in p for p in parts)


def _is_final(event: Json) -> bool:
    """Return whether ADK calls an event a final response (`Event.is_final_response`)."""
    if _object(event.get("actions")).get("skipSummarization") or event.get("longRunningToolIds"):
        return True
    parts = _parts(event)
    calls = any(part.get("functionCall") for part in parts)
    answers = any(part.get("functionResponse") for part in parts)
    if event.get("errorCode") and not calls:
        return True
    return not calls and not answers and not (parts and parts[-1].get("codeExecutionResult"))


def _object(value: Any) -> Json:
    """Return a value that should be an object; an empty one for anything else, which a capture may hold."""
    return value if isinstance(value, dict) else {}


def _parts(event: Json) -> list[Json]:
    parts = _object(event.get("content")).get("parts")
    return [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []


def _kept(event: Json) -> Iterator[Json]:
    for part in _parts(event):
        if not part.get("thought") and not _is_asked(event, part):
            kept = {k: v for k, v in part.items() if k != "thoughtSignature" and v is not None}
            if kept:
                yield kept


def without_questions(event: bytes) -> bytes:
    """Return an event without what ADK asks a person in it, and without responses that stand in for one."""
    tree = read_object(event)
    parts = _parts(tree)
    kept = [part for part in parts if not _is_asked(tree, part)]
    if len(kept) == len(parts):
        return event
    return msgspec.json.encode(tree | {"content": tree["content"] | {"parts": kept}})


def _is_asked(event: Json, part: Json) -> bool:
    stand_ins = _object(_object(event.get("actions")).get("requestedToolConfirmations"))
    call, answer = _object(part.get("functionCall")), _object(part.get("functionResponse"))
    return str((call or answer).get("name")) in REQUESTS or str(answer.get("id")) in stand_ins


def _has_text(content: Json) -> bool:
    return any(part.get("text") for part in content["parts"])


def _has_call(content: Json) -> bool:
    return any(part.get("functionCall") for part in content["parts"])


# ---------------------------------------------------------------------------
# Eval cases of recorded conversations: which runs count, and what they say.

MOST_BYTES = 64 * 1024**2
"""Of all runs of a conversation that becomes a case: as many as one recording may have."""

LONGEST_ID = 80
"""Characters of an eval case's id. Run ids are shorter, except for those that name a session."""


def eval_id_of(run: str) -> str:
    """Return the id of a run's eval case: the run's own, or its hash if that is long."""
    return run if len(run) <= LONGEST_ID else f"run-{sha256(run.encode()).hexdigest()[:16]}"


class EvalCases:
    """Makes eval cases of the runs of a log."""

    def __init__(self, log: LogReader, chats: Chats) -> None:
        self._log = log
        self._chats = chats

    async def of(self, run: records.RunId) -> dict[str, Any]:
        """Return the conversation up to a run, that one included, as an eval case of ADK.

        Messages that were regenerated, edited or rewound until then do not count. Raise `NotFound`, `Gone`,
        `Conflict` for a run that cannot be asked again, `TooLarge`.
        """
        runs = await self._counting(run)
        if sum(each.summary.bytes for each in runs) > MOST_BYTES:
            raise TooLarge(f"The conversation has more than {MOST_BYTES} bytes.")
        read = [[e async for e in self._chats.entries(each.summary.run)] for each in runs]
        return await asyncio.to_thread(eval_case, read, eval_id_of(run))

    async def _counting(self, run: records.RunId) -> list[ChatRun]:
        summary = await self._log.summary(run)
        head = await self._chats.beginning(run)
        if head.kind != "turn":
            raise Conflict("The run changed the session and sent no message: take another one.")
        origin = summary.origin
        listed = await self._log.list(app=origin.app, user=origin.user, session=origin.session)
        until = [each.run for each in listed].index(run) + 1
        heads = [ChatRun(each, await self._chats.beginning(each.run)) for each in listed[:until]]
        turns = fold_recorded(heads) if records.UPLOADED.read(head) else fold_turns(heads)
        return [each for turn in turns for each in turn.runs]


def cases_of_recordings(recordings: Sequence[Sequence[records.Entry]]) -> list[dict[str, Any]]:
    """Return the eval cases of recordings: those of one session are one conversation, in the order of time.

    A capture, which does not say whose it is, is one of its own; so is a recording under the id of another
    one. Raise `Conflict` as `EvalCases.of` does.
    """
    sessions: dict[Hashable, dict[str, _Recording]] = {}
    for place, entries in enumerate(recordings):
        head = entries[0].record
        assert isinstance(head, records.RunStarted), "every log begins with its RunStarted"
        of_session = sessions.get(head.origin, {})
        key = place if records.DERIVED.read(head) or head.run in of_session else head.origin
        own = records.relabelled(head, records.UPLOADED(False))
        sessions.setdefault(key, {})[head.run] = _Recording(entries[0].time, own, entries)
    cases = [_case_of(sorted(each.values(), key=lambda it: it.time)) for each in sessions.values()]
    return _with_own_ids(cases)


def _with_own_ids(cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    seen: Counter[str] = Counter()
    for case in cases:
        seen[case["evalId"]] += 1
        if seen[case["evalId"]] > 1:
            case["evalId"] += f"-{seen[case['evalId']]}"
    return cases


class _Recording(NamedTuple):
    time: float
    head: records.RunStarted
    entries: Sequence[records.Entry]


def _case_of(recordings: Sequence[_Recording]) -> dict[str, Any]:
    runs = [ChatRun(_summary(each), each.head) for each in recordings]
    counting = {run.head.run for turn in fold_turns(runs) for run in turn.runs}
    # Without any, the conversion says why.
    kept = [each for each in recordings if each.head.run in counting] or recordings
    run = kept[-1].head.run
    try:
        return eval_case([each.entries for each in kept], eval_id_of(run))
    except Conflict as refusal:
        raise Conflict(f"{run[:60]}: {refusal.detail}") from None


def _summary(recording: _Recording) -> RunSummary:
    head = recording.head
    return RunSummary(
        run=records.RunId(head.run),
        origin=head.origin,
        invocation=head.invocation,
        started=recording.time,
        ended=None,
        outcome=None,
        cursor=len(recording.entries),
        bytes=0,
        message=head.continues.message if head.continues else head.run,
    )


def last_of_each(cases: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the cases without those with which another one begins: earlier runs of one conversation."""
    return [
        case
        for place, case in enumerate(cases)
        if not any(
            _begins(case, other, place < at) for at, other in enumerate(cases) if at != place
        )
    ]


def _begins(case: dict[str, Any], other: dict[str, Any], is_before: bool) -> bool:
    mine, theirs = _invocations(case), _invocations(other)
    return theirs[: len(mine)] == mine and (len(mine) < len(theirs) or not is_before)


def _invocations(case: dict[str, Any]) -> list[Any]:
    return [(each["invocationId"], each["userContent"]) for each in case["conversation"]]


# ---------------------------------------------------------------------------
#
# `adk-prism eval-set`: writes recorded runs as an eval set, which ADK and `adk-prism eval` run.


def register(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("runs", metavar="RUN|FILE", nargs="+", help=RUN_OR_FILE)
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        required=True,
        help="the eval set, e.g. agents/my_agent/weather.evalset.json; cases are added to one that exists",
    )
    parser.add_argument(
        "--name", metavar="NAME", default="", help="id of a new set (default: the file's name)"
    )
    add_arguments(parser)
    parser.epilog = (
        "A run becomes a case with the whole conversation up to it; of several runs of one"
        " conversation, the last one counts. Recordings of one session are one conversation."
    )


def execute(args: argparse.Namespace) -> int:
    """Write the set. Raise `PrismError` for a run that cannot be a case; then nothing is written."""
    given = list(dict.fromkeys(args.runs))
    files = [word for word in given if is_file(word)]
    cases = cases_of_recordings([read_stored(word, args) for word in files])
    cases += asyncio.run(_of_runs([word for word in given if not is_file(word)], args))
    # Importing ADK takes seconds, so the runs are read first.
    from adk_prism.features.evaluation.criteria import add_cases, case_as_written

    written = [case_as_written(case) for case in last_of_each(cases)]
    added = add_cases(Path(args.output), written, args.name, now=time.time())
    known = [case["eval_id"] for case in written if case["eval_id"] not in added]
    print(f"{args.output}: {len(added)} added")
    for each in known:
        write_text(f"already in the set, left unchanged: {each}\n")
    return 0


async def _of_runs(runs: list[str], args: argparse.Namespace) -> list[dict[str, Any]]:
    if not runs:
        return []
    async with opened(args) as place:
        return [await _of_run(place, RunId(run)) for run in runs]


async def _of_run(place: Any, run: RunId) -> dict[str, Any]:
    try:
        if isinstance(place, Client):
            return await place.eval_case(run)
        return await EvalCases(place, Chats(place)).of(run)
    except PrismError as error:
        raise SourceError(f"{run[:60]}: {error.detail}") from None
