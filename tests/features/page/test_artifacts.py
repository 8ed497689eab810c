"""Artifacts along a run: versions as events name them, at a cursor."""

from __future__ import annotations

from tests.features.page.entries import Log

from adk_prism.features.page.film import document, fold


def test_versions_are_there_from_where_they_were_saved() -> None:
    """Each with its author and the place of its content; a name that is the user's stays as it is."""
    log = Log("Save.")
    log.start("writer")
    log.event("writer", actions={"artifactDelta": {"a.md": 0, "user:b.png": 4}})
    log.event("writer", actions={"artifactDelta": {"a.md": 1}})
    log.end("writer")
    log.over()
    film = fold(log.entries)
    assert film.at(2, "artifacts")["artifacts"] == []
    first, users = film.at(3, "artifacts")["artifacts"]
    saved = {"version": 0, "author": "writer", "part": "artifact-0", "since": 3}
    assert first == {"name": "a.md", "versions": [saved]}
    assert users["name"] == "user:b.png"
    assert users["versions"][0]["part"] == "artifact-1"
    latest = film.at(None, "artifacts")["artifacts"][0]["versions"]
    assert [version["version"] for version in latest] == [0, 1]
    assert [item.since for item in document(film, 3).items["artifacts"]] == [4]
