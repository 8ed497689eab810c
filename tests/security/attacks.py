"""Attacks as a stranger makes them, over the network, on any server with ADK's routes.

Each says in a few words what the server did; `withstood` tells whether that is what it should do. The
numbers are those of `docs/security-tests.md`.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx
from tests.patience import PATIENCE
from tests.security.servers import APP, CANARY, Server
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

MEGABYTE = 1024 * 1024
MOST_MEMORY = 64 * MEGABYTE
MOST_WORK = 10.0
"""Seconds of a processor that a bomb may cost: it is some tenths, and machines differ."""

Body = bytes | Iterator[bytes]


@dataclass(frozen=True)
class Attack:
    """One attack."""

    number: int
    name: str
    run: Callable[[Server, httpx.AsyncClient], Awaitable[str]]
    withstood: Callable[[str], bool]


ATTACKS: list[Attack] = []

Run = Callable[[Server, httpx.AsyncClient], Awaitable[str]]


def attack(number: int, name: str, *good: str) -> Callable[[Run], Run]:
    """Add an attack; a server that answers with one of `good` at its beginning withstood it."""

    def add(run: Run) -> Run:
        ATTACKS.append(Attack(number, name, run, lambda said: said.startswith(good)))
        return run

    return add


async def besiege(server: Server) -> dict[str, str]:
    """Make every attack; return what the server did, by the attack's name."""
    return {each.name: await make(each, server) for each in ATTACKS}


async def make(attack: Attack, server: Server) -> str:
    """Make one attack, each request on a connection of its own; return what the server did."""
    alone = httpx.Limits(max_keepalive_connections=0)
    async with httpx.AsyncClient(
        base_url=server.url, timeout=PATIENCE, headers=server.ann, limits=alone
    ) as client:
        try:
            return await attack.run(server, client)
        except httpx.HTTPError as error:
            return f"no answer ({type(error).__name__})"


def _sessions(user: str = "ann") -> str:
    return f"/apps/{APP}/users/{user}/sessions"


async def _post(client: httpx.AsyncClient, path: str, body: bytes, **headers: str) -> str:
    given = {"content-type": "application/json", **headers}
    return str((await client.post(path, content=body, headers=given)).status_code)


# --------------------------------------------------------------------------- texts and numbers


@attack(27, "NaN in the state", "400")
async def _nan(_: Server, client: httpx.AsyncClient) -> str:
    return await _post(client, _sessions(), b'{"state":{"a":NaN}}')


@attack(27, "NUL in the state", "400")
async def _nul(_: Server, client: httpx.AsyncClient) -> str:
    return await _post(client, _sessions(), b'{"state":{"a":"\\u0000"}}')


@attack(27, "half a surrogate pair in the state", "400")
async def _surrogate(_: Server, client: httpx.AsyncClient) -> str:
    return await _post(client, _sessions(), b'{"state":{"a":"\\ud800"}}')


@attack(27, "an integer of 400 digits", "400")
async def _long_number(_: Server, client: httpx.AsyncClient) -> str:
    return await _post(client, _sessions(), b'{"state":{"a":1' + b"0" * 400 + b"}}")


# --------------------------------------------------------------------------- bombs


async def _bomb(server: Server, send: Callable[[], Awaitable[str]]) -> str:
    """Send a bomb while others are served; say what it cost where that is too much."""
    before, began = server.memory(), server.work()
    said = await send()
    worked, grew = server.work() - began, server.memory() - before
    cost = f" for {worked:.1f} s of work" if worked > MOST_WORK else ""
    if grew > MOST_MEMORY:
        cost += f", {grew // MEGABYTE} MB more in memory"
    return f"too costly: {said}{cost}" if cost else said


@attack(28, "nested a million deep", "400")
async def _deep(server: Server, client: httpx.AsyncClient) -> str:
    return await _bomb(server, lambda: _post(client, _sessions(), b"[" * 1_000_000))


@attack(28, "a million keys", "400", "413")
async def _wide(server: Server, client: httpx.AsyncClient) -> str:
    body = json.dumps({"state": {f"key-{n:08}": n for n in range(1_000_000)}}).encode()
    return await _bomb(server, lambda: _post(client, _sessions(), body))


@attack(28, "8 MB of empty lists", "400")
async def _lists(server: Server, client: httpx.AsyncClient) -> str:
    body = b'{"state":{"a":[' + b",".join([b"[]"] * 2_700_000) + b"]}}"
    return await _bomb(server, lambda: _post(client, _sessions(), body))


