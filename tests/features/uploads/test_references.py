"""An uploaded file in a message: what the agent gets for it, in every protocol, and what is refused."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from google.adk.artifacts.base_artifact_service import ArtifactVersion
from google.adk.artifacts.in_memory_artifact_service import InMemoryArtifactService
from google.adk.tools import load_artifacts
from google.genai import types
from tests.adk.scripted import Scripted, call
from tests.features.openai.conftest import talking
from tests.features.uploads.sending import begun, piece, send, uploading
from tests.security.people import ANN, BOB, headers, house
from tests.server.local_server import APP, SESSION, USER, LocalServer

PDF = b"%PDF-1.7 " + bytes(range(256)) * 8
Json = dict[str, Any]


def seen(model: Scripted) -> list[types.Part]:
    """Return the parts of the model's last request that are no plain question."""
    parts = [part for content in model.requests[-1] for part in content.parts or ()]
    return [part for part in parts if part.text != "look"]


def _id(url: str) -> str:
    return url.rpartition("/")[2]


def _chat(url: str) -> tuple[str, Json]:
    file = {"type": "file", "mediaType": "application/pdf", "url": url, "filename": "r.pdf"}
    message = {"id": "m", "role": "user", "parts": [file, {"type": "text", "text": "look"}]}
    return f"/api/chat/{APP}", {"id": SESSION, "messages": [message]}


def _adk(reference: str) -> tuple[str, Json]:
    parts = [{"fileData": {"fileUri": reference}}, {"text": "look"}]
    said = {"role": "user", "parts": parts}
    return "/run_sse", {"appName": APP, "userId": USER, "sessionId": SESSION, "newMessage": said}


def _agent(*parts: Json) -> tuple[str, Json]:
    content = [*parts, {"type": "text", "text": "look"}]
    message = {"id": "m", "role": "user", "content": content}
    return f"/api/ag-ui/{APP}", {"threadId": SESSION, "runId": "r", "messages": [message]}


def _openai(url: str) -> tuple[str, Json]:
    content = [{"type": "input_file", "file_id": _id(url)}, {"type": "input_text", "text": "look"}]
    return "/v1/responses", {"model": APP, "input": [{"role": "user", "content": content}]}


WAYS: dict[str, Callable[[str], tuple[str, Json]]] = {
    "ai-sdk, by address": _chat,
    "adk, by address": _adk,
    "adk, by path": lambda url: _adk(httpx.URL(url).path),
    "adk, by id": lambda url: _adk(_id(url)),
    "ag-ui, by id": lambda url: _agent({"type": "binary", "mimeType": "a/b", "id": _id(url)}),
    "ag-ui, by address": lambda url: _agent(
        {"type": "document", "source": {"type": "url", "value": url, "mimeType": "a/b"}}
    ),
    "openai, by id": _openai,
}


async def _post(server: LocalServer, way: tuple[str, Json]) -> httpx.Response:
    await server.client.post(f"/apps/{APP}/users/{USER}/sessions/{SESSION}")
    return await server.client.post(way[0], json=way[1])


async def _artifacts(server: LocalServer, session: str = SESSION) -> list[str]:
    path = f"/apps/{APP}/users/{USER}/sessions/{session}/artifacts"
    names: list[str] = (await server.client.get(path)).json()
    return names


@pytest.mark.parametrize("way", WAYS)
async def test_the_agent_gets_the_file(tmp_path: Path, way: str) -> None:
    """Its bytes, with its type and name, however it is referred to; and it is an artifact."""
    model = Scripted.saying("Seen.")
    async with uploading(tmp_path, model) as server:
        url = await send(server.client, PDF, name="r.pdf", filetype="application/pdf")
        answer = await _post(server, WAYS[way](url))
        assert answer.status_code == 200, answer.text
        (part,) = seen(model)
        assert part.inline_data is not None
        assert (part.inline_data.data, part.inline_data.mime_type) == (PDF, "application/pdf")
        assert part.inline_data.display_name == "r.pdf"
        session = (await server.client.get("/api/runs")).json()[0]["session"]
        assert await _artifacts(server, session) == ["r.pdf"]


