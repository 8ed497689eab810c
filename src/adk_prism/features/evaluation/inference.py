"""What an agent did in an eval case, by its recorded runs, as the invocations that ADK evaluates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw, Struct

if TYPE_CHECKING:
    from google.adk.evaluation.app_details import AppDetails
    from google.adk.evaluation.eval_case import Invocation
    from google.adk.events.event import Event

USER = "user"


class AskedModel(Struct, frozen=True):
    """With what an agent's model was asked."""

    agent: str
    instruction: str
    tools: list[Any]


class SaidTurn(Struct, frozen=True, kw_only=True):
    """A message of the user, and what the agent did then."""

    message: Raw
    invocation: str
    events: list[bytes]
    """ADK's events, without partial ones."""
    started: float
    seconds: float
    asked: list[AskedModel] = []


class Inference(Struct, frozen=True, kw_only=True):
    """A case that was run."""

    case: str
    session: str
    turns: list[SaidTurn] = []
    runs: list[str] = []
    error: str = ""
    """Why it could not be run to its end."""
    note: str = ""
    """What else is worth knowing about it."""


def turn_events(turn: SaidTurn, invocation: str) -> list[Event]:
    """Return a turn as ADK's events, the user's first, under one invocation id."""
    from google.adk.events.event import Event
    from google.genai import types

    said = Event(
        author=USER,
        invocation_id=invocation,
        content=types.Content.model_validate_json(bytes(turn.message)),
        timestamp=turn.started,
    )
    events = [Event.model_validate_json(each) for each in turn.events]
    return [said, *(event.model_copy(update={"invocation_id": invocation}) for event in events)]


def invocations(turns: Sequence[SaidTurn]) -> list[Invocation]:
    """Return what ADK's own conversion makes of the turns: one invocation for each."""
    from google.adk.evaluation.evaluation_generator import EvaluationGenerator

    # An answer to a question continues an invocation; ADK pairs them with messages one by one.
    names = [f"{turn.invocation}-{place}" for place, turn in enumerate(turns)]
    pairs = list(zip(names, turns, strict=True))
    return EvaluationGenerator.convert_events_to_eval_invocations(
        [event for name, turn in pairs for event in turn_events(turn, name)],
        {name: _app_details(turn.asked) for name, turn in pairs},
        {name: round(turn.seconds, 3) for name, turn in pairs},
    )


def _app_details(asked: Sequence[AskedModel]) -> AppDetails:
    from google.adk.evaluation.app_details import AgentDetails, AppDetails
    from google.genai import types

    return AppDetails(
        agent_details={
            each.agent: AgentDetails(
                name=each.agent,
                instructions=each.instruction,
                tool_declarations=[types.Tool.model_validate(tool) for tool in each.tools],
            )
            for each in reversed(asked)
        }
    )


def asked_model(call: dict[str, Any]) -> AskedModel | None:
    """Read a model call as `GET /api/runs/{run}/model-calls` has it; None if its request was not kept."""
    request = call.get("request")
    if request is None:
        return None
    plain = msgspec.json.decode(msgspec.json.encode(request))
    return AskedModel(
        call["agent"], _text(plain["config"].get("systemInstruction")), plain["tools"] or []
    )


def _text(instruction: Any) -> str:
    if isinstance(instruction, dict):
        parts = instruction.get("parts") or []
        return "\n".join(part["text"] for part in parts if part.get("text"))
    return instruction if isinstance(instruction, str) else ""
