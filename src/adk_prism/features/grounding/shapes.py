"""The grounding of a research conversation, as session state: what is asked, planned, found and next.

A panel beside the conversation shows it, whichever agent writes it: every value is in the session's
state under a key that begins with `grounding:`, and every change of it travels in `stateDelta` of
ordinary ADK events. The types here are the values' shapes; an app writes them with `value_of`, whoever
shows them reads them with `read`, which refuses nothing but says what it could not read.

    from adk_prism.grounding import NextAction, key, value_of

    tool_context.state[key("next_action")] = value_of(NextAction(owner="researcher", action="ask"))

A shape may carry more keys than are named here: they are kept, and shown as they are. This module
knows nothing of ADK.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

__all__ = [
    "APPROVALS",
    "PANEL_KEYS",
    "PREFIX",
    "SHAPES",
    "STAGES",
    "Approval",
    "Count",
    "Grounding",
    "GroundingBox",
    "NextAction",
    "Owner",
    "PanelAnswers",
    "Remedies",
    "RemedyAction",
    "SearchFailure",
    "SearchPlan",
    "SearchReceipt",
    "Stage",
    "Stamp",
    "Unreadable",
    "key",
    "read",
    "schemas",
    "value_of",
    "why_not_receipt",
]

PREFIX = "grounding:"
"""How every key begins."""

Stage = Literal["scoping", "retrieval", "synthesis", "validation"]
STAGES: tuple[Stage, ...] = ("scoping", "retrieval", "synthesis", "validation")
Owner = Literal["agent", "researcher", "both"]
Approval = Literal["ok", "short_run", "modify", "cancel"]
APPROVALS: tuple[Approval, ...] = ("ok", "short_run", "modify", "cancel")

Count = Annotated[int, Meta(ge=0)]
Stamp = Annotated[
    str, Meta(description="ISO 8601 with the time zone, such as 2026-03-01T14:23:05+00:00.")
]


class NextAction(Struct, frozen=True, kw_only=True):
    """What happens next, and who has to do it."""

    owner: Owner
    action: str
    target: str = ""
    due: str = ""


class SearchPlan(Struct, frozen=True, kw_only=True):
    """A search that waits for the researcher's approval."""

    database: str
    query: str
    filters: dict[str, Any] = {}
    rationale: str = ""
    expected_results: str = ""
    cost_time: str = ""
    alternative: str = ""
    mode: str = ""
    """`offline` for a bundled collection, `online` for a service."""
    tool: str = ""
    """Name of the tool that runs it."""
    limit: Count = 0
    """Most papers that it fetches; 0: not said."""


class SearchReceipt(Struct, frozen=True, kw_only=True):
    """A search that was made, and what came of it."""

    timestamp: Stamp
    database: str
    query: str
    results_count: Count
    filters_applied: list[str] = []
    filters: dict[str, Any] = {}
    """The same, as the plan had them."""
    delta: str = ""
    next: str = ""
    duration_ms: Annotated[float, Meta(ge=0)] = 0
    warnings: list[str] = []
    mode: str = ""
    preview: bool = False
    """A short run: more would have been fetched by the whole one."""
    total: Count | None = None
    """What the database says it holds; None where it does not say."""
    new_count: Count = 0
    """Papers that no earlier receipt had."""
    by_kind: dict[str, int] = {}
    by_year: dict[str, int] = {}
    expected: str = ""
    approval: str = ""
    """Which decision let it run, and by which way that came."""
    requests: Count = 0
    request: str = ""
    """The first request as a curl command, without keys; empty for a local search."""


class Remedies(Struct, frozen=True, kw_only=True):
    """What may help after a disappointing search, in words."""

    primary: str
    fallback: str = ""
    ask_researcher: str = ""


class RemedyAction(Struct, frozen=True, kw_only=True):
    """A remedy that can be run as it is: the search that it would plan."""

    name: str
    label: str
    database: str = ""
    query: str = ""
    filters: dict[str, Any] = {}
    limit: Count = 0
    expected: Count | None = None
    """Papers that it was counted to find, where counting is free."""


class SearchFailure(Struct, frozen=True, kw_only=True):
    """Why the last search disappointed, with the numbers that say so, and what may help."""

    type: str
    context: dict[str, Any] = {}
    remedies: Remedies
    actions: list[RemedyAction] = []


