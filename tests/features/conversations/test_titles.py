"""What conversations and the files of their runs are called."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, unquote

import pytest
from tests.adk.scripted import Scripted
from tests.server.local_server import APP, SESSION, USER, LocalServer, agent, local_server

from adk_prism.features.captures.routes import LONGEST, attachment, safe_name

Json = dict[str, Any]


async def listed(server: LocalServer) -> dict[str, Json]:
    found: list[Json] = (await server.client.get("/api/conversations")).json()
    return {each["session"]: each for each in found}


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Fires in Bavaria", "Fires in Bavaria"),
        ("Wälder / Brände: Übersicht?", "Wälder Brände Übersicht"),
        ("火事", "火事"),
        ("../../etc/passwd", "etc passwd"),
        ('a"b<c>|d*', "a b c d"),
        ("line\nbreak\x00\u202eexe", "line break exe"),
        (" . hidden. ", "hidden"),
        ("NUL", ""),
        ("com1.txt", ""),
        ("???", ""),
        ("x" * 500, "x" * LONGEST),
        ("🔥" * 500, "🔥" * (LONGEST * 3 // 4)),
    ],
)
def test_names_that_every_file_system_takes(title: str, name: str) -> None:
    """Without what is a path, a device, or cannot be seen."""
    assert safe_name(title) == name
    header = attachment(title, "run-1", ".html")
    assert header.isascii()
    assert header.startswith('attachment; filename="run-1.html"')
    assert unquote(header.partition("UTF-8''")[2]) == (f"{name}.html" if name else "")


async def test_files_are_named_after_their_conversation() -> None:
    """As its user called it; until then, by its first message."""
    async with local_server(agent(Scripted.saying("One."))) as server:
        run = await server.say("Brände in Bayern?")
        for title in ("Brände in Bayern", "Meine Frage"):
            for kind, ending in (("recording", "jsonl"), ("share", "html")):
                answer = await server.client.get(f"/api/runs/{run}/{kind}")
                assert answer.status_code == 200, answer.text
                named = answer.headers["content-disposition"].partition("; filename*=UTF-8''")
                assert named[0] == f'attachment; filename="{run}.{ending}"'
                assert named[2] == quote(f"{title}.{ending}")
            await server.client.patch(f"/api/chat/{APP}/{SESSION}", json={"title": "Meine Frage"})


async def test_an_upload_has_the_name_of_its_file() -> None:
    """Cut to a title, on one line; without a name, its first message."""
    async with local_server(agent(Scripted.saying("One."))) as server:
        run = await server.say("Hello")
        recording = (await server.client.get(f"/api/runs/{run}/recording")).content
        for name, title in (
            ("büro trace.jsonl", "büro trace.jsonl"),
            ("a\nb" + "c" * 300, "a b" + "c" * 117),
            ("", "Hello"),
        ):
            answer = await server.client.post(
                "/api/recordings",
                params={"name": name} if name else {},
                content=recording,
                headers={"content-type": "application/jsonl"},
            )
            assert answer.status_code == 201, answer.text
            session = answer.json()["session"]
            assert (await listed(server))[session]["title"] == title


async def test_forks_and_reruns_say_of_what() -> None:
    """By the name that the original has now, with the way to it."""
    async with local_server(agent(Scripted.saying("One.", "Two.", "Three."))) as server:
        run = await server.say("Hello")
        await server.client.patch(f"/api/chat/{APP}/{SESSION}", json={"title": "Greeting"})
        message = {"role": "user", "parts": [{"text": "And now?"}]}
        fork = await server.fork(run, 3, newMessage=message)
        answer = await server.client.post(f"/api/runs/{run}/rerun", json={"tools": "live"})
        assert answer.status_code == 200, answer.text
        found = await listed(server)
        assert found[fork["session"]]["title"] == "Fork of Greeting"
        point = {"run": run, "session": SESSION}
        assert found[fork["session"]]["forkedFrom"] == point | {"at": 3, "rerun": False}
        (rerun,) = [each for each in found.values() if each["title"] == "Rerun of Greeting"]
        assert rerun["forkedFrom"] == point | {"at": 1, "rerun": True}
        assert rerun["user"] == USER
        assert [each["session"] for each in found[SESSION]["forks"]] == [fork["session"]]
