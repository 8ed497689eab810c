"""Artifacts along a run: which versions events say were saved, when and by whom.

Of several versions that one event saved of one artifact, ADK names the last. The content is elsewhere: each
version has the cursor and part under which the run's files serve it.
"""

from __future__ import annotations

from typing import Any

from adk_prism.facts.model import ArtifactSaved, Fact, Nested
from adk_prism.view.items import Item, Note, written


class ArtifactFilm:
    """The artifacts of one run."""

    def __init__(self) -> None:
        self._saved: list[Note] = []

    def feed(self, cursor: int, fact: Fact) -> None:
        """Read the facts of an entry."""
        saved = fact.fact if isinstance(fact, Nested) else fact
        if isinstance(saved, ArtifactSaved):
            shown = {
                "name": saved.filename,
                "version": saved.version,
                "author": saved.speaker.author,
                "part": saved.part,
            }
            self._saved.append(Note(cursor, shown))

    def items(self, after: int = 0) -> dict[str, list[Item]]:
        """Return the saved versions, or those after a cursor; nothing if there are none."""
        found = list(written(self._saved, after))
        return {"artifacts": found} if found else {}

    def at(self, cursor: int) -> list[dict[str, Any]]:
        """Return each artifact with the versions that had been saved at a cursor, in order of first sight."""
        by_name: dict[str, list[dict[str, Any]]] = {}
        for note in self._saved:
            if note.since <= cursor:
                version = {k: v for k, v in note.shown.items() if k != "name"}
                by_name.setdefault(note.shown["name"], []).append({**version, "since": note.since})
        return [{"name": name, "versions": versions} for name, versions in by_name.items()]
