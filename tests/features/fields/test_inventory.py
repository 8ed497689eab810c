"""The inventory is what is installed, and what the rest of the package believes about it is true."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from google.adk.events.event import Event as AdkEvent
from google.genai import types
from pydantic import BaseModel
from pydantic.alias_generators import to_camel
from tests.features.fields import openai_types
from tests.features.fields.carriers import CARRIERS

from adk_prism.facts import adk_event
from adk_prism.features.fields.report import (
    TRANSLATED,
    read_ag_ui_releases,
    read_inventory,
    read_releases,
)
from adk_prism.protocols.ai_sdk.frames import FINISH_REASONS

if TYPE_CHECKING:
    from tests.conftest import Node

FOLDER = "src/adk_prism/features/fields"
REFRESH = ".venv/bin/node tests/node/{} > {}"


def test_the_inventory_follows_every_annotation() -> None:
    """A type that only a new field leads to is found, wherever it stands in the annotation."""

    class Deep(BaseModel):
        found: int = 0

    class Event(AdkEvent):
        foo: dict[str, list[Deep] | None] | None = None

    found = read_inventory(Event)
    assert found["Deep"].members == ("found",)
    assert found["Event"].members[-1] == "foo"


def test_types_of_one_name_are_told_apart() -> None:
    """A second type with a known name would else hide behind the first one's dispositions."""

    class Part(BaseModel):
        news: int = 0

    class Event(AdkEvent):
        foo: Part | None = None

    found = read_inventory(Event)
    assert found["Part"].members == ("news",)
    assert "text" in found["google.genai.types.Part"].members


def test_the_known_sizes() -> None:
    """Counted by hand in google-adk 2.13 and google-genai 2.34; more means news, and fails elsewhere."""
    inventory = read_inventory()
    sizes = {name: len(inventory[name].members) for name in ("Event", "EventActions", "Part")}
    assert sizes["Event"] >= 35
    assert sizes["EventActions"] >= 15
    assert sizes["Part"] >= 17
    assert len(inventory["FinishReason"].members) >= 19
    assert len(inventory["BlockedReason"].members) >= 8


def test_every_type_can_be_tried() -> None:
    """Whatever an event can hold has a carrier here, so that its fields can be followed."""
    translated = {values.__name__ for values in TRANSLATED}
    assert {model.__name__ for model in CARRIERS} == read_inventory().keys() - translated


@pytest.mark.parametrize(
    ("known", "upstream"),
    [
        (adk_event.EVENT_FIELDS, "Event"),
        (adk_event.ACTION_FIELDS, "EventActions"),
        (adk_event.PART_FIELDS, "Part"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_read_model_has_heard_of_every_field(known: frozenset[str], upstream: str) -> None:
    """Otherwise every run would report a stranger, or none would ever be reported."""
    members = read_inventory()[upstream].members
    assert known == {to_camel(member) for member in members}


def test_the_reasons_are_upstreams() -> None:
    """A reason that the facts do not know would be taken for a failure of the run."""
    finish = {reason.value for reason in types.FinishReason}
    refusals = {reason.value for reason in types.BlockedReason}
    assert finish == adk_event.FINISH_REASONS
    assert refusals - finish == adk_event.BLOCK_REASONS
    assert finish | refusals == FINISH_REASONS.keys() - {""}


@pytest.mark.parametrize(
    ("script", "kept"),
    [("schema.mjs all", "ai_sdk_chunks.json"), ("ag_ui_schema.mjs", "ag_ui_events.json")],
)
def test_what_is_kept_is_what_the_packages_accept(node: Node, script: str, kept: str) -> None:
    """Users have no Node: what clients accept is kept in files, and the files are true."""
    name, *arguments = script.split()
    command = [node.binary, node.folder / name, *arguments]
    printed = subprocess.run(command, check=True, capture_output=True).stdout
    path = f"{FOLDER}/{kept}"
    stale = f"{path} is stale; refresh it with: {REFRESH.format(script, path)}"
    assert (node.folder.parent.parent / path).read_bytes() == printed, stale


def test_what_is_kept_of_openai_is_what_the_package_has() -> None:
    """The same for the Python package, which users need not have either."""
    path = f"{FOLDER}/openai_types.json"
    stale = (
        f"{path} is stale; refresh it with: python -m tests.features.fields.openai_types > {path}"
    )
    assert Path(path).read_text() == openai_types.kept(), stale


def test_the_kept_releases() -> None:
    """The oldest that we promise to serve, and the newest of each generation."""
    assert [release.sdk for release in read_releases()] == ["ai-6.0.0", "ai-6", "ai-7"]
    assert [release.version for release in read_ag_ui_releases()] == ["0.0.59", "1.0.0"]
