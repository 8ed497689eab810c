"""What a client may do to a conversation: say something, answer, take back, change state.

Each of these becomes one run. Whether it may happen is decided from the log, under a lock of the session,
so that two requests cannot both answer the same question. The client's own idea of the history counts
for nothing here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

import msgspec
from msgspec import Raw, Struct

from adk_prism.diagnostics import Report
from adk_prism.errors import Conflict, NotFound
from adk_prism.facts.pending import Pending
from adk_prism.pipeline import answers as matching
from adk_prism.pipeline.chats import Chats, History, Turn
from adk_prism.pipeline.deeds import Action, Deed, Note, forget
from adk_prism.pipeline.gate import Gate, Policy
from adk_prism.pipeline.lineage import kept_turns, taken_ids
from adk_prism.pipeline.prepared import Held, Prepared
from adk_prism.pipeline.runs import Runs
from adk_prism.projection.ai_sdk.requests import Continuation, NewMessage, Regenerate
from adk_prism.runlog.entry import BroughtTool, Decision, Origin, RunId, Warned, to_raw
from adk_prism.source.apps import Apps
from adk_prism.source.contract import EventSource
from adk_prism.source.denial import REASON
from adk_prism.source.request import RunRequest, read_content
from adk_prism.source.runner import RunnerSource, StateUpdateSource


class Start(Struct, frozen=True, kw_only=True):
    """How a run is to be started, whatever it is about."""

    origin: Origin
    policy: Policy
    by: str = ""
    """Who asks for it, where callers are known."""
    run: RunId | None = None
    """Given under an idempotency key; else one is drawn."""
    digest: str = ""
    streaming: bool = True
    state_delta: Mapping[str, Any] = {}
    custom_metadata: Mapping[str, Any] = {}
    client_tools: Sequence[BroughtTool] = ()
    warnings: Sequence[Warned] = ()


class Conversations:
    """All conversations of one server."""

    def __init__(
        self,
        apps: Apps,
        runs: Runs,
        gate: Gate,
        chats: Chats,
        report: Report,
        deciding: Gate | None = None,
        note: Note = forget,
    ) -> None:
        """`deciding` keeps those apart who decide about one session, in all processes that serve it.

        `note` writes down what was approved, denied and taken back.
        """
        self._apps = apps
        self._runs = runs
        self._gate = gate
        self._chats = chats
        self._report = report
        self._deciding = deciding or Gate()
        self._note = note

    def _alone(self, start: Start) -> AbstractAsyncContextManager[None]:
        if start.policy == "refuse" and self._gate.busy(start.origin):
            raise Conflict(
                "This session is busy with a run. Wait for its end, stop it, or use another session."
            )
        return self._deciding.quiet(start.origin)

    # -------------------------------------------------------------- a chat's messages

    async def submit(self, start: Start, message: NewMessage) -> RunId:
        """Say something; a message whose id the chat knows takes that one's place.

        What the chat has after the message before it is taken back first (`lineage`).
        """
        async with self._alone(start):
            await self._apps.sessions(start.origin.app).ensure(start.origin)
            history = await self._chats.history(start.origin)
            turns = history.turns
            kept = await kept_turns(self._chats, history, message)
            if kept < len(turns):
                return await self._retake(start, turns, kept, message)
            answered = await self._answer_request(start, turns, message)
            if answered is not None:
                return answered
            if message.responses and not _parts(message.content):
                raise Conflict("Nothing in this conversation waits for such an answer.")
            return await self._say(start, message)

    async def _say(
        self,
        start: Start,
        message: NewMessage,
        *,
        before: Callable[[], Awaitable[None]] | None = None,
        **about: Any,
    ) -> RunId:
        content = read_content(message.content)

        def make(run: RunId) -> EventSource:
            request = self._request(
                start,
                run,
                message=content,
                message_id=message.message_id,
                extras=message.extras,
                **about,
            )
            return self._source(start, request, before)

        return await self._runs.start(start.origin, start.policy, make, start.run)

    async def _answer_request(
        self, start: Start, turns: Sequence[Turn], message: NewMessage
    ) -> RunId | None:
        """Take a message for the answer to the one question that waits for words, if there is one."""
        if not turns or turns[-1].last.summary.outcome != "waiting":
            return None
        pending = await self._chats.pending(turns[-1])
        outputs = {k: v for k, v in message.responses.items() if k in pending.requests}
        asked = [r for r in pending.requests.values() if r.kind == "input"]
        if not outputs and message.text and len(asked) == 1 and not pending.approvals:
            outputs = {asked[0].call: _as_asked(asked[0].request, message.text)}
        if not outputs:
            return None
        answers = matching.Answers({}, outputs)
        invocation = turns[-1].last.summary.invocation

        def make(run: RunId) -> EventSource:
            request = self._request(
                start,
                run,
                invocation=invocation,
                message_id=message.message_id,
                extras=message.extras,
                typed=read_content(message.content),
                answers=matching.call_answers(pending, answers),
            )
            return self._source(start, request)

        return await self._runs.start(start.origin, start.policy, make, start.run)

    # -------------------------------------------------------------- taking back

    async def regenerate(self, start: Start, wish: Regenerate) -> RunId:
        """Answer a message again, as if it had never been answered. Raise `NotFound`, `Conflict`."""
        async with self._alone(start):
            history = await self._chats.history(start.origin)
            at = _find(history, wish.message_id)
            head = history.turns[at].first.head
            if not bytes(head.message):
                raise Conflict("This answer does not follow a message that could be asked again.")
            message = NewMessage(
                message_id=head.message_id, content=head.message, text="", extras=head.extras
            )
            return await self._retake(start, history.turns, at, message)

    async def _retake(
        self, start: Start, turns: Sequence[Turn], kept: int, message: NewMessage
    ) -> RunId:
        """Say something in the place of all turns after the kept ones."""
        turn, earlier, void = turns[kept], turns[:kept], turns[kept:]
        first = turn.first
        if any(r.summary.invocation == first.summary.invocation for t in earlier for r in t.runs):
            raise Conflict(
                "This message belongs to a task that began earlier; take back the task's first message."
            )
        sessions = self._apps.sessions(start.origin.app)
        runner = self._apps.runner(start.origin.app)
        taken = [run.summary.invocation for t in void for run in t.runs]
        rewound = await taken_ids(self._chats, void, message.message_id)

        async def rewind() -> None:
            # A run can fail before ADK has stored its message: then there is nothing of it to rewind.
            stored = await sessions.first_stored(start.origin, taken)
            if stored:
                state = (await self._chats.head(first.summary.run)).state
                await sessions.rewind(runner, start.origin, stored, state)

        run = await self._say(start, message, replaces=turn.message, rewound=rewound, before=rewind)
        deed = Deed(action="message taken back", origin=start.origin, run=run, about=turn.message)
        await self._note(deed)
        return run

    # -------------------------------------------------------------- answers

    async def answer(self, start: Start, given: Continuation) -> RunId:
        """Go on with a message whose questions are answered. Raise `Conflict` for any other answer."""
        async with self._deciding.quiet(start.origin):
            turn = await self._waiting_turn(start.origin, given.message_id)
            pending = await self._chats.pending(turn)
            answers = matching.signed(matching.match_parts(pending, given.answers), start.by)
            whole = matching.with_held(pending, answers)
            if not matching.is_complete(pending, whole):
                run = await self._hold(start, turn, pending, answers)
                await self._note_decisions(start.origin, run, matching.decided(pending, answers))
                return run

            def make(run: RunId) -> EventSource:
                request = self._request(
                    start,
                    run,
                    invocation=turn.last.summary.invocation,
                    continues=matching.continues(turn.message, pending, whole),
                    answers=matching.call_answers(pending, whole),
                    decisions=matching.approval_answers(whole),
                )
                return self._source(start, request)

            run = await self._runs.start(start.origin, "wait", make, start.run)
            await self._note_decisions(start.origin, run, matching.decided(pending, answers))
            return run

    async def _note_decisions(
        self, origin: Origin, run: RunId, decided: Sequence[tuple[bool, str]]
    ) -> None:
        for approved, about in decided:
            action: Action = "approval given" if approved else "approval denied"
            await self._note(Deed(action=action, origin=origin, run=run, about=about))

    async def _hold(
        self, start: Start, turn: Turn, pending: Pending, answers: matching.Answers
    ) -> RunId:
        """Keep answers until the rest of their batch is there: ADK would go on without it."""
        going_on = matching.continues(turn.message, pending, answers)

        def make(run: RunId) -> EventSource:
            held = Held(run, start.origin, turn.last.summary.invocation, going_on)
            return Prepared(held, digest=start.digest)

        return await self._runs.start(start.origin, "wait", make, start.run)

    async def _waiting_turn(self, origin: Origin, message_id: str) -> Turn:
        turns = await self._chats.turns(origin)
        turn = turns[-1] if turns else None
        if turn is None or (message_id and turn.message != message_id):
            raise Conflict("That message no longer waits for an answer: the conversation went on.")
        if turn.last.summary.outcome != "waiting":
            raise Conflict("That message does not wait for an answer.")
        return turn

    # -------------------------------------------------------------- ADK's own requests

    async def run_adk(self, start: Start, message: Raw, invocation: str) -> RunId:
        """Run as ADK's `/run` and `/run_sse` ask. Raise `Conflict` for answers nobody waits for."""
        async with self._alone(start):
            content = read_content(message) if bytes(message) else None
            given = _adk_answers(message)
            about, decided = await self._adk_continuation(start, given) if given else ({}, [])

            def make(run: RunId) -> EventSource:
                request = self._request(
                    start, run, message=content, may_be_empty=True, invocation=invocation, **about
                )
                return self._source(start, request)

            run = await self._runs.start(start.origin, start.policy, make, start.run)
            await self._note_decisions(start.origin, run, decided)
            return run

    async def _adk_continuation(
        self, start: Start, given: Sequence[tuple[str, Decision | Raw]]
    ) -> tuple[dict[str, Any], list[tuple[bool, str]]]:
        """Return what a request goes on with, its own answers and those that were held before; and what
        it decides."""
        turns = await self._chats.turns(start.origin)
        if not turns:
            raise Conflict("Nothing in this session waits for an answer.")
        pending = await self._chats.pending(turns[-1])
        answers = matching.signed(matching.match_adk(pending, given), start.by)
        held = matching.held(pending)
        about = {
            "continues": matching.continues(
                turns[-1].message, pending, matching.with_held(pending, answers)
            ),
            "answers": matching.call_answers(pending, held),
            "decisions": matching.approval_answers(held),
        }
        return about, matching.decided(pending, answers)

    async def update_state(self, start: Start) -> RunId:
        """Change state without calling a model, after the active run if there is one."""

        def make(run: RunId) -> EventSource:
            runner = self._apps.runner(start.origin.app)
            agents = self._apps.agents(start.origin.app)
            request = self._request(start, run)
            source = StateUpdateSource(runner, request, agents=agents, report=self._report)
            return Prepared(source, digest=start.digest)

        return await self._runs.start(start.origin, "wait", make, start.run)

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
            **about,
        )

    def source(self, request: RunRequest) -> EventSource:
        """Return a run of the app's Runner."""
        app = request.origin.app
        return RunnerSource(
            self._apps.runner(app),
            request,
            agents=self._apps.agents(app),
            report=self._report,
            nodes=True,
        )

    def _source(
        self,
        start: Start,
        request: RunRequest,
        before: Callable[[], Awaitable[None]] | None = None,
    ) -> EventSource:
        source = self.source(request)
        if before is not None:
            return Prepared(source, before=before, digest=start.digest)
        # Most runs need no preparation: a step less for each of their events.
        return Prepared(source, digest=start.digest) if start.digest else source