@pytest.mark.parametrize("way", WAYS)
async def test_what_is_not_there_is_refused(tmp_path: Path, way: str) -> None:
    """In the protocol's own words, before anything runs: a forged id, and a file that is not complete."""
    model = Scripted.saying("Seen.")
    async with uploading(tmp_path, model) as server:
        unfinished = await begun(server.client, 10)
        forged = unfinished[:-44] + "0" * 44
        for url in (unfinished, forged):
            answer = await _post(server, WAYS[way](url))
            refused = "RUN_ERROR" in answer.text or 400 <= answer.status_code < 500
            assert refused, answer.text
        assert model.requests == []


async def test_a_file_that_does_not_fit_is_loaded_by_the_agent(tmp_path: Path) -> None:
    """It is named as ADK's own plugin names it, and `load_artifacts` gives it to the model."""
    model = Scripted.saying(call("load_artifacts", "c1", artifact_names=["r.pdf"]), "Read.")
    large = PDF * 100
    async with uploading(tmp_path, model, body_limit=64 * 1024, tools=[load_artifacts]) as server:
        url = await send(server.client, large, name="r.pdf", filetype="application/pdf")
        answer = await _post(server, _chat(url))
        assert answer.status_code == 200, answer.text
        first = [part for content in model.requests[0] for part in content.parts or ()]
        assert '[Uploaded Artifact: "r.pdf"]' in [part.text for part in first]
        held = [part.inline_data.data for part in seen(model) if part.inline_data]
        assert held == [large]
        texts = str(await server.messages())
        assert "r.pdf" in texts


async def test_a_file_of_a_type_that_models_do_not_take(tmp_path: Path) -> None:
    """It is an artifact, however small it is."""
    model = Scripted.saying("Seen.")
    async with uploading(tmp_path, model) as server:
        url = await send(server.client, b"PK", name="a.zip", filetype="application/zip")
        assert (await _post(server, _adk(url))).status_code == 200
        assert [part.text for part in seen(model)] == ['[Uploaded Artifact: "a.zip"]']
        assert await _artifacts(server) == ["a.zip"]


class Bucket(InMemoryArtifactService):
    """An artifact service whose files have addresses, as that of Cloud Storage."""

    async def get_artifact_version(self, **asked: Any) -> ArtifactVersion | None:
        found = await super().get_artifact_version(**asked)
        uri = f"gs://bucket/{asked['filename']}/{asked['version']}"
        return found and found.model_copy(update={"canonical_uri": uri})


async def test_a_model_is_given_the_address_that_it_can_open(tmp_path: Path) -> None:
    """And the words before it: they are the conversation's title."""
    model = Scripted.saying("Seen.")
    async with uploading(tmp_path, model, body_limit=64 * 1024, artifacts=Bucket) as server:
        url = await send(server.client, PDF * 100, name="r.pdf", filetype="application/pdf")
        assert (await _post(server, _adk(url))).status_code == 200
        address, named = seen(model)
        assert address.file_data is not None
        assert address.file_data.file_uri == "gs://bucket/r.pdf/0"
        assert named.text == '[Uploaded Artifact: "r.pdf"]'
        (about,) = (await server.client.get("/api/conversations")).json()
        assert about["title"] == "look"


async def test_an_app_without_artifacts_takes_what_fits(tmp_path: Path) -> None:
    """Anything else is refused, with the reason."""
    model = Scripted.saying("Seen.")
    none = {"artifacts": lambda: None, "body_limit": 64 * 1024}
    async with uploading(tmp_path, model, **none) as server:
        small = await send(server.client, PDF, name="r.pdf", filetype="application/pdf")
        large = await send(server.client, PDF * 100, name="l.pdf", filetype="application/pdf")
        assert (await _post(server, _adk(small))).status_code == 200
        refused = await _post(server, _adk(large))
        assert (refused.status_code, "artifact service" in refused.text) == (413, True)


