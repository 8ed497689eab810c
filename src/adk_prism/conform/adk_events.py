"""The events of ADK's own protocol, read with ADK's own models."""

from __future__ import annotations

from typing import Any

from google.adk.events.event import Event
from pydantic import ValidationError

from adk_prism.conform.check import Check, Sheet
from adk_prism.conform.stream_checks import Item

ADK = "https://google.github.io/adk-docs/runtime/api-server/"
EVENTS = "https://google.github.io/adk-docs/events/"

CHECKS = (
    Check("json", "The data of every frame is one JSON object.", ADK),
    Check("event-values", "Every event fits ADK's Event model.", "google.adk.events.Event"),
    Check("event-spelling", "The keys of an event are in camelCase.", ADK),
    Check("event-ids", "Every event has an id, an author and an invocationId.", EVENTS),
    Check("invocation", "All events of a run have one invocationId.", EVENTS),
    Check("responses", "A function response belongs to a function call of the session.", EVENTS),
    Check(
        "aggregate",
        "Text that came in partial events comes once more as a whole, in an event that is not partial.",
        EVENTS,
        "should",
    ),
    Check(
        "error-event",
        "An error is an event with errorCode, or an object with `error`, and names no path or stack.",
        ADK,
        "should",
    ),
)

CONFIRMATION = "adk_request_confirmation"
_LEAKS = ("Traceback (most recent call last)", 'File "/', "/site-packages/")


class Events:
    """The events of one run."""

    def __init__(self, sheet: Sheet, calls: set[str]) -> None:
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

    def take(self, item: Item) -> None:
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

    def _fits(self, item: Item) -> bool:
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
