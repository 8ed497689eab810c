"""ADK's own protocol loses nothing: every field of every type is in its bytes, as ADK wrote it."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.genai import types
from pydantic import BaseModel
from tests.features.fields.carriers import CARRIERS, events_with, on_the_wire, said, text
from tests.features.fields.stream import adk, ai_sdk, records, values_under

from adk_prism.features.fields.dispositions import FIELDS, Carried

MODELS = {model.__name__: model for model in CARRIERS}


class Field(NamedTuple):
    """One field of one upstream type."""

    model: type[BaseModel]
    name: str

    @property
    def id(self) -> str:
        return f"{self.model.__name__}.{self.name}"


FIELDS_OF_MODELS = [Field(model, name) for model in CARRIERS for name in model.model_fields]
CARRIED = [
    Field(MODELS[model], name)
    for model, rows in FIELDS.items()
    for name, row in rows.items()
    if isinstance(row, Carried)
]


@pytest.mark.parametrize("field", FIELDS_OF_MODELS, ids=lambda field: field.id)
def test_every_field_is_in_adks_own_protocol(field: Field) -> None:
    """The value is there under its own key."""
    key, value = on_the_wire(*field)
    assert value in values_under(adk(records(events_with(*field))), key)


DISTINCT = [
    field
    for field in CARRIED
    if isinstance(on_the_wire(*field)[1], str) and "." in on_the_wire(*field)[1]
]
"""Carried fields that can hold a text which stands nowhere else."""


@pytest.mark.parametrize("field", DISTINCT, ids=lambda field: field.id)
def test_a_carried_value_is_in_no_other_protocol(field: Field) -> None:
    """Carried means carried only: whoever starts to show a field has to say so in its table."""
    _, value = on_the_wire(*field)
    assert value not in str(ai_sdk(records(events_with(*field)), dialect="7"))


class Withheld(NamedTuple):
    id: str
    event: Event
    words: str


WITHHELD = [
    Withheld(
        "the text of an exception",
        Event(author="agent", error_code="Overload", error_message="at /srv/app.py line 3"),
        "/srv/app.py",
    ),
    Withheld(
        "temporary state",
        text("so", actions=EventActions(state_delta={"temp:token": "hush", "kept": 1})),
        "hush",
    ),
    Withheld(
        "ADK's internal metadata",
        text("so", custom_metadata={"__adk_internal_x": "hush", "kept": 1}),
        "hush",
    ),
    Withheld(
        "a secret in a credential request",
        said(
            types.Part(
                function_call=types.FunctionCall(
                    id="ask-a",
                    name="adk_request_credential",
                    args={"authConfig": {"exchangedAuthCredential": {"apiKey": "hush"}}},
                )
            )
        ),
        "hush",
    ),
]


@pytest.mark.parametrize("case", WITHHELD, ids=lambda case: case.id)
def test_what_is_secret_is_in_no_protocol(case: Withheld) -> None:
    """What never enters the log is the one thing that lossless does not cover."""
    run: Any = records([case.event])
    assert case.words not in str(adk(run))
    assert case.words not in str(ai_sdk(run))
