"""The order of events in one run of AG-UI: what `verifyEvents` of the npm package `@ag-ui/client` accepts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from adk_prism.conform.ag_ui_events import PROTOCOL
from adk_prism.conform.check import Check, Sheet
from adk_prism.conform.stream_checks import ERROR_TEXT, Item, check_error_text, read_json

Event = dict[str, Any]

VERIFY = "npm package @ag-ui/client, verifyEvents"
CHECKS = (
    Check("run-started", "The first event, and no other, is RUN_STARTED.", VERIFY),
    Check(
        "run-ids",
        "RUN_STARTED and RUN_FINISHED name the threadId and runId of the request.",
        "https://docs.ag-ui.com/sdk/js/core/types#runagentinput",
        "should",
    ),
    Check(
        "messages",
        "A text message is opened before it grows and closed before the run ends.",
        VERIFY,
    ),
    Check(
        "reasoning", "Reasoning is opened before it grows and closed before the run ends.", VERIFY
    ),
    Check("calls", "A tool call is opened before it grows and closed before the run ends.", VERIFY),
    Check("call-arguments", "The arguments of a call, put together, are JSON.", PROTOCOL),
    Check("results", "A result belongs to a call that was made.", PROTOCOL, "should"),
    Check("steps", "A step is started before it is finished, and finished before the run.", VERIFY),
    Check("sub-agents", "A sub-agent is started once, and finished before the run.", VERIFY),
    Check(
        "run-ended",
        "The last event is RUN_FINISHED or RUN_ERROR, and nothing follows it.",
        "https://docs.ag-ui.com/concepts/events#lifecycle-events",
    ),
    Check(
        "interrupts",
        "An interrupt has an id and a reason, and a run that waits names at least one.",
        "https://docs.ag-ui.com/concepts/interrupts",
    ),
    ERROR_TEXT,
)

ENDS = ("RUN_FINISHED", "RUN_ERROR")

_PAIRS: dict[str, tuple[str, str, str, str]] = {
    # event: (check, kind of thing, key, act)
    **{
        f"{name}_{act}": (check, name, key, act.lower())
        for check, name, key in (
            ("messages", "TEXT_MESSAGE", "messageId"),
            ("reasoning", "REASONING_MESSAGE", "messageId"),
            ("calls", "TOOL_CALL", "toolCallId"),
        )
        for act in ("START", "CONTENT", "ARGS", "END")
    },
    "REASONING_START": ("reasoning", "REASONING", "messageId", "start"),
    "REASONING_END": ("reasoning", "REASONING", "messageId", "end"),
    "STEP_STARTED": ("steps", "STEP", "stepName", "start"),
    "STEP_FINISHED": ("steps", "STEP", "stepName", "end"),
    "SUBAGENT_STARTED": ("sub-agents", "SUBAGENT", "subagentRunId", "start"),
    "SUBAGENT_FINISHED": ("sub-agents", "SUBAGENT", "subagentRunId", "end"),
    "SUBAGENT_ERROR": ("sub-agents", "SUBAGENT", "subagentRunId", "end"),
}


class Run:
    """One run, as far as it has been read."""

    def __init__(self, sheet: Sheet, thread: str, run: str, calls: Iterable[str] = ()) -> None:
        """`calls` were made in earlier runs of the thread."""
        self.ended = ""
        self.interrupts: list[Event] = []
        self.message_ids: set[str] = set()
        self._sheet = sheet
        self._ids = {"threadId": thread, "runId": run}
        self._is_first = True
        self._open: dict[tuple[str, str, str], str] = {}
        """Kind, id and owner of what is open → its check."""
        self.calls: dict[str, str] = dict.fromkeys(calls, "")
        """Call → its arguments so far."""
        self._at = ""

    def take(self, item: Item) -> None:
        """Take the next event; note what is wrong with it."""
        event, self._at = item.value, item.at
        kind = str(event["type"])
        self._check_place(kind)
        if kind in _PAIRS:
            self._pair(kind, event)
        if kind in ("RUN_STARTED", "RUN_FINISHED"):
            found = {key: event.get(key) for key in self._ids}
            self._sheet.expect("run-ids", found == self._ids, f"{kind} names {found}", self._at)
        if kind == "TOOL_CALL_RESULT":
            call = str(event["toolCallId"])
            self._sheet.expect("results", call in self.calls, f"{call} was not made", self._at)
        if kind in ENDS:
            self._end(kind, event)

    def finish(self) -> None:
        """Check the end of the stream."""
        self._sheet.expect("run-ended", bool(self.ended), "the stream ends without it")

    def _check_place(self, kind: str) -> None:
        if self._is_first:
            good = kind in ("RUN_STARTED", "RUN_ERROR")
            self._sheet.expect("run-started", good, f"the first event is {kind}", self._at)
        else:
            good = kind != "RUN_STARTED"
            self._sheet.expect("run-started", good, "a second RUN_STARTED", self._at)
        self._is_first = False
        good = not self.ended
        self._sheet.expect("run-ended", good, f"{kind} after {self.ended}", self._at)

    def _pair(self, kind: str, event: Event) -> None:
        check, thing, key, act = _PAIRS[kind]
        name, owner = str(event[key]), str(event.get("subagentRunId", ""))
        place = (thing, name, owner if thing == "STEP" else "")
        is_open = place in self._open
        if act == "start":
            said = f"{kind}: {name} is open already"
            self._sheet.expect(check, not is_open, said, self._at)
            self._open[place] = check
            if thing == "TEXT_MESSAGE":
                self.message_ids.add(name)
        else:
            self._sheet.expect(check, is_open, f"{kind}: {name} is not open", self._at)
        if thing == "TOOL_CALL":
            self._argue(name, act, event)
        if act == "end":
            self._open.pop(place, None)

    def _argue(self, call: str, act: str, event: Event) -> None:
        if act == "start":
            self.calls[call] = ""
        elif act == "args":
            self.calls[call] = self.calls.get(call, "") + str(event["delta"])
        else:
            text = self.calls.get(call, "")
            good = not text or text.strip() == "null" or read_json(text) is not None
            self._sheet.expect("call-arguments", good, f"{call}: {text}", self._at)

    def _end(self, kind: str, event: Event) -> None:
        self.ended = self.ended or kind
        if kind == "RUN_ERROR":
            check_error_text(self._sheet, str(event["message"]), self._at)
            return  # The client takes an error with anything open.
        for (thing, name, _), check in self._open.items():
            self._sheet.fault(check, f"{thing} {name} is still open", self._at)
        outcome = event.get("outcome")
        if isinstance(outcome, dict) and outcome.get("type") == "interrupt":
            self._ask(outcome.get("interrupts"))

    def _ask(self, interrupts: Any) -> None:
        found = interrupts if isinstance(interrupts, list) else []
        self.interrupts = [each for each in found if _is_interrupt(each)]
        good = bool(found) and len(found) == len(self.interrupts)
        self._sheet.expect(
            "interrupts", good, f"{len(found)}, of them good {len(self.interrupts)}", self._at
        )


def _is_interrupt(each: Any) -> bool:
    return isinstance(each, dict) and all(
        isinstance(each.get(key), str) and each[key] for key in ("id", "reason")
    )
