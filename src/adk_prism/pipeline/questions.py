"""Questions that are answered by their ids, all in one: approvals, requests for input and for credentials.

For protocols in which a conversation with open questions takes nothing but their answers. An answer counts
for the last message only; an earlier one's questions have expired. Everything is compared with the server's
own table of what is pending, before a run begins.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Raw, structs

from adk_prism.commands import AnswerQuestions, QuestionAnswer, Submit, ToolAnswer
from adk_prism.errors import Expired, QuestionsOpen, Unprocessable
from adk_prism.facts.adk_event import request_name
from adk_prism.facts.calls.pending import Pending
from adk_prism.facts.json_value import same_json
from adk_prism.pipeline import answer_matching as matching
from adk_prism.pipeline.answered_message import AnsweredMessage, asked_by
from adk_prism.pipeline.chats import Chats
from adk_prism.pipeline.turns import Turn
from adk_prism.runlog.entry import Continues, Decision, RunId, is_absent
from adk_prism.source.redaction import answer_json

SHOWN = 5
"""Ids in a refusal."""


async def last_asked(chats: Chats, turns: Sequence[Turn]) -> AnsweredMessage | None:
    """Return the last message if it waits for a person or for the client; None if it does not."""
    if not turns or turns[-1].first.head.live or turns[-1].last.summary.outcome != "waiting":
        return None
    return AnsweredMessage(turns[-1], await chats.pending(turns[-1]), is_late=False)


def check_none_open(asked: AnsweredMessage | None) -> None:
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
) -> RunId | None:
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
    return RunId(last.summary.run) if is_same else None


def _is_same(asked: Pending, continues: Continues, answer: QuestionAnswer) -> bool:
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
        fitted = matching.fit_request(asked, answer.question, answer.response)
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


def is_left(asked: AnsweredMessage, given: AnswerQuestions) -> bool:
    """Tell whether a request is cancelled, which ends what asked for it. Raise `Unprocessable`."""
    requests = asked.pending.requests
    left = [a for a in given.answers if a.is_cancelled and a.question in requests]
    if left and not all(answer.is_cancelled for answer in given.answers):
        raise Unprocessable(
            f"To cancel {left[0].question[:80]!r} ends the run that asks; cancel all questions, or answer it."
        )
    return bool(left)


def match(asked: AnsweredMessage, given: AnswerQuestions) -> matching.MatchedAnswers:
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
    decisions: dict[str, Decision] = {}
    outputs: dict[str, Raw] = {}
    for answer in given.answers:
        if answer.question in asked.pending.approvals:
            decisions[answer.question] = _decided(asked, answer)
        elif answer.question in asked.pending.requests:
            outputs[answer.question] = matching.fit_request(
                asked.pending, answer.question, answer.response
            )
    return matching.MatchedAnswers(decisions, outputs | _results(asked, given.results))


def _decided(asked: AnsweredMessage, answer: QuestionAnswer) -> Decision:
    approval = asked.pending.approvals[answer.question]
    if answer.decision is None:
        raise Unprocessable(
            f"{answer.question[:80]!r} asks for an approval: answer with `approved`, true or false."
        )
    shown = approval.call.input
    if not is_absent(answer.input) and not same_json(shown, answer.input):
        raise Unprocessable(
            f"The arguments of call {approval.call.call[:80]!r} cannot be changed: ADK runs it as it was "
            "shown. Deny it, and say what should be different."
        )
    return matching.checked(approval, answer.decision)


def match_results(
    asked: AnsweredMessage, given: Sequence[ToolAnswer]
) -> matching.MatchedAnswers | None:
    """Match results of the client's own tools with the calls that wait for them; None if none does."""
    found = _results(asked, given)
    return matching.MatchedAnswers({}, found) if found else None


async def find_unanswered(
    chats: Chats, turns: Sequence[Turn], given: Sequence[ToolAnswer]
) -> tuple[AnsweredMessage, matching.MatchedAnswers] | None:
    """Find the newest message with calls of the client's own tools that these results answer.

    Most of them repeat what the client was shown. A message that waits for nobody is not read.
    """
    for turn in reversed(turns) if given else ():
        if turn.first.head.live or turn.last.summary.outcome != "waiting":
            continue
        asked = await asked_by(chats, turns, turn)
        answers = match_results(asked, given)
        if answers is not None:
            return asked, answers
    return None


def _results(asked: AnsweredMessage, given: Sequence[ToolAnswer]) -> dict[str, Raw]:
    """Return results of the client's own tools. Those of other calls repeat an answer, or what was shown."""
    waiting = asked.pending.client_calls
    return {r.call: r.output for r in given if r.call in waiting and r.output is not None}


def _open(asked: AnsweredMessage) -> set[str]:
    pending = asked.pending
    return {*pending.approvals, *pending.requests} - pending.held_decisions.keys()


def _listed(ids: Sequence[str] | set[str]) -> str:
    shown = [repr(each[:80]) for each in sorted(ids)]
    return ", ".join(shown[:SHOWN]) + (", …" if len(shown) > SHOWN else "")
