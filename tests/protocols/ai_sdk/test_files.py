"""Where a client finds a file: in the stream, at this server, or where it lies."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from tests.laws.events import Json, event
from tests.protocols.chunks import inside

from adk_prism.protocols.contract import INLINE_LIMIT, FileLinks

BASE = "https://prism.example.com"
SMALL, LARGE = "A" * INLINE_LIMIT, "A" * (INLINE_LIMIT + 4)


def blob(data: str) -> Json:
    return {"inlineData": {"mimeType": "image/png", "data": data}}


def reference(uri: str) -> Json:
    return {"fileData": {"mimeType": "image/png", "fileUri": uri}}


@dataclass(frozen=True)
class Case:
    id: str
    part: Json
    alone: str
    """The URL without a server; empty: only a reference."""
    served: str
    """The URL with one."""


CASES = [
    Case("small", blob(SMALL), f"data:image/png;base64,{SMALL}", f"data:image/png;base64,{SMALL}"),
    Case(
        "large", blob(LARGE), f"data:image/png;base64,{LARGE}", f"{BASE}/api/runs/run-1/files/2/0"
    ),
    Case("empty", blob(""), "data:image/png;base64,", "data:image/png;base64,"),
    Case("on the web", reference("https://a/b.png"), "https://a/b.png", "https://a/b.png"),
    Case("in a bucket", reference("gs://b/c.png"), "", f"{BASE}/api/runs/run-1/files/2/0"),
    Case("on a disk", reference("file:///etc/passwd"), "", f"{BASE}/api/runs/run-1/files/2/0"),
    Case("an artifact", reference("artifact://a"), "", f"{BASE}/api/runs/run-1/files/2/0"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_where_a_file_is(case: Case) -> None:
    """Always an absolute URL; what this machine could open is never handed out as it is."""
    for files, url in ((FileLinks(), case.alone), (FileLinks(BASE), case.served)):
        shown = inside(event(case.part), files=files)[1]
        if url:
            assert (shown["type"], shown["url"]) == ("file", url)
        else:
            told = {"uri": case.part["fileData"]["fileUri"], "mediaType": "image/png"}
            assert shown == {"type": "data-file-reference", "data": told}


def test_a_file_inside_an_answer_has_a_handle_of_its_own() -> None:
    """Part and number, so that the file route finds it."""
    answer = {"name": "f", "id": "c1", "response": {}, "parts": [blob("A"), blob(LARGE)]}
    shown = inside(event({"text": "x"}, {"functionResponse": answer}), files=FileLinks(BASE))
    urls = [chunk["url"] for chunk in shown if chunk["type"] == "file"]
    assert urls == ["data:image/png;base64,A", f"{BASE}/api/runs/run-1/files/2/1-1"]


def test_a_saved_artifact_has_a_handle_of_its_own() -> None:
    """Each that an event saved, by its place in it; without a server there is nowhere to get it."""
    saving = {**event({"text": "x"}), "actions": {"artifactDelta": {"a.txt": 0, "user:b.txt": 3}}}
    for files, urls in (
        (FileLinks(BASE), [f"{BASE}/api/runs/run-1/files/2/artifact-{n}" for n in range(2)]),
        (FileLinks(), [None, None]),
    ):
        shown = [c["data"] for c in inside(saving, files=files) if c["type"] == "data-artifact"]
        assert [(d["filename"], d["version"]) for d in shown] == [("a.txt", 0), ("user:b.txt", 3)]
        assert [data.get("url") for data in shown] == urls
