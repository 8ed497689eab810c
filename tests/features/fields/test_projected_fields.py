"""Each projected field arrives where the tables say, from a real ADK event to the frames.

A value that no other field has is put into the field of a real ADK type, serialised as the source
does it, projected, and looked for at the named place. To show that this can fail at all, each case
is tried once more with a projection that does not get the fact by which the value travels.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from pydantic import BaseModel
from tests.features.fields.carriers import CARRIERS, events_with, on_the_wire
from tests.features.fields.cases import CASES, Case
from tests.features.fields.stream import ai_sdk, records, values_at

from adk_prism.features.fields.dispositions import FIELDS, PROOF, Place, Projected, proof

MODELS: dict[str, type[BaseModel]] = {model.__name__: model for model in CARRIERS}


class Row(NamedTuple):
    """A projected field and one of its places."""

    field: str
    place: Place

    @property
    def id(self) -> str:
        return f"{self.field} in {self.place}"

    def case(self) -> Case:
        """Return what is tried: the case written for it, else the value as it is."""
        if self.id in CASES:
            return CASES[self.id]
        model, _, field = self.field.partition(".")
        events = events_with(MODELS[model], field)
        return Case(events, on_the_wire(MODELS[model], field)[1])


def rows() -> Iterator[Row]:
    for name, dispositions in FIELDS.items():
        for field, row in dispositions.items():
            if isinstance(row, Projected):
                yield from (Row(f"{name}.{field}", place) for place in row.places)


ROWS = list(rows())


def check(case: Case, place: Place, without: type[Any] | None = None) -> None:
    chunks = ai_sdk(records(case.events), dialect=case.dialect, without=without)
    found = values_at(chunks, place.frame, place.key)
    if place.frame.endswith("-delta"):
        found = ["".join(found)]  # each piece shown once: whatever is doubled shows here
    if isinstance(case.found, re.Pattern):
        assert any(case.found.fullmatch(value) for value in found), found
    else:
        assert case.found in found
    assert not any(chunk["type"] == case.nowhere for chunk in chunks)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_a_projected_value_is_at_its_place(row: Row) -> None:
    """The value of the field is found in the frames, at the key that the table names."""
    check(row.case(), row.place)


SHAPES = [
    pytest.param(row, case._replace(events=events), id=f"{row.id}, {shape}")
    for row in ROWS
    if row.id in CASES
    for case in [CASES[row.id]]
    for shape, events in case.shapes.items()
]


@pytest.mark.parametrize(("row", "case"), SHAPES)
def test_a_projected_value_is_at_its_place_in_every_shape(row: Row, case: Case) -> None:
    """What one writer puts into a single event, another one spreads over several."""
    check(case, row.place)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_a_projection_without_the_fact_is_caught(row: Row) -> None:
    """Take the fact away by which the value travels, and the case above fails: it does prove it."""
    with pytest.raises(AssertionError):
        check(row.case(), row.place, without=row.place.fact)


def test_every_other_form_has_its_case() -> None:
    """Where a value is not shown as it is, someone has written down what it looks like."""
    assert {row.id for row in ROWS if row.place.how} <= CASES.keys() <= {row.id for row in ROWS}


def test_the_named_proof_is_the_test_above(request: pytest.FixtureRequest) -> None:
    """The id that `fields --json` gives for a field can be handed to pytest."""
    node = request.node.nodeid.rpartition("::")[0]
    assert f"{node}::{test_a_projected_value_is_at_its_place.__name__}" == PROOF
    assert proof(*ROWS[0]) == f"{PROOF}[{ROWS[0].id}]"
