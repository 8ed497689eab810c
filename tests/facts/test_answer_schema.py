"""Answers read as the schema wants them, and refused where they cannot be meant."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

import pytest
from google.adk.workflow.utils._rehydration_utils import (
    _unwrap_response,
    _validate_resume_response,
)
from pydantic import BaseModel, TypeAdapter

from adk_prism.errors import Unprocessable
from adk_prism.facts.pending import check_payload, fit_response, payload_schema
from adk_prism.log.entry import NOTHING, to_raw

Json = dict[str, Any]


class Guests(BaseModel):
    guests: int
    terrace: bool = False


class Booking(BaseModel):
    table: Guests
    tags: list[str]


class Tree(BaseModel):
    name: str
    children: list[Tree] = []


@dataclass(frozen=True)
class Fit:
    schema: Any
    given: Any
    value: Any


FITS = (
    Fit(Guests, 4, {"guests": 4}),
    Fit(Guests, "4", {"guests": 4}),
    Fit(Guests, {"guests": "4", "terrace": "yes"}, {"guests": 4, "terrace": True}),
    Fit(Guests, '{"guests": 4}', {"guests": 4}),
    Fit(Booking, {"table": 2, "tags": "[]"}, {"table": {"guests": 2}, "tags": []}),
    Fit(Tree, "root", {"name": "root"}),
    Fit(int, "4", 4),
    Fit(float, "4.5", 4.5),
    Fit(bool, "No", False),
    Fit(str, "4", "4"),
    Fit(str, "true", "true"),
    Fit(str, '"quoted"', '"quoted"'),
    Fit(list[int], "[1, 2]", [1, 2]),
    Fit(Guests | None, "4", {"guests": 4}),
    Fit(int | None, None, None),
    Fit(Literal["red", "blue"], "red", "red"),
    Fit(
        {"type": "OBJECT", "properties": {"n": {"type": "INTEGER"}}, "required": ["n"]},
        "4",
        {"n": 4},
    ),
    Fit(
        {"type": "object", "properties": {"result": {"type": "string"}}, "required": ["result"]},
        "a",
        {"result": "a"},
    ),
    Fit({"type": "integer", "nullable": True}, "4", 4),
)


def request(schema: Any) -> Any:
    schema = schema if isinstance(schema, dict) else TypeAdapter(schema).json_schema()
    return to_raw({"message": "?", "response_schema": schema})


@pytest.mark.parametrize("case", FITS, ids=lambda case: f"{case.given!r} for {case.value!r}")
def test_an_answer_that_can_be_meant_is_understood(case: Fit) -> None:
    """And ADK reads the same from it."""
    fitted = json.loads(bytes(fit_response(request(case.schema), to_raw({"result": case.given}))))
    assert _unwrap_response(fitted) == case.value
    schema = json.loads(bytes(request(case.schema)))["response_schema"]
    if isinstance(schema.get("type"), str) and schema["type"].islower():
        _validate_resume_response(_unwrap_response(fitted), schema)


MISFITS = (
    (Guests, "four"),
    (Guests, None),
    (Guests, {}),
    (Guests, {"guests": 4.5}),
    (Booking, "x"),
    (int, "1e400"),
    (int, True),
    (str, 4),
    (bool, "perhaps"),
    (list[int], "1, 2"),
    (Literal["red"], "blue"),
    (Tree, {"name": "a", "children": [{"name": 1}]}),
    ({"type": "integer", "minimum": 2}, "1"),
)


@pytest.mark.parametrize(("schema", "given"), MISFITS, ids=repr)
def test_what_does_not_fit_is_refused(schema: Any, given: Any) -> None:
    """With a sentence that says what is expected, of bounded length."""
    with pytest.raises(Unprocessable, match="Expected"):
        fit_response(request(schema), to_raw({"result": given}))
    with pytest.raises(Unprocessable) as refused:
        fit_response(request({"type": "integer"}), to_raw({"result": "x" * 10_000}))
    assert len(str(refused.value)) < 1000


UNSURE = (
    {},
    {"type": "nonsense"},
    {"$ref": "http://127.0.0.1:9/schema"},
    {"$ref": "#/$defs/nobody"},
    {"$ref": "#"},
    {"type": "string", "pattern": "(a+)+$"},
    {"type": "object", "patternProperties": {"(a+)+$": {}}, "additionalProperties": False},
)


@pytest.mark.parametrize("schema", UNSURE, ids=json.dumps)
def test_a_schema_that_cannot_tell_refuses_nobody(schema: Json) -> None:
    """Nothing is fetched, nothing runs for ever."""
    given = to_raw({"result": "a" * 60 + "!"})
    assert fit_response(request(schema), given) == given


SHAPES = (
    ({"days": 0}, {"days": 2.5}, {"days": "2"}),
    ({"days": 0}, {"days": 1, "more": True}, {}),
    ({"ok": False}, {"ok": True}, {"ok": 1}),
    ({"who": {"name": ""}}, {"who": {"name": "Ada"}}, {"who": {}}),
    ({"any": None}, {"any": [1]}, {}),
    ({"tags": []}, {"tags": ["a"]}, {"tags": "a"}),
    ("", "text", 4),
)


@pytest.mark.parametrize(("sample", "right", "wrong"), SHAPES, ids=repr)
def test_a_payload_has_the_shape_of_its_sample(sample: Any, right: Any, wrong: Any) -> None:
    check_payload(to_raw(sample), to_raw(right))
    for bad in (to_raw(wrong), NOTHING):
        with pytest.raises(Unprocessable, match="The approval stays open"):
            check_payload(to_raw(sample), bad)


def test_what_asks_for_nothing_needs_nothing() -> None:
    check_payload(NOTHING, NOTHING)
    check_payload(to_raw({}), NOTHING)
    assert payload_schema(NOTHING) == {}
