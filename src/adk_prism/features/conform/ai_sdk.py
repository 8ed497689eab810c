"""Tries a server as the AI SDK's `DefaultChatTransport` does, and as clients that make mistakes do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from msgspec import Struct

from adk_prism.features.conform import checks
from adk_prism.features.fields.report import Release, accepted, read_releases

# ---------------------------------------------------------------------- ai sdk stream
#
# Checks of a UI message stream: each chunk by its schema, and the order of chunks.


# ---------------------------------------------------------------------- chunks
#
# The chunks of the AI SDK's UI message stream: types, keys and values, as npm's `ai` reads them.


_TYPES = checks.typed_keys(
    a_string="""id delta messageId toolCallId toolName inputTextDelta errorText approvalId sourceId url
    mediaType title filename reason kind""",
    true_or_false="dynamic providerExecuted preliminary transient approved isAutomatic",
    an_object_of_objects="providerMetadata",
    a_list="parts",
)


class ChunkSchema:
    """Checks one chunk at a time."""

    def __init__(self) -> None:
        # Of releases before 6 the chunks have fewer keys; what they accept, later ones do.
        releases = tuple(each for each in read_releases() if not each.sdk.startswith("ai-5"))
        self._oldest, self._newest = releases[0], releases[-1]
        self._known = accepted(releases)
        self._reasons = {reason for each in releases for reason in each.finish_reasons}

    def check(self, sheet: checks.Sheet, item: checks.Item) -> bool:
        """Note what is wrong with a chunk; return whether it has what its order is judged by."""
        sheet.expect("json-keys", not _has_forbidden(item.value), item.event.data, item.at)
        kind = _kind(item.value)
        if not sheet.expect("chunk-type", kind in self._known, item.event.data, item.at):
            return False
        wrong = [*self._wrong_values(kind, item.value)]
        said = f"{'; '.join(wrong)}: {item.event.data}"
        sheet.expect("chunk-values", not wrong, said, item.at)
        narrow = self._beyond(kind, item.value)
        sheet.expect("every-release", not narrow, f"{narrow}: {item.event.data}", item.at)
        return not any(checks.missing_keys(item.value, self._required(kind)))

    def _required(self, kind: str) -> tuple[str, ...]:
        return (self._newest.chunks.get(kind) or self._oldest.chunks[kind]).required

    def _wrong_values(self, kind: str, chunk: dict[str, Any]) -> list[str]:
        wrong = [
            *checks.missing_keys(chunk, self._required(kind)),
            *checks.wrong_types(chunk, _TYPES),
        ]
        reason = chunk.get("finishReason", "stop")
        if kind == "finish" and not (isinstance(reason, str) and reason in self._reasons):
            wrong.append(f"finishReason must be one of {', '.join(sorted(self._reasons))}")
        return wrong

    def _beyond(self, kind: str, chunk: dict[str, Any]) -> str:
        """Return what the oldest release does not accept."""
        release: Release = self._oldest
        if kind not in release.chunks:
            return f"ai {release.version} does not know this type"
        extra = sorted(chunk.keys() - {"type", *release.chunks[kind].names})
        return f"ai {release.version} does not accept {', '.join(extra)}" if extra else ""


def _kind(chunk: dict[str, Any]) -> str:
    kind = chunk.get("type")
    if not isinstance(kind, str):
        return ""
    return "data-*" if kind.startswith("data-") else kind


def _has_forbidden(value: Any) -> bool:
    waiting = [value]  # not recursive: a server decides how deep it is
    while waiting:
        each = waiting.pop()
        if isinstance(each, list):
            waiting += each
        elif isinstance(each, dict):
            holder = each.get("constructor")
            if "__proto__" in each or (isinstance(holder, dict) and "prototype" in holder):
                return True
            waiting += each.values()
    return False


# ---------------------------------------------------------------------- order
#
# The order of chunks in one message of the AI SDK, as its clients need it.
#
# Less strict than `protocols/ai_sdk/grammar.py`, which is about our own streams: what a client survives is
# advice here.

Chunk = dict[str, Any]


ENDS = ("finish", "error", "abort")
_CONTENT = frozenset(
    """text-start reasoning-start tool-input-start tool-input-available tool-input-error source-url
    source-document file""".split()
)


class Call(Struct):
    """One tool call of a message."""

    step: int
    state: str
    """`streaming`, `made`, `preliminary`, `asked` or `answered`."""
    by_provider: bool = False


class Message(checks.FrameReader):
    """One message, as far as it has been read."""

    def __init__(self, sheet: checks.Sheet, calls: tuple[str, ...] = ()) -> None:
        """`calls` were made in the part of the message that came before."""
        self.id = ""
        self.ended = ""
        self.approvals: dict[str, str] = {}
        """Approval → call."""
        self.calls = {call: Call(0, "made") for call in calls}
        self.inputs: dict[str, tuple[str, Any]] = {}
        """Call → the tool's name and input."""
        self.texts: dict[str, str] = {}
        super().__init__(sheet)
        self._blocks: set[tuple[str, str]] = set()
        self._step, self._steps = 0, 0
        self._is_first = True

    def take(self, item: checks.Item) -> None:
        """Take the next chunk; note what is wrong with it."""
        chunk, self._at = item.value, item.at
        kind = str(chunk["type"])
        self._check_place(kind, chunk)
        if kind in _CONTENT:
            self.expect("steps", self._step > 0, f"{kind} outside a step")
        rule = _RULES.get(kind)
        if rule is not None:
            rule(self, chunk)
        self._is_first = False

    def finish(self, done: int, is_last: bool) -> None:
        """Check the end of the stream: how often `[DONE]` came, and whether it was last."""
        self._at = "the end"
        said = f"[DONE] came {done} times" if done != 1 else "something follows [DONE]"
        self._sheet.expect("done", done == 1 and is_last, said)
        self._sheet.expect("finish", bool(self.ended), "no finish, abort or error")

    def _fault(self, check: str, came: str) -> None:
        self._sheet.fault(check, came, self._at)

    def _check_place(self, kind: str, chunk: Chunk) -> None:
        if self._is_first:
            good = kind == "start" and bool(chunk.get("messageId"))
            self.expect(
                "message-id",
                good,
                f"the first chunk is {kind}, messageId {checks.named(chunk.get('messageId'))}",
            )
        elif kind == "start":
            self._fault("start", "a second start")
        self.expect(
            "after-end",
            not self.ended or (self.ended == "abort" and kind in ("finish-step", "finish")),
            f"{kind} after {self.ended}",
        )

    # -------------------------------------------------------------- message and steps

    def _begin(self, chunk: Chunk) -> None:
        self._sheet.seen("start")
        self.id = self.id or str(chunk.get("messageId", ""))

    def _begin_step(self, _: Chunk) -> None:
        self.expect("steps", not self._step, "a step inside a step")
        self._steps += 1
        self._step = self._steps

    def _end_step(self, _: Chunk) -> None:
        self.expect("steps", self._step > 0, "finish-step outside a step")
        self._close_blocks("finish-step")
        self._step = 0

    def _reset_step(self, _: Chunk) -> None:
        self._blocks.clear()
        self.calls = {id: call for id, call in self.calls.items() if call.step != self._step}

    def _close_blocks(self, where: str) -> None:
        left = ", ".join(sorted(f"{kind} {name}" for kind, name in self._blocks))
        if left:
            self._fault("blocks", f"{left} still open at {where}")
        self._blocks.clear()

    def _end(self, chunk: Chunk) -> None:
        self.ended = self.ended or str(chunk["type"])
        if chunk["type"] != "finish":
            return  # The SDK's own server leaves open what was open.
        self._close_blocks("finish")
        self.expect("steps", not self._step, "finish inside a step")
        self._check_calls(chunk.get("finishReason"))

    def _check_calls(self, reason: Any) -> None:
        for id, call in self.calls.items():
            if call.state == "streaming":
                self._fault("calls", f"the input of {id} never ended")
        waiting = [
            id for id, call in self.calls.items() if call.state in ("made", "asked", "preliminary")
        ]
        if self.calls:
            good = not waiting or reason in ("tool-calls", None)
            self.expect("unanswered", good, f"{waiting[:3]} at finishReason {reason}")
        own = [call for call in self.calls.values() if not call.by_provider and call.step]
        if own and not waiting:
            last = max(call.step for call in own)
            self.expect("tool-loop", last < self._steps, "the last step holds an answered call")

    def _fail(self, chunk: Chunk) -> None:
        checks.check_error_text(self._sheet, str(chunk.get("errorText", "")), self._at)
        if chunk["type"] == "error":
            self._end(chunk)

    # -------------------------------------------------------------- blocks

    def _block(self, chunk: Chunk) -> None:
        kind, _, act = str(chunk["type"]).partition("-")
        block = (kind, str(chunk["id"]))
        is_open = block in self._blocks
        wanted = act != "start"
        word = "is not open" if wanted else "is open already"
        self.expect("blocks", is_open == wanted, f"{kind} {chunk['id']} {word}")
        if act == "start":
            self._blocks.add(block)
        elif act == "end":
            self._blocks.discard(block)
        elif kind == "text":
            self.texts[block[1]] = self.texts.get(block[1], "") + str(chunk["delta"])

    # -------------------------------------------------------------- calls

    def _begin_input(self, chunk: Chunk) -> None:
        id = str(chunk["toolCallId"])
        self.expect("calls", id not in self.calls, f"{id} was made before")
        self.calls[id] = Call(self._step, "streaming", chunk.get("providerExecuted") is True)

    def _grow_input(self, chunk: Chunk) -> None:
        call = self.calls.get(str(chunk["toolCallId"]))
        good = call is not None and call.state == "streaming"
        said = f"tool-input-delta of {chunk['toolCallId']}, which does not stream"
        self.expect("calls", good, said)

    def _end_input(self, chunk: Chunk) -> None:
        id = str(chunk["toolCallId"])
        call = self.calls.get(id)
        # A preliminary output is taken back by the input, before somebody is asked.
        good = call is None or call.state in ("streaming", "preliminary")
        self.expect("calls", good, f"{id} was made before")
        self.inputs[id] = (str(chunk["toolName"]), chunk["input"])
        is_failed = chunk["type"] == "tool-input-error"
        by_provider = chunk.get("providerExecuted") is True
        self.calls[id] = Call(self._step, "answered" if is_failed else "made", by_provider)

    def _answer(self, chunk: Chunk) -> None:
        id = str(chunk["toolCallId"])
        call = self.calls.get(id)
        if self.expect("calls", call is not None, f"{id} was never made"):
            assert call is not None
            good = call.state != "streaming"
            self.expect("calls", good, f"{id} is answered before its input")
            is_preliminary = chunk.get("preliminary") is True
            call.state = "preliminary" if is_preliminary else "answered"
        if "errorText" in chunk:
            self._fail(chunk)

    def _ask(self, chunk: Chunk) -> None:
        id, approval = str(chunk["toolCallId"]), str(chunk["approvalId"])
        call = self.calls.get(id)
        waits = call is not None and call.state in ("made", "preliminary")
        good = waits and approval not in self.approvals
        state = "unknown" if call is None else call.state
        self.expect("approval-request", good, f"{approval} for {id}, {state}")
        self.approvals[approval] = id
        if call is not None:
            call.state = "asked"


