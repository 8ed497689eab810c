"""Which conversation a request belongs to, and what it asks of that conversation.

A client names it (`previous_response_id`, `conversation`, `metadata.session_id`, a header), or it is found by
what was said. The rule, for a client that sends its whole history with every message and no id:

1. A list with one message of the user begins a new conversation.
2. Else the user's earlier messages are compared with those of the caller's conversations that began with the
   same words, newest first: all of them, in order, by their text without white space at the borders. The
   assistant's last message must be the answer that the run gave. Then the new message follows that answer;
   where the conversation went on from there, it becomes another version, as an edit does.
3. A list that fits no conversation (it came from elsewhere, or an answer in it was edited) begins a new one,
   whose session has the list as its history.

A conversation that was found this way is named after its first message, so a restarted server or another
replica finds it in the log: nothing is stored for it.

While an answer waits for approvals, a message that is `approve` decides on them, and one that begins with
`deny` refuses them with the rest as the reason.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import aclosing
from hashlib import sha256
from uuid import uuid4

from google.adk.events.event import Event
from google.genai import types
from msgspec import Struct, structs

from adk_prism import commands
from adk_prism.commands import ToolAnswer
from adk_prism.errors import Conflict, Gone, NotFound
from adk_prism.facts.pending import Pending
from adk_prism.facts.state import read_object
from adk_prism.features.openai.chat import ChatProjection, Chunk
from adk_prism.features.openai.requests import Asked, Said
from adk_prism.log.entry import Decision, Origin, RunId, to_raw
from adk_prism.protocols.contract import Options
from adk_prism.runs.chats import Turn
from adk_prism.server.context import Context

MOST_REMEMBERED = 10_000
"""First messages of which the conversations are remembered; of others they are looked up in the log."""

MOST_COMPARED = 20
"""Conversations with the same first message that are compared, from the newest on."""

_APPROVED = re.compile(r"approved?[.!]?", re.IGNORECASE)
_DENIED = re.compile(r"(?:deny|denied)\b[\s:,.-]*(?P<reason>.*)", re.IGNORECASE | re.DOTALL)


class Place(Struct, frozen=True, kw_only=True):
    """Where in which conversation a request belongs."""

    session: str
    after: Turn | None = None
    """The turn that it follows, or answers; None: the last one."""
    history: Sequence[Said] = ()
    """What a new session has to begin with."""


class Conversations:
    """Finds the conversations of one server's clients."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._known: OrderedDict[tuple[str, str, str], list[str]] = OrderedDict()
        """Sessions by app, user and first message; the newest last."""

    async def find(self, app: str, user: str, asked: Asked, key: str = "") -> Place:
        """Return where a request belongs. Raise `NotFound` for an id that is not known.

        The same idempotency key gives a new conversation the same name.
        """
        if asked.previous:
            return await self._after_response(app, user, asked.previous)
        if asked.session:
            return await self._in_session(Origin(app=app, user=user, session=asked.session), asked)
        earlier = [said.text for said in asked.earlier if said.role == "user"]
        if not earlier:
            if asked.new is None:
                raise Conflict("There is no conversation that these results belong to.")
            return Place(session=self._name(app, user, asked.new.text, key))
        async for session in self._candidates(app, user, earlier[0]):
            origin = Origin(app=app, user=user, session=session)
            if (turn := await self._matching_turn(origin, asked)) is not None:
                return Place(session=session, after=turn)
        if asked.new is None:
            raise Conflict("There is no conversation that these results belong to.")
        return Place(session=self._name(app, user, earlier[0], key), history=asked.earlier)

    async def _after_response(self, app: str, user: str, response: str) -> Place:
        run = RunId(response.removeprefix("resp_"))
        summary = await self._context.log.summary(run)
        if (summary.origin.app, summary.origin.user) != (app, user):
            raise NotFound(f"There is no response {response[:60]!r} of this model and user.")
        history = await self._context.chats.history(summary.origin)
        turns = history.branch(summary.message) or []
        after = next((turn for turn in turns if turn.message == summary.message), None)
        return Place(session=summary.origin.session, after=after)

    async def _in_session(self, origin: Origin, asked: Asked) -> Place:
        if not asked.earlier:
            return Place(session=origin.session)
        after = await self._matching_turn(origin, asked)
        if after is None and not await self._context.apps.sessions(origin.app).exists(origin):
            return Place(session=origin.session, history=asked.earlier)
        return Place(session=origin.session, after=after)

    # -------------------------------------------------------------- by what was said

    def _name(self, app: str, user: str, first: str, key: str) -> str:
        """Return the name of a new session, and remember it."""
        digest = _digest(first)
        own = _digest(f"{user}\0{key}") if key else uuid4().hex
        session = f"chat-{digest}-{own[:12]}"
        names = self._known.setdefault((app, user, digest), [])
        names.append(session)
        del names[:-MOST_COMPARED]
        self._known.move_to_end((app, user, digest))
        if len(self._known) > MOST_REMEMBERED:
            self._known.popitem(last=False)
        return session

    async def _candidates(self, app: str, user: str, first: str) -> AsyncIterator[str]:
        """Yield the sessions that began with a message: those of this process, then others of the log.

        Each kind has the newest first.
        """
        digest = _digest(first)
        known = self._known.get((app, user, digest), [])[::-1]
        for session in known:
            yield session
        began = f"chat-{digest}-"
        runs = await self._context.log.list(app=app, user=user)
        names = (run.origin.session for run in reversed(runs))
        others = dict.fromkeys(name for name in names if name.startswith(began))
        for session in [name for name in others if name not in known][:MOST_COMPARED]:
            yield session

    async def _matching_turn(self, origin: Origin, asked: Asked) -> Turn | None:
        """Return the turn of a conversation that a client's list ends with."""
        try:
            history = await self._context.chats.history(origin)
        except (NotFound, Gone):
            return None
        earlier = [said.text for said in asked.earlier if said.role == "user"]
        answer = next(
            (each.text for each in reversed(asked.earlier) if each.role == "assistant"), ""
        )
        for turns in (history.turns, *history.branches.values()):
            turn = _last_aligned(turns, earlier)
            if turn is not None and await self._has_answered(turn, answer):
                return turn
        return None

    async def _has_answered(self, turn: Turn, answer: str) -> bool:
        """Return whether an answer is one that a turn gave; none is: it was only calls."""
        if not answer.strip():
            return True
        for run in reversed(turn.runs):
            if _plain(await self._answer_of(run.summary.run)) == _plain(answer):
                return True
        return False

    async def _answer_of(self, run: RunId) -> str:
        projection, texts = ChatProjection(Options()), list[str]()
        async with aclosing(self._context.chats.entries(run)) as entries:
            async for entry in entries:
                for frame in projection.feed(entry):
                    if isinstance(frame, Chunk):
                        texts.append(frame.choices[0].delta.content or "")
        return "".join(texts)

    # -------------------------------------------------------------- what is asked of it

    async def command(self, origin: Origin, place: Place, asked: Asked) -> commands.Command:
        """Return the command of a request, with its session as it has to be."""
        if place.history:
            await self._plant(origin, place.history)
        turn = place.after or await self._last(origin)
        pending = await self._context.chats.pending(turn) if turn is not None else Pending()
        answers = [_named(pending, each) for each in asked.answers] or _decided(pending, asked.new)
        if asked.new is None or (answers and not asked.answers):
            return commands.Answer(message_id=turn.message if turn else "", answers=answers)
        before = commands.Before()
        if place.after is not None:
            before = commands.Before(ids=(place.after.message,), named=True)
        return commands.Submit(
            content=to_raw({"role": "user", "parts": asked.new.parts}),
            text=asked.new.text,
            before=before,
            results=answers,
        )

    async def _last(self, origin: Origin) -> Turn | None:
        turns = await self._context.chats.turns(origin)
        return turns[-1] if turns else None

    async def _plant(self, origin: Origin, history: Sequence[Said]) -> None:
        """Create a session whose events are what a client says was said."""
        if await self._context.apps.sessions(origin.app).exists(origin):
            return  # the same request, sent again
        app = self._context.apps.app(origin.app)
        events, invocation = list[Event](), ""
        for said in (each for each in history if each.parts):
            if said.role == "user" or not invocation:
                invocation = f"e-{uuid4()}"
            role = "user" if said.role == "user" else "model"
            content = types.Content.model_validate({"role": role, "parts": said.parts})
            author = "user" if said.role == "user" else app.root_name
            events.append(Event(author=author, content=content, invocation_id=invocation))
        await app.plant(origin, events, resumes=False)


