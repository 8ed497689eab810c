"""A client of ADK's HTTP contract, and what makes two servers' events comparable."""

from __future__ import annotations

import asyncio
import json
import re
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
from tests.end_to_end.clients import new_id
from tests.end_to_end.server import Server
from tests.patience import PATIENCE

Json = dict[str, Any]


@dataclass(frozen=True)
class Adk:
    """A client of ADK's HTTP contract, in one session."""

    http: httpx.AsyncClient
    app: str
    session: str

    def body(self, message: Json | None, **extras: Any) -> Json:
        """Return the body of a run request."""
        about = {"appName": self.app, "userId": "ada", "sessionId": self.session}
        return {**about, **({"newMessage": message} if message is not None else {}), **extras}

    async def post(self, route: str, message: Json | None, **extras: Any) -> httpx.Response:
        """Call a run route."""
        return await self.http.post(route, json=self.body(message, **extras))

    async def run(self, message: Json | None, **extras: Any) -> list[Json]:
        """Run with `/run_sse`; return its events."""
        answer = await self.post("/run_sse", message, **extras)
        assert answer.status_code == 200, answer.text
        return events_of(answer.text)

    async def say(self, text: str, **extras: Any) -> list[Json]:
        """Send a person's message."""
        return await self.run(words(text), **extras)

    async def session_now(self) -> Json:
        """Return the session."""
        path = f"/apps/{self.app}/users/ada/sessions/{self.session}"
        found: Json = (await self.http.get(path)).json()
        return found


def words(text: str) -> Json:
    return {"role": "user", "parts": [{"text": text}]}


def answers(*responses: Json) -> Json:
    return {"role": "user", "parts": [{"functionResponse": response} for response in responses]}


def events_of(body: str) -> list[Json]:
    """Return the JSON of an event stream's frames."""
    lines = [line for line in body.split("\n") if line.startswith("data:")]
    return [json.loads(line.removeprefix("data:")) for line in lines]


@asynccontextmanager
async def opened(http: httpx.AsyncClient, app: str) -> AsyncIterator[Adk]:
    """Create a session and give a client of it."""
    async with http:
        session = new_id("session")
        made = await http.post(f"/apps/{app}/users/ada/sessions", json={"sessionId": session})
        made.raise_for_status()
        yield Adk(http, app, session)


def client_of(server: Server) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        base_url=server.url, timeout=PATIENCE, headers={"accept": "application/json"}
    )


async def until_asked(server: Server, adk: Adk) -> None:
    """Wait until the diary's model has been asked something."""
    async with asyncio.timeout(PATIENCE):
        while not (server.folder / f"requests-{adk.session}.jsonl").exists():
            await adk.http.get("/health")


async def open_gate(server: Server, gate: str) -> None:
    """Open a gate of the diary's."""
    async with opened(client_of(server), "diary") as keeper:
        await keeper.say(f"open {gate}")


_IDS = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def comparable(events: Sequence[Json]) -> dict[str, list[Json]]:
    """Return events by lane, without ids and times: lanes that run side by side mix as they like."""
    lanes: dict[str, list[Json]] = defaultdict(list)
    for event in json.loads(_IDS.sub("ID", json.dumps(events))):
        kept = {k: v for k, v in event.items() if k not in ("timestamp", "id", "invocationId")}
        if kept.get("errorCode") and kept.get("errorMessage"):
            kept["errorMessage"] = "text"  # ours holds no exception's text
        if event.get("partial"):
            # ADK lets them share objects with the final event: what they show of it is chance.
            kept["nodeInfo"] = {"path": event.get("nodeInfo", {}).get("path")}
        lane = f"{event['author']} {event.get('branch')} {event.get('nodeInfo', {}).get('path')}"
        lanes[lane].append(kept)
    return dict(lanes)


def expected(events: Sequence[Json]) -> list[Json]:
    """Return ADK's events as ours are meant to be.

    - An error is one event: ADK adds an object that is none.
    - An event that saves an artifact is one event: ADK sends it in two halves of one id.
    """
    found: list[Json] = []
    for event in events:
        if "error" in event and "author" not in event:
            continue
        before = found[-1] if found else {}
        if before.get("id") == event.get("id") and event["actions"]["artifactDelta"]:
            before["actions"]["artifactDelta"] = event["actions"]["artifactDelta"]
        else:
            found.append(event)
    return found