_RULES: dict[str, Callable[[Message, Chunk], None]] = {
    "start": Message._begin,
    "start-step": Message._begin_step,
    "finish-step": Message._end_step,
    "reset-step": Message._reset_step,
    "finish": Message._end,
    "abort": Message._end,
    "error": Message._fail,
    **{
        f"{kind}-{act}": Message._block
        for kind in ("text", "reasoning")
        for act in ("start", "delta", "end")
    },
    "tool-input-start": Message._begin_input,
    "tool-input-delta": Message._grow_input,
    "tool-input-available": Message._end_input,
    "tool-input-error": Message._end_input,
    **{f"tool-output-{end}": Message._answer for end in ("available", "error", "denied")},
    "tool-approval-request": Message._ask,
}


# ---------------------------------------------------------------------- ai sdk


DONE = "[DONE]"


async def run(probe: checks.Probe) -> None:
    """Try everything."""
    talk = _Talk(probe)
    for number, prompt in enumerate(probe.options.prompts):
        await talk.say(prompt, first=not number)
    await talk.parallel()
    await talk.resume()
    await checks.leave_early(probe, talk.body, checks.Leave(last=DONE))
    await checks.send_mistakes(probe, lambda chunk: chunk.get("type") == "error", talk.body())


class _Talk:
    def __init__(self, probe: checks.Probe) -> None:
        self._probe = probe
        self._sheet = probe.sheet
        self._schema = ChunkSchema()
        self._ids: set[str] = set()
        self._chat = ""

    async def say(self, prompt: str, *, first: bool) -> None:
        """Send a prompt in a chat of its own, answer what is asked, and say it again."""
        self._probe.trying(checks.shortened(prompt))
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
            self._probe.trying(f"{checks.shortened(prompt)}, again in the same chat")
            history = [asked, _sent_back(message), self._user(prompt)]
            answer = await self._post(chat, history)
            self._sheet.expect("history", answer.status == 200, answer.text)
            again = self._judge(answer) if answer.status == 200 else None
            if again is not None:
                self._check_id(again)

    async def _post(
        self, chat: str, messages: list[dict[str, Any]], **more: Any
    ) -> checks.HttpResponse:
        body = {"id": chat, "messages": messages, "trigger": "submit-message", **more}
        return await self._probe.post(body, leave=checks.Leave(last=DONE))

    def _user(self, text: str) -> dict[str, Any]:
        parts = [{"type": "text", "text": text}]
        return {"id": self._probe.new_id("message"), "role": "user", "parts": parts}

    def _judge(
        self, answer: checks.HttpResponse, *, first: bool = False, calls: tuple[str, ...] = ()
    ) -> Message | None:
        """Check an answer; return its message, if it is one."""
        if not checks.check_stream(self._sheet, answer, first=first):
            return None
        header = answer.headers.get("x-vercel-ai-ui-message-stream", "")
        self._sheet.expect("stream-header", header == "v1", header or "no such header")
        message = Message(self._sheet, calls)
        for item in checks.read_items(self._sheet, answer.frames, DONE):
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
        self._probe.trying(f"{checks.shortened(prompt)}, in two chats at once")
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
        answer = await self._probe.exchange.send("GET", url, leave=checks.Leave(last=DONE))
        if answer.status in checks.ABSENT or answer.media_type == "text/html":
            return  # not offered
        items = checks.read_items(self._sheet, answer.frames, DONE)
        starts = bool(items) and items[0].value.get("type") == "start"
        good = answer.status == 204 or (answer.status == 200 and starts)
        self._sheet.expect("resume", good, answer.text)

    def body(self) -> dict[str, Any]:
        """Return a request in a chat of its own."""
        messages = [self._user(self._probe.options.prompts[0])]
        return {"id": self._probe.new_id("chat"), "messages": messages, "trigger": "submit-message"}


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


DRIVER = checks.Driver(name="ai-sdk", own_path="/api/chat/{app}", run=run)
