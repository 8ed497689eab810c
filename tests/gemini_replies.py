"""What a loopback Gemini answers: the streams whose events the project has to read."""

from __future__ import annotations

from tests.loopback_gemini import Refusal, Reply, chunk

_CALL = {"name": "get_weather", "args": {"city": "Paris"}}


def _piece(path: str, text: str, more: bool) -> dict[str, object]:
    piece: dict[str, object] = {"jsonPath": path, "stringValue": text}
    if more:
        piece["willContinue"] = True
    return {"functionCall": {"partialArgs": [piece], "willContinue": True}}


ANSWER: Reply = [
    chunk({"text": "It is "}),
    chunk({"text": "sunny."}),
    chunk({"text": ""}, finish="STOP"),
]
THOUGHT_AND_TOOL: Reply = [
    chunk({"text": "Where is it? ", "thought": True}),
    chunk({"text": "In Paris.", "thought": True}),
    chunk({"text": "Let me "}),
    chunk({"text": "look."}),
    chunk({"functionCall": _CALL, "thoughtSignature": "c2lnbmF0dXJl"}, finish="STOP"),
]
PARTIAL_ARGUMENTS: Reply = [
    chunk({"functionCall": {"name": "get_weather", "willContinue": True}}),
    chunk(_piece("$.city", "Par", more=True)),
    chunk(_piece("$.city", "is", more=False)),
    chunk({"functionCall": {}}, finish="STOP"),
]
MIXED_CALLS: Reply = [
    chunk({"text": "Let me look."}),
    chunk({"functionCall": {"name": "get_weather", "willContinue": True}}),
    chunk(_piece("$.city", "Paris", more=False)),
    chunk({"functionCall": {}}),
    chunk({"functionCall": {"name": "get_weather", "args": {"city": "Rome"}}}),
    chunk({"functionCall": {"name": "get_weather", "willContinue": True}}),
    chunk(_piece("$.city", "Oslo", more=False)),
    chunk({"functionCall": {}}, finish="STOP"),
]
"""A call that comes whole, between two whose arguments are streamed."""
MAX_TOKENS: Reply = [chunk({"text": "cut off te"}), chunk({"text": "xt"}, finish="MAX_TOKENS")]
SAFETY: Reply = [
    chunk({"text": "hm "}),
    chunk(finish="SAFETY", message="Withheld (synthetic)."),
]
QUOTA = Refusal(429, "RESOURCE_EXHAUSTED")

# By name: what the server answers, in order.
STREAMS: dict[str, tuple[Reply, ...]] = {
    "thought_and_tool": (THOUGHT_AND_TOOL, ANSWER),
    "partial_arguments": (PARTIAL_ARGUMENTS, ANSWER),
    "mixed_calls": (MIXED_CALLS, ANSWER),
    "max_tokens": (MAX_TOKENS,),
    "safety": (SAFETY,),
    "quota": (QUOTA,),
}
