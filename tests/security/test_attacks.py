"""A real server under attack, over the network; what it keeps on the disk and says on its lines, too.

The same on `adk api_server`: `python -m tests.security.compare`; both are in `docs/security-tests.md`.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.patience import PATIENCE
from tests.security.attacks import ATTACKS, Attack, make
from tests.security.compare import POISON
from tests.security.servers import APP, CANARY, Server, ours

DOCUMENT = Path(__file__).parents[2] / "docs" / "security-tests.md"
SLOW = "a body of which one byte comes a second"
"""Takes twenty seconds: `tests/server/test_body_limit.py` shows the same with less patience."""
QUICK = [each for each in ATTACKS if each.name != SLOW]
HEADER, ARGUMENT, STATE = (f"canary-{n}-4f7b20e6c1d95a83" for n in ("header", "argument", "state"))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with ours(tmp_path_factory.mktemp("attacked")) as running:
        yield running


@pytest.mark.parametrize("attack", QUICK, ids=lambda each: f"{each.number} {each.name}")
def test_an_attack_is_withstood(attack: Attack, server: Server) -> None:
    """By the answer that it should get."""
    said = asyncio.run(make(attack, server))
    assert attack.withstood(said), said
    assert server.process.poll() is None


def _use(server: Server) -> dict[str, str]:
    """Leave secrets wherever a client can; return those that must be nowhere, with where they were."""
    sessions = f"{server.url}/apps/{APP}/users/ann/sessions"
    with httpx.Client(headers={**server.ann, "x-api-key": HEADER}, timeout=PATIENCE) as client:
        state = {"user_token": STATE, "nested": {"client_secret": STATE}}
        assert client.post(f"{sessions}/kept", json=state).status_code == 200
        for text in ("hello", "fail", f"use {CANARY}"):
            message = {"role": "user", "parts": [{"text": text}]}
            where = {"appName": APP, "userId": "ann", "sessionId": "kept"}
            answer = client.post(f"{server.url}/run_sse", json={**where, "newMessage": message})
            assert answer.status_code == 200
        run = answer.headers["x-prism-run"]
        stream = f"/api/runs/{run}/stream"
        ticket = client.post(f"{server.url}/api/tickets", json={"url": stream}).json()["ticket"]
        link = client.post(f"{server.url}/api/runs/{run}/links").json()["token"]
        for query in (f"ticket={ticket}", f"ticket={ticket}", f"share={link}", f"key={ARGUMENT}"):
            httpx.get(f"{server.url}{stream}?{query}", timeout=PATIENCE)
    return {
        CANARY: "environment, exception, message",
        HEADER: "header",
        ARGUMENT: "query",
        STATE: "state",
        ticket: "ticket",
        link: "share link",
        server.ann["authorization"].split()[1]: "token",
    }


def test_no_secret_is_kept_or_said(server: Server) -> None:
    """In the run log, beside it, or on the server's lines: access log, diagnostics and all.

    ADK's own sessions keep what the app needs, and the tokens file is the operator's.
    """
    secrets = _use(server)
    own = ("sessions.db", "tokens.json")
    files = [f for f in server.folder.rglob("*") if f.is_file() and not f.name.startswith(own)]
    assert {"runs.db", "out.log"} <= {file.name for file in files}
    for file in files:
        held = file.read_bytes()
        for secret, where in secrets.items():
            assert secret.encode() not in held, f"the {where} is in {file.name}"
    lines = [json.loads(line) for line in _lines(server) if line.startswith("{")]
    assert any(line.get("kind") == "request" for line in lines)


def _lines(server: Server) -> list[str]:
    return (server.folder / "out.log").read_text().splitlines()


def test_the_document_has_every_attack() -> None:
    """With what both servers did; ours withstood them."""
    rows: dict[str, Any] = {}
    for line in DOCUMENT.read_text().splitlines():
        if found := re.fullmatch(r"\| (\d+) \| (.+?) \| (.+?) \| (.+?) \|", line):
            rows[found[2]] = found[3]
    for attack in ATTACKS:
        assert attack.withstood(rows[attack.name]), attack.name
    assert "no code ran" in rows[POISON]
