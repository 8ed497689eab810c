"""Tries a server as clients of ADK's `adk api_server` do, and as clients that make mistakes do."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from google.adk.events.event import Event
from pydantic import ValidationError

from adk_prism.features.conform import checks

# ---------------------------------------------------------------------- adk events
#
# The events of ADK's own protocol, read with ADK's own models.


CONFIRMATION = "adk_request_confirmation"
_LEAKS = ("Traceback (most recent call last)", 'File "/', "/site-packages/")


class Events:
    """The events of one run."""

    def __init__(self, sheet: checks.Sheet, calls: set[str]) -> None:
        """`calls` are those of the session so far; this run's are added."""
        self.stored: dict[str, dict[str, Any]] = {}
        """Events that have to be in the session, by id."""
        self.confirmations: dict[str, str] = {}
        """Confirmation → the call that it is about."""
        self.answered: set[str] = set()
        self.failed = False
        self.count = 0
        self._sheet = sheet
        self._calls = calls
        self._invocation = ""
        self._partial: dict[str, str] = {}
        """Author → text that came in parts and not yet as a whole."""

    def take(self, item: checks.Item) -> None:
        """Take the next frame; note what is wrong with it."""
        value: dict[str, Any] = item.value
        if "error" in value and "author" not in value:
            return self._fail(str(value["error"]), item.at)
        self.count += 1
        if not self._fits(item):
            return None
        self._check_names(value, item.at)
        if value.get("errorCode"):
            self._fail(str(value.get("errorMessage", "")), item.at)
        self._check_text(value, item.at)
        if not value.get("partial"):
            self._read_parts(value, item.at)
        return None

    def finish(self) -> None:
        """Check what is left at the end."""
        left = [author for author, text in self._partial.items() if text]
        if left and not self.failed:
            self._sheet.fault("aggregate", f"partial text of {left[0]} never came as a whole")

    def _fail(self, text: str, at: str) -> None:
        self.failed = True
        good = not any(each in text for each in _LEAKS)
        self._sheet.expect("error-event", good, text, at)

    def _fits(self, item: checks.Item) -> bool:
        try:
            Event.model_validate(item.value)
        except ValidationError as error:
            # Servers in other languages and later versions know more keys, which readers pass over.
            wrong = [each for each in error.errors() if each["type"] != "extra_forbidden"]
            said = [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in wrong]
            return self._sheet.expect("event-values", not wrong, "; ".join(said), item.at)
        self._sheet.seen("event-values")
        return True

    def _check_names(self, event: dict[str, Any], at: str) -> None:
        snake = [key for key in event if "_" in key]
        self._sheet.expect("event-spelling", not snake, ", ".join(snake), at)
        absent = [key for key in ("id", "author", "invocationId") if not event.get(key)]
        self._sheet.expect("event-ids", not absent, f"no {', '.join(absent)}", at)
        found = str(event.get("invocationId") or self._invocation)
        self._invocation = self._invocation or found
        said = f"{found} after {self._invocation}"
        self._sheet.expect("invocation", found == self._invocation, said, at)

    def _check_text(self, event: dict[str, Any], at: str) -> None:
        author, text = str(event.get("author")), _text(event)
        before = self._partial.get(author, "")
        if event.get("partial"):
            self._partial[author] = before + text
        elif text and before:
            self._sheet.expect("aggregate", text == before, f"{text!r} after {before!r}", at)
            self._partial[author] = ""

    def _read_parts(self, event: dict[str, Any], at: str) -> None:
        for part in _parts(event):
            call, response = part.get("functionCall"), part.get("functionResponse")
            if isinstance(call, dict):
                self._read_call(call)
            if isinstance(response, dict):
                id = str(response.get("id"))
                self._sheet.expect("responses", id in self._calls, f"{id} was not called", at)
                self.answered.add(id)
        if _parts(event) and not event.get("errorCode"):
            self.stored[str(event.get("id"))] = event

    def _read_call(self, call: dict[str, Any]) -> None:
        id = str(call.get("id"))
        self._calls.add(id)
        if call.get("name") == CONFIRMATION:
            original = (call.get("args") or {}).get("originalFunctionCall")
            self.confirmations[id] = str(original.get("id") if isinstance(original, dict) else "")


