"""Tries a server as clients of ADK's `adk api_server` do, and as clients that make mistakes do."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from adk_prism.conform import adk_events, stream_checks
from adk_prism.conform.adk_events import ADK, CONFIRMATION, Events
from adk_prism.conform.check import Check
from adk_prism.conform.exchange import NEVER, Answer, CannotTry, Leave
from adk_prism.conform.probe import Driver, Probe, shortened
from adk_prism.conform.stream_checks import Item, check_stream, read_items, read_json

USER = "conform"

CHECKS = (
    Check("list-apps", "GET /list-apps answers the names of the apps, as a list.", ADK),
    Check(
        "session-created",
        "POST …/sessions answers a session: id, appName, userId, state and events.",
        ADK,
    ),
    *stream_checks.CHECKS,
    *adk_events.CHECKS,
    Check("session-read", "GET …/sessions/{id} answers that session, with its events.", ADK),
    Check("stored", "What was streamed and is not partial is in the session, under its id.", ADK),
    Check("state-delta", "`stateDelta` of a run is in the session's state afterwards.", ADK),
    Check("run", "POST /run answers the events as a JSON list, none of them partial.", ADK),
    Check(
        "confirmation",
        "The answer to adk_request_confirmation leads to the response of the call it is about.",
        "https://google.github.io/adk-docs/tools/confirmation/",
    ),
    Check("unknown-session", "GET of a session that is not there is answered with 404.", ADK),
    Check(
        "run-unknown-session",
        "A run in a session that is not there is answered with 404, unless sessions are made on demand.",
        ADK,
        "should",
    ),
    Check("session-deleted", "A deleted session is gone: 404.", ADK),
    *stream_checks.BAD_INPUT,
)


async def run(probe: Probe) -> None:
    """Try everything."""
    server = _Server(probe)
    await server.find_app()
    for number, prompt in enumerate(probe.options.prompts):
        await server.say(prompt, first=not number)
    await server.run_at_once(probe.options.prompts[0])
    await server.unknown_session()
    await server.leave()
    streaming = Probe(probe.options, probe.exchange, probe.sheet, f"{probe.endpoint}/run_sse")
    body = server.body(await server.new_session(), _said(probe.options.prompts[0]))
    await stream_checks.send_mistakes(streaming, _has_error, body)


class _Server:
    def __init__(self, probe: Probe) -> None:
        self._probe = probe
        self._sheet = probe.sheet
        self._app = probe.options.app

    async def find_app(self) -> None:
        """Choose the app. Raise `CannotTry` if there is none."""
        self._probe.trying("listing the apps")
        answer = await self._get("/list-apps")
        if answer.status in stream_checks.DENIED:
            raise CannotTry(f"the server asks who you are (HTTP {answer.status}); pass --header.")
        names = read_json(answer.body.decode(errors="replace"))
        good = isinstance(names, list) and all(isinstance(each, str) for each in names)
        self._sheet.expect("list-apps", answer.status == 200 and good, answer.text)
        if not self._app:
            if not good or not names:
                raise CannotTry("the server lists no apps; name one with --app.")
            self._app = names[0]

    async def new_session(self) -> str:
        """Make a session; return its id. Raise `CannotTry` if there is none."""
        answer = await self._send("POST", self._sessions, {})
        session = read_json(answer.body.decode(errors="replace"))
        good = answer.status == 200 and _is_session(session, self._app)
        self._sheet.expect("session-created", good, answer.text)
        if not isinstance(session, dict) or not isinstance(session.get("id"), str):
            raise CannotTry(f"no session could be made: {answer.text[:200]}")
        return str(session["id"])

    @property
    def _sessions(self) -> str:
        return f"/apps/{quote(self._app, safe='')}/users/{USER}/sessions"

    def body(self, session: str, message: dict[str, Any], **more: Any) -> dict[str, Any]:
        """Return the body of a run."""
        names = {"appName": self._app, "userId": USER, "sessionId": session}
        return {**names, "newMessage": message, "streaming": True, **more}

    async def say(self, prompt: str, *, first: bool) -> None:
        """Send a prompt in a session of its own, answer what is asked, and look at the session."""
        self._probe.trying(shortened(prompt))
        session, calls = await self.new_session(), set[str]()
        mark = self._probe.new_id("state")
        more = {"stateDelta": {"conform": mark}} if first else {}
        answer = await self._send("POST", "/run_sse", self.body(session, _said(prompt), **more))
        events = self._judge(answer, calls, first=first)
        if events is None:
            return
        await self._look(session, events, mark if first else "")
        if events.confirmations:
            await self._confirm(session, events, calls)
        if first:
            await self._delete(session)

    def _judge(self, answer: Answer, calls: set[str], *, first: bool = False) -> Events | None:
        if not check_stream(self._sheet, answer, first=first):
            return None
        events = Events(self._sheet, calls)
        for item in read_items(self._sheet, answer.frames):
            events.take(item)
        events.finish()
        return events

    async def _look(self, session: str, events: Events, mark: str) -> None:
        """Compare the session with what was streamed."""
        answer = await self._get(f"{self._sessions}/{quote(session, safe='')}")
        found = read_json(answer.body.decode(errors="replace"))
        good = answer.status == 200 and _is_session(found, self._app) and found["id"] == session
        if not self._sheet.expect("session-read", good, answer.text):
            return
        kept = {str(each.get("id")) for each in found["events"] if isinstance(each, dict)}
        lost = sorted(events.stored.keys() - kept)
        if events.stored and not events.failed:
            self._sheet.expect("stored", not lost, f"not in the session: {lost[:3]}")
        if mark:
            came = found["state"].get("conform")
            self._sheet.expect("state-delta", came == mark, f"{came!r} where {mark!r} was sent")

    async def _confirm(self, session: str, asked: Events, calls: set[str]) -> None:
        """Answer each confirmation as the user wished."""
        confirmed = self._probe.options.approve
        self._probe.trying(f"{self._sheet.where}, {'confirmed' if confirmed else 'denied'}")
        parts = [
            {
                "functionResponse": {
                    "id": id,
                    "name": CONFIRMATION,
                    "response": {"confirmed": confirmed},
                }
            }
            for id in asked.confirmations
        ]
        message = {"role": "user", "parts": parts}
        answer = await self._send("POST", "/run_sse", self.body(session, message))
        events = self._judge(answer, calls) if answer.status == 200 else None
        wanted = set(asked.confirmations.values())
        good = events is not None and wanted <= events.answered
        self._sheet.expect("confirmation", good, answer.text)

    async def _delete(self, session: str) -> None:
        path = f"{self._sessions}/{quote(session, safe='')}"
        deleted = await self._send("DELETE", path)
        answer = await self._get(path)
        good = deleted.status < 300 and answer.status == 404
        self._sheet.expect("session-deleted", good, f"{deleted.text}, then {answer.text}")

    async def run_at_once(self, prompt: str) -> None:
        """Run without a stream."""
        self._probe.trying(f"{shortened(prompt)}, with /run")
        body = self.body(await self.new_session(), _said(prompt), streaming=False)
        answer = await self._send("POST", "/run", body)
        found = read_json(answer.body.decode(errors="replace"))
        good = answer.status == 200 and isinstance(found, list)
        if self._sheet.expect("run", good, answer.text):
            partial = [each for each in found if isinstance(each, dict) and each.get("partial")]
            self._sheet.expect("run", not partial, "a partial event")

    async def unknown_session(self) -> None:
        """Ask for a session that nobody made."""
        self._probe.trying("a session that is not there")
        name = self._probe.new_id("session")
        answer = await self._get(f"{self._sessions}/{name}")
        self._sheet.expect("unknown-session", answer.status == 404, answer.text)
        body = self.body(name, _said(self._probe.options.prompts[0]))
        answer = await self._send("POST", "/run_sse", body)
        good = answer.status == 404 or (answer.status == 200 and not _says_error(answer))
        self._sheet.expect("run-unknown-session", good, answer.text)

    async def leave(self) -> None:
        """Leave a stream after its first frame, then talk to the server again."""
        self._probe.trying("after a client has left in the middle")
        message = _said(self._probe.options.prompts[0])
        body = self.body(await self.new_session(), message)
        left = await self._send("POST", "/run_sse", body, Leave(frames=1))
        self._sheet.expect("status", left.status == 200, left.text)
        again = await self._send("POST", "/run_sse", self.body(await self.new_session(), message))
        good = again.status == 200 and bool(again.frames)
        self._sheet.expect("disconnect", good, again.text)

    async def _get(self, path: str) -> Answer:
        return await self._probe.exchange.send("GET", self._probe.endpoint + path)

    async def _send(self, method: str, path: str, body: Any = None, leave: Leave = NEVER) -> Answer:
        url = self._probe.endpoint + path
        return await self._probe.exchange.send(method, url, json=body, leave=leave)


def _said(text: str) -> dict[str, Any]:
    return {"role": "user", "parts": [{"text": text}]}


def _is_session(found: Any, app: str) -> bool:
    return (
        isinstance(found, dict)
        and isinstance(found.get("id"), str)
        and found.get("appName") == app
        and found.get("userId") == USER
        and isinstance(found.get("state"), dict)
        and isinstance(found.get("events"), list)
    )


def _has_error(items: list[Item]) -> bool:
    return any("error" in item.value or item.value.get("errorCode") for item in items)


def _says_error(answer: Answer) -> bool:
    return any(
        isinstance(value := read_json(frame.data), dict) and "error" in value
        for frame in answer.frames
    )


DRIVER = Driver(name="adk", checks=CHECKS, own_path="", run=run)
