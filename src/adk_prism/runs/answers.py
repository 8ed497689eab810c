"""Answers matched with what is pending: the only way in for an approval or a client's result.

Everything that a client says about a call is compared with the server's own table. What was never asked,
a decision that was made before, and what comes with another name or other arguments than were shown, is
a `Conflict`, on every route. What does not fit its question (a schema, a payload's shape) is
`Unprocessable`, and the question stays open.

Results of long-running calls are taken as often as they come (decision 0016). A chat client sends its
whole message back, so there only a result that differs from the one shown is a new one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec
from msgspec import Raw, Struct, structs

from adk_prism.adk.apps import Apps
from adk_prism.adk.redaction import answer_json
from adk_prism.adk.request import CallAnswer
from adk_prism.adk.session_store import live_events, user_responses
from adk_prism.commands import Answer, AnswerQuestions, QuestionAnswer, Submit, ToolAnswer
from adk_prism.errors import Conflict, Expired, NotFound, QuestionsOpen, Unprocessable
from adk_prism.facts.adk_event import request_name
from adk_prism.facts.model import CallRequested, InputRequested
from adk_prism.facts.outcome import UNANSWERED
from adk_prism.facts.pending import Pending, PendingApproval, check_payload, fit_response
from adk_prism.facts.run_reader import Reader
from adk_prism.facts.state import repair, same_json
from adk_prism.log import entry as records
from adk_prism.log.contract import RunLog, SideValue
from adk_prism.runs.chats import Chats, Turn, answered_by

_NULL = Raw(b"null")


class MatchedAnswers(Struct, frozen=True):
    """What is answered: approvals by approval id, calls and requests by their id."""

    pending: Pending
    decisions: dict[str, records.Decision] = {}
    outputs: dict[str, Raw] = {}

    def __bool__(self) -> bool:
        return bool(self.decisions or self.outputs)

    def with_held(self) -> MatchedAnswers:
        """Add the answers that were given before and not yet passed on."""
        before = held(self.pending)
        return MatchedAnswers(
            self.pending, before.decisions | self.decisions, before.outputs | self.outputs
        )

    @property
    def is_complete(self) -> bool:
        """Whether every open question has its answer."""
        return (
            self.pending.approvals.keys() <= self.decisions.keys()
            and self.pending.client_calls.keys() <= self.outputs.keys()
        )

    @property
    def has_credential(self) -> bool:
        """Whether one of the answers is a credential."""
        return any(map(self._is_credential, self.outputs))

    def signed(self, by: str) -> MatchedAnswers:
        """Return answers whose decisions name who made them, if that is known."""
        decisions = {name: structs.replace(d, by=by) for name, d in self.decisions.items()}
        return structs.replace(self, decisions=decisions)

    @property
    def decided(self) -> list[tuple[bool, str]]:
        """What was decided: whether it was approved, and what it was."""
        return [
            (d.approved, f"{self._gated(name).name} {name}") for name, d in self.decisions.items()
        ]

    # -------------------------------------------------------------- as the log stores them and ADK takes them

    def continues(self, message: str, *, late: bool = False) -> records.Continues:
        """Return what a continuation run continues with.

        `late`: the conversation has continued since. Open questions of the message have expired.
        """
        pending, calls = self.pending, self.pending.open_calls
        decisions = {self._gated(name).call: d for name, d in self.decisions.items()}
        if late:  # those that are answered or decided, and those that run agents
            kept = {*self.outputs, *decisions, *pending.delegated}
            calls = {name: call for name, call in calls.items() if name in kept}
        calls = calls | {n: c for n, c in pending.late_calls.items() if n in self.outputs}
        askers = {name: pending.calls[name].speaker.node for name in decisions}
        return records.Continues(
            message=message,
            open_calls={name: call.name for name, call in calls.items()},
            adk_ids={name: c.adk_id for name, c in calls.items() if c.adk_id != name},
            decisions=decisions,
            # A credential is a secret: the log keeps that there was one.
            answers={
                name: _NULL if self._is_credential(name) else output
                for name, output in self.outputs.items()
            },
            askers=askers | {name: self._asked(name).speaker.node for name in self.outputs},
            delegated=pending.delegated,
        )

    def call_answers(self) -> list[CallAnswer]:
        """Return the results as ADK takes them."""
        found = []
        for name, output in self.outputs.items():
            asked = self._asked(name)
            if isinstance(asked, CallRequested):
                found.append(CallAnswer(call=asked.adk_id, name=asked.name, response=output))
            else:
                tool = request_name(asked.kind)
                found.append(CallAnswer(call=name, name=tool, response=output))
        return found

    def responses(self, *, typed: bool) -> dict[str, records.Response]:
        """Return what the log keeps of answers whose run is a turn of its own."""
        kept = {}
        for name, output in self.outputs.items():
            kind = self.pending.requests[name].kind
            if kind == "credential":  # a secret
                kept[name] = records.Response(kind=kind)
            else:
                redacted = answer_json(request_name(kind), output)
                kept[name] = records.Response(kind=kind, response=redacted, typed=typed)
        for name, decision in self.decisions.items():
            kept[name] = records.Response(kind="confirmation", decision=decision)
        return kept

    def _gated(self, approval: str) -> CallRequested:
        """Return the call that an approval is about."""
        return self.pending.approvals[approval].call

    def _asked(self, name: str) -> CallRequested | InputRequested:
        """Return the call or the request that an output answers."""
        calls = self.pending.open_calls | self.pending.late_calls
        return calls.get(name) or self.pending.requests[name]

    def _is_credential(self, name: str) -> bool:
        asked = self.pending.requests.get(name)
        return asked is not None and asked.kind == "credential"


class AdkResponse(Struct, frozen=True):
    """A function response of a message to ADK's routes."""

    adk_id: str
    name: str
    answer: records.Decision | Raw