def _parts(event: dict[str, Any]) -> list[dict[str, Any]]:
    return (event.get("content") or {}).get("parts") or []


def _text(event: dict[str, Any]) -> str:
    return "".join(
        part["text"] for part in _parts(event) if part.get("text") and not part.get("thought")
    )


# ---------------------------------------------------------------------- the driver

USER = "conform"


async def run(probe: checks.Probe) -> None:
    """Try everything."""
    server = _Server(probe)
    await server.find_app()
    for number, prompt in enumerate(probe.options.prompts):
        await server.say(prompt, first=not number)
    await server.run_at_once(probe.options.prompts[0])
    await server.unknown_session()
    await server.leave()
    streaming = checks.Probe(
        probe.options, probe.exchange, probe.sheet, f"{probe.endpoint}/run_sse"
    )
    body = server.body(await server.new_session(), _said(probe.options.prompts[0]))
    await checks.send_mistakes(streaming, lambda it: "error" in it or it.get("errorCode"), body)


class _Server:
    def __init__(self, probe: checks.Probe) -> None:
        self._probe = probe
        self._sheet = probe.sheet
        self._app = probe.options.app

    async def find_app(self) -> None:
        """Choose the app. Raise `CannotTry` if there is none."""
        self._probe.trying("listing the apps")
        answer = await self._get("/list-apps")
        if answer.status in checks.DENIED:
            raise checks.CannotTry(
                f"the server asks who you are (HTTP {answer.status}); pass --header."
            )
        names = checks.read_json(answer.body.decode(errors="replace"))
        good = isinstance(names, list) and all(isinstance(each, str) for each in names)
        self._sheet.expect("list-apps", answer.status == 200 and good, answer.text)
        if not self._app:
            if not good or not names:
                raise checks.CannotTry("the server lists no apps; name one with --app.")
            self._app = names[0]

    async def new_session(self) -> str:
        """Make a session; return its id. Raise `CannotTry` if there is none."""
        answer = await self._send("POST", self._sessions, {})
        session = checks.read_json(answer.body.decode(errors="replace"))
        good = answer.status == 200 and _is_session(session, self._app)
        self._sheet.expect("session-created", good, answer.text)
        if not isinstance(session, dict) or not isinstance(session.get("id"), str):
            raise checks.CannotTry(f"no session could be made: {answer.text[:200]}")
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
        self._probe.trying(checks.shortened(prompt))
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

    def _judge(
        self, answer: checks.HttpResponse, calls: set[str], *, first: bool = False
    ) -> Events | None:
        if not checks.check_stream(self._sheet, answer, first=first):
            return None
        events = Events(self._sheet, calls)
        for item in checks.read_items(self._sheet, answer.frames):
            events.take(item)
        events.finish()
        return events

    async def _look(self, session: str, events: Events, mark: str) -> None:
        """Compare the session with what was streamed."""
        answer = await self._get(f"{self._sessions}/{quote(session, safe='')}")
        found = checks.read_json(answer.body.decode(errors="replace"))
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
        self._probe.trying(f"{checks.shortened(prompt)}, with /run")
        body = self.body(await self.new_session(), _said(prompt), streaming=False)
        answer = await self._send("POST", "/run", body)
        found = checks.read_json(answer.body.decode(errors="replace"))
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
        left = await self._send("POST", "/run_sse", body, checks.Leave(frames=1))
        self._sheet.expect("status", left.status == 200, left.text)
        again = await self._send("POST", "/run_sse", self.body(await self.new_session(), message))
        good = again.status == 200 and bool(again.frames)
        self._sheet.expect("disconnect", good, again.text)

    async def _get(self, path: str) -> checks.HttpResponse:
        return await self._probe.exchange.send("GET", self._probe.endpoint + path)

    async def _send(
        self, method: str, path: str, body: Any = None, leave: checks.Leave = checks.NEVER
    ) -> checks.HttpResponse:
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


def _says_error(answer: checks.HttpResponse) -> bool:
    return any(
        isinstance(value := checks.read_json(frame.data), dict) and "error" in value
        for frame in answer.frames
    )


DRIVER = checks.Driver(name="adk", own_path="", run=run)
