"""A model that says what a test tells it to, and the small agents built on it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from pydantic import PrivateAttr

Turn = str | types.Part | Sequence[types.Part] | BaseException | asyncio.Event
Script = Callable[[LlmRequest], Turn]


def call(name: str, call_id: str, **args: Any) -> types.Part:
    return types.Part(function_call=types.FunctionCall(id=call_id, name=name, args=args))


class Scripted(BaseLlm):
    """Takes its turns in order; a text turn is streamed word by word.

    An exception is raised; an event is set and then waited for until the run is cancelled.
    """

    model: str = "scripted"
    _turns: list[Turn] = PrivateAttr(default_factory=list)
    _requests: list[list[types.Content]] = PrivateAttr(default_factory=list)

    @classmethod
    def saying(cls, *turns: Turn) -> Scripted:
        model = cls()
        model._turns.extend(turns)
        return model

    def then(self, *turns: Turn) -> None:
        self._turns.extend(turns)

    def say_nothing_more(self) -> None:
        """Drop the turns that were not asked for."""
        self._turns.clear()

    @property
    def requests(self) -> list[list[types.Content]]:
        """The contents of each request, in order."""
        return self._requests

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self._requests.append([content.model_copy(deep=True) for content in llm_request.contents])
        turn = self._turns.pop(0) if self._turns else "Nothing more to say."
        if isinstance(turn, BaseException):
            raise turn
        if isinstance(turn, asyncio.Event):
            yield _response([types.Part(text="Once ")], partial=True)
            turn.set()
            await asyncio.Event().wait()
            return
        parts = _parts(turn)
        if stream:
            for part in parts:
                for word in (part.text or "").split(" "):
                    if word:
                        yield _response([types.Part(text=word + " ")], partial=True)
        yield _response(parts, partial=False if stream else None)


def _parts(turn: str | types.Part | Sequence[types.Part]) -> list[types.Part]:
    if isinstance(turn, str):
        return [types.Part(text=turn)]
    return [turn] if isinstance(turn, types.Part) else list(turn)


def _response(parts: list[types.Part], *, partial: bool | None) -> LlmResponse:
    finish = None if partial else types.FinishReason.STOP
    content = types.Content(role="model", parts=parts)
    return LlmResponse(content=content, partial=partial, finish_reason=finish)
