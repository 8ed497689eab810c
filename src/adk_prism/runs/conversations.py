"""What a client may do with a conversation: send a message, answer, rewind, change state.

Each of these becomes one run. Whether it may happen is decided from the log, under a lock of the session,
so that two requests cannot both answer the same question. The client's own idea of the history counts
for nothing here.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, assert_never

import msgspec
from msgspec import Raw, Struct, structs

from adk_prism import commands
from adk_prism.adk.apps import Apps
from adk_prism.adk.request import REPEATS, EventSource, RunRequest, Variant, read_content
from adk_prism.adk.sessions import StoredResultsSource
from adk_prism.adk.tools import REASON
from adk_prism.errors import Conflict, NotFound, Report, Unprocessable
from adk_prism.facts.adk_event import CONFIRMATION
from adk_prism.facts.state import read_object
from adk_prism.log import entry as records
from adk_prism.log.entry import Origin, RunId
from adk_prism.runs import answers as matching
from adk_prism.runs import branches as branching
from adk_prism.runs.answers import WaitingMessage
from adk_prism.runs.branches import SessionBranches
from adk_prism.runs.chats import ChatHistory, Chats, Turn, first_recorded, runs_of
from adk_prism.runs.recorder import ForkPoint, PreparedSource, RecordsSource, no_preparation
from adk_prism.runs.runs import Runs
from adk_prism.runs.session_locks import Policy, SessionLocks
from adk_prism.runs.session_log import Action, AuditedAction, WriteAudit, no_audit
from adk_prism.version import VERSION


class Start(Struct, frozen=True, kw_only=True):
    """How a run is to be started, whatever it is about."""

    origin: Origin
    policy: Policy
    by: str = ""
    """Who asks for it, where callers are known."""
    run: RunId | None = None
    """Given under an idempotency key; else one is drawn."""
    digest: str = ""
    client_run: str = ""
    """The client's own id of the run."""
    forked_from: ForkPoint | None = None
    """Of the run that a fork begins with."""
    streaming: bool = True
    state_delta: Mapping[str, Any] = {}
    custom_metadata: Mapping[str, Any] = {}
    client_tools: Sequence[records.BroughtTool] = ()
    warnings: Sequence[records.Warned] = ()
    variant: Variant | None = None
    """The app as it is run, where that is not as it is served."""