def _find(history: History, message_id: str) -> int:
    """Return which turn a message belongs to; the last one, if none is named."""
    if not message_id and history.turns:
        return len(history.turns) - 1
    for index, turn in enumerate(history.turns):
        if message_id in (turn.message, turn.user_message):
            return index
    if any(message_id in (turn.message, turn.user_message) for turn in history.taken_back):
        raise Conflict("That message was taken back; load the chat's messages again.")
    raise NotFound("There is no such message in this chat.")


def _adk_answers(message: Raw) -> list[tuple[str, Decision | Raw]]:
    """Return the answers in a message, by ADK's id."""
    found: list[tuple[str, Decision | Raw]] = []
    for part in _parts(message):
        response = part.get("functionResponse") or part.get("function_response")
        if not isinstance(response, dict):
            continue
        adk_id, value = str(response.get("id") or ""), response.get("response")
        if response.get("name") == "adk_request_confirmation":
            found.append((adk_id, _adk_decision(adk_id, value)))
        else:
            found.append((adk_id, to_raw(value)))
    return found


def _adk_decision(adk_id: str, value: Any) -> Decision:
    if isinstance(value, dict) and isinstance(value.get("response"), str):
        try:  # the other form that ADK accepts: the answer as JSON text
            value = msgspec.json.decode(value["response"])
        except msgspec.MsgspecError:
            value = None
    given = value if isinstance(value, dict) else {}
    payload = given.get("payload")
    reason = payload.get(REASON) if isinstance(payload, dict) else None
    return Decision(
        approval=adk_id,
        approved=given.get("confirmed") is True,
        reason=reason if isinstance(reason, str) else "",
    )


def _parts(message: Raw) -> list[dict[str, Any]]:
    tree = msgspec.json.decode(bytes(message)) if bytes(message) else {}
    parts = tree.get("parts") if isinstance(tree, dict) else None
    return [part for part in parts or () if isinstance(part, dict)]


def _as_asked(request: Raw, text: str) -> Raw:
    """Read typed words as the value that was asked for: JSON where the schema wants no text."""
    tree = msgspec.json.decode(bytes(request)) if bytes(request) else {}
    schema = tree.get("response_schema") or tree.get("responseSchema") if tree else None
    if isinstance(schema, dict) and schema.get("type") not in (None, "string", "STRING"):
        try:
            return to_raw({"result": msgspec.json.decode(text)})
        except msgspec.MsgspecError:
            pass
    return to_raw({"result": text})
