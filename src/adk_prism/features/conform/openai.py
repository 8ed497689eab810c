"""Tries a server as clients of OpenAI's Chat Completions do, and as clients that make mistakes do."""

from __future__ import annotations

import asyncio
from typing import Any

from adk_prism.features.captures.streams import SseEvent
from adk_prism.features.conform import checks

DONE = "[DONE]"

# ---------------------------------------------------------------------- chunks
#
# The chunks of one streamed completion: their keys, values and order.

_REQUIRED = ("id", "object", "created", "model", "choices")
_CHUNK = checks.typed_keys(a_string="id object model", a_whole_number="created", a_list="choices")
_DELTA = checks.typed_keys(a_string="role", a_list="tool_calls")
_COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")
FINISHES = ("stop", "length", "tool_calls", "content_filter", "function_call")


class Completion(checks.FrameReader):
    """One streamed completion, as far as it has been read."""

    def __init__(self, sheet: checks.Sheet) -> None:
        super().__init__(sheet)
        self.id = ""
        self.text = ""
        self.calls: dict[int, str] = {}
        """The arguments of calls for the client, by index."""
        self.finish = ""
        self.usage: Any = None
        self.failed = False
        self._model = ""
        self._began = False

    def take(self, item: checks.Item) -> None:
        """Take the next chunk; note what is wrong with it."""
        self._at, chunk = item.at, item.value
        if "error" in chunk:
            self.failed = True
            self.expect("error-shape", is_error(chunk), str(chunk))
            checks.check_error_text(self._sheet, str(chunk["error"]), item.at)
            return
        wrong = [*checks.missing_keys(chunk, _REQUIRED), *checks.wrong_types(chunk, _CHUNK)]
        if not wrong and chunk["object"] != "chat.completion.chunk":
            wrong.append(f"object is {chunk['object']!r}")
        if not self.expect("chunk-values", not wrong, f"{'; '.join(wrong)}: {item.event.data}"):
            return
        self.expect("after-end", not self.failed, "a chunk after an error")
        same = chunk["id"] == (self.id or chunk["id"])
        same = same and chunk["model"] == (self._model or chunk["model"])
        self.expect("same-id", same, f"{chunk['id']}, {chunk['model']}")
        self.id, self._model = chunk["id"], chunk["model"]
        if isinstance(chunk.get("usage"), dict):
            self.usage = chunk["usage"]
        for choice in chunk["choices"]:
            self._choose(choice, item.event.data)

    def _choose(self, choice: Any, text: str) -> None:
        given = choice if isinstance(choice, dict) else {}
        delta, finish = given.get("delta"), given.get("finish_reason")
        good = isinstance(delta, dict) and (finish is None or finish in FINISHES)
        good = good and type(given.get("index")) is int
        wrong = [*checks.wrong_types(delta, _DELTA)] if isinstance(delta, dict) else []
        content = delta.get("content") if isinstance(delta, dict) else None
        good = good and not wrong and (content is None or isinstance(content, str))
        if not self.expect("chunk-values", good, f"{'; '.join(wrong) or 'choice'}: {text}"):
            return
        assert isinstance(delta, dict)
        if not self._began:
            self.expect("role", delta.get("role") == "assistant", text)
        self._began = True
        self.expect("after-end", not self.finish, f"after {self.finish}: {text}")
        self.text += content or ""
        for call in delta.get("tool_calls", ()):
            self._call(call, text)
        self.finish = finish or self.finish

    def _call(self, call: Any, text: str) -> None:
        given = call if isinstance(call, dict) else {}
        index, function = given.get("index"), given.get("function")
        if type(index) is not int or not isinstance(function, dict):
            self.expect("calls", False, text)
            return
        named = bool(given.get("id")) and bool(function.get("name"))
        if self.expect("calls", index in self.calls or named, text):
            self.calls[index] = self.calls.get(index, "") + (function.get("arguments") or "")

    def end(self, frames: tuple[SseEvent, ...]) -> None:
        """Check the end of the stream."""
        said = f"finish reason {self.finish or 'none'}"
        self._sheet.expect("finish", bool(self.finish) or self.failed, said)
        if self.finish:
            asks = self.finish in ("tool_calls", "function_call")
            self._sheet.expect(
                "finish", asks == bool(self.calls), f"{said}, {len(self.calls)} calls"
            )
        whole = [isinstance(checks.read_json(text or "{}"), dict) for text in self.calls.values()]
        if whole:
            self._sheet.expect("calls", all(whole), f"the arguments are no JSON: {self.calls}")
        done = [frame.data == DONE for frame in frames]
        good = bool(done) and done[-1] and sum(done) == 1
        self._sheet.expect("done", good or self.failed, f"{sum(done)} times, last: {done[-1:]}")


def is_error(value: Any) -> bool:
    """Return whether a value is an error as OpenAI's clients read it."""
    error = value.get("error") if isinstance(value, dict) else None
    return isinstance(error, dict) and isinstance(error.get("message"), str)


# ---------------------------------------------------------------------- the driver


