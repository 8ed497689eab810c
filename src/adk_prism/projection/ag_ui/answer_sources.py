"""What an answer rests on: the sources, citations and grounding of one model call."""

from __future__ import annotations

from collections.abc import Sequence

from adk_prism.facts import model as fact
from adk_prism.facts.json_value import read_object
from adk_prism.facts.sources import sources_in
from adk_prism.projection.ag_ui.frames import Json
from adk_prism.projection.ag_ui.json_text import bounded

_OF_SOURCES = frozenset((fact.SourceCited, fact.SourcesLinked, fact.CitationsGiven))


class Sources:
    """The sources of one run: each has one id, however often it is cited."""

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}

    def read(self, facts: Sequence[fact.Fact]) -> Json:
        """Return what the facts of an entry say of sources; nothing if they say nothing."""
        told: Json = {}
        if _OF_SOURCES.isdisjoint(map(type, facts)):
            return told
        for item in facts:
            match item:
                case fact.SourceCited():
                    self._ids.setdefault(item.uri or item.title, item.source)
                case fact.SourcesLinked():
                    told["sources"] = self._listed(item)
                    told["grounding"] = bounded(item.grounding)
                case fact.CitationsGiven():
                    given = read_object(item.citations).get("citations")
                    told["citations"] = given if isinstance(given, list) else []
                case _:
                    pass  # says nothing of sources
        return told

    def _listed(self, item: fact.SourcesLinked) -> list[Json]:
        found: dict[str, Json] = {}
        for source in sources_in(item.grounding):
            found[source.key] = {
                "id": self._ids.get(source.key, ""),
                "type": "document" if source.document else "url",
                "uri": source.uri,
                "title": source.title,
            }
        return list(found.values())