def _digest(text: str) -> str:
    return sha256(_plain(text).encode(errors="replace")).hexdigest()[:16]


def _plain(text: str) -> str:
    return text.strip()


def _texts(turn: Turn) -> str:
    parts = read_object(turn.first.head.message).get("parts")
    found = (part.get("text") for part in parts or () if isinstance(part, dict))
    return "".join(text for text in found if isinstance(text, str))


def _last_aligned(turns: Sequence[Turn], texts: Sequence[str]) -> Turn | None:
    """Return the last of the turns that began with these messages; None if one of them is missing.

    A word that decided on an approval has no turn of its own.
    """
    left: Iterator[Turn] = iter(turns)
    turn, last = next(left, None), None
    for text in texts:
        if turn is not None and _plain(_texts(turn)) == _plain(text):
            last, turn = turn, next(left, None)
        elif last is None or _decision(text) is None:
            return None
    return last


def _decision(text: str) -> Decision | None:
    """Return what a message says to an approval; None if it says something else."""
    text = text.strip()
    if _APPROVED.fullmatch(text):
        return Decision(approval="", approved=True)
    denied = _DENIED.fullmatch(text)
    return Decision(approval="", approved=False, reason=denied["reason"]) if denied else None


def _decided(pending: Pending, new: Said | None) -> list[ToolAnswer]:
    """Return the decisions that a message makes in words."""
    decision = _decision(new.text) if new is not None and pending.approvals else None
    if decision is None:
        return []
    return [
        ToolAnswer(
            call=asked.call.call, decision=structs.replace(decision, approval=asked.approval)
        )
        for asked in pending.approvals.values()
    ]


def _named(pending: Pending, answer: ToolAnswer) -> ToolAnswer:
    """Return an answer with the call that it is about. Raise `Conflict` for an approval nobody asked for."""
    if answer.decision is None:
        return answer
    asked = pending.approvals.get(answer.decision.approval)
    if asked is None:
        raise Conflict("Nothing in this conversation is waiting for this approval.")
    return structs.replace(answer, call=asked.call.call)
