"""Files that events refer to: whose they are, from where they come, and how they are handed on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.genai import types
from tests.adk.scripted import Scripted
from tests.patience import PATIENCE
from tests.security.files.emulator import (
    TOKEN,
    Emulator,
    Stored,
    emulating,
    service_account,
)
from tests.security.files.references import FOLDER, OWN, REFUSED
from tests.security.people import ANN, BOB, headers, said, token_file
from tests.server.local_server import APP, SESSION, USER, LocalServer, agent, local_server
from tests.voice.served import Served, served

from adk_prism.errors import UsageError
from adk_prism.features.cloud_files import storage as cloud_storage
from adk_prism.features.cloud_files.settings import AllowedLocations, GcsLocation
from adk_prism.features.cloud_files.storage import CloudStorage, DefaultCredentials
from adk_prism.log.entry import AgentEvent, Origin, RunEnded, RunId, RunStarted
from adk_prism.server.settings import Settings

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40


@pytest.fixture
def store() -> Iterator[Emulator]:
    with emulating() as running:
        running.objects["pictures/public/a.png"] = Stored(PNG)
        yield running


def refer(uri: str, media_type: str | None = "image/png") -> types.Part:
    return types.Part(file_data=types.FileData(file_uri=uri, mime_type=media_type))


@asynccontextmanager
async def showing(store: Emulator, *uris: str, **settings: Any) -> AsyncIterator[LocalServer]:
    """Serve an agent that refers to these files, and may fetch from one folder."""
    model = Scripted.saying([refer(uri) for uri in uris])
    more = {"files_from": (FOLDER,), "files_emulator": store.url, **settings}
    async with local_server(agent(model), **more) as stage:
        yield stage


async def shown(server: LocalServer | Served, run: str) -> int:
    """Return the cursor of the event with files."""
    found = 0
    async for batch in server.context.log.read(RunId(run), follow=True):
        for entry in batch:
            if b"fileData" in bytes(getattr(entry.record, "event", b"")):
                found = entry.cursor
    return found


async def fetched(stage: LocalServer, part: int = 0, **request: Any) -> httpx.Response:
    """Say something; return the file that the answer refers to."""
    run = await stage.say("show me")
    return await stage.client.get(
        f"/api/runs/{run}/files/{await shown(stage, run)}/{part}", **request
    )


async def test_a_file_of_an_allowed_folder_is_handed_on(store: Emulator) -> None:
    """Byte for byte, shown in place, never sniffed; by the link that the AI SDK's stream carries."""
    async with showing(store, f"{FOLDER}/a.png") as stage:
        run = await stage.say("show me")
        stream = (await stage.client.get(f"/api/runs/{run}/stream?as=ai-sdk")).text
        chunks = [json.loads(line[6:]) for line in stream.splitlines() if line[:7] == "data: {"]
        [url] = [chunk["url"] for chunk in chunks if chunk["type"] == "file"]
        answer = await stage.client.get(url)
        assert (answer.status_code, answer.content) == (200, PNG)
        assert answer.headers["content-type"] == "image/png"
        assert answer.headers["content-disposition"] == "inline; filename*=UTF-8''a.png"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["content-security-policy"] == "sandbox; default-src 'none'"
        assert answer.headers["content-length"] == str(len(PNG))
        [(_, sent)] = store.asked
        assert "authorization" not in sent, "an emulator is shown no credential"


async def test_a_range_is_handed_on(store: Emulator) -> None:
    """As a browser's player asks; what is no range is not passed on."""
    async with showing(store, f"{FOLDER}/a.png") as stage:
        run = await stage.say("show me")
        path = f"/api/runs/{run}/files/{await shown(stage, run)}/0"
        answer = await stage.client.get(path, headers={"range": "bytes=8-11"})
        assert (answer.status_code, answer.content) == (206, PNG[8:12])
        assert answer.headers["content-range"] == f"bytes 8-11/{len(PNG)}"
        beyond = await stage.client.get(path, headers={"range": "bytes=999999-"})
        assert beyond.status_code == 400
        for odd in ("bytes=0-1,3-4", "bytes=a-b", "lines=1-2", "bytes=" + "9" * 400 + "-"):
            whole = await stage.client.get(path, headers={"range": odd})
            assert (whole.status_code, whole.content) == (200, PNG)