@dataclass(eq=False)
class Conversations:
    """All conversations of one server."""

    apps: Apps
    runs: Runs
    locks: SessionLocks
    chats: Chats
    branches: SessionBranches
    report: Report
    deciding: SessionLocks = field(default_factory=SessionLocks)
    """Keeps those apart who decide about one session, in all processes that serve it."""
    note: WriteAudit = no_audit
    """Records what was approved, denied and rewound."""

    @asynccontextmanager
    async def _alone(self, start: Start) -> AsyncIterator[None]:
        if start.policy == "refuse" and self.locks.is_held(start.origin):
            raise Conflict(
                "This session is running. Wait until it finishes, stop it, or use another session."
            )
        async with self._decided(start.origin, start.policy):
            yield

    @asynccontextmanager
    async def _decided(self, origin: Origin, policy: Policy = "wait") -> AsyncIterator[None]:
        """Keep others from deciding about a session, which is as the log says."""
        async with self.deciding.held(origin):
            await self.branches.settle(origin, policy)
            yield

    async def perform(self, start: Start, command: commands.Command) -> RunId:
        """Carry a command out; return its run.

        Raise `Conflict` for one that the conversation does not allow (any more), `NotFound` for a message
        that it does not have, `Unprocessable` for an answer that does not fit its question.
        """
        match command:
            case commands.Submit():
                return await self._submit(start, command)
            case commands.Regenerate():
                return await self._regenerate(start, command)
            case commands.Answer():
                return await self._answer(start, command)
            case commands.AnswerQuestions():
                return await self._answer_questions(start, command)
            case commands.RunAgent():
                return await self._run_agent(start, command)
            case commands.ChangeState():
                return await self._change_state(start)
            case _:
                assert_never(command)

    # -------------------------------------------------------------- a chat's messages

    async def _submit(self, start: Start, message: commands.Submit) -> RunId:
        """Send a message. What the chat has after the message before it is removed first (`kept_turns`)."""
        async with self._alone(start):
            return await self._send_in_place(start, message)

    async def _send_in_place(self, start: Start, message: commands.Submit) -> RunId:
        """Say a message where it belongs. The session is decided about here alone."""
        await self.apps.sessions(start.origin.app).ensure(start.origin)
        history = await self.chats.history(start.origin)
        turns = history.turns
        kept = await branching.kept_turns(self.chats, history, message)
        if branching.shows_whole(history, message.before):
            extras = {**message.extras, branching.WHOLE_HISTORY: records.to_raw(True)}
            message = structs.replace(message, extras=extras)
        if runs_of(kept) != runs_of(turns):
            return await self._replace_turns(start, history, kept, message)
        if not message.leaves_questions:
            asked = await matching.last_asked(self.chats, turns)
            matching.check_none_open(asked)
            await self._store_results(start, turns, asked, message)
            return await self._send(start, message)
        answered = await self._answer_request(start, turns, message)
        if answered is not None:
            return answered
        if (message.responses or message.confirmed) and not _parts(message.content):
            raise Conflict("Nothing in this conversation is waiting for this answer.")
        return await self._send(start, message)

    async def _store_results(
        self,
        start: Start,
        turns: Sequence[Turn],
        asked: WaitingMessage | None,
        message: commands.Submit,
    ) -> None:
        """Store the results of the client's own tools that come with a message, without asking the model."""
        if asked is not None and (answers := matching.match_results(asked, message.results)):
            await self._store(start, asked, answers)
        earlier = await matching.find_unanswered(self.chats, turns, message.earlier_results)
        if earlier is not None:
            await self._store(start, *earlier)

    async def _store(
        self, start: Start, asked: WaitingMessage, answers: matching.MatchedAnswers
    ) -> None:
        def make(run: RunId) -> EventSource:
            request = RunRequest(
                run=run,
                origin=start.origin,
                invocation=asked.turn.last.summary.invocation,
                continues=asked.continues(answers),
                answers=answers.call_answers(),
            )
            app = start.origin.app
            return StoredResultsSource(
                runner=self.apps.runner(app, "stored results"),
                request=request,
                note=self.branches.results.note,
                agents=self.apps.agents(app),
                report=self.report,
            )

        run = await self.runs.start(start.origin, "wait", make, runs_agent=False)
        await self.runs.wait(run)

    async def _send(
        self,
        start: Start,
        message: commands.Submit,
        *,
        before: Callable[[RunId], Awaitable[None]] | None = None,
        **about: Any,
    ) -> RunId:
        return await self._begin(
            start,
            before=before,
            message=read_content(message.content),
            message_id=message.message_id,
            extras=message.extras,
            **about,
        )

    async def _answer_request(
        self, start: Start, turns: Sequence[Turn], message: commands.Submit
    ) -> RunId | None:
        """Take a message for the answer to what waits for one, if there is such a thing.

        Raise `Unprocessable` for an answer that does not fit: the question stays open.
        """
        if not turns or turns[-1].last.summary.outcome != "waiting" or _is_run_again(turns[-1]):
            return None
        pending = await self.chats.pending(turns[-1])
        answers = matching.match_responses(pending, message.responses, message.confirmed)
        asked = [r for r in pending.requests.values() if r.kind == "input"]
        typed = not answers and bool(message.text)
        if typed and len(asked) == 1 and not pending.approvals:
            said = {asked[0].call: records.to_raw({"result": message.text})}
            answers = matching.match_responses(pending, said, ())
        if not answers:
            return None
        answers = answers.signed(start.by)
        if answers.decisions and not answers.is_complete:
            raise Conflict(
                "That message has more open questions; answer all of them in one message."
            )
        run = await self._begin(
            start,
            invocation=turns[-1].last.summary.invocation,
            message_id=message.message_id,
            extras=message.extras,
            typed=read_content(message.content),
            answers=answers.call_answers(),
            decisions=list(answers.decisions.values()),
            answered=answers.responses(typed=typed),
        )
        await self._note_decisions(start.origin, run, answers)
        return run

    # -------------------------------------------------------------- taking back

    async def _regenerate(self, start: Start, again: commands.Regenerate) -> RunId:
        """Answer a message again, as if it had never been answered; send one that never arrived."""
        async with self._alone(start):
            history = await self.chats.history(start.origin)
            turn = _find(history, again.message_id)
            if turn is None:
                return await self._send_in_place(start, _never_arrived(history, again))
            head = turn.first.head
            if not bytes(head.message):
                raise Conflict(
                    "This answer cannot be regenerated: it does not follow a user message."
                )
            message = commands.Submit(
                message_id=head.message_id,
                content=head.message,
                text="",
                extras=records.EXTRAS.read(head),
            )
            return await self._replace_turns(
                start, history, history.preceding(turn.message), message
            )

    async def _replace_turns(
        self, start: Start, history: ChatHistory, kept: Sequence[Turn], message: commands.Submit
    ) -> RunId:
        """Say something after the kept turns, in the place of all others; those may be rewound ones."""
        change = branching.branch_change(history, kept)
        again = {name for turn in change.back for name in (turn.message, turn.user_message)}
        rewound = await branching.taken_ids(self.chats, change.void, {message.message_id, *again})

        async def prepare(run: RunId) -> None:
            await self.branches.change(start.origin, run, change)

        run = await self._send(
            start,
            message,
            replaces=first_recorded(change.void) or next((t.message for t in change.void), ""),
            restores=kept[-1].message if change.back else "",
            rewound=rewound,
            before=prepare,
        )
        if change.void:
            about = change.void[0].message
            action = AuditedAction(
                action="message taken back", origin=start.origin, run=run, about=about
            )
            await self.note(action)
        return run

    # -------------------------------------------------------------- answers

    async def _answer(self, start: Start, given: commands.Answer) -> RunId:
        """Continue a message whose questions are answered."""
        while True:
            async with self._decided(start.origin):
                turns = await self.chats.turns(start.origin)
                if not given.leaves_questions:
                    matching.check_none_open(await matching.last_asked(self.chats, turns))
                asked, answers = await self._answered(turns, given)
                if not (asked.is_late and self.locks.is_held(start.origin)):
                    return await self._continue(start, asked, answers.signed(start.by))
            # A late result waits for the active run, which can still be interrupted.
            async with self.locks.held(start.origin):
                pass

    async def _answered(
        self, turns: Sequence[Turn], given: commands.Answer
    ) -> tuple[WaitingMessage, matching.MatchedAnswers]:
        """Return what is answered, and with what. Raise `Conflict`, or `Unprocessable` where nothing is."""
        if not given.earlier:
            asked = await matching.find_answered_by_chat(self.chats, turns, given)
            return asked, _matched(asked, given)
        found = await matching.find_unanswered(self.chats, turns, given.answers)
        if found is None:
            raise Unprocessable(
                "There is nothing to answer: the list ends with neither a user's message nor results, and"
                " none of its calls waits for a result. To answer a message again, end the list with it."
            )
        return found

    async def _answer_questions(self, start: Start, given: commands.AnswerQuestions) -> RunId:
        """Continue a message all of whose questions are answered, or leave them."""
        async with self._decided(start.origin):
            turns = await self.chats.turns(start.origin)
            message = matching.new_message(turns, given)
            if message is not None:
                return await self._send_in_place(start, message)
            repeated = await matching.find_repeated(self.chats, turns, given)
            if repeated is not None:
                return repeated
            asked = await matching.last_asked(self.chats, turns)
            if asked is None:
                raise matching.expired(given)
            if matching.is_left(asked, given):
                # Not cancelled: old AG-UI clients take that for an error, and keep the questions open.
                left, ended = asked.turn, records.RunEnded(outcome="finished")
                return await self._write(
                    start, left, records.Continues(message=left.message), ended
                )
            answers = matching.match(asked, given).signed(start.by)
            return await self._continue(start, asked, answers)

    async def _continue(
        self, start: Start, asked: WaitingMessage, answers: matching.MatchedAnswers
    ) -> RunId:
        _check_answerable(start, asked.turn)
        whole = answers.with_held()
        if asked.is_late or whole.is_complete:
            run = await self._begin(
                start,
                policy="wait",
                invocation=asked.turn.last.summary.invocation,
                continues=asked.continues(whole),
                answers=whole.call_answers(),
                decisions=list(whole.decisions.values()),
            )
        else:
            run = await self._hold(start, asked, answers)
        await self._note_decisions(start.origin, run, answers)
        return run

    async def _note_decisions(
        self, origin: Origin, run: RunId, answers: matching.MatchedAnswers
    ) -> None:
        for approved, about in answers.decided:
            action: Action = "approval given" if approved else "approval denied"
            await self.note(AuditedAction(action=action, origin=origin, run=run, about=about))

    async def _hold(
        self, start: Start, asked: WaitingMessage, answers: matching.MatchedAnswers
    ) -> RunId:
        """Keep answers until the rest of their batch is there: ADK would continue without it."""
        if answers.has_credential:
            raise Conflict(
                "A sign-in is not kept until the rest is answered; answer everything in one request."
            )
        kept = structs.replace(asked.continues(answers), held=True)
        return await self._write(start, asked.turn, kept)

    # -------------------------------------------------------------- ADK's own requests

    async def _run_agent(self, start: Start, asked: commands.RunAgent) -> RunId:
        """Run as ADK's `/run` and `/run_sse` ask."""
        message, invocation = asked.content, asked.invocation
        async with self._alone(start):
            if invocation:
                await self._check_happened_here(start.origin, invocation)
            content = read_content(message) if bytes(message) else None
            given = _adk_answers(message)
            begin = partial(
                self._begin, start, message=content, may_be_empty=True, invocation=invocation
            )
            if not given:
                return await begin()
            answered = await self._asked_by_adk(start, given)
            answers = matching.match_adk(answered.pending, given).signed(start.by)
            run = await begin(**_adk_continuation(answered, answers))
            await self._note_decisions(start.origin, run, answers)
            return run

    async def _check_happened_here(self, origin: Origin, invocation: str) -> None:
        """Raise `Conflict` for an invocation of a run that this server did not record."""
        for turn in await self.chats.turns(origin):
            if not any(run.summary.invocation == invocation for run in turn.runs):
                continue
            if _is_run_again(turn):
                raise Conflict(_RUN_AGAIN)
            if any(
                records.is_untrusted(r.head) and r.summary.invocation == invocation
                for r in turn.runs
            ):
                raise Conflict(
                    "That invocation was recorded on another server. Send a new message instead."
                )

    async def _asked_by_adk(
        self, start: Start, given: Sequence[matching.AdkResponse]
    ) -> WaitingMessage:
        turns = await self.chats.turns(start.origin)
        asked = await matching.find_message(
            self.chats, turns, lambda pending: matching.asks_for(pending, given)
        )
        _check_answerable(start, asked.turn)
        return asked

    async def _change_state(self, start: Start) -> RunId:
        """Change state without calling a model, after the active run if there is one."""

        def make(run: RunId) -> EventSource:
            request = self._request(start, run)
            source = self.apps.app(start.origin.app).state_update(request, self.report)
            return _prepared(start, source, partial(self.branches.settle_locked, start.origin))

        return await self.runs.start(start.origin, "wait", make, start.run, runs_agent=False)

    # -------------------------------------------------------------- sources

    def _request(self, start: Start, run: RunId, **about: Any) -> RunRequest:
        return RunRequest(
            run=run,
            origin=start.origin,
            streaming=start.streaming,
            state_delta=start.state_delta,
            custom_metadata=start.custom_metadata,
            client_tools=start.client_tools,
            warnings=start.warnings,
            variant=start.variant,
            **about,
        )

    def source(self, request: RunRequest) -> EventSource:
        """Return a run of the app."""
        return self.apps.app(request.origin.app).source(request, self.report)

    async def _begin(
        self,
        start: Start,
        *,
        policy: Policy | None = None,
        before: Callable[[RunId], Awaitable[None]] | None = None,
        **about: Any,
    ) -> RunId:
        """Start a run of the app; `before` is called with it when the session is locked."""

        def make(run: RunId) -> EventSource:
            source = self.source(self._request(start, run, **about))
            if before is None and not start.digest and start.forked_from is None:
                return (
                    source  # Most runs need no preparation: a step less for each of their events.
                )
            return _prepared(start, source, partial(before, run) if before else no_preparation)

        return await self.runs.start(start.origin, policy or start.policy, make, start.run)

    async def _write(
        self, start: Start, turn: Turn, continues: records.Continues, *more: records.Record
    ) -> RunId:
        """Record a run that continues a message and runs no agent."""

        def make(run: RunId) -> EventSource:
            head = records.RunStarted(
                run=run,
                origin=start.origin,
                invocation=turn.last.summary.invocation,
                continues=continues,
                labels=records.labels(records.WRITTEN_BY(VERSION)),
            )
            return _prepared(start, RecordsSource(head, *more))

        return await self.runs.start(start.origin, "wait", make, start.run, runs_agent=False)


