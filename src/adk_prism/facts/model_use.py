"""What the model calls of a run used: model, tokens by kind, time. As measured, else as events say.

A source that sees requests records each call (`ModelCalled`). Of other runs, such as captures, events tell
(`ModelCallEnded`): without the time, and with the model that the agent declares, else the one that answered.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from adk_prism.facts import model as fact
from adk_prism.facts.model import Fact
from adk_prism.facts.token_usage import token_usage
from adk_prism.runlog.entry import Agent, ModelCalled


class ModelUse(Struct, frozen=True, kw_only=True):
    """One call of a model, or several."""

    agent: str
    model: str
    tokens: Mapping[str, int]
    """By kind; empty: the model did not report any."""
    calls: int = 1
    duration: int = 0
    """Milliseconds."""
    first_token: int | None = None
    is_failed: bool = False


def measured(call: ModelCalled | fact.ModelCalled) -> ModelUse:
    """Return the use of a call that was recorded."""
    return ModelUse(
        agent=call.agent,
        model=call.model,
        tokens=token_usage(call.usage),
        duration=call.duration,
        first_token=call.first_token,
        is_failed=bool(call.error),
    )


class DeclaredModels:
    """The models that the agents of a run declare."""

    def __init__(self) -> None:
        self._models: dict[str, str] = {}

    def feed(self, agents: Iterable[Agent]) -> None:
        """Read the agents of a run."""
        self._models = {agent.name: agent.model for agent in agents if agent.model}

    def told(self, ended: fact.ModelCallEnded) -> ModelUse:
        """Return the use of a call of which events tell."""
        agent = ended.speaker.author
        model = self._models.get(agent) or ended.model
        return ModelUse(agent=agent, model=model, tokens=token_usage(ended.usage))


class UseFold:
    """Reads the model calls of one run."""

    def __init__(self) -> None:
        self._declared = DeclaredModels()
        self._measured: list[ModelUse] = []
        self._told: list[ModelUse] = []

    @property
    def calls(self) -> list[ModelUse]:
        """The calls so far: as measured, if any was."""
        return self._measured or self._told

    def feed(self, item: Fact) -> None:
        """Read a fact."""
        match item:
            case fact.RunBegan():
                self._declared.feed(item.agents)
            case fact.ModelCalled():
                self._measured.append(measured(item))
            case fact.ModelCallEnded() if bytes(item.usage):
                self._told.append(self._declared.told(item))
            case fact.Nested():
                self.feed(item.fact)
            case _:
                pass  # uses no model
