"""Watches the calls of models in one run: from the request to the last response.

ADK reports requests and responses, and not when a call is over: a model may give several whole responses. So
a call is over when its agent goes on: with a tool, another request, or its end. A request that a callback
answered never reached the model and is not a call.

Requests and responses are kept as JSON texts, in ADK's spelling. A request is read when the model has
answered: ADK's plugins, the agent's callbacks and the model itself (`cached_prefix`, ADK's context cache)
change it until it is sent. HTTP headers are left out: they hold keys.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from msgspec import Raw, Struct, ValidationError, json, structs
from pydantic import BaseModel

from adk_prism.adk.plain_json import encode_strictly
from adk_prism.adk.redaction import model_json, redacted_json, safe_code
from adk_prism.adk.request import CallWatcher, Detail, Lane, Placeholder, SeenCall
from adk_prism.errors import SourceError
from adk_prism.features.model_calls.calls import COMPACTION
from adk_prism.log.contract import text_digest
from adk_prism.log.entry import NOTHING, Entry, ModelCalled, is_absent

if TYPE_CHECKING:
    from adk_prism.adk.run_observer import Node

# ---------------------------------------------------------------------------
# A call of a model as a source saw it, before it is stored: its record, and the texts beside it.
#
# Knows no log. `writer` stores the texts and writes the record.
#
# JSON texts that are too large to be kept are cut to valid JSON of the same shape. In files, and on
# their way to a server, there are no pieces: a call there has its request and response.

LONGEST_TEXT = 1024**2
"""Bytes of one piece of a request. A longer instruction or message is seldom read to its end."""

LONGEST_VALUE = 64 * 1024
"""Characters that are left of each string in a text that is too long."""

_BASE64 = "data"
"""The key of binary data, of which four characters are three bytes."""

_encode = msgspec.json.Encoder().encode


def bounded(text: bytes) -> tuple[bytes, bool]:
    """Return a JSON text of at most `LONGEST_TEXT` bytes, and whether something was cut."""
    if len(text) <= LONGEST_TEXT:
        return text, False
    value = _cut(msgspec.json.decode(text))
    shorter = _encode(value)
    if len(shorter) > LONGEST_TEXT:
        shorter = _encode(_replaced(value, f"[{len(text)} bytes, not kept]"))
    return shorter, True


def _cut(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _cut(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [_cut(item) for item in value]
    if isinstance(value, str) and len(value) > LONGEST_VALUE:
        note = "" if key == _BASE64 else f"… [cut: {len(value)} characters]"
        return value[:LONGEST_VALUE] + note
    return value


def _replaced(value: Any, note: str) -> Any:
    """Return a value of the same type with a note instead of its contents."""
    if isinstance(value, dict) and "parts" in value:
        role = {"role": value["role"]} if isinstance(value.get("role"), str) else {}
        return {"parts": [{"text": note}], **role}
    if isinstance(value, dict):
        return {"cut": note}
    return [{"cut": note}] if isinstance(value, list) else note


class ContentText:
    """One content of a request as JSON. Its text is computed again if it was not kept."""

    __slots__ = ("_again", "_text", "digest", "is_cut")

    def __init__(
        self, text: bytes, *, is_cut: bool = False, again: Callable[[], bytes] | None = None
    ) -> None:
        """With `again`, which returns the text, it is not kept."""
        self.digest = text_digest(text)
        """Of the text before its redaction: for comparisons in this process only."""
        self.is_cut = is_cut
        self._text = text if again is None else b""
        self._again = again

    @property
    def text(self) -> bytes:
        """The JSON text."""
        return self._text if self._again is None else self._again()


class CallTexts(Struct, frozen=True, kw_only=True):
    """JSON texts of a request and its response; empty: there is none."""

    instruction: bytes = b""
    config: bytes = b""
    tools: bytes = b""
    contents: Sequence[ContentText] = ()
    answer: bytes = b""
    response: bytes = b""


_Object = dict[str, Raw]


class _FileRequest(Struct, frozen=True):
    config: _Object = {}
    contents: list[Raw] = []
    tools: list[Raw] = []


def in_file(call: SeenCall, most_bytes: int) -> ModelCalled:
    """Return a call as one record; without its texts if they are larger than `most_bytes`."""
    texts, record = call.texts, call.record
    if texts is None:
        return record
    config = json.decode(texts.config or b"{}", type=_Object)
    if texts.instruction:
        config["systemInstruction"] = Raw(texts.instruction)
    tools = Raw(texts.tools or b"[]")
    contents = [Raw(each.text) for each in texts.contents]
    request = json.encode({"config": config, "contents": contents, "tools": tools})
    answer = {"content": Raw(texts.answer)} if texts.answer else {}
    response = json.encode(json.decode(texts.response or b"{}", type=_Object) | answer)
    if len(request) + len(response) > most_bytes:
        return structs.replace(record, cut=["request", "response"])
    return structs.replace(record, request=Raw(request), response=Raw(response))


def from_file(record: ModelCalled) -> SeenCall:
    """Return the call of a record from elsewhere, bounded. Raise `SourceError` for what is not one."""
    bare = structs.replace(record, request=NOTHING, response=NOTHING, pieces=None)
    if is_absent(record.request):
        return SeenCall(bare, None)
    try:
        request = json.decode(record.request, type=_FileRequest)
        response = {} if is_absent(record.response) else json.decode(record.response, type=_Object)
    except ValidationError as error:
        raise SourceError(f"A model call is not valid: {error}.") from None
    config, answer = dict(request.config), response.pop("content", NOTHING)
    response.pop("usageMetadata", None)
    texts = CallTexts(
        instruction=_bounded(config.pop("systemInstruction", NOTHING)),
        config=_bounded(json.encode(config)),
        tools=_bounded(json.encode(request.tools)) if request.tools else b"",
        contents=[ContentText(_bounded(each)) for each in request.contents],
        answer=_bounded(answer),
        response=_bounded(json.encode(response)),
    )
    return SeenCall(bare, texts)


def _bounded(text: Raw | bytes) -> bytes:
    return bounded(bytes(text))[0]


def between_calls(entries: Sequence[Entry]) -> Iterator[Sequence[Entry]]:
    """Split entries before each model call: its texts can be stored once its run is."""
    begun: list[Entry] = []
    for entry in entries:
        if isinstance(entry.record, ModelCalled) and begun:
            yield begun
            begun = []
        begun.append(entry)
    if begun:
        yield begun


# ---------------------------------------------------------------------------

_APART = {"tools", "system_instruction", "http_options"}
"""Parts of a config that are kept by themselves, or not at all."""
_HTTP = {"api_version", "timeout", "retry_options", "extra_body"}
"""HTTP options that are no secrets."""
_SAID = {"content", "usage_metadata"}


class RequestTexts:
    """The texts of a request, and which of them were cut."""

    def __init__(self, request: LlmRequest) -> None:
        self.cut: list[str] = []
        request, self.contents = _contents(request)
        config: Any = request.config  # A callback may have set it to None.
        instruction = config.system_instruction if config is not None else None
        tools = (config.tools if config is not None else None) or []
        self.instruction = self._bounded("config/systemInstruction", _any_json(instruction))
        self.tools = self._bounded("tools", _list_json(tools))
        self.config = self._bounded("config", _config_json(config))
        self.cut += [f"contents/{n}" for n, each in enumerate(self.contents) if each.is_cut]

    def _bounded(self, name: str, text: bytes) -> bytes:
        text, is_cut = bounded(text)
        if is_cut:
            self.cut.append(name)
        return text


def _contents(request: LlmRequest) -> tuple[LlmRequest, Sequence[ContentText]]:
    """Return the request that was sent, with its contents; those of a cached prefix are read once."""
    marks = (each for each in request.contents if isinstance(each, Placeholder))
    mark = next(marks, None)
    sent = mark.sent if mark is not None else None
    if mark is None or sent is None:
        return request, list(map(content_text, request.contents))
    at = next(n for n, content in enumerate(request.contents) if content is mark)
    known = mark.described(_unchanging)
    before, after = sent.contents[:at], sent.contents[at + len(known) :]
    return sent, [*map(content_text, before), *known, *map(content_text, after)]


def content_text(content: types.Content) -> ContentText:
    """Return the text of a content."""
    text, is_cut = bounded(model_json(content))
    return ContentText(text, is_cut=is_cut)


def _unchanging(content: types.Content) -> ContentText:
    """Return the text of a content that stays as it is, and so need not be kept twice."""
    text, is_cut = bounded(model_json(content))
    return ContentText(text, is_cut=is_cut, again=lambda: bounded(model_json(content))[0])


def _config_json(config: BaseModel | None) -> bytes:
    if config is None:
        return b"{}"
    text = model_json(config, exclude=_APART)
    kept: dict[str, Raw] = {}
    http = getattr(config, "http_options", None)
    if isinstance(http, BaseModel) and (options := model_json(http, include=_HTTP)) != b"{}":
        kept["httpOptions"] = Raw(options)
    return json.encode(json.decode(text, type=dict[str, Raw]) | kept) if kept else text


def _any_json(value: object) -> bytes:
    """Return the text of an instruction or a tool: a string, a model, a list of them, or anything else."""
    if value is None:
        return b""
    if isinstance(value, BaseModel):
        return model_json(value)
    if isinstance(value, list):
        return _list_json(value)
    return redacted_json(encode_strictly(value))


def _list_json(values: Sequence[object]) -> bytes:
    return b"[" + b",".join(_any_json(value) for value in values) + b"]" if values else b""


class ResponseTexts:
    """The texts of the whole responses to one request: mostly one."""

    def __init__(self) -> None:
        self._parts: list[Raw] = []
        self._role = "model"
        self._rest: dict[str, Raw] = {}
        self.usage: Raw = NOTHING
        self.finish = ""
        self.error = ""
        self.count = 0

    def add(self, response: LlmResponse, *, full: bool) -> None:
        """Read a response; its texts only if all is wanted."""
        self.count += 1
        if response.usage_metadata is not None:
            self.usage = Raw(model_json(response.usage_metadata))
        self.finish = _name(response.finish_reason) or self.finish
        self.error = _name(response.error_code) or self.error
        if not full:
            return
        self._rest |= json.decode(model_json(response, exclude=_SAID), type=dict[str, Raw])
        if response.content is not None:
            content = json.decode(model_json(response.content), type=dict[str, Any])
            self._role = content.get("role") or self._role
            self._parts += [Raw(json.encode(part)) for part in content.get("parts") or ()]

    def texts(self) -> tuple[bytes, bytes]:
        """Return the content and the rest; empty without a response."""
        if not self.count:
            return b"", b""
        answer = json.encode({"parts": self._parts, "role": self._role}) if self._parts else b""
        return answer, json.encode(self._rest)


def _name(value: object) -> str:
    """Return the name of an enum's value, or a string."""
    name = getattr(value, "value", value)
    return name if isinstance(name, str) else ""