async def test_every_other_reference_is_refused(store: Emulator) -> None:
    """With a reason that names no secret; the store hears of nothing that is not on the list."""
    async with showing(store, *(case.uri for case in REFUSED)) as stage:
        run = await stage.say("show me")
        cursor = await shown(stage, run)
        for part, case in enumerate(REFUSED):
            answer = await stage.client.get(f"/api/runs/{run}/files/{cursor}/{part}")
            assert answer.status_code == case.status, (case.id, answer.text)
            assert answer.headers["content-type"] == "application/problem+json"
            assert len(answer.json()["detail"]) > 20, case.id
        assert [key for key, _ in store.asked] == ["pictures/public/%2e%2e/private/a.png"]


@dataclass(frozen=True)
class Odd:
    id: str
    stored: Stored
    status: int
    says: str = ""


ODD = [
    Odd("gone", Stored(status=404), 404, "no longer exists"),
    Odd("forbidden", Stored(status=403), 502, "denied access"),
    Odd("unknown caller", Stored(status=401), 502, "denied access"),
    Odd(
        "a redirect to metadata",
        Stored(status=302, headers={"location": "http://169.254.169.254/"}),
        502,
        "302",
    ),
    Odd("a broken store", Stored(status=500), 502, "500"),
    Odd("no content", Stored(status=204), 502, "204"),
    Odd("huge, and says so", Stored(length=10**9), 413, "--files-limit"),
    Odd("an impossible length", Stored(length=10**30), 502, "connection was lost"),
    Odd("packed", Stored(b"x", headers={"content-encoding": "gzip"}), 502, "compressed"),
]


async def test_what_the_store_does_is_told(store: Emulator) -> None:
    """Before the first byte; nothing of the store's own words, no redirect followed."""
    for n, case in enumerate(ODD):
        store.objects[f"pictures/public/{n}"] = case.stored
    async with showing(store, *(f"{FOLDER}/{n}" for n in range(len(ODD)))) as stage:
        run = await stage.say("show me")
        cursor = await shown(stage, run)
        for n, case in enumerate(ODD):
            answer = await stage.client.get(f"/api/runs/{run}/files/{cursor}/{n}")
            assert answer.status_code == case.status, case.id
            assert case.says in answer.json()["detail"], case.id
    assert len(store.asked) == len(ODD)


@asynccontextmanager
async def really_served(
    store: Emulator, **settings: Any
) -> AsyncIterator[tuple[Served, httpx.AsyncClient, str]]:
    """Serve on a real port; give the server, a client of it, and the path of a file in the store."""
    runner = Runner(
        app_name=APP,
        agent=agent(Scripted.saying([refer(f"{FOLDER}/a.png")])),
        session_service=InMemorySessionService(),
    )
    more = {"files_from": (FOLDER,), "files_emulator": store.url, **settings}
    async with (
        served(runner, **more) as server,
        httpx.AsyncClient(base_url=server.url, timeout=PATIENCE) as client,
    ):
        await client.post(f"/apps/{APP}/users/{USER}/sessions/chat")
        run = (await client.post("/run_sse", json=said(USER, "show me"))).headers["x-prism-run"]
        yield server, client, f"/api/runs/{run}/files/{await shown(server, run)}/0"


async def cut_off(store: Emulator, **settings: Any) -> tuple[int, str]:
    """Ask a real server for a file that breaks off; return how much came, and what was reported."""
    async with really_served(store, **settings) as (server, client, path):
        taken: list[int] = []
        with pytest.raises(httpx.RemoteProtocolError):
            await _take(client, path, taken)
        return sum(taken), " ".join(report.cause for report in server.reports)


