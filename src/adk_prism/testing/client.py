"""A client for tests of an agent, and of a program that a `Prism` is part of: no port, no network."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from google.genai.types import Content
from msgspec import Struct
from starlette import testclient
from starlette.types import ASGIApp

from adk_prism.prism import Prism, Question, Run

ADDRESS = "http://127.0.0.1"
"""What the client calls: every server knows this name."""

T = TypeVar("T")


class ToolCall(NamedTuple):
    """A tool that the agent called."""

    tool: str
    input: dict[str, Any]


class Reply(Struct, frozen=True, kw_only=True):
    """What an agent did about a message, when its run is over."""

    run: Run
    text: str
    """What it said."""
    calls: Sequence[ToolCall]
    """The tools that it called, in order."""
    questions: Sequence[Question]
    """What it waits for: approvals, inputs, results of client tools."""


class TestClient(testclient.TestClient):
    """Starlette's test client, which can talk to agents too. Use it in a `with` block."""

    __test__ = False  # pytest takes it for a class of tests otherwise

    def __init__(self, prism: Prism, *, app: ASGIApp | None = None, **options: Any) -> None:
        """`app`: the program that it is part of, whose routes are asked then.

        `options` are those of Starlette's test client, such as `headers` and `cookies`.
        """
        super().__init__(app or prism, **{"base_url": ADDRESS, **options})
        self._prism = prism

    def say(
        self, app: str, message: str | Content, *, user: str = "user", session: str = ""
    ) -> Reply:
        """Send a message and wait until its run is over. Raise as `Prism.start` does."""
        return self._wait(lambda: self._prism.start(app, message, user=user, session=session))

    def answer(self, reply: Reply, answers: Mapping[str, Any] | Any) -> Reply:
        """Answer the questions of a reply, by their ids; or all of them with one value, such as True.

        Return what the agent did then. Raise as `Prism.answer` does.
        """
        ids = {question.id for question in reply.questions}
        is_by_id = isinstance(answers, Mapping) and not ids.isdisjoint(answers)
        given = answers if is_by_id else dict.fromkeys(ids, answers)
        return self._wait(lambda: self._prism.answer(reply.run, given))

    def _wait(self, begin: Callable[[], Awaitable[Run]]) -> Reply:
        async def reply() -> Reply:
            run = await begin()
            events = [json.loads(frame.data) async for frame in self._prism.stream(run, "adk")]
            said = [event for event in events if not event.get("partial")]
            parts = [p for each in said for p in (each.get("content") or {}).get("parts") or ()]
            spoken = (part for part in parts if not part.get("thought"))
            made = (part["functionCall"] for part in parts if "functionCall" in part)
            return Reply(
                run=await self._prism.runs.get(run),
                text="".join(part.get("text", "") for part in spoken),
                calls=[
                    ToolCall(call["name"], call.get("args") or {})
                    for call in made
                    if not call["name"].startswith("adk_request_")
                ],
                questions=await self._prism.runs.questions(run),
            )

        return self._call(reply)

    def _call(self, do: Callable[[], Awaitable[T]]) -> T:
        if self.portal is None:
            raise RuntimeError(
                "The test client is not open. Use it so: with TestClient(prism) as client"
            )
        return self.portal.call(do)
