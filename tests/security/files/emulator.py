"""A small Cloud Storage on this machine: the media half of its JSON API, well behaved and not."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any
from urllib.parse import unquote, urlsplit

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from tests.patience import PATIENCE

TOKEN = "token-of-the-servers-account"
PATH = re.compile(r"/storage/v1/b/([^/]+)/o/([^/]+)")


@dataclass(frozen=True)
class Stored:
    """One object, and how the store behaves when it is asked for it."""

    data: bytes = b""
    media_type: str = "image/png"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    length: int | None = None
    """What the store says instead of the truth; -1: nothing."""
    silent: bool = False
    """Nothing follows the headers."""
    endless: bool = False
    breaks_off: bool = False
    """The connection ends with the data, whatever length was said."""


@dataclass
class Emulator:
    """A running store."""

    url: str
    objects: dict[str, Stored]
    asked: list[tuple[str, dict[str, str]]]
    """Objects that were asked for, with the headers of the request."""
    stopped: Event
    """Nobody takes any more of an endless object."""
    done: Event
    sent: int = 0
    """Bytes of endless objects that somebody took."""


@contextmanager
def emulating() -> Iterator[Emulator]:
    """Run an empty store; its objects are named `bucket/name`."""
    store = Emulator("", {}, [], Event(), Event())

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            found = PATH.fullmatch(urlsplit(self.path).path)
            key = f"{found[1]}/{unquote(found[2])}" if found else self.path
            store.asked.append((key, {k.lower(): v for k, v in self.headers.items()}))
            _answer(self, store, store.objects.get(key, Stored(b"no", status=404)))

        def do_POST(self) -> None:
            """Give a token, as the account's own server does."""
            self.rfile.read(int(self.headers["content-length"]))
            store.asked.append((self.path, {}))
            given = {"access_token": TOKEN, "expires_in": 3600, "token_type": "Bearer"}
            _answer(self, store, Stored(json.dumps(given).encode(), "application/json"))

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    store.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield store
    finally:
        store.done.set()
        server.shutdown()
        server.server_close()
        thread.join()


def service_account(folder: Path, store: Emulator) -> Path:
    """Write a key file of an account, whose tokens the emulator gives."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    document = {
        "type": "service_account",
        "project_id": "none",
        "private_key_id": "1",
        "private_key": secret.decode(),
        "client_email": "reader@none.example",
        "client_id": "1",
        "token_uri": f"{store.url}/token",
    }
    file = folder / "account.json"
    file.write_text(json.dumps(document))
    return file


def _answer(handler: BaseHTTPRequestHandler, store: Emulator, stored: Stored) -> None:
    status, data, extra = stored.status, stored.data, dict(stored.headers)
    wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", handler.headers.get("range", ""))
    if wanted and status == 200:
        first, last = int(wanted[1]), int(wanted[2] or len(data) - 1)
        status = 206 if first < len(data) else 416
        extra["content-range"] = f"bytes {first}-{last}/{len(data)}"
        data = data[first : last + 1]
    handler.send_response(status)
    length = len(data) if stored.length is None else stored.length
    if length >= 0:
        handler.send_header("content-length", str(length))
    else:
        handler.send_header("connection", "close")
        handler.close_connection = True
    handler.send_header("content-type", stored.media_type)
    for name, value in extra.items():
        handler.send_header(name, value)
    handler.end_headers()
    if stored.silent:
        store.done.wait(PATIENCE)
        handler.close_connection = True
    elif stored.endless:
        _flood(handler, store)
    else:
        handler.wfile.write(data)
        handler.close_connection = handler.close_connection or stored.breaks_off


def _flood(handler: BaseHTTPRequestHandler, store: Emulator) -> None:
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 64 * 1024)
    try:
        while not store.done.is_set():
            handler.wfile.write(b"x" * 65536)
            store.sent += 65536
    except OSError:
        store.stopped.set()
    handler.close_connection = True