@attack(28, "a body of 20 MB", "413")
async def _large(server: Server, client: httpx.AsyncClient) -> str:
    body = b'{"state":{"a":"' + b"x" * (20 * MEGABYTE) + b'"}}'
    return await _bomb(server, lambda: _post(client, _sessions(), body))


@attack(28, "20 MB in chunks, of no said length", "413")
async def _chunked(server: Server, client: httpx.AsyncClient) -> str:
    async def pieces() -> Any:
        yield b'{"state":{"a":"'
        for _ in range(20):
            yield b"x" * MEGABYTE
        yield b'"}}'

    async def send() -> str:
        try:
            given = {"content-type": "application/json"}
            answer = await client.post(_sessions(), content=pieces(), headers=given)
        except httpx.WriteError:
            return "413 (the connection is closed)"
        return str(answer.status_code)

    return await _bomb(server, send)


@attack(28, "50 MB in a gzipped body of 50 kB", "415", "413")
async def _gzip(server: Server, client: httpx.AsyncClient) -> str:
    body = gzip.compress(b'{"state":{"a":"' + b"x" * (50 * MEGABYTE) + b'"}}')
    more = {"content-encoding": "gzip"}
    return await _bomb(server, lambda: _post(client, _sessions(), body, **more))


@attack(28, "a form of 100,000 fields", "415")
async def _multipart(server: Server, client: httpx.AsyncClient) -> str:
    part = b'--x\r\ncontent-disposition: form-data; name="a"\r\n\r\n1\r\n'
    kind = {"content-type": "multipart/form-data; boundary=x"}
    body = part * 100_000 + b"--x--\r\n"
    return await _bomb(server, lambda: _post(client, _sessions(), body, **kind))


@attack(28, "a body of which one byte comes a second", "408")
async def _slow(server: Server, _: httpx.AsyncClient) -> str:
    return await asyncio.to_thread(_trickle, server)


def _trickle(server: Server) -> str:
    known = "".join(f"{name}: {value}\r\n" for name, value in server.ann.items())
    head = (
        f"POST {_sessions()} HTTP/1.1\r\nhost: {server.url[7:]}\r\n{known}"
        "content-type: application/json\r\ncontent-length: 1000\r\n\r\n"
    )
    with socket.create_connection(server.address) as connection:
        connection.sendall(head.encode())
        connection.settimeout(1)
        for waited in range(30):
            connection.sendall(b" ")
            try:
                answer = connection.recv(100)
            except TimeoutError:
                continue
            return f"{answer[9:12].decode()} after {waited + 1} s" if answer else "closed"
    return "still waiting after 30 s"


# --------------------------------------------------------------------------- frames


@attack(29, "line separators in a streamed text", "none raw")
async def _separators(_: Server, client: httpx.AsyncClient) -> str:
    await client.post(f"{_sessions()}/lines", json={})
    text = "a\u2028b\u2029c\u0085d\r\n\r\nid: 9\r\ndata: e"
    body = {**_where("lines"), "newMessage": {"role": "user", "parts": [{"text": text}]}}
    answer = await client.post("/run_sse", json=body)
    raw = [f"U+{ord(c):04X}" for c in "\u2028\u2029\u0085\r" if c.encode() in answer.content]
    if answer.status_code != 200:
        return str(answer.status_code)
    return f"sent raw: {', '.join(raw)}" if raw else "none raw"


def _where(session: str) -> dict[str, str]:
    return {"appName": APP, "userId": "ann", "sessionId": session}


# --------------------------------------------------------------------------- names


@attack(30, "odd names of sessions", "all refused")
async def _names(_: Server, client: httpx.AsyncClient) -> str:
    """Reserved, long, with a line break, turned around, with NUL."""
    taken = []
    odd = {"__proto__": "__proto__", "constructor": "constructor", "5000 long": "a" * 5000}
    odd |= {"a line break": "x\r\ny", "turned around": "\u202ex", "NUL": "\0", "climbing": ".."}
    for what, name in odd.items():
        status = (await client.post(_sessions(), json={"sessionId": name})).status_code
        if status != 400:
            taken.append(f"{what}: {status}")
    return "; ".join(taken) or "all refused"


@attack(30, "an app's name that climbs", "404")
async def _app(_: Server, client: httpx.AsyncClient) -> str:
    body = {"appName": "../agents/echo", "userId": "ann", "sessionId": "s"}
    message = {"role": "user", "parts": [{"text": "x"}]}
    return str((await client.post("/run_sse", json={**body, "newMessage": message})).status_code)


