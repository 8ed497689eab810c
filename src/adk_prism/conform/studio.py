"""Tries a server as a Studio client does, and as clients that make mistakes do."""

from __future__ import annotations

from urllib.parse import urlencode

from adk_prism.conform import stream_checks, studio_events
from adk_prism.conform.check import Check
from adk_prism.conform.exchange import Answer
from adk_prism.conform.probe import Driver, Probe, shortened
from adk_prism.conform.stream_checks import Item, check_stream
from adk_prism.conform.studio_events import V2, Stream

CHECKS = (
    *stream_checks.CHECKS,
    *studio_events.CHECKS,
    Check("get", "GET with `input` in the query gives the same stream, for EventSource.", V2),
    Check("session-kept", "A run with session_id is in that session.", V2),
    Check(
        "reconnect",
        "Where frames have ids, a request with Last-Event-ID gives exactly the rest, and 204 after the end.",
        stream_checks.WHATWG,
    ),
    Check(
        "interrupt-answer",
        "The answer to an approval continues the session.",
        "docs/protocols/studio.md",
    ),
    *stream_checks.BAD_INPUT,
)


async def run(probe: Probe) -> None:
    """Try everything."""
    talk = _Talk(probe)
    for number, prompt in enumerate(probe.options.prompts):
        await talk.say(prompt, first=not number)
    await talk.get()
    body = {"input": probe.options.prompts[0]}
    await stream_checks.leave_early(probe, lambda: body)
    await stream_checks.send_mistakes(probe, _no_error, body)


class _Talk:
    def __init__(self, probe: Probe) -> None:
        self._probe = probe
        self._sheet = probe.sheet

    async def say(self, prompt: str, *, first: bool) -> None:
        """Send a prompt in a new session, answer what is asked, and say it again."""
        self._probe.trying(shortened(prompt))
        answer = await self._probe.post({"input": prompt})
        stream = self._judge(answer, first=first)
        if stream is None:
            return
        if stream.questions:
            await self._answer(stream)
        elif first and stream.ended == "end":
            await self._reconnect(answer)
            await self._again(prompt, stream.session)

    def _judge(
        self, answer: Answer, *, first: bool = False, continues: bool = False
    ) -> Stream | None:
        if not check_stream(self._sheet, answer, first=first):
            return None
        stream = Stream(self._sheet, continues)
        for frame in answer.frames:
            stream.take(frame)
        stream.finish()
        return stream

    async def _again(self, prompt: str, session: str) -> None:
        self._probe.trying(f"{shortened(prompt)}, again in the same session")
        answer = await self._probe.post({"input": prompt, "session_id": session})
        stream = self._judge(answer) if answer.status == 200 else None
        came = stream.session if stream is not None else answer.text
        self._sheet.expect("session-kept", came == session, f"{came} where {session} was sent")

    async def _answer(self, asked: Stream) -> None:
        """Answer each approval as the user wished."""
        approvals = [each for each in asked.questions if each.get("type") == "approval"]
        data = [each.get("data") for each in approvals]
        known = [each for each in data if isinstance(each, dict) and "id" in each]
        if not known or len(known) != len(asked.questions):
            return  # a question that only a person can answer
        approved = self._probe.options.approve
        self._probe.trying(f"{self._sheet.where}, {'approved' if approved else 'denied'}")
        answers = [
            {"id": each["id"], "call": each.get("call"), "approved": approved} for each in known
        ]
        answer = await self._probe.post({"session_id": asked.session, "answers": answers})
        stream = self._judge(answer, continues=True) if answer.status == 200 else None
        good = stream is not None and stream.session == asked.session and stream.ended != "error"
        self._sheet.expect("interrupt-answer", good, answer.text)

    async def _reconnect(self, answer: Answer) -> None:
        """Come back in the middle and after the end, where the server gives frames an id."""
        frames = answer.frames
        middle = len(frames) // 2
        if middle < 1 or not frames[middle - 1].id:
            return
        self._probe.trying("coming back with Last-Event-ID")
        rest = await self._get("", frames[middle - 1].id)
        expected = [(frame.event, frame.data) for frame in frames[middle:]]
        came = [(frame.event, frame.data) for frame in rest.frames]
        said = f"{len(came)} frames where {len(expected)} are left: {rest.text}"
        self._sheet.expect("reconnect", came == expected, said)
        after = await self._get("", frames[-1].id)
        self._sheet.expect("reconnect", after.status == 204, f"after the end: {after.text}")

    async def _get(self, prompt: str, last_id: str = "") -> Answer:
        mark = "&" if "?" in self._probe.endpoint else "?"
        url = f"{self._probe.endpoint}{mark}{urlencode({'input': prompt})}"
        headers = {"accept": "text/event-stream", **({"last-event-id": last_id} if last_id else {})}
        return await self._probe.exchange.send("GET", url, headers=headers)

    async def get(self) -> None:
        """Run with a GET."""
        prompt = self._probe.options.prompts[0]
        self._probe.trying(f"{shortened(prompt)}, with GET")
        answer = await self._get(prompt)
        stream = self._judge(answer) if answer.status == 200 else None
        self._sheet.expect("get", stream is not None and bool(answer.frames), answer.text)


def _no_error(_: list[Item]) -> bool:
    return False


DRIVER = Driver(name="studio", checks=CHECKS, own_path="/api/studio/{app}/stream", run=run)
