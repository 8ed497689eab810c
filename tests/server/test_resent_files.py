"""Uploads in a chat's history: linked where they are large, and taken back from the link when sent again."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

import pytest
from tests.adk.scripted import Scripted
from tests.server.local_server import APP, SESSION, LocalServer, agent, local_server, texts

Json = dict[str, Any]
PHOTO = bytes(range(256)) * 600
"""Larger than what travels inline."""
ICON = b"\x89PNG icon"


def file(data: bytes, **more: Any) -> Json:
    url = "data:image/png;base64," + base64.b64encode(data).decode()
    return {"type": "file", "mediaType": "image/png", "url": url, **more}


def message(name: str, *files: Json) -> Json:
    text = {"type": "text", "text": f"look at {name}"}
    return {"id": name, "role": "user", "parts": [*files, text]}


async def post(server: LocalServer, *messages: Json, session: str = SESSION, **body: Any) -> Any:
    return await server.client.post(
        f"/api/chat/{APP}", json={"id": session, "messages": list(messages), **body}
    )


def seen(model: Scripted) -> list[bytes]:
    """Return the files of the model's last request."""
    parts = [part for content in model.requests[-1] for part in content.parts or ()]
    return [part.inline_data.data or b"" for part in parts if part.inline_data]


async def test_a_large_upload_is_a_link_to_its_bytes() -> None:
    """A small one stays inline, and both keep their names."""
    async with local_server(agent(Scripted.saying("One."))) as server:
        sent = message("u1", file(PHOTO, filename="a photo.png"), file(ICON))
        run = (await post(server, sent)).headers["x-prism-run"]
        photo, icon, _ = (await server.messages())[0]["parts"]
        link = f"http://127.0.0.1:8000/api/runs/{run}/files/1/0"
        assert photo == file(PHOTO, filename="a photo.png") | {"url": link}
        assert icon == file(ICON)
        answer = await server.client.get(link)
        assert (answer.content, answer.headers["content-type"]) == (PHOTO, "image/png")
        assert "a%20photo.png" in answer.headers["content-disposition"]
        for wrong in ("1/2", "1/9", "2/0"):
            assert (await server.client.get(f"/api/runs/{run}/files/{wrong}")).status_code == 404


async def test_a_link_that_is_sent_again_is_the_file() -> None:
    """A message with a photo is edited after a reload, its history is resent: the model sees the photo."""
    model = Scripted.saying("One.", "Two.", "Three.")
    async with local_server(agent(model)) as server:
        await post(server, message("u1", file(PHOTO, filename="p.png")))
        reloaded = await server.messages()
        edited = await post(
            server, reloaded[0] | {"parts": [*reloaded[0]["parts"], {"type": "text", "text": "!"}]}
        )
        assert edited.status_code == 200, edited.text
        assert seen(model) == [PHOTO]
        again = await server.messages()
        assert again[0]["parts"][0]["filename"] == "p.png"
        assert edited.headers["x-prism-run"] in again[0]["parts"][0]["url"]

        more = await post(server, *again, message("u2"))
        assert more.status_code == 200
        assert seen(model) == [PHOTO]
        assert [texts(m) for m in await server.messages()][2:] == ["look at u2", "Three."]


@dataclass(frozen=True)
class Case:
    """Which link is sent, and what becomes of it."""

    id: str
    url: str
    status: int = 200
    is_file: bool = False
    body: str = ""
    """The user who sends it."""


LINK = "/api/runs/{run}/files/1/0"
HERE = "http://127.0.0.1:8000"
CASES = [
    Case("as it was given", HERE + LINK, is_file=True),
    Case("relative", LINK, is_file=True),
    Case("with a query", HERE + LINK + "?ticket=1", is_file=True),
    Case("at another address of the server", "https://agents.example/x" + LINK, is_file=True),
    Case("of another user", HERE + LINK, 422, body="eve"),
    Case("relative, of another user", LINK, 422, body="eve"),
    Case("elsewhere, of another user", "https://agents.example" + LINK, body="eve"),
    Case("of no run", HERE + "/api/runs/nobody/files/1/0", 422),
    Case("of no run elsewhere", "https://agents.example/api/runs/nobody/files/1/0"),
    Case("of a part that is no file", HERE + "/api/runs/{run}/files/1/1", 422),
    Case("of no part", HERE + "/api/runs/{run}/files/1/7", 422),
    Case("of no entry", HERE + "/api/runs/{run}/files/999/0", 422),
    Case("a page of this server", HERE + "/api/runs/{run}"),
    Case("something else", "https://example.com/a.png"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
async def test_only_own_files_are_taken(case: Case) -> None:
    """A link that names no file of the same user's is refused, or, elsewhere, left as it is."""
    model = Scripted.saying("One.", "Two.")
    async with local_server(agent(model)) as server:
        run = (await post(server, message("u1", file(PHOTO)))).headers["x-prism-run"]
        link = {"type": "file", "mediaType": "image/png", "url": case.url.format(run=run)}
        user = {"userId": case.body} if case.body else {}
        answer = await post(server, message("u2", link), session="other", **user)
        assert answer.status_code == case.status, answer.text
        if case.status == 200:
            assert seen(model) == ([PHOTO] if case.is_file else [])
            parts = [part for c in model.requests[-1] for part in c.parts or () if part.file_data]
            assert len(parts) == (not case.is_file)


async def test_links_do_not_get_around_the_limit() -> None:
    """A hundred links to one photo are a hundred photos."""
    async with local_server(agent(Scripted.saying("One.")), body_limit=400_000) as server:
        run = (await post(server, message("u1", file(PHOTO)))).headers["x-prism-run"]
        link = {"type": "file", "mediaType": "image/png", "url": LINK.format(run=run)}
        assert (await post(server, message("u2", *[link] * 3))).status_code == 413