async def test_a_file_comes_as_fast_as_it_is_taken(store: Emulator) -> None:
    """A client that stops reading stops the store; one that leaves lets it go."""
    store.objects["pictures/public/a.png"] = Stored(length=-1, endless=True)
    async with really_served(store, files_limit=10**12) as (_, client, path):
        async with client.stream("GET", path) as answer:
            await anext(answer.aiter_bytes())
            before = -1
            while store.sent != before:  # until nothing moves any more
                before = store.sent
                await asyncio.sleep(0.3)
            assert store.sent < 32 * 1024 * 1024
        assert await asyncio.to_thread(store.stopped.wait, PATIENCE), "the store still sends"


async def _take(client: httpx.AsyncClient, path: str, taken: list[int]) -> None:
    async with client.stream("GET", path) as answer:
        assert answer.status_code == 200
        async for chunk in answer.aiter_bytes():
            taken += [len(chunk)]


async def test_a_file_that_does_not_end_is_cut(store: Emulator) -> None:
    """It never said how long it is: the limit counts, the store is let go, nobody sees a whole file."""
    store.objects["pictures/public/a.png"] = Stored(length=-1, endless=True)
    taken, told = await cut_off(store, files_limit=1024 * 1024)
    assert 0 < taken <= 1024 * 1024
    assert "larger than" in told
    assert store.stopped.wait(PATIENCE), "the store still sends"


