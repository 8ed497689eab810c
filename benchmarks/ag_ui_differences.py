"""Where ag-ui-adk 0.11 and we tell a run differently; by hand, `python -m benchmarks.ag_ui_differences`.

Every recording's ADK events through ag-ui-adk's own translator, and the same run through our projection: the
texts, thoughts, calls and results that a client has in the end. Each difference that is known has its reason
below; one that is not ends the program with 1.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from ag_ui_adk.event_translator import EventTranslator
from google.adk.events.event import Event
from tests.recordings.library import RECORDINGS, load

from adk_prism.pipeline.protocols import protocol
from adk_prism.projection.ag_ui.call_ids import call_of
from adk_prism.runlog.entry import AgentEvent, Entry

Json = dict[str, Any]

MIXED = "it puts the words of agents that speak at once into one message"
JOINED = "it puts the text before and after a file or code into one message"
TWICE = "it tells a thought again when the model call ends"
KEPT = "it keeps text that a callback or another process replaced"
WAITS = "it tells ADK's placeholder as the result of a call that waits for a person"
DENIED = "it gives a denied call ADK's error as its result"
UNTOLD = "it leaves the call out: long-running, or the provider's own"
EMPTY = "it sends no arguments for a call without any, and no result for one that was cut off"
PREVIEW = "it drops a call's streamed preview; we keep the id that was seen first"
LATER = "the call of an earlier message, answered in this run"

KNOWN: dict[str, tuple[str, ...]] = {
    MIXED: (
        *("parallel_specialists", "workflow", "x_parallel", "x_same_specialist_twice"),
        *("x_takeover_children", "x_waiting_cancels_siblings", "x_waiting_cancels_siblings.2"),
        *("x_workflow", "x_failed_sub_agent"),
    ),
    JOINED: ("audio", "code", "file_reference", "image", "large_file"),
    TWICE: ("reasoning", "x_gemini_thought_and_tool", "x_thought_then_call"),
    KEPT: (
        *("x_code_executor", "x_logprobs", "x_planner", "x_rewritten", "x_takeover_other_text"),
        *("x_takeover_text", "x_withheld", "x_withheld_by_an_error", "x_withheld_entirely"),
        "x_withheld_text_of_a_thought",
    ),
    WAITS: (
        *("approval", "chat_denied", "chat_held", "credential_request", "mixed_batch"),
        *("sub_agent_approval", "two_approvals"),
    ),
    DENIED: (
        *("approval.denied", "chat_denied.2", "mixed_batch.denied", "sub_agent_approval.denied"),
        "two_approvals.denied",
    ),
    UNTOLD: ("client_tool", "long_running_tool", "server_side_tool"),
    EMPTY: (
        *("exception", "x_aborted_tool", "x_loop", "x_resumed_after_error", "x_state_scopes"),
        *("x_takeover_tool", "x_tool_media", "x_unknown_tool"),
    ),
    PREVIEW: ("x_naive_ids", "x_withheld_call"),
    LATER: ("x_task.2",),
}


_INSIDE = re.compile(r"run-\d+-n\d+-")


class Told:
    """What a client has in the end."""

    def __init__(self, events: Iterable[Json]) -> None:
        self._texts: dict[str, str] = {}
        self._thoughts: dict[str, str] = {}
        self._calls: dict[str, tuple[str, str]] = {}
        self._results: dict[str, str] = {}
        for event in events:
            self._take(event)

    def _take(self, event: Json) -> None:
        kind, name = event["type"], event.get("messageId", "")
        call = call_of(event.get("toolCallId", ""))
        if kind == "TEXT_MESSAGE_CONTENT":
            self._texts[name] = self._texts.get(name, "") + event["delta"]
        elif kind == "REASONING_MESSAGE_CONTENT":
            self._thoughts[name] = self._thoughts.get(name, "") + event["delta"]
        elif kind == "TOOL_CALL_START":
            self._calls.setdefault(call, (event["toolCallName"], ""))
        elif kind == "TOOL_CALL_ARGS":
            tool, before = self._calls[call]
            self._calls[call] = (tool, before + event["delta"])
        elif kind == "TOOL_CALL_RESULT":
            self._results[call] = event["content"]
        elif kind == "ACTIVITY_SNAPSHOT":
            self._texts.pop(name, None)

    def all(self) -> Json:
        """Return it, without what only one of both has a form for."""
        code = [call for call, (tool, _) in self._calls.items() if tool == "code_execution"]
        return {
            "texts": [text.strip() for text in self._texts.values() if text.strip()],
            "thoughts": list(self._thoughts.values()),
            "calls": {c: (t, _json(a)) for c, (t, a) in self._calls.items() if c not in code},
            "results": {c: _json(r) for c, r in self._results.items() if c not in code},
        }


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


async def _theirs(events: Sequence[Event]) -> list[Json]:
    translator = EventTranslator()
    found = [each for event in events async for each in translator.translate(event, "t", "r")]
    found += [each async for each in translator.force_close_streaming_message()]
    return [each.model_dump(by_alias=True, exclude_none=True, mode="json") for each in found]


def _ours(run: Sequence[Entry]) -> list[Json]:
    reader = protocol("ag-ui").format("1.0").reader()
    events = [json.loads(payload.data) for entry in run for payload in reader.feed(entry)]
    # What agents inside tools say is in no event of ADK's own stream.
    return [each for each in events if not _INSIDE.match(each.get("messageId", ""))]


def main() -> int:
    """Print what differs; return 1 if nobody knows why."""
    reasons = {name: why for why, names in KNOWN.items() for name in names}
    unknown = 0
    for name in RECORDINGS:
        run = load(name)
        given = [e.record.event for e in run if isinstance(e.record, AgentEvent)]
        events = [Event.model_validate_json(event) for event in given]
        theirs, ours = Told(asyncio.run(_theirs(events))).all(), Told(_ours(run)).all()
        if theirs == ours:
            continue
        unknown += name not in reasons
        print(f"{name}: {reasons.get(name, 'nobody knows why')}")
        for part in ours:
            if theirs[part] != ours[part]:
                print(f"  {part}\n    ag-ui-adk {theirs[part]}\n    adk-prism {ours[part]}"[:700])
    return 1 if unknown else 0


if __name__ == "__main__":
    sys.exit(main())
