"""The chunks of the AI SDK's UI message stream: types, keys and values, as npm's `ai` reads them."""

from __future__ import annotations

from typing import Any

from adk_prism.conform.check import Check, Sheet
from adk_prism.conform.stream_checks import Item
from adk_prism.conform.value_types import BOOLEAN, LIST, STRING, TypeRule, missing_keys, wrong_types
from adk_prism.fieldcheck.ai_sdk_inventory import Release, accepted, read_releases

PROTOCOL = "https://ai-sdk.dev/docs/ai-sdk-ui/stream-protocol"
SCHEMA = "npm package ai, uiMessageChunkSchema"

CHECKS = (
    Check("json", "The data of every frame is one JSON object, or [DONE].", PROTOCOL),
    Check(
        "json-keys", "No key is __proto__, and no constructor holds a prototype.", "npm package ai"
    ),
    Check("chunk-type", "Every chunk has a type that a release of the AI SDK knows.", SCHEMA),
    Check(
        "chunk-values",
        "Every chunk has the keys that its type requires, and an absent value is left out, not null.",
        SCHEMA,
    ),
    Check(
        "every-release",
        "A chunk has only types and keys that every release since 6.0.0 accepts.",
        "uiMessageChunkSchema of ai 6.0.0, which refuses any other key",
        "should",
    ),
)


def _is_metadata(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(each, dict) for each in value.values())


_STRINGS = """id delta messageId toolCallId toolName inputTextDelta errorText approvalId sourceId url
    mediaType title filename reason kind""".split()
_BOOLEANS = "dynamic providerExecuted preliminary transient approved isAutomatic".split()
_TYPES: dict[str, TypeRule] = {
    **dict.fromkeys(_STRINGS, STRING),
    **dict.fromkeys(_BOOLEANS, BOOLEAN),
    "providerMetadata": ("an object of objects", _is_metadata),
    "parts": LIST,
}


class ChunkSchema:
    """Checks one chunk at a time."""

    def __init__(self) -> None:
        # Of releases before 6 the chunks have fewer keys; what they accept, later ones do.
        releases = tuple(each for each in read_releases() if not each.sdk.startswith("ai-5"))
        self._oldest, self._newest = releases[0], releases[-1]
        self._known = accepted(releases)
        self._reasons = {reason for each in releases for reason in each.finish_reasons}

    def check(self, sheet: Sheet, item: Item) -> bool:
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
        return not any(missing_keys(item.value, self._required(kind)))

    def _required(self, kind: str) -> tuple[str, ...]:
        return (self._newest.chunks.get(kind) or self._oldest.chunks[kind]).required

    def _wrong_values(self, kind: str, chunk: dict[str, Any]) -> list[str]:
        wrong = [*missing_keys(chunk, self._required(kind)), *wrong_types(chunk, _TYPES)]
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