def call_texts(request: RequestTexts, response: ResponseTexts) -> tuple[CallTexts, list[str]]:
    """Return the texts of a call, and the names of those that were cut."""
    cut, kept = list(request.cut), []
    for name, text in zip(("response/content", "response"), response.texts(), strict=True):
        text, is_cut = bounded(text)
        kept.append(text)
        if is_cut:
            cut.append(name)
    texts = CallTexts(
        instruction=request.instruction,
        config=request.config,
        tools=request.tools,
        contents=request.contents,
        answer=kept[0],
        response=kept[1],
    )
    return texts, cut


CANCELLED = "cancelled"
"""The error of a call that was cancelled before the model had answered."""

MOST_CUTS = 100
"""Names of parts that were cut; a request with more has been reported well enough."""


class OpenCall:
    """A request that was made."""

    __slots__ = ("_request", "answers", "began", "first", "lane", "last", "node", "sent")

    def __init__(self, lane: Lane, node: Node | None, request: LlmRequest) -> None:
        self.lane = lane
        self.node = node
        self._request = request
        self.began = time.time(), time.perf_counter()
        self.first = self.last = 0.0
        self.answers = ResponseTexts()
        self.sent: RequestTexts | None = None

    def take(self, response: LlmResponse, *, full: bool) -> None:
        """Read a whole response, and with the first one the request."""
        self.last = time.perf_counter()
        if full and self.sent is None:
            self.sent = RequestTexts(self._request)
        self.answers.add(response, full=full)

    def over(self, detail: Detail, error: str) -> SeenCall:
        """Return the call, now that it is over."""
        clock, ticks = self.began
        last = self.last or time.perf_counter()
        texts: CallTexts | None = None
        cut: list[str] = []
        if detail == "full":
            texts, cut = call_texts(self.sent or RequestTexts(self._request), self.answers)
        record = ModelCalled(
            agent=self.lane[2],
            node=self.node.id if self.node is not None else "",
            model=self._request.model or "",
            started=round(clock, 3),
            first_token=_ms(self.first - ticks) if self.first else None,
            duration=_ms(last - ticks),
            usage=self.answers.usage,
            finish=self.answers.finish,
            error=safe_code(error or self.answers.error) if error or self.answers.error else "",
            responses=self.answers.count,
            cut=cut[:MOST_CUTS],
        )
        return SeenCall(record, texts)


