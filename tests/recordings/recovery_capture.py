"""A coordinator with four specialists behind `AgentTool`, as a client of ADK's `/run_sse` saw them.

Reconstructed, not recorded. What is known of the real stream, and kept here as it was: five events by
`coordinator`, their order, parts, roles, times, invocation and model; two call ids; the requests of the
first event; every statement of confidence and source; the skeleton of the last text. It is not known what
the specialists said around those statements, which two were asked again, nor the other ids: all that is
made up, in words of our own, and so are usage and event ids. `nepa_advisor` is taken to have asked back
first, since its two statements are of two subjects.

Nothing here is advice. The regulation that is quoted has been replaced since, and the imagery's date can
not be that of the whole fire: a proof shows what was said, right or wrong.
"""

from __future__ import annotations

import json
from typing import Any

from tests.app_runner import AppRun

Json = dict[str, Any]

INVOCATION = "e-a3237f79-5ffa-4fb8-b6b3-f71faa15d712"
BURN, TRAIL = (
    "adk-3ea2f26d-9a45-4d32-8544-c60c1afca831",
    "adk-b44d14f4-fa1e-406a-90f0-6b0fb1a88661",
)
CRUISE, NEPA, TRAIL_NEPA, TIMBER_NEPA = (
    f"adk-00000000-0000-4000-8000-{number:012d}" for number in range(1, 5)
)
REQUEST = "fire_id:cedar-creek-2022"

BURN_TEXT = """\
### 1. Summary
The burn is a mosaic; the ridges burned hottest (synthetic).
### 2. Priority Areas
- CORE-1: where the fire began (HIGH severity)
### 5. Confidence & Source
**Confidence:** 92%
**Source:** MTBS, Imagery date: 2022-09-15
"""
TRAIL_TEXT = """\
### 1. Summary
Two bridges are out and one trail has slid (synthetic).
### 4. Confidence & Source
**Confidence:** 90%
**Source:** Cedar Creek field assessment 2022-10-25
"""
CRUISE_TEXT = """\
### 1. Summary
Salvage pays on the lower units only (synthetic).
### 6. Confidence & Source
**Confidence:** 91%
**Source:** Cedar Creek timber plot data, PNW salvage deterioration models, Regional market analysis 2025
"""
QUESTION = "Which actions shall I screen: trail repair, timber salvage, or both? (synthetic)"
TRAIL_NEPA_TEXT = """\
### Trail repair
Screened as a categorical exclusion (synthetic).
**Confidence:** High (90%) - Direct CFR citations
"""
TIMBER_NEPA_TEXT = """\
### Timber salvage
Screened as a categorical exclusion (synthetic).
**Regulatory Basis:** 36 CFR 220.6(e)(13)
**Confidence:** High (95%) - Direct CFR and FSM citations
"""
ANSWER = """\
**Fire Severity:** a mosaic, hottest on the ridges (Confidence: 92%)

**Infrastructure Damage:** 2 bridges out, 1 trail lost (Confidence: 90%)

**Timber Salvage:** worth it on the lower units (Confidence: 91%)

**NEPA Pathway:** categorical exclusions (Confidence: 95% for timber, 90% for trails)

**Overall Confidence:** 90%

**Recommended Actions:**
1. Deploy BAER team (synthetic).
2. Establish hazard zones (synthetic)."""


async def recovery_capture() -> dict[str, AppRun]:
    """Return the five events."""
    events = [
        _model(
            1767081391.059711,
            _call(BURN, "burn_analyst", REQUEST),
            _call(TRAIL, "trail_assessor", REQUEST),
            _call(CRUISE, "cruising_assistant", REQUEST),
            _call(NEPA, "nepa_advisor", REQUEST),
        ),
        _user(
            1767081397.518132,
            _answer(BURN, "burn_analyst", BURN_TEXT),
            _answer(TRAIL, "trail_assessor", TRAIL_TEXT),
            _answer(CRUISE, "cruising_assistant", CRUISE_TEXT),
            _answer(NEPA, "nepa_advisor", QUESTION),
        ),
        _model(
            1767081405.0,
            {"text": "I ask the adviser about both."},
            _call(TRAIL_NEPA, "nepa_advisor", f"{REQUEST} action:trail repair"),
            _call(TIMBER_NEPA, "nepa_advisor", f"{REQUEST} action:timber salvage"),
        ),
        _user(
            1767081412.0,
            _answer(TRAIL_NEPA, "nepa_advisor", TRAIL_NEPA_TEXT),
            _answer(TIMBER_NEPA, "nepa_advisor", TIMBER_NEPA_TEXT),
        ),
        _model(1767081419.786536, {"text": ANSWER}),
    ]
    numbered = (event | {"id": f"event-{number}"} for number, event in enumerate(events, 1))
    return {"": AppRun(lines=[json.dumps(event) for event in numbered])}


def _model(time: float, *parts: Json) -> Json:
    """ADK puts STOP on every turn of a model, and names the calls that may take long, if there are any."""
    long_running: Json = {"longRunningToolIds": []} if "functionCall" in parts[-1] else {}
    usage = {"promptTokenCount": 900, "candidatesTokenCount": 60, "totalTokenCount": 960}
    return {
        "modelVersion": "gemini-2.0-flash",
        "content": {"parts": list(parts), "role": "model"},
        "finishReason": "STOP",
        "usageMetadata": usage,
        **_common(time),
        **long_running,
    }


def _user(time: float, *parts: Json) -> Json:
    return {"content": {"parts": list(parts), "role": "user"}, **_common(time)}


def _common(time: float) -> Json:
    return {
        "invocationId": INVOCATION,
        "author": "coordinator",
        "actions": {"stateDelta": {}, "artifactDelta": {}},
        "timestamp": time,
    }


def _call(call: str, name: str, request: str) -> Json:
    return {"functionCall": {"id": call, "args": {"request": request}, "name": name}}


def _answer(call: str, name: str, text: str) -> Json:
    return {"functionResponse": {"id": call, "name": name, "response": {"result": text}}}
