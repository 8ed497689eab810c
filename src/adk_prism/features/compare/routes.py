"""Two runs compared: what is the same, what differs, what only one of them did."""

from __future__ import annotations

import asyncio

import msgspec
from fastapi import APIRouter, Request, Response

from adk_prism.errors import TooLarge
from adk_prism.features.captures.routes import compressed
from adk_prism.features.compare.comparison import compare
from adk_prism.features.model_calls.calls import ModelCalls
from adk_prism.features.page.outline import Requests, outline
from adk_prism.log.contract import RunLog
from adk_prism.log.entry import Entry, RunId
from adk_prism.runs.chats import Chats
from adk_prism.server.identity.caller import Caller, may_operate
from adk_prism.server.identity.identity import CallerOf, TwoRuns
from adk_prism.server.throttling import HeavyWork

LARGEST_RUN = 64 * 1024**2
"""Bytes of a run that is compared here: as many as can be uploaded."""


def routes(log: RunLog, chats: Chats, calls: ModelCalls, heavy: HeavyWork) -> APIRouter:
    """Return the router of comparisons."""
    router = APIRouter(prefix="/api", tags=["runs"])

    async def read(run: RunId) -> list[Entry]:
        size = (await log.summary(run)).bytes
        if size > LARGEST_RUN:
            raise TooLarge(
                f"Run {run[:60]!r} has {size} bytes; at most {LARGEST_RUN} are compared here. Download the"
                " recordings, and use `adk-prism compare`."
            )
        return [entry async for entry in chats.entries(run)]

    async def asked(caller: Caller, run: RunId, entries: list[Entry]) -> Requests:
        # Instructions are the app's, not the user's.
        return await calls.asked(run, entries) if may_operate(caller) else {}

    async def compare_runs(request: Request, caller: CallerOf, runs: TwoRuns) -> Response:
        """Compare run `a` with run `b`, as far as they have got.

        Where callers are known, instructions, tools and configs of models are compared for administrators.
        """
        size = sum([(await log.summary(run)).bytes for run in runs])
        async with heavy.slot(caller, size):
            a, b = [await read(run) for run in runs]
            ours, theirs = [
                await asked(caller, run, entries) for run, entries in zip(runs, (a, b), strict=True)
            ]
            body = await asyncio.to_thread(
                lambda: msgspec.json.encode(
                    compare(outline(a, ours, calls.prices), outline(b, theirs, calls.prices))
                )
            )
        return await compressed(request, body, "application/json", {"cache-control": "no-cache"})

    router.get("/compare", response_class=Response)(compare_runs)
    return router
