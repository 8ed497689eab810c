"""The panel and a server that has to know who talks to it."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.end_to_end.server import Server, serving
from tests.features.console.conftest import AGENTS
from tests.features.console.terminal import Terminal
from tests.features.console.test_command import piped

from adk_prism.errors import UsageError
from adk_prism.features.captures.client import Client, Refused, SessionAddress, connect, find_token
from adk_prism.features.console.screen import Console
from adk_prism.server.identity.methods import LOOK_EVERY


@pytest.fixture(scope="module")
def asking_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Serve the console's apps to those who have a token."""
    folder = tmp_path_factory.mktemp("asking")
    (folder / "tokens.json").write_text(json.dumps({"token-of-ann": "ann", "old": "ann"}))
    with serving(folder, "--tokens", "tokens.json", "--log", "memory:", agents=AGENTS) as server:
        yield server


@pytest.mark.parametrize(
    ("words", "env", "says"),
    [
        ([], {}, "Set ADK_PRISM_TOKEN, or pass a file"),
        (["--token", "s3cret-guess"], {}, "The server rejected your token"),
        ([], {"ADK_PRISM_TOKEN": "s3cret-guess"}, "The server rejected your token"),
    ],
    ids=["none", "wrong", "wrong in the environment"],
)
def test_whoever_is_not_known_is_told_what_to_do(
    words: list[str], env: dict[str, str], says: str, asking_server: Server, tmp_path: Path
) -> None:
    """One line, which does not repeat the token."""
    done = piped(tmp_path, ["tour", "--url", asking_server.url, *words], "text\n", **env)
    assert (done.returncode, done.stdout) == (1, "")
    assert says in done.stderr
    assert "s3cret-guess" not in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_token_in_a_file_lets_in(asking_server: Server, tmp_path: Path) -> None:
    """The session is its user's, and nobody else's."""
    (tmp_path / "token").write_text("token-of-ann\n")
    words = ["tour", "--url", asking_server.url, "--token-file", "token", "--session", "hers"]
    done = piped(tmp_path, words, "tool\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert "It is sunny in Lisbon" in done.stdout
    headers = {"authorization": "Bearer token-of-ann"}
    there = asking_server.http.get("/apps/tour/users/ann/sessions/hers", headers=headers)
    assert there.status_code == 200


@pytest.mark.parametrize(
    ("given", "file", "content", "says"),
    [
        ("a", "b", None, "cannot be used together"),
        ("two words", None, None, "--token must be one token"),
        (None, "missing", None, "cannot be read"),
        (None, "token", b"", "must be one token"),
        (None, "token", b"\xff\xfe", "not a text file"),
        (None, "token", b"x" * 20_000, "must be one token"),
    ],
)
def test_what_is_no_token_is_refused(
    given: str | None, file: str | None, content: bytes | None, says: str, tmp_path: Path
) -> None:
    """Before anything is sent."""
    if content is not None:
        (tmp_path / "token").write_bytes(content)
    with pytest.raises(UsageError, match=says):
        find_token(given, str(tmp_path / file) if file else None, {})
    assert find_token(None, None, {}) is None


def test_a_token_is_for_a_server(tmp_path: Path) -> None:
    """The panel's own asks nobody."""
    done = piped(tmp_path, ["tour", "--token", "x"])
    assert (done.returncode, done.stdout) == (2, "")
    assert "--token and --token-file need --url" in done.stderr


async def test_a_token_that_ends_is_read_again(asking_server: Server, tmp_path: Path) -> None:
    """Whoever renews the file beside a panel stays in; whoever does not is told."""
    file = tmp_path / "token"
    file.write_text("old")
    async with connect(asking_server.url, find_token(None, str(file), {})) as http:
        client = Client(http)
        assert await client.user() == "ann"
        tokens = asking_server.folder / "tokens.json"
        tokens.write_text(json.dumps({"token-of-ann": "ann"}))
        ahead = tokens.stat().st_mtime + LOOK_EVERY
        os.utime(tokens, (ahead, ahead))
        refused = None
        while refused is None:  # for as long as the server may go by what it has read
            await asyncio.sleep(0.05)  # it may be asked a hundred times a second
            refused = await _refusal(client)
        assert "has expired" in refused.detail
        file.write_text("token-of-ann")
        assert await client.user() == "ann"


async def _refusal(client: Client) -> Refused | None:
    try:
        await client.user()
    except Refused as refused:
        return refused
    return None


async def test_the_screen_says_as_whom(asking_server: Server) -> None:
    """And talks as its user."""
    token = find_token("token-of-ann", None, {})
    console = Console(asking_server.url, SessionAddress("tour", "screen", "ann"), token=token)
    async with console.run_test(size=(120, 40)) as pilot:
        panel = Terminal(console, pilot)
        await panel.until_open()
        assert "as ann" in panel.lines[0]
        assert "token-of-ann" not in panel.text
        await panel.say("tool")
        await panel.sees("It is sunny in Lisbon")