def _prepared(
    start: Start,
    source: EventSource,
    before: Callable[[], Awaitable[None]] = no_preparation,
) -> PreparedSource:
    return PreparedSource(
        source,
        before=before,
        digest=start.digest,
        client_run=start.client_run,
        forked_from=start.forked_from,
    )


_RUN_AGAIN = (
    "This message was run again from a recording, and its app was changed for that: nothing in it can be "
    "answered or resumed. Send a new message instead."
)


def _is_run_again(turn: Turn) -> bool:
    return REPEATS.read(turn.first.head) is not None


def _check_answerable(start: Start, turn: Turn) -> None:
    """Raise `Conflict` for a message that was run again: its answers come from the recording alone."""
    if start.variant is None and _is_run_again(turn):
        raise Conflict(_RUN_AGAIN)


def _find(history: ChatHistory, message_id: str) -> Turn | None:
    """Return which turn a message belongs to, of the chat or of an earlier version; without one, the last."""
    if not message_id and history.turns:
        return history.turns[-1]
    turns = (*history.turns, *reversed(history.taken_back))
    return next((t for t in turns if message_id in (t.message, t.user_message)), None)


def _never_arrived(history: ChatHistory, again: commands.Regenerate) -> commands.Submit:
    """Return the message that a client wants answered, where the chat lacks it. Raise `NotFound`."""
    message = again.message
    if message is None or _find(history, message.message_id) is not None:
        raise NotFound("There is no such message in this chat.")
    return message


