"""Tries a server as the AI SDK's `DefaultChatTransport` does, and as clients that make mistakes do."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import quote

from adk_prism.features.conform import ai_sdk_stream, stream_checks
from adk_prism.features.conform.ai_sdk_stream import PROTOCOL, ChunkSchema, Message
from adk_prism.features.conform.check import Check
from adk_prism.features.conform.exchange import Answer, Driver, Leave, Probe, shortened
from adk_prism.features.conform.stream_checks import Item, check_stream, read_items

DONE = "[DONE]"

CHECKS = (
    *stream_checks.CHECKS,
    Check("stream-header", "A stream has x-vercel-ai-ui-message-stream: v1.", PROTOCOL, "should"),
    *ai_sdk_stream.CHUNK_CHECKS,
    *ai_sdk_stream.ORDER_CHECKS,
    Check("history", "A second message, with the first answer before it, is answered.", PROTOCOL),
    Check("new-message-id", "Each answer has a messageId of its own.", PROTOCOL),
    Check("parallel", "Two chats at once get an answer each, in messages of their own.", "HTTP"),
    Check(
        "approval-answer",
        "A decision is answered in the same message, with the output, error or denial of its call.",
        "https://ai-sdk.dev/docs/ai-sdk-ui/chatbot-tool-usage",
    ),
    Check(
        "resume",
        "GET {api}/{chat}/stream answers 204 when nothing runs, or the message from its start.",
        "https://ai-sdk.dev/docs/ai-sdk-ui/chatbot-resume-streams",
    ),
    *stream_checks.BAD_INPUT,
)


async def run(probe: Probe) -> None:
    """Try everything."""
    talk = _Talk(probe)
    for number, prompt in enumerate(probe.options.prompts):
        await talk.say(prompt, first=not number)
    await talk.parallel()
    await talk.resume()
    await stream_checks.leave_early(probe, talk.body, Leave(last=DONE))
    await stream_checks.send_mistakes(probe, _error_of, talk.body())


class _Talk:
    def __init__(self, probe: Probe) -> None:
        self._probe = probe
        self._sheet = probe.sheet
        self._schema = ChunkSchema()
        self._ids: set[str] = set()
        self._chat = ""

    async def say(self, prompt: str, *, first: bool) -> None:
        """Send a prompt in a chat of its own, answer what is asked, and say it again."""
        self._probe.trying(shortened(prompt))
        chat = self._chat = self._probe.new_id("chat")
        asked = self._user(prompt)
        message = self._judge(await self._post(chat, [asked]), first=first)
        if message is None:
            return
        self._check_id(message)
        waiting = {id for id, call in message.calls.items() if call.state != "answered"}
        if message.approvals and waiting == {*message.approvals.values()}:
            await self._decide(chat, asked, message)
        elif first and message.ended == "finish" and not waiting:
            self._probe.trying(f"{shortened(prompt)}, again in the same chat")
            history = [asked, _sent_back(message), self._user(prompt)]
            answer = await self._post(chat, history)
            self._sheet.expect("history", answer.status == 200, answer.text)
            again = self._judge(answer) if answer.status == 200 else None
            if again is not None:
                self._check_id(again)

    async def _post(self, chat: str, messages: list[dict[str, Any]], **more: Any) -> Answer:
        body = {"id": chat, "messages": messages, "trigger": "submit-message", **more}
        return await self._probe.post(body, leave=Leave(last=DONE))

    def _user(self, text: str) -> dict[str, Any]:
        parts = [{"type": "text", "text": text}]
        return {"id": self._probe.new_id("message"), "role": "user", "parts": parts}

    def _judge(
        self, answer: Answer, *, first: bool = False, calls: tuple[str, ...] = ()
    ) -> Message | None:
        """Check an answer; return its message, if it is one."""
        if not check_stream(self._sheet, answer, first=first):
            return None
        header = answer.headers.get("x-vercel-ai-ui-message-stream", "")
        self._sheet.expect("stream-header", header == "v1", header or "no such header")
        message = Message(self._sheet, calls)
        for item in read_items(self._sheet, answer.frames, DONE):
            if self._schema.check(self._sheet, item):
                message.take(item)
        done = sum(frame.data == DONE for frame in answer.frames)
        is_last = bool(answer.frames) and answer.frames[-1].data == DONE
        message.finish(done, is_last)
        return message

    def _check_id(self, message: Message) -> None:
        if message.id:
            is_new = message.id not in self._ids
            self._sheet.expect("new-message-id", is_new, f"{message.id} came before")
            self._ids.add(message.id)

    async def _decide(self, chat: str, asked: dict[str, Any], message: Message) -> None:
        """Answer each approval as the user wished, and check what follows."""
        approved = self._probe.options.approve
        self._probe.trying(f"{self._sheet.where}, {'approved' if approved else 'denied'}")
        part = [_decided(message, approval, approved) for approval in message.approvals]
        sent = {**_sent_back(message), "parts": [{"type": "step-start"}, *part]}
        answer = await self._post(chat, [asked, sent], messageId=message.id)
        if not self._sheet.expect("approval-answer", answer.status == 200, answer.text):
            return
        calls = tuple(message.calls)
        after = self._judge(answer, calls=calls)
        if after is None:
            return
        same = after.id in ("", message.id)
        self._sheet.expect("approval-answer", same, f"{after.id} continues {message.id}")
        for call in message.approvals.values():
            state = after.calls[call].state
            good = state == "answered" or after.ended == "error"
            self._sheet.expect("approval-answer", good, f"{call} is not answered")

    async def parallel(self) -> None:
        """Send a prompt in two chats at once."""
        prompt = self._probe.options.prompts[0]
        self._probe.trying(f"{shortened(prompt)}, in two chats at once")
        chats = (self._probe.new_id("chat"), self._probe.new_id("chat"))
        answers = await asyncio.gather(*(self._post(chat, [self._user(prompt)]) for chat in chats))
        found = [self._judge(answer) for answer in answers]
        good = all(each is not None for each in found) and all(each.frames for each in answers)
        self._sheet.expect("parallel", good, "one of them has no answer")
        for each in found:
            if each is not None:
                self._check_id(each)

    async def resume(self) -> None:
        """Ask for the stream of a chat that is over, as `resumeStream()` does."""
        self._probe.trying("resuming a chat that is over")
        base, mark, query = self._probe.endpoint.partition("?")
        url = f"{base.rstrip('/')}/{quote(self._chat, safe='')}/stream{mark}{query}"
        answer = await self._probe.exchange.send("GET", url, leave=Leave(last=DONE))
        if answer.status in stream_checks.ABSENT or answer.media_type == "text/html":
            return  # not offered
        items = read_items(self._sheet, answer.frames, DONE)
        starts = bool(items) and items[0].value.get("type") == "start"
        good = answer.status == 204 or (answer.status == 200 and starts)
        self._sheet.expect("resume", good, answer.text)

    def body(self) -> dict[str, Any]:
        """Return a request in a chat of its own."""
        messages = [self._user(self._probe.options.prompts[0])]
        return {
            "id": self._probe.new_id("chat"),
            "messages": messages,
            "trigger": "submit-message",
        }


def _error_of(items: list[Item]) -> bool:
    return any(item.value.get("type") == "error" for item in items)


def _sent_back(message: Message) -> dict[str, Any]:
    """Return a message as a client sends it back: with its id, and states that the server did not send."""
    texts = [{"type": "text", "text": text, "state": "done"} for text in message.texts.values()]
    parts = [{"type": "step-start"}, *texts]
    return {"id": message.id or "answer", "role": "assistant", "parts": parts}


def _decided(message: Message, approval: str, approved: bool) -> dict[str, Any]:
    call = message.approvals[approval]
    name, given = message.inputs.get(call, ("tool", {}))
    return {
        "type": f"tool-{name}",
        "toolCallId": call,
        "state": "approval-responded",
        "input": given,
        "approval": {"id": approval, "approved": approved, "reason": "adk-prism conform"},
    }


DRIVER = Driver(name="ai-sdk", checks=CHECKS, own_path="/api/chat/{app}", run=run)
