"""A loopback Gemini that answers any agent: its reply is a function of the request alone.

Unlike `tests.loopback_gemini` it has no prepared replies, so it serves agents that it does not know
and two servers at once. What it does in a turn:

1. A word of the prompt that `SHAPES` lists chooses a special answer.
2. It calls the declared functions that the prompt names, or else the first one; all of them at
   once where the prompt says "parallel". Arguments are made from the declared schema.
3. Then it answers: JSON where the request asks for a schema, else the prompt or the results.

Every text ends with a checksum of the request. So two servers whose events are equal have also sent
their model the same history, instructions, tools and settings.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.gemini_replies import MAX_TOKENS, QUOTA, SAFETY
from tests.loopback_gemini import Json, Refusal, Reply, chunk
from tests.outside.schemas import example

TRANSFER = "transfer_to_agent"
_LAST = ("set_model_response", "finish_task")
"""Functions with which an agent ends its turn: called after all others."""
_OTHERS = "For context:"
"""How ADK begins what another agent said or did: not a prompt."""


@contextmanager
def serve_gemini() -> Iterator[str]:
    """Serve on 127.0.0.1 until the block ends; yield the address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Write nothing: the answers show what came."""

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        reply = reply_to(json.loads(self.rfile.read(length)))
        if isinstance(reply, Refusal):
            error = {"code": reply.code, "message": reply.message, "status": reply.status}
            self._send(reply.code, "application/json", json.dumps({"error": error}))
        elif ":streamGenerateContent" in self.path:
            frames = "".join(f"data: {json.dumps(piece)}\r\n\r\n" for piece in reply)
            self._send(200, "text/event-stream", frames)
        else:
            self._send(200, "application/json", json.dumps(_whole(reply)))

    def _send(self, status: int, kind: str, body: str) -> None:
        content = body.encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def reply_to(request: Json) -> Reply:
    """Return the reply to a request: the same one whenever the request is the same."""
    prompt, turn = _turn(request.get("contents", []))
    parts = [part for content in turn for part in content.get("parts", [])]
    for word, shape in SHAPES.items():
        if re.search(rf"\b{word}\b", prompt) and not parts:
            return shape(_signed(f"You said: {prompt}", request))
    calls = _calls(
        request, prompt, [p["functionCall"]["name"] for p in parts if "functionCall" in p]
    )
    if calls:
        return _calling(calls)
    config = request.get("generationConfig", {})
    if schema := _first(config, "responseJsonSchema", "response_json_schema", "responseSchema"):
        return _text(json.dumps(example(schema)))
    results = [part["functionResponse"]["response"] for part in parts if "functionResponse" in part]
    text = (
        f"Results: {json.dumps(results, sort_keys=True)[:500]}"
        if results
        else f"You said: {prompt}"
    )
    return _text(_signed(text, request))


def _turn(contents: Sequence[Json]) -> tuple[str, Sequence[Json]]:
    """Return the last prompt of a person, and what followed it."""
    for at in range(len(contents) - 1, -1, -1):
        texts = [part["text"] for part in contents[at].get("parts", []) if "text" in part]
        if contents[at].get("role") == "user" and texts and not texts[0].startswith(_OTHERS):
            return " ".join(texts), contents[at + 1 :]
    return "", contents


def _calls(request: Json, prompt: str, called: Sequence[str]) -> list[Json]:
    """Return the function calls to make now."""
    declared = {
        each["name"]: each
        for tool in request.get("tools", [])
        for each in tool.get("functionDeclarations", [])
    }
    usual = [name for name in declared if name != TRANSFER and name not in _LAST]
    named = [name for name in usual if re.search(rf"\b{name}\b", prompt)]
    chosen = usual if "parallel" in prompt else named or usual[:1]
    last = [name for name in _LAST if name in declared and name not in called]
    if "transfer" in prompt and TRANSFER in declared and not called and not _context(request):
        chosen = [TRANSFER]
    elif "plain" in prompt or called:
        chosen = []
    return [_call(declared[name]) for name in chosen or last]


def _context(request: Json) -> bool:
    """Tell whether the agent reads of another agent in this request: it was transferred to."""
    return f"`{TRANSFER}`" in json.dumps(request.get("contents", []))


def _call(declared: Json) -> Json:
    schema = _first(declared, "parametersJsonSchema", "parameters_json_schema", "parameters")
    return {"name": declared["name"], "args": example(schema) if schema else {}}


def _first(given: Json, *names: str) -> Json | None:
    """Return the member that is there: google-genai writes some names as Python does."""
    return next((given[name] for name in names if given.get(name)), None)


def _calling(calls: Sequence[Json]) -> Reply:
    pieces = [chunk({"text": "Let me look. "})]
    pieces += [chunk({"functionCall": call}) for call in calls[:-1]]
    return [*pieces, chunk({"functionCall": calls[-1]}, finish="STOP")]


def _text(text: str) -> Reply:
    """Return a text in three chunks and an empty last one, as Gemini streams."""
    third = len(text) // 3 + 1
    pieces = [text[at : at + third] for at in range(0, len(text), third)]
    return [*(chunk({"text": piece}) for piece in pieces), chunk({"text": ""}, finish="STOP")]


def _signed(text: str, request: Json) -> str:
    told = json.dumps(request, sort_keys=True).encode()
    return f"{text} [{hashlib.sha256(told).hexdigest()[:12]}]"


# ------------------------------------------------------------------ special answers


def _thoughts(text: str) -> Reply:
    first, second = {"text": "What is asked? ", "thought": True}, {"text": "That.", "thought": True}
    return [chunk(first), chunk(second), *_text(text)]


def _code(text: str) -> Reply:
    code = {"executableCode": {"language": "PYTHON", "code": "print(6 * 7)"}}
    result = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "42\n"}}
    return [chunk(code), chunk(result), *_text(text)]


def _fenced(text: str) -> Reply:
    return _text("Let me compute.\n```python\nprint(6 * 7)\n```\n")


def _with_metadata(**metadata: object) -> Callable[[str], Reply]:
    def shape(text: str) -> Reply:
        pieces = list(_text(text))
        last = pieces[-1]
        return [*pieces[:-1], {**last, "candidates": [{**last["candidates"][0], **metadata}]}]

    return shape


def _image(text: str) -> Reply:
    return [
        *_text(text)[:-1],
        chunk({"inlineData": {"mimeType": "image/png", "data": "iVBORw0="}}, finish="STOP"),
    ]


_GROUNDING = {
    "webSearchQueries": ["light"],
    "groundingChunks": [{"web": {"uri": "https://example.com/a", "title": "A"}}],
    "groundingSupports": [
        {"segment": {"startIndex": 0, "endIndex": 3, "text": "You"}, "groundingChunkIndices": [0]}
    ],
}
_CITATIONS = {"citationSources": [{"startIndex": 0, "endIndex": 3, "uri": "https://example.com/c"}]}
_LOGPROBS = {"chosenCandidates": [{"token": "You", "logProbability": -0.25, "tokenId": 7}]}

SHAPES: dict[str, Callable[[str], Reply]] = {
    "think": _thoughts,
    "code": _code,
    "python": _fenced,
    "image": _image,
    "grounding": _with_metadata(groundingMetadata=_GROUNDING),
    "citations": _with_metadata(citationMetadata=_CITATIONS),
    "logprobs": _with_metadata(avgLogprobs=-0.25, logprobsResult=_LOGPROBS),
    "empty": lambda text: [chunk(finish="STOP")],
    "malformed": lambda text: [chunk(finish="MALFORMED_FUNCTION_CALL", message="Not a call.")],
    "max tokens": lambda text: MAX_TOKENS,
    "safety": lambda text: SAFETY,
    "quota": lambda text: QUOTA,
    "unavailable": lambda text: Refusal(503, "UNAVAILABLE"),
}
"""By a word of the prompt: the answer to it, from the text that it would have otherwise."""


def _whole(chunks: Sequence[Json]) -> Json:
    """Merge the chunks into the one response of a call that does not stream."""
    parts: list[Json] = []
    for piece in chunks:
        for part in piece["candidates"][0].get("content", {}).get("parts", []):
            if parts and parts[-1].keys() == part.keys() <= {"text", "thought"}:
                parts[-1] = {**part, "text": parts[-1]["text"] + part["text"]}
            else:
                parts.append(part)
    content = {"content": {"role": "model", "parts": parts}} if parts else {}
    return {**chunks[-1], "candidates": [{**chunks[-1]["candidates"][0], **content}]}
