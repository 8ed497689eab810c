"""One app on both servers: the same requests, and the first difference between the answers.

Which requests: those of the app's `prompts.json`, a list of prompts or `{"prompts": […]}`. A prompt is a
text, or `{"prompt": text, "answers": […], "stateDelta": {…}}`, with `parts` for a message that is more
than a text: each of the answers is sent, after the run
has ended, to the calls that are open. A row without `prompt` only answers: what an earlier run left open.
Prompts of one app share a session. An app without the file is told "hello".
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from tests.end_to_end.adk_client import Adk, answers, events_of, opened
from tests.outside.differences import comparable, lane, renamed
from tests.outside.servers import Servers
from tests.patience import PATIENCE

Json = dict[str, Any]


@dataclass(frozen=True)
class Prompt:
    """A message, and the answers to what it leaves open."""

    parts: Sequence[Json]
    answers: Sequence[Json] = ()
    state: Json | None = None


@dataclass(frozen=True)
class Same:
    """The servers gave the same, and so many events."""

    events: int

    def __str__(self) -> str:
        return f"same ({self.events} events)"


@dataclass(frozen=True)
class Differs:
    """The first difference: where, and both sides."""

    where: str
    ours: Any
    theirs: Any

    def __str__(self) -> str:
        sides = (json.dumps(side, sort_keys=True) for side in (self.ours, self.theirs))
        return "differs at {}\n    ours: {}\n    ADK:  {}".format(self.where, *sides)


@dataclass(frozen=True)
class CannotRun:
    """Neither server runs the app."""

    reason: str

    def __str__(self) -> str:
        return f"cannot run: {self.reason}"


Outcome = Same | Differs | CannotRun


@dataclass
class _Talk:
    """What one server answered."""

    answers: list[tuple[str, list[Json]]] = field(default_factory=list)
    refusal: tuple[int, str] | None = None
    open_calls: list[Json] = field(default_factory=list)
    session: Json = field(default_factory=dict)


def prompts_of(app: Path) -> list[Prompt]:
    """Return what to say to an app."""
    file = app / "prompts.json"
    given = json.loads(file.read_text("utf-8")) if file.is_file() else ["hello"]
    listed = given["prompts"] if isinstance(given, dict) else given
    rows = [row if isinstance(row, dict) else {"prompt": row} for row in listed]
    return [Prompt(_parts(row), row.get("answers", ()), row.get("stateDelta")) for row in rows]


def _parts(row: Json) -> Sequence[Json]:
    parts: list[Json] = row.get("parts") or ([{"text": row["prompt"]}] if "prompt" in row else [])
    return parts


async def compare(servers: Servers, app: Path, streaming: bool) -> Outcome:
    """Hold the app's conversation with both servers and compare the answers and the sessions."""
    prompts = prompts_of(app)
    ours, theirs = await asyncio.gather(
        *(_talk(url, app.name, prompts, streaming) for url in (servers.ours, servers.theirs))
    )
    if ours.refusal and theirs.refusal and len(ours.answers) == len(theirs.answers):
        return CannotRun(f"{ours.refusal[0]} {ours.refusal[1]} (ADK: {theirs.refusal[0]})")
    if ours.refusal or theirs.refusal:
        return Differs("the status", ours.refusal, theirs.refusal)
    found = 0
    for (said, got), (_, wanted) in zip(ours.answers, theirs.answers, strict=True):
        if differs := _first_difference(said, got, wanted):
            return differs
        found += len(got)
    return _session_difference(ours.session, theirs.session) or Same(found)


async def _talk(url: str, app: str, prompts: Sequence[Prompt], streaming: bool) -> _Talk:
    talk = _Talk()
    try:
        async with opened(httpx.AsyncClient(base_url=url, timeout=PATIENCE), app) as adk:
            for prompt in prompts:
                if not await _say(adk, talk, prompt, streaming):
                    return talk
            talk.session = await adk.session_now()
    except httpx.HTTPStatusError as error:
        talk.refusal = (error.response.status_code, error.response.text[:300])
    return talk


async def _say(adk: Adk, talk: _Talk, prompt: Prompt, streaming: bool) -> bool:
    """Send a prompt and the answers to what it leaves open; return whether all were accepted."""
    said = json.dumps(prompt.parts)[:100]
    if prompt.parts:
        message = {"role": "user", "parts": prompt.parts}
        state = {"stateDelta": prompt.state} if prompt.state else {}
        first = await adk.post("/run_sse", message, streaming=streaming, **state)
        if not _keep(talk, said, first):
            return False
        talk.open_calls = _open(talk.answers[-1][1]) or talk.open_calls
    for answer in prompt.answers:
        message = answers(*({**call, "response": answer} for call in talk.open_calls))
        got = await adk.post("/run_sse", message, streaming=streaming)
        if not _keep(talk, f"{said} answered {json.dumps(answer)}", got):
            return False
    return True


def _keep(talk: _Talk, said: str, got: httpx.Response) -> bool:
    if got.is_success:
        talk.answers.append((said, events_of(got.text)))
    else:
        talk.refusal = (got.status_code, got.text[:300])
    return got.is_success


def _open(events: Sequence[Json]) -> list[Json]:
    """Return id and name of the calls that a run left open: of the last event that has any."""
    for event in reversed(events):
        if (ids := event.get("longRunningToolIds")) and not event.get("partial"):
            calls = [part.get("functionCall") for part in event["content"]["parts"]]
            found = [call for call in calls if call and call["id"] in ids]
            return [{"id": call["id"], "name": call["name"]} for call in found]
    return []


def _first_difference(where: str, got: Sequence[Json], wanted: Sequence[Json]) -> Differs | None:
    ours, theirs = comparable(got), comparable(wanted)
    if _concurrent(theirs):
        # Lanes that run side by side mix as they like; within a lane the order counts.
        ours, theirs = sorted(ours, key=lane), sorted(theirs, key=lane)
    ours, theirs = renamed(ours), renamed(theirs)
    for at, (our, their) in enumerate(zip(ours, theirs, strict=False)):
        if our != their:
            return _deepest(f"{where}, event {at + 1}", our, their)
    if len(ours) != len(theirs):
        at = min(len(ours), len(theirs))
        rest = (ours[at : at + 1], theirs[at : at + 1])
        return Differs(f"{where}, event {at + 1} of {len(ours)} / {len(theirs)}", *rest)
    return None


def _concurrent(events: Sequence[Json]) -> bool:
    return len({event["branch"] for event in events if event.get("branch")}) > 1


def _deepest(where: str, ours: Any, theirs: Any) -> Differs:
    """Follow a difference to the first member or item that has it."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in sorted(ours.keys() | theirs.keys()):
            if key not in ours or key not in theirs or ours[key] != theirs[key]:
                return _deepest(f"{where}.{key}", ours.get(key), theirs.get(key))
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for at, (our, their) in enumerate(zip(ours, theirs, strict=True)):
            if our != their:
                return _deepest(f"{where}[{at}]", our, their)
    return Differs(where, ours, theirs)


def _session_difference(ours: Json, theirs: Json) -> Differs | None:
    """Compare what `GET session` says: the events, the state, and everything but id and time."""
    if differs := _first_difference("session", ours.pop("events"), theirs.pop("events")):
        return differs
    for side in (ours, theirs):
        for chance in ("id", "lastUpdateTime"):
            side.pop(chance, None)
    return _deepest("session", ours, theirs) if ours != theirs else None