def match_parts(pending: Pending, given: Sequence[ToolAnswer], *, is_whole: bool) -> MatchedAnswers:
    """Find what is new in what a client says of calls. Raise `Conflict` for what is forged.

    `is_whole`: the client sent its whole message, with what it was shown.
    """
    decisions: dict[str, records.Decision] = {}
    outputs: dict[str, Raw] = {}
    for answer in given:
        _check_known(pending, answer)
        if answer.decision is not None:
            _take_decision(pending, answer, answer.decision, decisions)
        elif answer.output is not None and _is_new(pending, answer.call, answer.output, is_whole):
            _check_input(_answerable(pending)[answer.call].input, answer)
            outputs[answer.call] = answer.output
        elif answer.output is not None and pending.approval_of(answer.call) is not None:
            raise Conflict(f"Call {answer.call[:80]!r} needs an approval, not a result.")
    if not decisions and not outputs:
        raise Conflict(
            "This request has expired: nothing in this message is waiting for an answer."
        )
    return MatchedAnswers(pending, decisions, outputs)


def _check_known(pending: Pending, answer: ToolAnswer) -> None:
    made = pending.calls.get(answer.call)
    if made is None:
        raise Conflict(f"Call {answer.call[:80]!r} is not part of this message.")
    if answer.name and answer.name != made.name:
        raise Conflict(f"Call {answer.call[:80]!r} is not a call of tool {answer.name[:80]!r}.")


def _is_new(pending: Pending, call: str, output: Raw, is_whole: bool) -> bool:
    if call not in _answerable(pending):
        return False
    late = pending.late_calls.get(call)
    return late is None or not is_whole or not _is_shown(late, pending.shown(call), output)


def _is_shown(call: CallRequested, shown: Raw, output: Raw) -> bool:
    """Return whether a result is what the client was shown, given back."""
    known = (
        records.to_raw({"error": UNANSWERED})
        if records.is_absent(shown)
        else Raw(repair(bytes(shown)))
    )
    try:
        # What is in the log is redacted, what the client itself gave before is not.
        return same_json(known, answer_json(call.name, output))
    except (msgspec.MsgspecError, OverflowError, RecursionError):
        return True