def _matched(asked: WaitingMessage, given: commands.Answer) -> matching.MatchedAnswers:
    """Match a client's answers. Raise `Conflict` for what is not waited for (any more)."""
    if asked.turn.live:
        raise Conflict("That message is still streaming; answer when it has finished.")
    is_whole = given.repeats or bool(given.message_id)
    answers = matching.match_parts(asked.pending, given.answers, is_whole=is_whole)
    if answers.decisions and asked.is_late:
        raise Conflict(
            "This request has expired: the conversation has continued without the approval."
        )
    if answers.decisions and asked.turn.last.summary.outcome != "waiting":
        raise Conflict("That message has no pending approval.")
    return answers


def _adk_continuation(asked: WaitingMessage, answers: matching.MatchedAnswers) -> dict[str, Any]:
    """Return what a request continues: its own answers, and those that were held before."""
    held = matching.held(asked.pending)
    return {
        "continues": asked.continues(answers.with_held()),
        "fitted": {k: v for k, v in answers.outputs.items() if k in asked.pending.requests},
        "answers": held.call_answers(),
        "decisions": list(held.decisions.values()),
    }


def _adk_answers(message: Raw) -> list[matching.AdkResponse]:
    """Return the answers in a message, by ADK's id."""
    found: list[matching.AdkResponse] = []
    for part in _parts(message):
        response = part.get("functionResponse") or part.get("function_response")
        if not isinstance(response, dict):
            continue
        adk_id, value = str(response.get("id") or ""), response.get("response")
        name = str(response.get("name") or "")
        answer = _adk_decision(adk_id, value) if name == CONFIRMATION else records.to_raw(value)
        found.append(matching.AdkResponse(adk_id, name, answer))
    return found


def _adk_decision(adk_id: str, value: Any) -> records.Decision:
    if isinstance(value, dict) and isinstance(value.get("response"), str):
        try:  # the other form that ADK accepts: the answer as JSON text
            value = msgspec.json.decode(value["response"])
        except msgspec.MsgspecError:
            value = None
    given = value if isinstance(value, dict) else {}
    payload = given.get("payload")
    reason = payload.get(REASON) if isinstance(payload, dict) else None
    return records.Decision(
        approval=adk_id,
        approved=given.get("confirmed") is True,
        reason=reason if isinstance(reason, str) else "",
        payload=records.given_raw(payload),
    )


def _parts(message: Raw) -> list[dict[str, Any]]:
    parts = read_object(message).get("parts")
    return [part for part in parts or () if isinstance(part, dict)]