class GroundingBox(Struct, frozen=True, kw_only=True):
    """The whole box: one field for each key, named as the key without its prefix."""

    research_question: str = ""
    stage: Stage = "scoping"
    search_assumptions: list[str] = []
    open_questions: list[str] = []
    papers_found: Count = 0
    databases_searched: list[str] = []
    current_filters: dict[str, Any] = {}
    next_action: NextAction | None = None
    search_history: list[SearchReceipt] = []
    pending_search_plan: SearchPlan | None = None
    last_search_failure: SearchFailure | None = None


class PanelAnswers(Struct, frozen=True, kw_only=True):
    """What a panel writes: the researcher's decisions, to be acted on with the next message."""

    user_approval: Approval | None = None
    approval_timestamp: str | float | None = None
    preview_mode: bool | None = None
    selected_remedy: str | None = None
    remedy_context: dict[str, Any] | str | None = None


PANEL_KEYS: tuple[str, ...] = tuple(
    PREFIX + name
    for name in (
        *PanelAnswers.__struct_fields__,
        "research_question",
        "search_assumptions",
        "open_questions",
        "current_filters",
        "pending_search_plan",
    )
)
"""The keys that a panel may write: its answers, and what a researcher may edit in the box.

Counts, receipts, stage and failures are the agent's alone, so that they stay true.
"""

SHAPES: dict[str, Any] = {
    field.name: field.type
    for shape in (GroundingBox, PanelAnswers)
    for field in msgspec.structs.fields(shape)
}
"""The type of every value, by key without prefix."""

_RECEIPTS = "search_history"


def key(name: str) -> str:
    """Return the state key of a field of the box or of the panel's answers."""
    if name not in SHAPES:
        raise KeyError(f"Grounding has no {name!r}; it has {', '.join(SHAPES)}.")
    return PREFIX + name


def value_of(shape: Struct) -> dict[str, Any]:
    """Return a shape as the JSON that goes into state."""
    value: dict[str, Any] = msgspec.to_builtins(shape)
    return value


class Unreadable(Struct, frozen=True):
    """A value that is not of its key's shape, as it is, and why not."""

    key: str
    value: Any
    why: str


class Grounding(Struct, frozen=True):
    """What a state holds of grounding: the readable values as they are, and the others."""

    values: dict[str, Any]
    """By key without prefix; as they are in the state, unknown members included."""
    unreadable: list[Unreadable]

    def box(self) -> GroundingBox:
        """Return the readable values as one typed box, defaults for the others."""
        names = set(GroundingBox.__struct_fields__)
        values = {name: value for name, value in self.values.items() if name in names}
        return msgspec.convert(
            {name: value for name, value in values.items() if value is not None}, GroundingBox
        )

    def answers(self) -> PanelAnswers:
        """Return the panel's answers that are readable."""
        names = set(PanelAnswers.__struct_fields__)
        return msgspec.convert(
            {name: value for name, value in self.values.items() if name in names}, PanelAnswers
        )


def read(state: Mapping[str, Any]) -> Grounding:
    """Read the grounding in a state; other keys are passed over, and nothing is refused.

    None means absent under every key: ADK's state marks a removed value so.
    """
    values: dict[str, Any] = {}
    unreadable: list[Unreadable] = []
    for full, value in state.items():
        if not full.startswith(PREFIX):
            continue
        name = full.removeprefix(PREFIX)
        if name == _RECEIPTS and isinstance(value, list):
            # One bad receipt does not take the others with it.
            faults = [why_not_receipt(item) for item in value]
            values[name] = [item for item, why in zip(value, faults, strict=True) if not why]
            unreadable += [
                Unreadable(f"{full}[{index}]", value[index], why)
                for index, why in enumerate(faults)
                if why
            ]
        elif why := "" if value is None else _fault(name, value):
            unreadable.append(Unreadable(full, value, why))
        else:
            values[name] = value
    return Grounding(values, unreadable)


def why_not_receipt(value: Any) -> str:
    """Return why a value is not a receipt; empty if it is one."""
    return _unlike(value, SearchReceipt)


def _fault(name: str, value: Any) -> str:
    shape = SHAPES.get(name)
    return "No such key is part of grounding." if shape is None else _unlike(value, shape)


def _unlike(value: Any, shape: Any) -> str:
    try:
        msgspec.convert(value, shape)
    except msgspec.ValidationError as error:
        return f"{error}."
    return ""


def schemas() -> dict[str, dict[str, Any]]:
    """Return the JSON Schema of every shape, by its name."""
    shapes = (GroundingBox, PanelAnswers, SearchPlan, SearchReceipt, SearchFailure, NextAction)
    return {shape.__name__: msgspec.json.schema(shape) for shape in shapes}