def _take_decision(
    pending: Pending,
    answer: ToolAnswer,
    decision: records.Decision,
    into: dict[str, records.Decision],
) -> None:
    asked = pending.approvals.get(decision.approval)
    if asked is None and decision.approval in pending.approvals_asked:
        raise already_decided()
    if asked is None or asked.call.call != answer.call:
        if pending.approval_of(answer.call) is None:
            raise Conflict(f"No approval of call {answer.call[:80]!r} is pending.")
        raise Conflict(f"{decision.approval[:80]!r} is not the pending approval of that call.")
    held = pending.held_decisions.get(decision.approval)
    if held is not None:
        # A client sends its whole last message: an answer that is held comes again with the next.
        if held.approved != decision.approved:
            raise already_decided()
        return
    _check_input(asked.call.input, answer)
    into[decision.approval] = checked(asked, decision)


def already_decided() -> Conflict:
    """Return the refusal of a second decision: the first one counts."""
    return Conflict(
        "This was already decided, perhaps in another tab or by somebody else; the first decision counts."
        " Reload the conversation to see it."
    )


def checked(asked: PendingApproval, decision: records.Decision) -> records.Decision:
    """Return a decision that has the payload it needs. Raise `Unprocessable` for one that has not."""
    if decision.approved:
        check_payload(asked.payload, decision.payload)
    return decision


def _check_input(asked: Raw, answer: ToolAnswer) -> None:
    if records.is_absent(asked) or records.is_absent(answer.input):
        return
    if not same_json(asked, answer.input):
        raise Conflict(
            f"The arguments of call {answer.call[:80]!r} were changed; send them as they were shown."
        )


# --------------------------------------------------------------------------- ADK's own ids


def asks_for(pending: Pending, given: Sequence[AdkResponse]) -> bool:
    """Return whether an answer may be meant for this message."""
    known = {call.adk_id for call in pending.calls.values()}
    return any(
        a.adk_id in known or a.adk_id in pending.approvals or a.adk_id in pending.requests
        for a in given
    )


def match_adk(pending: Pending, given: Sequence[AdkResponse]) -> MatchedAnswers:
    """Match answers that name ADK's own ids. Raise `Conflict` for one that nothing waits for.

    A confirmation is passed on unchanged, with its payload: ADK's contract has no schema for it.
    """
    decisions: dict[str, records.Decision] = {}
    outputs: dict[str, Raw] = {}
    calls = {c.adk_id: c for c in _answerable(pending).values()}
    for each in given:
        adk_id, answer = each.adk_id, each.answer
        if isinstance(answer, records.Decision):
            if adk_id in pending.held_decisions or (
                adk_id in pending.approvals_asked and adk_id not in pending.approvals
            ):
                raise already_decided()
            if adk_id not in pending.approvals:
                raise Conflict(f"No approval {adk_id[:80]!r} is pending.")
            decisions[adk_id] = answer
        elif adk_id in pending.requests:
            asked = pending.requests[adk_id]
            _check_name(each, request_name(asked.kind))
            outputs[adk_id] = fit_request(pending, adk_id, answer)
        elif adk_id in calls:
            _check_name(each, calls[adk_id].name)
            outputs[calls[adk_id].call] = answer
        else:
            raise Conflict(f"No call {adk_id[:80]!r} is waiting for an answer.")
    return MatchedAnswers(pending, decisions, outputs)


def _check_name(given: AdkResponse, name: str) -> None:
    if given.name and given.name != name:
        raise Conflict(
            f"Call {given.adk_id[:80]!r} is a call of {name[:80]!r}, not of {given.name[:80]!r}."
        )


def _answerable(pending: Pending) -> dict[str, CallRequested]:
    calls = pending.late_calls | pending.client_calls
    gated = {a.call.call for a in pending.approvals.values()}
    return {
        name: call
        for name, call in calls.items()
        if name not in pending.held_answers and name not in gated
    }


# --------------------------------------------------------------------------- requests


def fit_request(pending: Pending, request: str, response: Raw) -> Raw:
    """Return the answer to a question as it was asked for. Raise `Unprocessable` for a wrong one."""
    asked = pending.requests[request]
    if asked.kind != "input":
        return _object_in_text(response)
    return fit_response(asked.request, response)


