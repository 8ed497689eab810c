"""The table of data parts is what the projection writes and what requests may bring."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.features.fields.runs import all_chunks
from tests.features.fields.stream import Json

from adk_prism.features.types.data_parts import SENT, TAKEN
from adk_prism.protocols.ai_sdk import projection, requests


def parts() -> list[tuple[str, Json]]:
    named = ((chunk["type"], chunk) for chunk in all_chunks("6", "7"))
    return [(kind.removeprefix("data-"), c) for kind, c in named if kind.startswith("data-")]


def test_the_table_is_what_is_written() -> None:
    """Over every recording, case and scene."""
    assert {name for name, _ in parts()} == SENT.keys()


def test_the_table_is_what_could_be_written() -> None:
    """Read in the projection's own text, so that a part without any recording is not forgotten."""
    source = Path(projection.__file__).read_text()
    named = set(re.findall(r'data_part\(\s*"([a-z-]+)"', source))
    spelled = set(re.findall(r'"data-([a-z-]+)"', source))
    annotations = {"proof"}  # named by their features
    assert named | spelled | annotations | {"input-request", "credential-request"} == SENT.keys()
    assert "data_part(item.name" in source
    assert 'data_part(f"{item.kind}-request"' in source  # what the two names above come from


@pytest.mark.parametrize("name", SENT)
def test_ids_and_transience_are_as_told(name: str) -> None:
    """A part with an id is replaced by the next one with it; a transient one is never kept."""
    mine = [chunk for kind, chunk in parts() if kind == name]
    assert {"id" in chunk for chunk in mine} == {SENT[name].keyed}
    assert {chunk.get("transient", False) for chunk in mine} == {SENT[name].transient}


def test_what_a_client_may_send_is_what_requests_read() -> None:
    """Answers to requests travel as data parts. The request for an approval comes back with its answer."""
    source = Path(requests.__file__).read_text()
    assert set(re.findall(r'"data-([a-z-]+)"', source)) == {*TAKEN, "approval-request"}