async def test_a_silent_store_is_given_up(store: Emulator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also after its headers."""
    monkeypatch.setattr(cloud_storage, "IN_ALL", 0.3)
    store.objects["pictures/public/a.png"] = Stored(PNG, silent=True)
    taken, told = await cut_off(store)
    assert taken == 0
    assert "in time" in told


async def test_a_short_file_is_not_taken_for_whole(store: Emulator) -> None:
    """The store breaks off before the length that it said."""
    store.objects["pictures/public/a.png"] = Stored(PNG, length=2 * len(PNG), breaks_off=True)
    taken, told = await cut_off(store)
    assert taken <= len(PNG)
    assert "connection was lost" in told


ACTIVE = (
    "text/html image/svg+xml application/xml text/xml application/xhtml+xml text/javascript"
    " application/javascript application/pdf text/css multipart/x-mixed-replace message/rfc822"
).split()


async def test_what_is_active_is_a_download(store: Emulator) -> None:
    """Whatever the event claims, and by whatever name; the store's word counts."""
    for n, media_type in enumerate(ACTIVE):
        store.objects[f"pictures/public/{n}.png"] = Stored(b"<", f"{media_type}; charset=utf-7")
    async with showing(store, *(f"{FOLDER}/{n}.png" for n in range(len(ACTIVE)))) as stage:
        run = await stage.say("show me")
        cursor = await shown(stage, run)
        for n, media_type in enumerate(ACTIVE):
            answer = await stage.client.get(f"/api/runs/{run}/files/{cursor}/{n}")
            assert answer.status_code == 200, media_type
            assert answer.headers["content-disposition"].startswith("attachment"), media_type
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["content-security-policy"].startswith("sandbox")
            assert "utf-7" not in answer.headers["content-type"]


async def test_no_folder_is_the_default(store: Emulator) -> None:
    """Nothing is fetched until the operator says from where."""
    async with showing(store, f"{FOLDER}/a.png", files_from=()) as stage:
        answer = await fetched(stage)
        assert answer.status_code == 403
        assert "--files-from" in answer.json()["detail"]
        assert store.asked == []


async def test_a_folder_may_be_each_users_own(store: Emulator) -> None:
    """A model that was talked into naming another's file gets nothing."""
    store.objects["home/app/user/a.png"] = Stored(PNG)
    store.objects["home/app/bob/a.png"] = Stored(PNG)
    places = ("gs://home/{app}/{user}",)
    uris = ("gs://home/app/user/a.png", "gs://home/app/bob/a.png")
    async with showing(store, *uris, files_from=places) as stage:
        run = await stage.say("show me")
        cursor = await shown(stage, run)
        statuses = [
            (await stage.client.get(f"/api/runs/{run}/files/{cursor}/{part}")).status_code
            for part in (0, 1)
        ]
        assert statuses == [200, 403]


async def test_artifacts_of_the_session_and_the_user_are_given(store: Emulator) -> None:
    """Through ADK's service: bytes, text, one that refers to another; none that refers elsewhere."""
    mine = f"artifact://apps/{APP}/users/{USER}/artifacts/user:b.txt/versions/0"
    names = ("a.html", "again.html", "stored.png", "hidden.png")
    uris = [*(f"{OWN}/{name}/versions/0" for name in names), mine]
    async with showing(store, *uris) as stage:
        artifacts = {
            "a.html": types.Part(inline_data=types.Blob(data=b"<b>", mime_type="text/html")),
            "again.html": refer(f"{OWN}/a.html/versions/0"),
            "stored.png": refer(f"{FOLDER}/a.png"),
            "hidden.png": refer("gs://pictures/private/a.png"),
            "user:b.txt": types.Part(text="Grüße"),
        }
        service = stage.runner.artifact_service
        assert service is not None
        for name, part in artifacts.items():
            await service.save_artifact(
                app_name=APP, user_id=USER, session_id=SESSION, filename=name, artifact=part
            )
        run = await stage.say("show me")
        cursor = await shown(stage, run)
        answers = [
            await stage.client.get(f"/api/runs/{run}/files/{cursor}/{part}") for part in range(5)
        ]
        assert [a.status_code for a in answers] == [200, 200, 403, 403, 200]
        assert [a.content for a in answers[:2]] == [b"<b>", b"<b>"]
        assert answers[4].text == "Grüße"
        assert store.asked == []
        dispositions = [a.headers["content-disposition"] for a in answers[:2]]
        assert dispositions == [
            "attachment; filename*=UTF-8''a.html",
            "attachment; filename*=UTF-8''again.html",
        ]


async def test_an_artifact_over_the_limit_is_refused(store: Emulator) -> None:
    async with showing(store, f"{OWN}/big.bin/versions/0", files_limit=1000) as stage:
        big = types.Part(inline_data=types.Blob(data=b"x" * 1001, mime_type="image/png"))
        service = stage.runner.artifact_service
        assert service is not None
        await service.save_artifact(
            app_name=APP, user_id=USER, session_id=SESSION, filename="big.bin", artifact=big
        )
        assert (await fetched(stage)).status_code == 413


async def test_an_upload_leads_nowhere(store: Emulator) -> None:
    """Its references are a client's own words, and stay so in a fork of it."""
    event = {
        "id": "e1",
        "invocationId": "i",
        "author": "agent",
        "content": {"role": "model", "parts": [{"fileData": {"fileUri": f"{FOLDER}/a.png"}}]},
    }
    async with showing(store, f"{FOLDER}/a.png") as stage:
        body = json.dumps({"appName": APP, "userId": USER, "id": "s", "events": [event]})
        kind = {"content-type": "application/json"}
        made = await stage.client.post("/api/recordings", content=body, headers=kind)
        assert made.status_code == 201, made.text
        run = made.json()["run"]
        cursor = await shown(stage, run)
        refused = await stage.client.get(f"/api/runs/{run}/files/{cursor}/0")
        assert refused.status_code == 403
        assert "named by a client" in refused.json()["detail"]
        forked = await stage.client.post(
            f"/api/runs/{run}/fork",
            json={"at": cursor, "newMessage": {"role": "user", "parts": [{"text": "go on"}]}},
        )
        assert forked.status_code == 200, forked.text
        runs = (await stage.client.get(f"/api/runs?session={forked.json()['session']}")).json()
        copies = [r["run"] for r in runs if r["run"] != forked.json()["run"]]
        for copy in copies:
            answer = await stage.client.get(f"/api/runs/{copy}/files/{await shown(stage, copy)}/0")
            assert answer.status_code == 403
            assert "named by a client" in answer.json()["detail"]
        assert copies, "the fork has a copy of what it goes on from"
        assert store.asked == []


async def test_what_a_user_names_leads_nowhere(store: Emulator) -> None:
    """A live run keeps what its user sent as events of the user."""
    event = {"author": "user", "content": {"parts": [{"fileData": {"fileUri": f"{FOLDER}/a.png"}}]}}
    async with showing(store) as stage:
        run = RunId("run-live")
        origin = Origin(app=APP, user=USER, session=SESSION)
        records = [
            RunStarted(run=run, origin=origin, live=True),
            AgentEvent(json.dumps(event).encode()),
        ]
        await stage.context.log.append(run, [*records, RunEnded(outcome="finished")])
        refused = await stage.client.get(f"/api/runs/{run}/files/2/0")
        assert refused.status_code == 403
        assert store.asked == []


async def test_a_file_is_its_owners(store: Emulator, tmp_path: Path) -> None:
    """For anybody else there is no such run."""
    async with showing(store, f"{FOLDER}/a.png", tokens=token_file(tmp_path)) as stage:
        client = stage.client
        await client.post(f"/apps/{APP}/users/{BOB}/sessions/chat", headers=headers(BOB))
        answer = await client.post("/run_sse", json=said(BOB, "show me"), headers=headers(BOB))
        run = answer.headers["x-prism-run"]
        path = f"/api/runs/{run}/files/{await shown(stage, run)}/0"
        assert (await client.get(path, headers=headers(ANN))).status_code == 404
        assert (await client.get(path)).status_code == 401
        assert store.asked == []
        assert (await client.get(path, headers=headers(BOB))).content == PNG


async def test_the_servers_own_account_reads(
    store: Emulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Application Default Credentials, real ones: one token for many files."""
    account = service_account(tmp_path, store)
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(account))
    storage = CloudStorage(DefaultCredentials(), 10**6, store.url)
    async with storage.opened():
        for _ in range(2):
            async with storage.fetch(GcsLocation("pictures", "public/a.png")) as found:
                assert b"".join([chunk async for chunk in found.chunks]) == PNG
    keys = [key for key, _ in store.asked]
    assert keys == ["/token", "pictures/public/a.png", "pictures/public/a.png"]
    assert store.asked[1][1]["authorization"] == f"Bearer {TOKEN}"


async def test_a_server_without_an_account_says_so(
    store: Emulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the operator with the reason, to the client without."""
    broken = tmp_path / "account.json"
    broken.write_text('{"type": "service_account"}')
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(broken))
    async with showing(store, f"{FOLDER}/a.png", files_emulator="") as stage:
        answer = await fetched(stage)
        assert answer.status_code == 502
        assert str(tmp_path) not in answer.text
        assert any(str(broken) in report.cause for report in stage.reports)
        assert store.asked == []


@pytest.mark.parametrize(
    "place",
    [
        "pictures",
        "s3://pictures",
        "gs://",
        "gs:///x",
        "gs://a",
        "gs://Pictures/x",
        "gs://pictures/../x",
        "gs://pictures/{who}",
        "gs://{user}/x",
        "gs://pictures/a//b",
        "gs://*",
    ],
)
def test_what_is_no_place_is_refused_at_the_start(place: str) -> None:
    """A list that is misread is worse than none."""
    with pytest.raises(UsageError):
        Settings(files_from=(place,))


def test_an_emulator_is_on_this_machine() -> None:
    """Or anybody's server could be made to look like the store."""
    for url in ("http://10.0.0.1:80", "http://example.com", "nonsense"):
        with pytest.raises(UsageError):
            Settings(files_emulator=url)
    Settings(files_emulator="http://127.0.0.1:4443")


def test_a_whole_bucket_may_be_a_place() -> None:
    assert AllowedLocations(("gs://pictures", "gs://other/"))
    assert not AllowedLocations(())
