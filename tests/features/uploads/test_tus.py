"""The tus protocol: files that come in pieces, and everything that a piece can be wrong in."""

from __future__ import annotations

import asyncio
import base64
import fcntl
import hashlib
import os
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.features.uploads.sending import PIECE, begin, begun, metadata, piece, send, uploading
from tests.security.people import ANN, BOB, headers, house
from tests.server.local_server import APP

from adk_prism.features.uploads import UploadSettings
from adk_prism.features.uploads.files import UploadFolder, safe_name

DATA = bytes(range(256)) * 40


async def test_a_file_comes_in_pieces(tmp_path: Path) -> None:
    """What has come is told, the rest is sent, and the whole is given back to who sent it."""
    async with uploading(tmp_path) as server:
        client = server.client
        offered = await client.options(f"/api/uploads/{APP}")
        assert offered.status_code == 204
        assert offered.headers["tus-version"] == "1.0.0"
        assert "creation" in offered.headers["tus-extension"]
        url = await begun(client, len(DATA), filename="report 1.pdf", filetype="application/pdf")
        assert url.startswith(f"http://127.0.0.1:8000/api/uploads/{APP}/file-")
        first = await piece(client, url, 0, DATA[:1000])
        assert (first.status_code, first.headers["upload-offset"]) == (204, "1000")
        assert "upload-expires" in first.headers
        assert (await client.get(url)).status_code == 404, "it is not complete"
        told = await client.head(url, headers={"tus-resumable": "1.0.0"})
        assert (told.headers["upload-offset"], told.headers["upload-length"]) == (
            "1000",
            str(len(DATA)),
        )
        assert told.headers["cache-control"] == "no-store"
        last = await piece(client, url, 1000, DATA[1000:])
        assert last.headers["upload-offset"] == str(len(DATA))
        whole = await client.get(url)
        assert (whole.content, whole.headers["content-type"]) == (DATA, "application/pdf")
        assert "report%201.pdf" in whole.headers["content-disposition"]
        part = await client.get(url, headers={"range": "bytes=1-3"})
        assert (part.status_code, part.content) == (206, DATA[1:4])
        modes = {oct(file.stat().st_mode & 0o777) for file in tmp_path.rglob("file-*")}
        assert modes == {"0o600"}
        gone = await client.delete(url, headers={"tus-resumable": "1.0.0"})
        assert gone.status_code == 204
        assert (await client.get(url)).status_code == 404
        assert not list(tmp_path.rglob("file-*"))


async def test_a_file_goes_on_after_a_restart(tmp_path: Path) -> None:
    """At another process that has the folder, too: the length of the file is all that is needed."""
    async with uploading(tmp_path) as server:
        url = await begun(server.client, 10)
        await piece(server.client, url, 0, b"01234")
    async with uploading(tmp_path) as server:
        told = await server.client.head(url, headers={"tus-resumable": "1.0.0"})
        assert told.headers["upload-offset"] == "5"
        await piece(server.client, url, 5, b"56789")
        assert (await server.client.get(url)).content == b"0123456789"


async def test_a_file_comes_with_its_beginning(tmp_path: Path) -> None:
    """The whole of it, with the request that creates it."""
    async with uploading(tmp_path) as server:
        url = await send(server.client, b"hello", name="a.txt")
        answer = await server.client.get(url)
        assert (answer.content, answer.headers["content-type"]) == (
            b"hello",
            "text/plain; charset=utf-8",
        )


