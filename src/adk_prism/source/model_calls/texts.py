"""Requests and responses of models as JSON texts, in ADK's spelling.

A request is read when the model has answered: ADK's plugins, the agent's callbacks and the model itself
(`cached_prefix`, ADK's context cache) change it until it is sent. HTTP headers are left out: they hold keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from msgspec import Raw, json
from pydantic import BaseModel

from adk_prism.runlog.entry import NOTHING
from adk_prism.source.model_calls.bounded_text import bounded
from adk_prism.source.model_calls.seen_call import CallTexts, ContentText
from adk_prism.source.plain_json import encode_strictly
from adk_prism.source.prefix.placeholder import find_mark
from adk_prism.source.redaction import model_json, redacted_json

_APART = {"tools", "system_instruction", "http_options"}
"""Parts of a config that are kept by themselves, or not at all."""
_RESUMED = {"transparent"}
"""Of the resumption of a live session. Its handle is a secret."""
_HTTP = {"api_version", "timeout", "retry_options", "extra_body"}
"""HTTP options that are no secrets."""
_SAID = {"content", "usage_metadata"}


class RequestTexts:
    """The texts of a request, and which of them were cut."""

    def __init__(self, request: LlmRequest, *, live: bool = False) -> None:
        self.cut: list[str] = []
        self.contents: Sequence[ContentText] = ()
        """None of a live connection, which gets one after the other."""
        if not live:
            request, self.contents = _contents(request)
        # A callback may have set either to None.
        config: Any = request.live_connect_config if live else request.config
        # Some live models leave them where ADK has put them.
        held: list[Any] = [each for each in (config, request.config) if each is not None]
        instruction = next(filter(None, (each.system_instruction for each in held)), None)
        tools: list[Any] = next(filter(None, (each.tools for each in held)), [])
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
    mark = find_mark(request.contents)
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
    http, resumed = (getattr(config, name, None) for name in ("http_options", "session_resumption"))
    if isinstance(http, BaseModel) and (options := model_json(http, include=_HTTP)) != b"{}":
        kept["httpOptions"] = Raw(options)
    if isinstance(resumed, BaseModel):
        kept["sessionResumption"] = Raw(model_json(resumed, include=_RESUMED))
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
