"""A recorded model call as the attributes of its span, in the words of google-adk's telemetry.

`gcp.vertex.agent.llm_request` and `…llm_response` are JSON, which ADK's page shows in its Trace tab: there as
`model`, `config` (with instruction and tools) and `contents`. The bytes of media are left out, as ADK does.
"""

from __future__ import annotations

from typing import Any

import msgspec

from adk_prism.facts.json_value import read_object
from adk_prism.facts.token_usage import token_usage
from adk_prism.runlog.entry import ModelCalled, is_absent

REQUEST, RESPONSE = "gcp.vertex.agent.llm_request", "gcp.vertex.agent.llm_response"

_TOKENS = {
    "input": "gen_ai.usage.input_tokens",
    "output": "gen_ai.usage.output_tokens",
    "cached": "gen_ai.usage.cache_read.input_tokens",
    "reasoning": "gen_ai.usage.reasoning.output_tokens",
}
_FIRST = "gen_ai.response.time_to_first_chunk"
"""In seconds."""


def call_attributes(record: ModelCalled) -> dict[str, Any]:
    """Return what a model call says of its span; requests only where the record has them."""
    tokens = token_usage(record.usage)
    about: dict[str, Any] = {name: tokens[kind] for kind, name in _TOKENS.items() if kind in tokens}
    if record.model:
        about["gen_ai.request.model"] = record.model
    if record.first_token is not None:
        about[_FIRST] = record.first_token / 1000
    if record.finish:
        about["gen_ai.response.finish_reasons"] = [record.finish.lower()]
    if record.error:
        about["error.type"] = record.error
    if not is_absent(record.request):
        about[REQUEST] = _written(_request(record))
        about[RESPONSE] = _written(without_media(read_object(record.response)))
    return about


def _request(record: ModelCalled) -> dict[str, Any]:
    given = read_object(record.request)
    config, tools, contents = given.get("config"), given.get("tools"), given.get("contents")
    config = dict(config) if isinstance(config, dict) else {}
    return {
        "model": record.model,
        "config": config | ({"tools": tools} if tools else {}),
        "contents": [
            _without_bytes(each)
            for each in (contents if isinstance(contents, list) else ())
            if isinstance(each, dict)
        ],
    }


def without_media(response: dict[str, Any]) -> dict[str, Any]:
    """Return a model's response whose files have their types only."""
    content = response.get("content")
    return response | ({"content": _without_bytes(content)} if isinstance(content, dict) else {})


def _without_bytes(content: dict[str, Any]) -> dict[str, Any]:
    """Return a content whose files have their types only."""
    parts = content.get("parts")
    if not isinstance(parts, list):
        return content
    return content | {"parts": [_named(part) if isinstance(part, dict) else part for part in parts]}


def _named(part: dict[str, Any]) -> dict[str, Any]:
    file = part.get("inlineData")
    if not isinstance(file, dict):
        return part
    return part | {"inlineData": {name: file[name] for name in file if name != "data"}}


def _written(value: Any) -> str:
    return msgspec.json.encode(value).decode()
