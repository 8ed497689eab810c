"""An agent that attacks whoever looks at it: every payload in every place that an event has. Synthetic."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

from google.adk.agents import BaseAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events import Event, EventActions
from google.genai import types

PAYLOADS: list[str] = json.loads((Path(__file__).parents[2] / "payloads.json").read_text())
SVG = b'<svg xmlns="http://www.w3.org/2000/svg" onload="globalThis.ran=1"><script>ran=1</script></svg>'
LIES = ("image/png", "image/svg+xml", "text/html", "audio/wav", "video/mp4", "<img src=x>/x")
"""What a file of script says that it is."""
BATCH = 12
"""Payloads in one event: each event is a write of the session."""


class Hostile(BaseAgent):
    """Gives the word back; for `everything`, says all there is."""

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        parts = (ctx.user_content.parts if ctx.user_content else None) or []
        said = parts[0].text if parts else ""
        for content, rest in (
            _everything() if said == "everything" else [_spoken(said or "nothing")]
        ):
            yield Event(invocation_id=ctx.invocation_id, author=self.name, content=content, **rest)


Made = tuple[types.Content | None, dict[str, Any]]


def _spoken(*texts: str, **rest: Any) -> Made:
    parts = [types.Part(text=text) for text in texts]
    return types.Content(role="model", parts=parts), rest


def _everything() -> Iterator[Made]:
    for start in range(0, len(PAYLOADS), BATCH):
        yield from _batch(PAYLOADS[start : start + BATCH])
    for payload in PAYLOADS:
        heard = types.Transcription(text=payload, finished=True)
        told = {"error_code": payload, "error_message": payload, "output": {payload: payload}}
        yield None, told | {"input_transcription": heard, "custom_metadata": {payload: payload}}
    yield None, {"actions": EventActions(state_delta=_state())}
    yield from (_file(kind) for kind in LIES)
    yield _spoken(*PAYLOADS)


def _batch(words: list[str]) -> Iterator[Made]:
    parts = [part for word in words for part in _shown(word)]
    chunks = [
        types.GroundingChunk(web=types.GroundingChunkWeb(uri=word, title=word)) for word in words
    ]
    cited = types.GroundingMetadata(grounding_chunks=chunks)
    yield types.Content(role="model", parts=parts), {"grounding_metadata": cited}
    calls = [types.FunctionCall(id=_id(word), name=word, args={word: word}) for word in words]
    asked = [types.Part(function_call=call) for call in calls]
    yield types.Content(role="model", parts=asked), {}
    state = {word: {word: word} for word in words}
    actions = EventActions(state_delta=state, artifact_delta=dict.fromkeys(words, 1))
    answers = [types.Part(function_response=_answer(word)) for word in words]
    yield types.Content(role="user", parts=answers), {"actions": actions}


def _shown(word: str) -> list[types.Part]:
    code = types.ExecutableCode(code=word, language=types.Language.PYTHON)
    result = types.CodeExecutionResult(outcome=types.Outcome.OUTCOME_OK, output=word)
    return [
        types.Part(text=word),
        types.Part(text=word, thought=True),
        types.Part(executable_code=code),
        types.Part(code_execution_result=result),
    ]


def _answer(word: str) -> types.FunctionResponse:
    proof = {
        "finding": word,
        "confidence_factors": [{"name": word, "value": word, "effect": 0.5, "why": word}],
        "citations": [{"source": word, "reference": word, "uri": word, "excerpt": word}],
        "reasoning_chain": [word],
    }
    response = {"result": word, word: 1, "proof_layer": proof}
    return types.FunctionResponse(id=_id(word), name=word, response=response)


def _id(word: str) -> str:
    return f"call-{PAYLOADS.index(word)}"


def _file(kind: str) -> Made:
    inline = types.Blob(mime_type=kind, data=SVG, display_name=f"{PAYLOADS[3]}.svg")
    away = types.FileData(file_uri=PAYLOADS[43], mime_type=kind, display_name=PAYLOADS[3])
    parts = [types.Part(inline_data=inline), types.Part(file_data=away)]
    return types.Content(role="model", parts=parts), {}


def _state() -> dict[str, Any]:
    receipts = [
        {"timestamp": word, "database": word, "query": word, "results_count": 1, "warnings": [word]}
        | {"filters_applied": [word], "delta": word, "next": word, "request": word}
        for word in PAYLOADS
    ]
    actions = [
        {"name": word, "label": word, "database": word, "query": word, "filters": {word: word}}
        for word in PAYLOADS
    ]
    box = {
        "research_question": PAYLOADS[3],
        "stage": PAYLOADS[0],
        "search_assumptions": PAYLOADS,
        "open_questions": PAYLOADS,
        "databases_searched": PAYLOADS,
        "current_filters": {word: word for word in PAYLOADS},
        "next_action": {"owner": "agent", "action": PAYLOADS[3], "target": PAYLOADS[15]},
        "search_history": receipts,
        "pending_search_plan": {
            "database": PAYLOADS[3],
            "query": PAYLOADS[0],
            "filters": {word: word for word in PAYLOADS},
            "rationale": PAYLOADS[60],
        },
        "last_search_failure": {
            "type": PAYLOADS[0],
            "context": {word: word for word in PAYLOADS},
            "remedies": {"primary": PAYLOADS[3], "fallback": PAYLOADS[57]},
            "actions": actions,
        },
    }
    encoded = base64.b64encode(SVG).decode()
    return {f"grounding:{name}": value for name, value in box.items()} | {"svg": encoded}


root_agent = Hostile(name="hostile", description=" ".join(PAYLOADS[:40]))