def _object_in_text(response: Raw) -> Raw:
    """Return an object that some clients send as JSON text; anything else as it is."""
    try:
        text = msgspec.json.decode(bytes(response)) if bytes(response) else None
        value = msgspec.json.decode(text) if isinstance(text, str) else None
    except (msgspec.MsgspecError, RecursionError):
        return response
    return records.to_raw(value) if isinstance(value, dict) else response


def match_responses(
    pending: Pending, responses: Mapping[str, Raw], confirmed: Sequence[records.Decision]
) -> MatchedAnswers:
    """Match what a user's message answers. What nothing waits for is passed over."""
    outputs = {
        name: fit_request(pending, name, response)
        for name, response in responses.items()
        if name in pending.requests
    }
    decisions = {
        d.approval: checked(pending.approvals[d.approval], d)
        for d in confirmed
        if d.approval in pending.approvals and d.approval not in pending.held_decisions
    }
    return MatchedAnswers(pending, decisions, outputs)


def held(pending: Pending) -> MatchedAnswers:
    """Return the answers that were given before and not yet passed on."""
    return MatchedAnswers(pending, dict(pending.held_decisions), dict(pending.held_answers))


# ---------------------------------------------------------------------------
# Which message an answer is for, and what that message waits for.
#
# The last message, mostly. A long-running call may be answered after others have followed (decision
# 0016): then its message is looked for from the end, so that the usual case reads one message only.
# What an earlier message asked a person has expired for chats; on ADK's own routes it can still be
# answered.


class WaitingMessage(Struct, frozen=True):
    """A message that an answer is for."""

    turn: Turn
    pending: Pending
    is_late: bool
    """Later messages follow it."""

    def continues(self, answers: MatchedAnswers) -> records.Continues:
        """Return what a run continues with that is given these answers."""
        return answers.continues(self.turn.message, late=self.is_late)


async def find_answered_by_chat(
    chats: Chats, turns: Sequence[Turn], given: Answer
) -> WaitingMessage:
    """Find the message that a client answers. Raise `Conflict` where there is none."""
    if given.message_id:
        named = [turn for turn in turns if turn.message == given.message_id]
        if not named or named[0].first.head.live:
            raise Conflict("This request has expired: the conversation has continued since.")
        return await asked_by(chats, turns, named[0])
    calls = {answer.call for answer in given.answers}
    return await find_message(chats, turns, lambda pending: bool(calls & pending.calls.keys()))


async def find_message(
    chats: Chats, turns: Sequence[Turn], is_meant: Callable[[Pending], bool]
) -> WaitingMessage:
    """Find the last message that an answer is meant for. Raise `Conflict` where there is none."""
    for turn in reversed(turns):
        if not turn.first.head.live:
            asked = await asked_by(chats, turns, turn)
            if is_meant(asked.pending):
                return asked
    raise Conflict("Nothing in this conversation is waiting for this answer.")


async def asked_by(chats: Chats, turns: Sequence[Turn], turn: Turn) -> WaitingMessage:
    """Return what a message waits for."""
    pending = await chats.pending(turn)
    is_late = turn is not turns[-1]
    if is_late:
        pending.expire_held()
        pending.answered_elsewhere(answered_by(turns[turns.index(turn) + 1 :]))
    return WaitingMessage(turn, pending, is_late)


# ---------------------------------------------------------------------------
# Questions that are answered by their ids, all in one: approvals, requests for input and for credentials.
#
# For protocols in which a conversation with open questions takes nothing but their answers. An answer
# counts for the last message only; an earlier one's questions have expired. Everything is compared
# with the server's own table of what is pending, before a run begins.

SHOWN = 5
"""Ids in a refusal."""


async def last_asked(chats: Chats, turns: Sequence[Turn]) -> WaitingMessage | None:
    """Return the last message if it waits for a person or for the client; None if it does not."""
    if not turns or turns[-1].first.head.live or turns[-1].last.summary.outcome != "waiting":
        return None
    return WaitingMessage(turns[-1], await chats.pending(turns[-1]), is_late=False)


def check_none_open(asked: WaitingMessage | None) -> None:
    """Raise `QuestionsOpen` if a person is asked: calls of the client's own tools ask nobody."""
    if asked is not None and (open_ids := _open(asked)):
        raise QuestionsOpen(
            f"The conversation waits for answers to {_listed(open_ids)}. Answer or cancel all of them first."
        )