@attack(30, "an artifact's name with NUL, or climbing", "400, 400")
async def _artifact(_: Server, client: httpx.AsyncClient) -> str:
    await client.post(f"{_sessions()}/files", json={})
    statuses = []
    for name in ("\0", "../../../x"):
        body = {"filename": name, "artifact": {"text": "x"}}
        answer = await client.post(f"{_sessions()}/files/artifacts", json=body)
        statuses.append(str(answer.status_code))
    return ", ".join(statuses)


@attack(30, "where on the disk an artifact is", "not told")
async def _path(server: Server, client: httpx.AsyncClient) -> str:
    await client.post(f"{_sessions()}/files", json={})
    body = {"filename": "a.txt", "artifact": {"text": "x"}}
    answer = await client.post(f"{_sessions()}/files/artifacts", json=body)
    return "told" if str(server.folder) in answer.text else "not told"


# --------------------------------------------------------------------------- forgeries and state


@attack(31, "an answer to a question that was never asked", "409")
async def _forged(_: Server, client: httpx.AsyncClient) -> str:
    await client.post(f"{_sessions()}/forged", json={})
    response = {"id": "c1", "name": "adk_request_confirmation", "response": {"confirmed": True}}
    message = {"role": "user", "parts": [{"functionResponse": response}]}
    answer = await client.post("/run", json={**_where("forged"), "newMessage": message})
    return str(answer.status_code)


@attack(32, "state of the whole app, written by a client", "403")
async def _app_state(_: Server, client: httpx.AsyncClient) -> str:
    body = {"state": {"app:admin": True}}
    answer = await client.post(_sessions(), json=body)
    if answer.status_code != 200:
        return str(answer.status_code)
    other = await client.post(_sessions("eve"), json={})
    seen = "app:admin" in other.text
    return f"{answer.status_code}, and another user {'sees' if seen else 'does not see'} it"


# --------------------------------------------------------------------------- who calls, from where


@attack(34, "another user's session", "404")
async def _other(_: Server, client: httpx.AsyncClient) -> str:
    return str((await client.get(_sessions("bob"))).status_code)


@attack(34, "a caller who does not say who it is", "401")
async def _nobody(server: Server, _: httpx.AsyncClient) -> str:
    async with httpx.AsyncClient(base_url=server.url, timeout=PATIENCE) as stranger:
        return str((await stranger.get(_sessions("bob"))).status_code)


@attack(35, "a form of another page", "403")
async def _form(_: Server, client: httpx.AsyncClient) -> str:
    given = {"content-type": "text/plain", "origin": "https://evil.example"}
    return str((await client.post(_sessions(), content=b"{}", headers=given)).status_code)


@attack(35, "a body that does not say it is JSON, from no page", "415")
async def _plain(_: Server, client: httpx.AsyncClient) -> str:
    return await _post(client, _sessions(), b"{}", **{"content-type": "text/plain"})


@attack(35, "DNS rebinding, on GET", "403")
async def _rebound(_: Server, client: httpx.AsyncClient) -> str:
    return str((await client.get("/list-apps", headers={"host": "evil.example"})).status_code)


@attack(35, "a socket of another page", "403, 403")
async def _socket(server: Server, _: httpx.AsyncClient) -> str:
    live = f"/run_live?app_name={APP}&user_id=ann&session_id=s"
    path = f"/api/live/{APP}" if server.ann else live
    said = []
    for origin in ("https://evil.example", "null"):
        try:
            async with connect(
                server.url.replace("http", "ws") + path,
                additional_headers={**server.ann, "origin": origin},
            ):
                said.append("open")
        except InvalidStatus as refused:
            said.append(str(refused.response.status_code))
    return ", ".join(said)


# --------------------------------------------------------------------------- secrets


@attack(39, "a secret in the words of an exception", "not told")
async def _exception(_: Server, client: httpx.AsyncClient) -> str:
    await client.post(f"{_sessions()}/fail", json={})
    body = {**_where("fail"), "newMessage": {"role": "user", "parts": [{"text": "fail"}]}}
    told = ""
    for path in ("/run", "/run_sse"):
        told += (await client.post(path, json=body)).text
    told += (await client.get(f"{_sessions()}/fail")).text
    return "told" if CANARY in told else "not told"


@attack(39, "a stack or a path of the server in an answer", "not told")
async def _stack(server: Server, client: httpx.AsyncClient) -> str:
    texts = [
        (await client.get(f"{_sessions()}/files/artifacts/{quote(chr(0))}")).text,
        (await client.post("/run", json={"appName": APP, "userId": "ann"})).text,
        (await client.post(_sessions(), json={"sessionId": "\0"})).text,
    ]
    leaks = ("Traceback", "site-packages", str(server.folder))
    return "told" if any(leak in text for text in texts for leak in leaks) else "not told"
