"""Tries a server as AG-UI's `HttpAgent` does, and as clients that make mistakes do."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from adk_prism.features.conform import ag_ui_stream, stream_checks
from adk_prism.features.conform.ag_ui_stream import PROTOCOL, EventSchema, Run
from adk_prism.features.conform.check import Check
from adk_prism.features.conform.exchange import Answer, Driver, Probe, shortened
from adk_prism.features.conform.stream_checks import Item, check_stream, read_items

CHECKS = (
    *stream_checks.CHECKS,
    Check(
        "line-ends",
        "Lines end with LF: the client splits events at two of them.",
        "npm package @ag-ui/client, parseSSEStream",
    ),
    *ag_ui_stream.EVENT_CHECKS,
    *ag_ui_stream.ORDER_CHECKS,
    Check("second-run", "A second run in the same thread is answered.", PROTOCOL),
    Check("new-message-ids", "Messages of different runs have different ids.", PROTOCOL),
    Check("parallel", "Two threads at once get a run each, with their own ids.", PROTOCOL),
    Check(
        "resume-interrupt",
        "Answering all open interrupts with `resume` continues the thread.",
        "https://docs.ag-ui.com/concepts/interrupts",
    ),
    Check(
        "reconnect",
        "Where frames have ids, a request with Last-Event-ID gives exactly the rest.",
        stream_checks.WHATWG,
    ),
    *stream_checks.BAD_INPUT,
)


async def run(probe: Probe) -> None:
    """Try everything."""
    talk = _Talk(probe)
    for number, prompt in enumerate(probe.options.prompts):
        await talk.say(prompt, first=not number)
    await talk.parallel()
    prompt = probe.options.prompts[0]
    await stream_checks.leave_early(probe, lambda: talk.body(probe.new_id("thread"), prompt))
    probe.trying("mistakes")
    await stream_checks.send_mistakes(probe, _error_of, talk.body(probe.new_id("thread"), prompt))


class _Talk:
    def __init__(self, probe: Probe) -> None:
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
        self._probe.trying(shortened(prompt))
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
        answer: Answer,
        *,
        first: bool = False,
        calls: Iterable[str] = (),
    ) -> Run | None:
        """Check an answer; return its run, if it is one."""
        if not check_stream(self._sheet, answer, first=first):
            return None
        self._sheet.expect("line-ends", b"\r" not in answer.body, "a carriage return")
        found = Run(self._sheet, body["threadId"], body["runId"], calls)
        for item in read_items(self._sheet, answer.frames):
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
        self._probe.trying(f"{shortened(prompt)}, again in the same thread")
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

    async def _reconnect(self, body: dict[str, Any], answer: Answer) -> None:
        """Come back in the middle, where the server gives frames an id."""
        frames = answer.frames
        middle = len(frames) // 2
        if middle < 1 or not frames[middle - 1].id:
            return
        self._probe.trying("coming back with Last-Event-ID")
        rest = await self._probe.post(body, last_id=frames[middle - 1].id)
        expected = [frame.data for frame in frames[middle:]]
        came = [frame.data for frame in rest.frames]
        said = f"{len(came)} frames where {len(expected)} are left: {rest.text}"
        self._sheet.expect("reconnect", came == expected, said)

    async def parallel(self) -> None:
        """Send a prompt in two threads at once."""
        prompt = self._probe.options.prompts[0]
        self._probe.trying(f"{shortened(prompt)}, in two threads at once")
        bodies = [self.body(self._probe.new_id("thread"), prompt) for _ in range(2)]
        answers = await asyncio.gather(*map(self._probe.post, bodies))
        found = [self._judge(*pair) for pair in zip(bodies, answers, strict=True)]
        good = all(each is not None for each in found) and all(each.frames for each in answers)
        self._sheet.expect("parallel", good, "one of them has no answer")


def _is_approval(interrupt: dict[str, Any]) -> bool:
    """Tell whether yes or no is an answer; any other only a person can give."""
    return interrupt["reason"] in ("tool_call", "confirmation")


def _error_of(items: list[Item]) -> bool:
    return any(item.value.get("type") == "RUN_ERROR" for item in items)


DRIVER = Driver(name="ag-ui", checks=CHECKS, own_path="/api/ag-ui/{app}", run=run)