def new_message(turns: Sequence[Turn], given: AnswerQuestions) -> Submit | None:
    """Return the message that takes the place of an answer: a new one, where every question is cancelled."""
    message = given.message
    if message is None or not all(answer.is_cancelled for answer in given.answers):
        return None
    if any(turn.user_message == message.message_id for turn in turns):
        return None  # the one that led to the questions
    return structs.replace(message, leaves_questions=True)


async def find_repeated(
    chats: Chats, turns: Sequence[Turn], given: AnswerQuestions
) -> records.RunId | None:
    """Return the run that the same answers started before: a client that lost its answer asks again."""
    last = turns[-1].last if turns else None
    continues = last.head.continues if last is not None else None
    if last is None or continues is None or continues.held:
        return None
    ids = {answer.question for answer in given.answers}
    decided = {d.approval for d in continues.decisions.values()}
    if not ids or not ids <= decided | continues.answers.keys():
        return None
    before = structs.replace(turns[-1], runs=turns[-1].runs[:-1])
    asked = await chats.pending(before)
    is_same = all(_is_same(asked, continues, answer) for answer in given.answers)
    return records.RunId(last.summary.run) if is_same else None


def _is_same(asked: Pending, continues: records.Continues, answer: QuestionAnswer) -> bool:
    """Tell whether an answer is the one that a run continued with."""
    for decision in continues.decisions.values():
        if decision.approval == answer.question:
            return answer.decision is not None and answer.decision.approved == decision.approved
    request = asked.requests.get(answer.question)
    if request is None or request.kind != "input":
        return True  # a credential is not in the log, so there is nothing to compare
    if answer.is_cancelled:
        return False
    try:
        fitted = fit_request(asked, answer.question, answer.response)
    except Unprocessable:
        return False
    # What is in the log is redacted, what the client sends is not.
    known = continues.answers[answer.question]
    return same_json(known, answer_json(request_name(request.kind), fitted))


def expired(given: AnswerQuestions) -> Expired:
    """Return the refusal of answers that nothing waits for."""
    ids = _listed([answer.question for answer in given.answers])
    return Expired(
        "This was already answered, perhaps in another tab, or has expired. Reload the conversation to see"
        f" it. (Not all of {ids} wait for an answer.)"
    )


def is_left(asked: WaitingMessage, given: AnswerQuestions) -> bool:
    """Tell whether a request is cancelled, which ends what asked for it. Raise `Unprocessable`."""
    requests = asked.pending.requests
    left = [a for a in given.answers if a.is_cancelled and a.question in requests]
    if left and not all(answer.is_cancelled for answer in given.answers):
        raise Unprocessable(
            f"To cancel {left[0].question[:80]!r} ends the run that asks; cancel all questions, or answer it."
        )
    return bool(left)


def match(asked: WaitingMessage, given: AnswerQuestions) -> MatchedAnswers:
    """Match answers with what is open.

    Raise `Expired` for a question that is not open (any more), `QuestionsOpen` if one is missing,
    `Unprocessable` for an answer that does not fit: then everything stays open.
    """
    open_ids = _open(asked)
    gone = [a.question for a in given.answers if a.question not in open_ids and not a.is_cancelled]
    if gone or not open_ids:
        raise expired(given)
    missing = open_ids - {answer.question for answer in given.answers}
    if missing:
        raise QuestionsOpen(
            f"{_listed(missing)} must be answered too: all open questions in one request."
        )
    decisions: dict[str, records.Decision] = {}
    outputs: dict[str, Raw] = {}
    for answer in given.answers:
        if answer.question in asked.pending.approvals:
            decisions[answer.question] = _decided(asked, answer)
        elif answer.question in asked.pending.requests:
            outputs[answer.question] = fit_request(asked.pending, answer.question, answer.response)
    results = match_results(asked, given.results).outputs
    return MatchedAnswers(asked.pending, decisions, outputs | results)


