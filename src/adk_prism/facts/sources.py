"""Sources behind an answer, read from a model call's grounding metadata.

Each source is cited once in a run, under an id counted in the order of first sight. A web page, a map
place or an image page is a link; a piece of a document store is a document.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Raw

from adk_prism.facts.adk_event import GroundingChunk, read_grounding
from adk_prism.facts.model import SourceCited


class Sources:
    """The sources of one run."""

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}

    def cite(self, grounding: Raw) -> Iterator[SourceCited]:
        """Yield the sources that were not cited before."""
        for chunk in read_grounding(bytes(grounding)):
            source = self._source(chunk)
            if source is not None:
                yield source

    def _source(self, chunk: GroundingChunk) -> SourceCited | None:
        found = chunk.web or chunk.maps or chunk.image or chunk.retrieved_context
        if found is None:
            return None
        uri = found.uri or found.source_uri or found.image_uri or ""
        title = found.title or found.document_name or uri
        key = uri or title
        if not key or key in self._ids:
            return None
        source = self._ids[key] = f"source-{len(self._ids) + 1}"
        document = found is chunk.retrieved_context or not uri
        return SourceCited(source, uri, title, document)