async def run(probe: checks.Probe) -> None:
    """Try everything."""
    talk = _Talk(probe)
    await talk.find_model()
    for number, prompt in enumerate(probe.options.prompts):
        await talk.say(prompt, first=not number)
    await talk.parallel()
    await talk.unknown_model()
    await checks.leave_early(probe, talk.body, checks.Leave(last=DONE))
    await checks.send_mistakes(probe, lambda value: "error" in value, talk.body())


class _Talk:
    def __init__(self, probe: checks.Probe) -> None:
        self._probe = probe
        self._sheet = probe.sheet
        self._model = probe.options.app
        self._ids: set[str] = set()

    def body(self, *messages: dict[str, str], stream: bool = True) -> dict[str, Any]:
        """Return a request; without messages it is the first prompt."""
        asked = messages or ({"role": "user", "content": self._probe.options.prompts[0]},)
        body = {"model": self._model, "messages": [*asked], "stream": stream}
        return body | ({"stream_options": {"include_usage": True}} if stream else {})

    async def find_model(self) -> None:
        """List the models; without a name the first of them is talked to."""
        self._probe.trying("GET /models")
        base = self._probe.endpoint.partition("?")[0].removesuffix("/chat/completions")
        answer = await self._probe.exchange.send("GET", f"{base}/models")
        listed = checks.read_json(answer.body.decode(errors="replace"))
        data = listed.get("data") if isinstance(listed, dict) else None
        names = [each.get("id") for each in data or () if isinstance(each, dict)]
        good = answer.status == 200 and bool(names) and all(isinstance(n, str) for n in names)
        if answer.status not in checks.DENIED:
            self._sheet.expect("models", good, answer.text)
        if good and self._model:
            self._sheet.expect(
                "models", self._model in names, f"{self._model} is not in {names[:5]}"
            )
        elif good:
            self._model = str(names[0])

    async def say(self, prompt: str, *, first: bool) -> None:
        """Send a prompt; the first one also with a second message, and not streamed."""
        self._probe.trying(checks.shortened(prompt))
        asked = {"role": "user", "content": prompt}
        found = self._judge(await self._post(self.body(asked)), first=first)
        if found is None or not first or found.failed:
            return
        if not found.calls:
            self._probe.trying(f"{checks.shortened(prompt)}, then a second message")
            said = {"role": "assistant", "content": found.text}
            answer = await self._post(self.body(asked, said, asked))
            again = self._judge(answer) if answer.status == 200 else None
            good = again is not None and bool(again.id)
            self._sheet.expect("history", good, answer.text)
        self._probe.trying(f"{checks.shortened(prompt)}, not streamed")
        self._whole(await self._post(self.body(asked, stream=False)))

    async def _post(self, body: dict[str, Any]) -> checks.HttpResponse:
        return await self._probe.post(body, leave=checks.Leave(last=DONE))

    def _judge(self, answer: checks.HttpResponse, *, first: bool = False) -> Completion | None:
        if not checks.check_stream(self._sheet, answer, first=first):
            return None
        completion = Completion(self._sheet)
        for item in checks.read_items(self._sheet, answer.frames, DONE):
            completion.take(item)
        completion.end(answer.frames)
        if not completion.failed:
            self._sheet.expect("usage", _counts(completion.usage), f"usage: {completion.usage}")
        self._check_id(completion.id)
        return completion

    def _check_id(self, id: str) -> None:
        if id:
            self._sheet.expect("new-id", id not in self._ids, f"{id} came before")
            self._ids.add(id)

    def _whole(self, answer: checks.HttpResponse) -> None:
        """Check a completion that was not streamed."""
        value = checks.read_json(answer.body.decode(errors="replace"))
        found = value if isinstance(value, dict) else {}
        choices = found.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        message = choice.get("message") if isinstance(choice, dict) else None
        good = answer.status == 200 and found.get("object") == "chat.completion"
        good = good and isinstance(message, dict) and message.get("role") == "assistant"
        good = good and isinstance(choice, dict) and choice.get("finish_reason") in FINISHES
        self._sheet.expect("not-streamed", good and _counts(found.get("usage")), answer.text)
        if good:
            self._check_id(str(found.get("id", "")))

    async def parallel(self) -> None:
        """Send a prompt twice at once."""
        self._probe.trying("two requests at once")
        answers = await asyncio.gather(*(self._post(self.body()) for _ in range(2)))
        found = [self._judge(answer) for answer in answers]
        good = all(each is not None and (each.id or each.failed) for each in found)
        self._sheet.expect("parallel", good, "one of them has no answer")

    async def unknown_model(self) -> None:
        """Ask for a model that is not there."""
        self._probe.trying("a model that is not there")
        answer = await self._post({**self.body(), "model": self._probe.new_id("model")})
        self._sheet.expect("unknown-model", answer.status == 404, answer.text)
        if answer.status != 200:
            value = checks.read_json(answer.body.decode(errors="replace"))
            self._sheet.expect("error-shape", is_error(value), answer.text)


def _counts(usage: Any) -> bool:
    return isinstance(usage, dict) and all(type(usage.get(name)) is int for name in _COUNTS)


DRIVER = checks.Driver(name="openai", own_path="/v1/chat/completions", run=run)
