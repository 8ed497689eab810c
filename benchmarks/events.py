"""The events of the benchmarks without a Runner: ADK's own objects, in the shape that its Runner yields.

Three kinds: the next word of a streamed text; a tool call with its answer, ten hits of a search; a
change of state, a plan of ten steps. An answer and a change are about four KiB each, as search tools and
planners make them; the smaller such a value, the more of the time is the reader's own. `long` gives
words that fill a line of text each.
"""

from __future__ import annotations

from google.adk.events.event import Event, NodeInfo
from google.adk.events.event_actions import EventActions
from google.genai import types

AUTHOR = "speaker"
PATH = "speaker@1"
INVOCATION = "e-00000000-0000-4000-8000-000000000001"

WORD = "translator "

_ABSTRACT = (
    "Streaming interfaces show a result while it is made. We measure what each layer between a model "
    "and a person adds, in time and in bytes, and find that most of it is spent on writing the same "
    "object several times. A log that is written once, and read by all, takes a tenth of it."
)


def words(count: int) -> list[Event]:
    """Return the deltas of one streamed text."""
    return [
        _event(number, content=_said(types.Part(text=WORD)), partial=True)
        for number in range(count)
    ]


def tools(count: int, hits: int = 10) -> list[Event]:
    """Return calls of a tool, each followed by its answer."""
    events = []
    for number in range(count):
        call = types.FunctionCall(
            id=f"adk-{number:08}", name="search_papers", args={"query": "streams", "limit": hits}
        )
        answer = types.FunctionResponse(
            id=call.id, name=call.name, response={"hits": [_hit(n) for n in range(hits)]}
        )
        usage = types.GenerateContentResponseUsageMetadata(
            prompt_token_count=900, candidates_token_count=20, total_token_count=920
        )
        events += [
            _event(
                2 * number,
                content=_said(types.Part(function_call=call)),
                partial=False,
                finish_reason=types.FinishReason.STOP,
                usage_metadata=usage,
            ),
            _event(
                2 * number + 1,
                content=types.Content(role="user", parts=[types.Part(function_response=answer)]),
            ),
        ]
    return events


def states(count: int, steps: int = 10) -> list[Event]:
    """Return changes of state."""
    return [
        _event(number, actions=EventActions(state_delta={"plan": [_hit(n) for n in range(steps)]}))
        for number in range(count)
    ]


def _hit(number: int) -> dict[str, object]:
    return {
        "title": f"What a stream costs, part {number}",
        "year": 2020 + number,
        "score": 0.97 - number / 100,
        "authors": ["A. Writer", "B. Reader"],
        "abstract": _ABSTRACT,
    }


def _said(part: types.Part) -> types.Content:
    return types.Content(role="model", parts=[part])


def _event(number: int, **fields: object) -> Event:
    given: dict[str, object] = {
        "author": AUTHOR,
        "invocation_id": INVOCATION,
        "id": f"00000000-0000-4000-8000-{number:012}",
        "timestamp": 1750000000.003 + number,
        "node_info": NodeInfo(path=PATH),
        **fields,
    }
    return Event.model_validate(given)