def _decided(asked: WaitingMessage, answer: QuestionAnswer) -> records.Decision:
    approval = asked.pending.approvals[answer.question]
    if answer.decision is None:
        raise Unprocessable(
            f"{answer.question[:80]!r} asks for an approval: answer with `approved`, true or false."
        )
    shown = approval.call.input
    if not records.is_absent(answer.input) and not same_json(shown, answer.input):
        raise Unprocessable(
            f"The arguments of call {approval.call.call[:80]!r} cannot be changed: ADK runs it as it was "
            "shown. Deny it, and say what should be different."
        )
    return checked(approval, answer.decision)


def match_results(asked: WaitingMessage, given: Sequence[ToolAnswer]) -> MatchedAnswers:
    """Match results of the client's own tools with the calls that wait for them.

    Those of other calls repeat an answer, or what was shown.
    """
    waiting = asked.pending.client_calls
    found = {r.call: r.output for r in given if r.call in waiting and r.output is not None}
    return MatchedAnswers(asked.pending, outputs=found)


async def find_unanswered(
    chats: Chats, turns: Sequence[Turn], given: Sequence[ToolAnswer]
) -> tuple[WaitingMessage, MatchedAnswers] | None:
    """Find the newest message with calls of the client's own tools that these results answer.

    Most of them repeat what the client was shown. A message that waits for nobody is not read.
    """
    for turn in reversed(turns) if given else ():
        if turn.first.head.live or turn.last.summary.outcome != "waiting":
            continue
        asked = await asked_by(chats, turns, turn)
        answers = match_results(asked, given)
        if answers:
            return asked, answers
    return None


def _open(asked: WaitingMessage) -> set[str]:
    pending = asked.pending
    return {*pending.approvals, *pending.requests} - pending.held_decisions.keys()


def _listed(ids: Sequence[str] | set[str]) -> str:
    shown = [repr(each[:80]) for each in sorted(ids)]
    return ", ".join(shown[:SHOWN]) + (", …" if len(shown) > SHOWN else "")


# ---------------------------------------------------------------------------
# Results of client tools that are stored for the next message: noted before, so that none is stored
# twice.
#
# The session gets the results first, the log their run after that. If the process dies in between,
# the log says that the calls still wait, and a client that sends the results again would have them
# stored again. So the start of the run is noted beside the log before the first result is stored.
# Whoever uses the session next writes the run into the log, with those of the results that the
# session has; the others still wait.

KIND = "stored results"


class StoredResults:
    """Completes what was cut off."""

    def __init__(self, log: RunLog, apps: Apps) -> None:
        self._log = log
        self._apps = apps

    async def note(self, head: records.RunStarted) -> None:
        """Note that a locked session is about to get the results of a run that is not in the log yet."""
        await self._log.side.put(head.origin, KIND, head.run, records.pack(head)[1])

    async def settle(self, origin: records.Origin, notes: Sequence[SideValue]) -> None:
        """Write the runs of some notes, which the log lacks, for a locked session; remove the notes."""
        for note in notes:
            head = records.unpack("RunStarted", note.value)
            assert isinstance(head, records.RunStarted)
            stored = await self._stored(origin)
            answers = head.continues.answers if head.continues is not None else {}
            ids = head.continues.adk_ids if head.continues is not None else {}
            kept = {call: value for call, value in answers.items() if ids.get(call, call) in stored}
            if kept and head.continues is not None:
                continues = structs.replace(head.continues, answers=kept)
                await self._write(structs.replace(head, continues=continues))
            await self._log.side.delete(origin, KIND, note.key)

    async def _stored(self, origin: records.Origin) -> frozenset[str]:
        """Return the calls that the user has answered in a session."""
        try:
            session = await self._apps.sessions(origin.app).get(origin)
        except NotFound:  # Deleted since.
            return frozenset()
        return user_responses(live_events(session))

    async def _write(self, head: records.RunStarted) -> None:
        reader = Reader()
        reader.feed(records.Entry(1, 0.0, head))
        outcome, code = reader.outcome()
        run = records.RunId(head.run)
        # Together: nobody finds it without its end.
        await self._log.append(run, [head, records.RunEnded(outcome=outcome, code=code)])
        await self._log.commit(run)
        await self._log.leave(run)
