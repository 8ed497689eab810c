"""The requests and answers of ADK's server that are not ADK's public types.

Follows google-adk 2.13 `cli/api_server.py`, whose own models come with its whole server. Either
spelling is read; camelCase is written.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from google.adk.events.event import Event
from google.adk.utils.agent_info import AgentInfo
from google.genai import types
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)
from pydantic.alias_generators import to_camel

from adk_prism.server.guards.name_rules import ArtifactName, SessionId

_MOST_EVENTS = 10_000
"""Events a new session may be given: a very long conversation, and still one quick request."""


def _read_upstream(value: Any, read: ValidatorFunctionWrapHandler) -> Any:
    """Read a type of genai or ADK, whose own validators fail on input that they do not expect."""
    try:
        return read(value)
    except (AttributeError, TypeError, LookupError, ArithmeticError) as error:
        raise ValueError("Input cannot be read") from error


_Event = Annotated[Event, WrapValidator(_read_upstream)]
_Part = Annotated[types.Part, WrapValidator(_read_upstream)]

# ADK's clients send an empty id for "draw one".
_DrawnIfEmpty = Annotated[SessionId | None, BeforeValidator(lambda value: value or None)]


class _Model(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class CreateSession(_Model):
    """A new session; all of it may be left out."""

    session_id: _DrawnIfEmpty = Field(default=None, description="Without: one is drawn.")
    state: dict[str, Any] | None = None
    events: Annotated[list[_Event], Field(max_length=_MOST_EVENTS)] | None = None
    options: dict[str, Any] | None = Field(
        default=None, description="Not supported by any service here."
    )


class UpdateSession(_Model):
    """A change of a session's state, without a run."""

    state_delta: dict[str, Any]


class RewindSession(_Model):
    """What to rewind: an invocation, and all after it."""

    invocation_id: Annotated[str, Field(min_length=1, max_length=256)]


class SaveArtifact(_Model):
    """A new version of an artifact."""

    filename: ArtifactName
    artifact: _Part
    custom_metadata: dict[str, Any] | None = None


class UpdateMemory(_Model):
    """A session to remember."""

    session_id: SessionId


class Health(BaseModel):
    """Whether the server takes new work."""

    status: Literal["ok", "draining"]


class Readiness(Health):
    """Whether the server takes new work, and what the installed versions leave out."""

    detail: str | None = None


class AppInfo(_Model):
    """What an app is."""

    name: str
    root_agent_name: str
    description: str
    language: Literal["yaml", "python"]
    is_computer_use: bool = False
    agents: dict[str, AgentInfo] | None = None


class AppList(_Model):
    """What every app is."""

    apps: list[AppInfo]


class Version(BaseModel):
    """ADK's version, with ADK's mixed spelling, and ours."""

    version: str
    language: Literal["python"] = "python"
    language_version: str
    adkPrism: str
