"""Sources behind an answer, read from a model call's grounding metadata.

Each source is cited once in a run, under an id counted in order of first appearance. A web page, a map
place or an image page is a link; a piece of a document store is a document.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Raw, Struct

from adk_prism.facts.adk_event import GroundingChunk, read_grounding
from adk_prism.facts.model import SourceCited


class Source(Struct, frozen=True):
    """Where something is from."""

    uri: str
    title: str
    """Its address, if it has no title."""
    document: bool

    @property
    def key(self) -> str:
        """What identifies it."""
        return self.uri or self.title


def sources_in(grounding: Raw) -> Iterator[Source]:
    """Yield the sources of a model call's grounding metadata; one may come several times."""
    for chunk in read_grounding(bytes(grounding)):
        source = _source(chunk)
        if source is not None:
            yield source


def _source(chunk: GroundingChunk) -> Source | None:
    found = chunk.web or chunk.maps or chunk.image or chunk.retrieved_context
    if found is None:
        return None
    uri = found.uri or found.source_uri or found.image_uri or ""
    title = found.title or found.document_name or uri
    if not title:
        return None
    return Source(uri, title, found is chunk.retrieved_context or not uri)


class Sources:
    """The sources of one run."""

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}

    def cite(self, grounding: Raw) -> Iterator[SourceCited]:
        """Yield the sources that were not cited before."""
        for found in sources_in(grounding):
            if found.key not in self._ids:
                name = self._ids[found.key] = f"source-{len(self._ids) + 1}"
                yield SourceCited(name, found.uri, found.title, found.document)
