"""The table of chunks is what the projection writes: nothing more, nothing less."""

from __future__ import annotations

import pytest
from tests.features.fields.runs import all_chunks, metadata
from tests.features.fields.stream import Json

from adk_prism.features.fields.dispositions import CHUNKS, FINISH_REASONS, ChunkDisposition, Emitted
from adk_prism.features.fields.report import Release, read_releases
from adk_prism.features.types.data_parts import METADATA_KEYS

RELEASES = {release.sdk: release for release in read_releases()}


def kind_of(chunk: Json) -> str:
    return "data-*" if chunk["type"].startswith("data-") else str(chunk["type"])


def written(dialect: str) -> set[str]:
    """Return what is written, as `type` and `type.key`."""
    found = set()
    for chunk in all_chunks(dialect):
        found |= {kind_of(chunk)} | {f"{kind_of(chunk)}.{key}" for key in chunk if key != "type"}
    return found


def promised(dialect: str) -> set[str]:
    """Return what the table says is written."""

    def is_emitted(row: ChunkDisposition) -> bool:
        return isinstance(row, Emitted) and row.dialect in ("", dialect)

    types = {kind for kind, chunk in CHUNKS.items() if is_emitted(chunk.itself)}
    keys = {
        f"{kind}.{key}"
        for kind, chunk in CHUNKS.items()
        for key, row in chunk.keys.items()
        if is_emitted(row)
    }
    return types | keys


@pytest.mark.parametrize("dialect", ["6", "7"])
def test_the_table_is_what_is_written(dialect: str) -> None:
    """Over every recording, case and scene: a key that is never written is not emitted."""
    assert written(dialect) == promised(dialect)


@pytest.mark.parametrize(
    ("dialect", "release"),
    [("6", "ai-6.0.0"), ("6", "ai-6"), ("6", "ai-7"), ("7", "ai-7")],
    ids=str,
)
def test_what_is_written_is_accepted(dialect: str, release: str) -> None:
    """Dialect 6 keeps to what every client knows, dialect 7 to what a client of ai 7 knows."""
    assert written(dialect) <= accepted(RELEASES[release])


def accepted(release: Release) -> set[str]:
    keys = {f"{kind}.{key}" for kind, keys in release.chunks.items() for key in keys.names}
    return keys | release.chunks.keys()


@pytest.mark.parametrize("release", RELEASES)
def test_no_chunk_lacks_a_required_key(release: str) -> None:
    """A client gives up at a chunk without one."""
    known = RELEASES[release].chunks
    for chunk in all_chunks("6"):
        assert set(known[kind_of(chunk)].required) <= chunk.keys(), chunk


def test_the_finish_reasons_are_what_is_written() -> None:
    """Each reason that the table says is emitted is, and no other."""
    said = {reason for reason, row in FINISH_REASONS.items() if isinstance(row, Emitted)}
    found = {chunk["finishReason"] for chunk in all_chunks("6") if chunk["type"] == "finish"}
    assert found == said


def test_the_metadata_keys_are_what_is_written() -> None:
    """Each key of the table is somewhere, and no other; what is always there is."""
    found = set().union(*metadata("6"))
    assert found == METADATA_KEYS.keys()
    always = {name for name, key in METADATA_KEYS.items() if key.always}
    first = {name for name, key in METADATA_KEYS.items() if key.first}
    for chunk in all_chunks("6"):
        if chunk["type"] == "start":
            assert always <= chunk["messageMetadata"].keys() <= always | first