async def test_a_file_is_saved_once_in_a_session(tmp_path: Path) -> None:
    """Referenced twice it has one version; and what was made of it stays when it is deleted."""
    model = Scripted.saying("One.", "Two.")
    async with uploading(tmp_path, model) as server:
        url = await send(server.client, PDF, name="r.pdf", filetype="application/pdf")
        for _ in range(2):
            assert (await _post(server, _adk(url))).status_code == 200
        path = f"/apps/{APP}/users/{USER}/sessions/{SESSION}/artifacts/r.pdf"
        assert (await server.client.get(f"{path}/versions")).json() == [0]
        gone = await server.client.delete(url, headers={"tus-resumable": "1.0.0"})
        assert gone.status_code == 204
        kept = (await server.client.get(path)).json()["inlineData"]["data"]
        assert base64.urlsafe_b64decode(kept) == PDF
        assert (await _post(server, _adk(url))).status_code == 422


async def test_a_file_of_a_session_is_its_artifact_when_it_is_complete(tmp_path: Path) -> None:
    """Without any message: the agent's tools find it."""
    async with uploading(tmp_path) as server:
        await server.client.post(f"/apps/{APP}/users/{USER}/sessions/{SESSION}")
        url = await begun(server.client, 4, filename="n.txt", session=SESSION)
        await piece(server.client, url, 0, b"no")
        assert await _artifacts(server) == []
        await piece(server.client, url, 2, b"te")
        assert await _artifacts(server) == ["n.txt"]


async def test_nobody_refers_to_the_files_of_others(tmp_path: Path) -> None:
    """By address or id, in any protocol: refused like one that is not there."""
    async with house(tmp_path, uploads_dir=str(tmp_path / "up")) as home:
        client, bob, ann = home.client, headers(BOB), headers(ANN)
        url = await send(client, b"secret", bob, name="s.txt")
        await client.post(f"/apps/{APP}/users/{ANN}/sessions/mine", headers=ann)
        for way in (_chat(url), _openai(url)):
            answer = await client.post(way[0], json=way[1], headers=ann)
            assert answer.status_code in (404, 422), answer.text
        path, body = _adk(url)
        asked = body | {"userId": ANN, "sessionId": "mine"}
        assert (await client.post(path, json=asked, headers=ann)).status_code == 422
        assert (await client.get(f"/v1/files/{_id(url)}", headers=ann)).status_code == 404
        assert (await client.get("/v1/files", headers=ann)).json()["data"] == []


async def test_openais_client_sends_a_file(tmp_path: Path) -> None:
    """With its own package: sent, listed, referred to, read again, deleted."""
    model = Scripted.saying("Seen.")
    async with talking(model, uploads_dir=str(tmp_path / "up")) as (client, _):
        made = await client.files.create(file=("r.pdf", io.BytesIO(PDF)), purpose="user_data")
        assert (made.filename, made.bytes) == ("r.pdf", len(PDF))
        assert [each.id async for each in client.files.list()] == [made.id]
        part: Any = {"type": "file", "file": {"file_id": made.id}}
        said: Any = {"role": "user", "content": [part, {"type": "text", "text": "look"}]}
        await client.chat.completions.create(model=APP, messages=[said])
        (given,) = seen(model)
        assert given.inline_data is not None
        assert given.inline_data.data == PDF
        assert (await client.files.content(made.id)).content == PDF
        assert (await client.files.delete(made.id)).deleted
        with pytest.raises(openai.NotFoundError):
            await client.files.retrieve(made.id)
        with pytest.raises(openai.UnprocessableEntityError):
            await client.files.create(file=("e.pdf", io.BytesIO(b"")), purpose="user_data")
        part["file"]["file_id"] = "file-of-openai"
        with pytest.raises(openai.UnprocessableEntityError):
            await client.chat.completions.create(model=APP, messages=[said])


async def test_a_text_is_no_reference(tmp_path: Path) -> None:
    """Whoever writes about our references is answered."""
    model = Scripted.saying("Yes.")
    async with uploading(tmp_path, model) as server:
        words = 'prism-file:x, and {"fileUri":"prism-file:y"}'
        message = {"id": "m", "role": "user", "parts": [{"type": "text", "text": words}]}
        answer = await server.client.post(
            f"/api/chat/{APP}", json={"id": SESSION, "messages": [message]}
        )
        assert answer.status_code == 200
        assert seen(model)[-1].text == words