def _ms(seconds: float) -> int:
    return max(0, round(seconds * 1000))


class ModelCallWatcher(CallWatcher):
    """The calls of one run that are not over."""

    def __init__(self, detail: Detail, put: Callable[[SeenCall], None]) -> None:
        self._detail = detail
        self._put = put
        self._open: dict[Lane, OpenCall] = {}
        self._unanswered: set[Lane] = set()
        """Those without any response, whole or partial."""

    def begin(self, lane: Lane, node: Node | None, request: LlmRequest) -> None:
        """Note a request."""
        self.end(lane)
        self._open[lane] = OpenCall(lane, node, request)
        self._unanswered.add(lane)

    def wants(self, response: LlmResponse) -> bool:
        """Return whether a response is to be received: of thousands of partial ones only the first is."""
        return bool(self._unanswered) or not response.partial

    def receive(self, lane: Lane, response: LlmResponse) -> None:
        """Note a response."""
        call = self._open.get(lane)
        self._unanswered.discard(lane)
        if call is None:
            return
        call.first = call.first or time.perf_counter()
        if not response.partial:
            call.take(response, full=self._detail == "full")

    def end(self, lane: Lane, error: str = "") -> None:
        """Note that a call is over. Without a response and an error, it never reached the model."""
        call = self._open.pop(lane, None)
        self._unanswered.discard(lane)
        if call is not None and (error or call.first):
            self._put(call.over(self._detail, error))

    def add_compaction(self, event: Event) -> None:
        """Note the call that summarised earlier events, which no callback sees: what its event says of it."""
        compaction = event.actions.compaction
        if event.usage_metadata is None or compaction is None:
            return
        usage = event.usage_metadata.model_dump_json(by_alias=True, exclude_none=True)
        texts: CallTexts | None = None
        cut: list[str] = []
        if self._detail == "full":
            answer, is_cut = bounded(model_json(compaction.compacted_content))
            cut = ["response/content"] if is_cut else []
            times = model_json(compaction, exclude={"compacted_content"})
            texts = CallTexts(answer=answer, response=b'{"compaction":%b}' % times)
        record = ModelCalled(
            agent=COMPACTION,
            model=event.model_version or "",
            started=round(event.timestamp, 3),
            usage=Raw(usage.encode()),
            responses=1,
            cut=cut,
        )
        self._put(SeenCall(record, texts))

    def end_in(self, node: Node, *, cancelled: bool = False) -> None:
        """Note that the calls of a node are over."""
        for call in [call for call in self._open.values() if call.node is node]:
            self.end(call.lane, CANCELLED if cancelled and not call.answers.count else "")

    def end_all(self) -> None:
        """Note that all calls are over: the run is, and what has no response was cancelled."""
        for call in list(self._open.values()):
            self.end(call.lane, "" if call.answers.count else CANCELLED)
