"""`adk-prism doctor URL`: what stands between a client and the server is named, with the remedy."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.end_to_end.server import Server, free_port, serving
from tests.features.conform.bad_proxy import Faults, proxying
from tests.patience import PATIENCE

from adk_prism.cli import FAILURE, USAGE, main
from adk_prism.features.conform.checks import connected
from adk_prism.features.doctor.connection_doctor import Doctor, Finding, Place

ELSEWHERE = "http://localhost:3000"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that allows one page of elsewhere."""
    words = ["--log", "memory:", "--allow-origin", ELSEWHERE]
    with serving(tmp_path_factory.mktemp("served"), *words) as found:
        yield found


async def looked(url: str, *, origin: str = ELSEWHERE, silence: float = 0.1) -> dict[str, Finding]:
    place = Place(url=url, origin=origin, silence=silence)
    async with connected(url, {}, PATIENCE) as exchange:
        return {each.name: each for each in await Doctor(place, exchange).look()}


def problems(found: dict[str, Finding]) -> dict[str, str]:
    return {
        name: f"{each.text} Remedy: {each.remedy}"
        for name, each in found.items()
        if each.verdict == "problem"
    }


@pytest.mark.parametrize("through", [False, True], ids=["directly", "through a good proxy"])
async def test_nothing_is_wrong(server: Server, through: bool) -> None:
    """Everything is tried, and nothing is found."""
    async with proxying(server.port, Faults()) as url:
        found = await looked(url if through else server.url)
    assert problems(found) == {}
    assert {each.verdict for each in found.values()} == {"ok"}
    assert [*found] == [
        "reached", "clock", "signed in", "version", "streams", "address", "own page", "CORS",
        "WebSocket", "idle",
    ]  # fmt: skip


OLD = b"Mon, 01 Jan 2024 00:00:00 GMT"
TWICE = f"\r\naccess-control-allow-origin: {ELSEWHERE}".encode()
CASES = {
    "buffering": (Faults(holds=True), {"streams": "proxy_buffering off"}),
    "compression": (Faults(compresses=True), {"streams": "gzip_types"}),
    "idle": (Faults(cuts="events=1&"), {"idle": "proxy_read_timeout"}),
    "prefix": (Faults(prefix="/prism"), {"address": "--public-url http://127.0.0.1:"}),
    "host": (Faults(changes_host=True), {"address": "--public-url", "own page": "proxy_set_header Host"}),
    "sockets": (Faults(no_upgrade=True), {"WebSocket": "proxy_set_header Upgrade"}),
    "CORS twice": (Faults(head=TWICE), {"CORS": "add_header"}),
    "clock": (Faults(date=OLD), {"clock": "NTP"}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
async def test_what_a_proxy_does(server: Server, name: str) -> None:
    """It is found, with the directive that mends it, and nothing else is."""
    faults, expected = CASES[name]
    async with proxying(server.port, faults) as url:
        found = problems(await looked(url))
    assert found.keys() == expected.keys(), found
    for key, remedy in expected.items():
        assert remedy in found[key].partition("Remedy: ")[2]


async def test_a_page_that_may_not_call(server: Server) -> None:
    """The option that allows it is named."""
    found = await looked(server.url, origin="https://elsewhere.example")
    assert problems(found)["CORS"].endswith("serve --allow-origin https://elsewhere.example")


async def test_the_command(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    """A line each; exit 0, or 1 with the remedy in the line."""
    words = ["doctor", server.url, "--idle", "0.1"]
    assert await asyncio.to_thread(main, words) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "ok         reached    GET /health is answered."
    assert "not tried  CORS       pass --origin to try it for a page that is elsewhere." in lines
    assert await asyncio.to_thread(main, [*words[:1], f"{server.url}/nowhere"]) == FAILURE
    [line] = capsys.readouterr().out.splitlines()
    assert line.startswith(
        "problem    reached    GET /health gets HTTP 404: there is no adk-prism at"
    )
    assert "Remedy: Give the path prefix" in line


def test_no_server_and_bad_words(capsys: pytest.CaptureFixture[str]) -> None:
    """A finding where nobody listens; one line and exit 2 for a bad option."""
    assert main(["doctor", f"http://127.0.0.1:{free_port()}"]) == FAILURE
    assert "no answer (ConnectError)" in capsys.readouterr().out
    for words, says in (
        (["ftp://x"], "URL must begin with http:// or https://."),
        (["http://x", "--idle", "999"], "--idle must be from 0 to 120 seconds, got 999."),
        (["http://x", "--origin", "x"], "--origin must be the origin of a page"),
        (["http://x", "--header", "x"], "--header must be NAME=VALUE"),
    ):
        assert main(["doctor", *words]) == USAGE
        assert says in capsys.readouterr().err


def test_a_server_that_asks_who_you_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a token that is the finding; with one it goes on, and says as whom."""
    monkeypatch.delenv("ADK_PRISM_TOKEN", raising=False)
    tokens, mine = tmp_path / "tokens.json", tmp_path / "mine"
    token = "t0ken-" * 8
    tokens.write_text(json.dumps({token: "anna"}))
    tokens.chmod(0o600)
    mine.write_text(token)
    with serving(tmp_path, "--log", "memory:", "--tokens", str(tokens)) as server:
        assert main(["doctor", server.url, "--idle", "0"]) == FAILURE
        assert "the server asks who you are (401)" in capsys.readouterr().out
        words = ["doctor", server.url, "--idle", "0", "--token-file", str(mine)]
        assert main(words) == 0
        out = capsys.readouterr().out
        assert "signed in  as anna" in out
        assert "t0ken" not in out