@dataclass(frozen=True)
class Bad:
    """A request that is refused, and how."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b"56789"
    method: str = "PATCH"


def _sum(data: bytes, algorithm: str = "sha1") -> str:
    digest = hashlib.new(algorithm, data).digest()
    return f"{algorithm} {base64.b64encode(digest).decode()}"


BAD_PIECES = {
    "another offset": Bad(409, {"upload-offset": "4"}),
    "no offset": Bad(400, {"upload-offset": ""}),
    "an offset that is none": Bad(400, {"upload-offset": "-1"}),
    "an offset of many digits": Bad(400, {"upload-offset": "9" * 40}),
    "another version": Bad(412, {"tus-resumable": "0.2.2"}),
    "no version": Bad(412, {"tus-resumable": ""}),
    "no version to delete": Bad(412, {"tus-resumable": ""}, b"", "DELETE"),
    "another type": Bad(415, {"content-type": "application/octet-stream"}),
    "a body that is too long": Bad(413, {}, b"5678901"),
    "a wrong checksum": Bad(460, {"upload-checksum": _sum(b"other")}),
    "an unknown checksum": Bad(400, {"upload-checksum": "md5 AAAA"}),
    "a checksum that is none": Bad(400, {"upload-checksum": "sha1 ?"}),
}


@pytest.mark.parametrize("name", BAD_PIECES)
async def test_a_piece_that_is_refused_leaves_nothing(tmp_path: Path, name: str) -> None:
    """What came before is still there, and the right piece is taken then."""
    bad = BAD_PIECES[name]
    async with uploading(tmp_path) as server:
        url = await begun(server.client, 10)
        await piece(server.client, url, 0, b"01234")
        sent = {"tus-resumable": "1.0.0", "upload-offset": "5", "content-type": PIECE} | bad.headers
        answer = await server.client.request(bad.method, url, content=bad.body, headers=sent)
        assert answer.status_code == bad.status, answer.text
        good = await piece(
            server.client, url, 5, b"56789", {"upload-checksum": _sum(b"56789", "sha256")}
        )
        assert good.status_code == 204, good.text
        assert (await server.client.get(url)).content == b"0123456789"


async def test_a_body_of_unknown_length_ends_with_the_file(tmp_path: Path) -> None:
    """One byte too many in a chunked body: nothing of that body stays."""
    async with uploading(tmp_path) as server:
        url = await begun(server.client, 10)

        async def chunks() -> AsyncIterator[bytes]:
            yield b"01234567"
            yield b"89!"

        sent = {"tus-resumable": "1.0.0", "upload-offset": "0", "content-type": PIECE}
        answer = await server.client.patch(url, content=chunks(), headers=sent)
        assert answer.status_code == 413
        told = await server.client.head(url, headers={"tus-resumable": "1.0.0"})
        assert told.headers["upload-offset"] == "0"


BAD_FILES = {
    "no length": Bad(400, {"upload-length": ""}),
    "a length that is none": Bad(400, {"upload-length": "1e3"}),
    "a length that comes later": Bad(400, {"upload-length": "", "upload-defer-length": "1"}),
    "no bytes": Bad(422, {"upload-length": "0"}),
    "too many bytes": Bad(413, {"upload-length": "100001"}),
    "another type": Bad(422, {"upload-metadata": metadata(filetype="video/mp4")}),
    "metadata that is no Base64": Bad(400, {"upload-metadata": "filename ?"}),
    "metadata that is no text": Bad(400, {"upload-metadata": "filename /w=="}),
    "metadata without end": Bad(400, {"upload-metadata": "a " + "A" * 9000}),
    "a session that is no name": Bad(400, {"upload-metadata": metadata(session="a/b")}),
    "a user that is no name": Bad(400, {"upload-metadata": metadata(userId="..")}),
    "no version": Bad(412, {"tus-resumable": ""}),
}


@pytest.mark.parametrize("name", BAD_FILES)
async def test_a_file_that_is_refused(tmp_path: Path, name: str) -> None:
    """Nothing is kept of it."""
    options = {"uploads_file_limit": 100_000, "uploads_type": ("text/*", "application/pdf")}
    async with uploading(tmp_path, **options) as server:
        known = {"upload-metadata": metadata(filetype="text/plain")}
        answer = await begin(server.client, 10, known | BAD_FILES[name].headers)
        assert answer.status_code == BAD_FILES[name].status, answer.text
        assert not list(tmp_path.rglob("file-*"))
        unknown = await server.client.post(
            "/api/uploads/nobody", headers={"tus-resumable": "1.0.0"}
        )
        assert unknown.status_code == 404


async def test_how_much_one_user_may_have(tmp_path: Path) -> None:
    """By declared bytes, so unfinished files count; a deleted one makes room."""
    async with uploading(tmp_path, uploads_quota=100) as server:
        url = await begun(server.client, 60)
        refused = await begin(server.client, 60)
        assert (refused.status_code, "retry-after" in refused.headers) == (429, True)
        await server.client.delete(url, headers={"tus-resumable": "1.0.0"})
        assert (await begin(server.client, 60)).status_code == 201


async def test_two_at_once_do_not_mix(tmp_path: Path) -> None:
    """The second writer gets 423, so does who deletes; the first one ends undisturbed."""
    gate, began = asyncio.Event(), asyncio.Event()

    async def slowly() -> AsyncIterator[bytes]:
        yield b"01234"
        began.set()
        await gate.wait()
        yield b"56789"

    async with uploading(tmp_path) as server:
        url = await begun(server.client, 10)
        sent = {"tus-resumable": "1.0.0", "upload-offset": "0", "content-type": PIECE}
        first = asyncio.create_task(server.client.patch(url, content=slowly(), headers=sent))
        await began.wait()
        assert (await piece(server.client, url, 0, b"x")).status_code == 423
        assert (await server.client.delete(url, headers=sent)).status_code == 423
        gate.set()
        assert (await first).status_code == 204
        with next(tmp_path.rglob("*.bin")).open("rb") as elsewhere:
            fcntl.flock(elsewhere, fcntl.LOCK_EX)  # as another process does
            assert (await piece(server.client, url, 10, b"")).status_code == 423
        assert (await server.client.get(url)).content == b"0123456789"


async def test_what_has_expired_is_gone(tmp_path: Path) -> None:
    """At once for its client, and from the disk with the next sweep."""
    async with uploading(tmp_path, uploads_expiry=60.0) as server:
        old, new = await begun(server.client, 10), await send(server.client, b"new")
        (stored,) = tmp_path.rglob(f"{old.rpartition('/')[2]}.bin")
        before = time.time() - 120
        os.utime(stored, (before, before))
        told = await server.client.head(old, headers={"tus-resumable": "1.0.0"})
        assert told.status_code == 404
        await UploadFolder(tmp_path / "up", UploadSettings(uploads_expiry=60.0)).sweep()
        assert not stored.exists()
        assert not stored.with_suffix(".json").exists()
        assert (await server.client.get(new)).content == b"new"


async def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """507 before the first byte, and none of the paths of the server in it."""
    usage = type("Usage", (), {"free": 1024})
    async with uploading(tmp_path) as server:
        monkeypatch.setattr("shutil.disk_usage", lambda _: usage)
        answer = await begin(server.client, 10)
        assert answer.status_code == 507
        assert str(tmp_path) not in answer.text


async def test_nobody_reaches_the_files_of_others(tmp_path: Path) -> None:
    """Another user's, a forged id, one of another app: not found, whatever is asked."""
    async with house(tmp_path, data_dir=str(tmp_path), uploads_dir=str(tmp_path / "up")) as home:
        client, bob, ann = home.client, headers(BOB), headers(ANN)
        url = await send(client, b"secret", bob)
        forged = url[:-4] + ("0000" if not url.endswith("0000") else "1111")
        tus = {"tus-resumable": "1.0.0", "upload-offset": "6", "content-type": PIECE}
        for address, who in ((url, ann), (forged, bob), (f"{url}/..", ann)):
            for method in ("GET", "HEAD", "PATCH", "DELETE"):
                answer = await client.request(method, address, headers=tus | who)
                assert answer.status_code in (404, 405), (method, address)
        assert (await client.get(url, headers=bob)).content == b"secret"
        named = await begin(client, 5, ann | {"upload-metadata": metadata(userId=BOB)})
        assert named.status_code == 404, "Ann cannot send a file for Bob"
        assert (await begin(client, 5)).status_code == 401


NAMES = {
    "../../etc/passwd": "passwd",
    "C:\\Users\\me\\report.pdf": "report.pdf",
    "user:all.txt": "userall.txt",
    "..": "file",
    "": "file",
    "a\0b\u202egpj.exe": "abgpj.exe",
    "Bericht über Ärger 📄.pdf": "Bericht über Ärger 📄.pdf",
    "e\u0301.txt": "\u00e9.txt",
    "x" * 300 + ".pdf": "x" * 96 + ".pdf",
    "constructor": "file",
    "📄" * 90 + ".pdf": "file.pdf",
}


@pytest.mark.parametrize("given", NAMES)
def test_names_that_every_artifact_service_takes(given: str) -> None:
    """The last part of a path, composed, printable, of no scope, and not too long."""
    assert safe_name(given) == NAMES[given]


async def test_processes_that_share_a_log_need_a_folder(tmp_path: Path) -> None:
    """Without one there is a clear refusal: a file would be at one of them only."""
    folder = UploadFolder(None, UploadSettings())
    with pytest.raises(Exception, match="--uploads-dir"):
        await folder.create(app=APP, user="u", name="n", media_type="", size=1)
    await folder.sweep()
