"""Tries a server as AG-UI's `HttpAgent` does, and as clients that make mistakes do."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import msgspec

from adk_prism.features.conform import checks
from adk_prism.features.fields.report import Keys, read_ag_ui_releases

# ---------------------------------------------------------------------- ag ui stream
#
# Checks of an AG-UI stream: each event by its schema, and the order of events.


# ---------------------------------------------------------------------- events
#
# The events of AG-UI: types, keys and values, as the npm package `@ag-ui/core` reads them.


_TYPES = checks.typed_keys(
    a_string="""messageId threadId runId toolCallId toolCallName parentMessageId stepName name activityType
    message code subtype entityId encryptedValue source subagentRunId parentRunId parentSubagentRunId
    parentToolCallId description role""",
    a_whole_number="timestamp",
    true_or_false="replace",
    an_object="metadata outcome",
    a_list="messages patch usage",
)
_OWN: dict[str, dict[str, str]] = {
    **{
        f"{kind}_{end}": {"delta": "a string"}
        for kind in ("TEXT_MESSAGE", "REASONING_MESSAGE", "THINKING_TEXT_MESSAGE", "TOOL_CALL")
        for end in ("CONTENT", "CHUNK", "ARGS")
    },
    "STATE_DELTA": {"delta": "a list"},
    "ACTIVITY_SNAPSHOT": {"content": "an object"},
    "TOOL_CALL_RESULT": {"content": "a string or a list"},
}
_ROLES: dict[str, tuple[str, ...]] = {
    "TEXT_MESSAGE_START": ("developer", "system", "assistant", "user"),
    "TEXT_MESSAGE_CHUNK": ("developer", "system", "assistant", "user"),
    "REASONING_MESSAGE_START": ("reasoning", "assistant"),
    "TOOL_CALL_RESULT": ("tool",),
}
_MESSAGE_ROLES = ("developer", "system", "assistant", "user", "tool", "activity", "reasoning")
_OPERATIONS = {
    "add": ("value",),
    "replace": ("value",),
    "test": ("value",),
    "remove": (),
    "move": ("from",),
    "copy": ("from",),
}


class EventSchema:
    """Checks one event at a time."""

    def __init__(self) -> None:
        releases = read_ag_ui_releases()
        self._oldest = releases[0]
        self._known: dict[str, Keys] = {}
        for release in releases:
            self._known |= release.events

    def check(self, sheet: checks.Sheet, item: checks.Item) -> bool:
        """Note what is wrong with an event; return whether it has what its order is judged by."""
        event = item.value
        kind = event.get("type")
        known = isinstance(kind, str) and kind in self._known
        if not sheet.expect("event-type", known, item.event.data, item.at):
            return False
        types = _TYPES | _OWN.get(kind, {})
        wrong = [
            *checks.missing_keys(event, self._known[kind].required),
            *checks.wrong_types(event, types),
        ]
        said = f"{'; '.join(wrong)}: {item.event.data}"
        is_good = sheet.expect("event-values", not wrong, said, item.at)
        _check_roles(sheet, item, kind)
        if kind in ("STATE_DELTA", "ACTIVITY_DELTA") and is_good:
            _check_patch(sheet, item, event["delta" if kind == "STATE_DELTA" else "patch"])
        is_usable = not any(checks.missing_keys(event, self._known[kind].required))
        narrow = self._beyond(kind, event)
        sheet.expect("both-releases", not narrow, f"{narrow}: {item.event.data}", item.at)
        return is_usable

    def _beyond(self, kind: str, event: dict[str, Any]) -> str:
        """Return what the oldest release refuses; keys that it does not know it drops."""
        version = self._oldest.version
        if kind not in self._oldest.events:
            return f"{version} does not know {kind}"
        outcome = event.get("outcome")
        if isinstance(outcome, dict) and outcome.get("type") == "cancelled":
            return f"{version} does not know the outcome cancelled"
        if kind == "TOOL_CALL_RESULT" and not isinstance(event.get("content"), str):
            return f"{version} takes the content of a result as a string only"
        return ""


def _check_roles(sheet: checks.Sheet, item: checks.Item, kind: str) -> None:
    event = item.value
    if kind == "MESSAGES_SNAPSHOT" and isinstance(event.get("messages"), list):
        roles = [each.get("role") if isinstance(each, dict) else each for each in event["messages"]]
        wrong = [role for role in roles if role not in _MESSAGE_ROLES]
        sheet.expect("roles", not wrong, f"{wrong[:3]} in MESSAGES_SNAPSHOT", item.at)
    elif kind in _ROLES and "role" in event:
        good = event["role"] in _ROLES[kind]
        sheet.expect("roles", good, f"{event['role']!r} in {kind}", item.at)


def _check_patch(sheet: checks.Sheet, item: checks.Item, operations: list[Any]) -> None:
    sheet.seen("state-delta")
    for each in operations:
        if not _is_operation(each):
            sheet.fault("state-delta", msgspec.json.encode(each).decode(), item.at)


def _is_operation(each: Any) -> bool:
    if not isinstance(each, dict) or each.get("op") not in _OPERATIONS:
        return False
    path = each.get("path")
    return (
        isinstance(path, str)
        and path[:1] in ("", "/")
        and all(key in each for key in _OPERATIONS[each["op"]])
    )


# ---------------------------------------------------------------------- order
#
# The order of events in one run of AG-UI: what `verifyEvents` of the npm package `@ag-ui/client` accepts.

Event = dict[str, Any]


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


class Run(checks.FrameReader):
    """One run, as far as it has been read."""

    def __init__(
        self, sheet: checks.Sheet, thread: str, run: str, calls: Iterable[str] = ()
    ) -> None:
        """`calls` were made in earlier runs of the thread."""
        self.ended = ""
        self.interrupts: list[Event] = []
        self.message_ids: set[str] = set()
        super().__init__(sheet)
        self._ids = {"threadId": thread, "runId": run}
        self._is_first = True
        self._open: dict[tuple[str, str, str], str] = {}
        """Kind, id and owner of what is open → its check."""
        self.calls: dict[str, str] = dict.fromkeys(calls, "")
        """Call → its arguments so far."""

    def take(self, item: checks.Item) -> None:
        """Take the next event; note what is wrong with it."""
        event, self._at = item.value, item.at
        kind = str(event["type"])
        self._check_place(kind)
        if kind in _PAIRS:
            self._pair(kind, event)
        if kind in ("RUN_STARTED", "RUN_FINISHED"):
            found = {key: event.get(key) for key in self._ids}
            self.expect("run-ids", found == self._ids, f"{kind} names {found}")
        if kind == "TOOL_CALL_RESULT":
            call = str(event["toolCallId"])
            self.expect("results", call in self.calls, f"{call} was not made")
        if kind in ENDS:
            self._end(kind, event)

    def finish(self) -> None:
        """Check the end of the stream."""
        self._sheet.expect("run-ended", bool(self.ended), "the stream ends without it")

    def _check_place(self, kind: str) -> None:
        if self._is_first:
            good = kind in ("RUN_STARTED", "RUN_ERROR")
            self.expect("run-started", good, f"the first event is {kind}")
        else:
            good = kind != "RUN_STARTED"
            self.expect("run-started", good, "a second RUN_STARTED")
        self._is_first = False
        good = not self.ended
        self.expect("run-ended", good, f"{kind} after {self.ended}")

    def _pair(self, kind: str, event: Event) -> None:
        check, thing, key, act = _PAIRS[kind]
        name, owner = str(event[key]), str(event.get("subagentRunId", ""))
        place = (thing, name, owner if thing == "STEP" else "")
        is_open = place in self._open
        if act == "start":
            said = f"{kind}: {name} is open already"
            self.expect(check, not is_open, said)
            self._open[place] = check
            if thing == "TEXT_MESSAGE":
                self.message_ids.add(name)
        else:
            self.expect(check, is_open, f"{kind}: {name} is not open")
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
            good = not text or text.strip() == "null" or checks.read_json(text) is not None
            self.expect("call-arguments", good, f"{call}: {text}")

    def _end(self, kind: str, event: Event) -> None:
        self.ended = self.ended or kind
        if kind == "RUN_ERROR":
            checks.check_error_text(self._sheet, str(event["message"]), self._at)
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
        self.expect("interrupts", good, f"{len(found)}, of them good {len(self.interrupts)}")


def _is_interrupt(each: Any) -> bool:
    return isinstance(each, dict) and all(
        isinstance(each.get(key), str) and each[key] for key in ("id", "reason")
    )


# ---------------------------------------------------------------------- ag ui


async def run(probe: checks.Probe) -> None:
    """Try everything."""
    talk = _Talk(probe)
    for number, prompt in enumerate(probe.options.prompts):
        await talk.say(prompt, first=not number)
    await talk.parallel()
    prompt = probe.options.prompts[0]
    await checks.leave_early(probe, lambda: talk.body(probe.new_id("thread"), prompt))
    probe.trying("mistakes")
    await checks.send_mistakes(
        probe,
        lambda event: event.get("type") == "RUN_ERROR",
        talk.body(probe.new_id("thread"), prompt),
    )


class _Talk:
    def __init__(self, probe: checks.Probe) -> None:
        self._probe = probe
        self._sheet = probe.sheet
        self._schema = EventSchema()
        self._message_ids: set[str] = set()

    def body(self, thread: str, prompt: str, **more: Any) -> dict[str, Any]:
        """Return a request, as the client of 0.0.59 sends it, which every server takes."""
        message = {"id": self._probe.new_id("message"), "role": "user", "content": prompt}
        return {
            "threadId": thread,
            "runId": self._probe.new_id("run"),
            "state": {},
            "messages": [message],
            "tools": [],
            "context": [],
            "forwardedProps": {},
            **more,
        }

    async def say(self, prompt: str, *, first: bool) -> None:
        """Send a prompt in a thread of its own, answer what is asked, and say it again."""
        self._probe.trying(checks.shortened(prompt))
        body = self.body(self._probe.new_id("thread"), prompt)
        answer = await self._probe.post(body)
        found = self._judge(body, answer, first=first)
        if found is None:
            return
        self._check_ids(found)
        if found.interrupts and all(map(_is_approval, found.interrupts)):
            await self._resume(body, found)
        elif first and found.ended == "RUN_FINISHED" and not found.interrupts:
            await self._reconnect(body, answer)
            await self._again(body, prompt)

    def _judge(
        self,
        body: dict[str, Any],
        answer: checks.HttpResponse,
        *,
        first: bool = False,
        calls: Iterable[str] = (),
    ) -> Run | None:
        """Check an answer; return its run, if it is one."""
        if not checks.check_stream(self._sheet, answer, first=first):
            return None
        self._sheet.expect("line-ends", b"\r" not in answer.body, "a carriage return")
        found = Run(self._sheet, body["threadId"], body["runId"], calls)
        for item in checks.read_items(self._sheet, answer.frames):
            if self._schema.check(self._sheet, item):
                found.take(item)
        found.finish()
        return found

    def _check_ids(self, found: Run) -> None:
        again = sorted(found.message_ids & self._message_ids)
        if found.message_ids:
            self._sheet.expect("new-message-ids", not again, f"{again[:3]} came before")
        self._message_ids |= found.message_ids

    async def _again(self, body: dict[str, Any], prompt: str) -> None:
        """Say the same in the same thread."""
        self._probe.trying(f"{checks.shortened(prompt)}, again in the same thread")
        more = self.body(body["threadId"], prompt)
        more["messages"] = [*body["messages"], *more["messages"]]
        answer = await self._probe.post(more)
        found = self._judge(more, answer) if answer.status == 200 else None
        good = found is not None and bool(found.ended)
        self._sheet.expect("second-run", good, answer.text)
        if found is not None:
            self._check_ids(found)

    async def _resume(self, body: dict[str, Any], asked: Run) -> None:
        """Answer each interrupt as the user wished."""
        approved = self._probe.options.approve
        self._probe.trying(f"{self._sheet.where}, {'approved' if approved else 'denied'}")
        answers = [
            {"interruptId": each["id"], "status": "resolved", "payload": {"approved": approved}}
            for each in asked.interrupts
        ]
        more = self.body(body["threadId"], "", resume=answers)
        more["messages"] = body["messages"]
        answer = await self._probe.post(more)
        found = self._judge(more, answer, calls=asked.calls) if answer.status == 200 else None
        good = found is not None and found.ended == "RUN_FINISHED"
        self._sheet.expect("resume-interrupt", good, answer.text)

    async def _reconnect(self, body: dict[str, Any], answer: checks.HttpResponse) -> None:
        """Come back in the middle, where the server gives frames an id."""
        frames = answer.frames
        middle = len(frames) // 2
        if middle < 1 or not frames[middle - 1].id:
            return
        self._probe.trying("coming back with Last-Event-ID")
        rest = await self._probe.post(body, last_id=frames[middle - 1].id)
        checks.check_rest(self._sheet, frames[middle:], rest)

    async def parallel(self) -> None:
        """Send a prompt in two threads at once."""
        prompt = self._probe.options.prompts[0]
        self._probe.trying(f"{checks.shortened(prompt)}, in two threads at once")
        bodies = [self.body(self._probe.new_id("thread"), prompt) for _ in range(2)]
        answers = await asyncio.gather(*map(self._probe.post, bodies))
        found = [self._judge(*pair) for pair in zip(bodies, answers, strict=True)]
        good = all(each is not None for each in found) and all(each.frames for each in answers)
        self._sheet.expect("parallel", good, "one of them has no answer")


def _is_approval(interrupt: dict[str, Any]) -> bool:
    """Tell whether yes or no is an answer; any other only a person can give."""
    return interrupt["reason"] in ("tool_call", "confirmation")


DRIVER = checks.Driver(name="ag-ui", own_path="/api/ag-ui/{app}", run=run)
