"""An OpenID provider on loopback: real keys, real signatures, a real HTTP server."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from joserfc import jwt
from joserfc.jwk import ECKey, OctKey, RSAKey

Json = dict[str, Any]
AUDIENCE = "prism"


class Provider:
    """Issues tokens, and tells its public keys to whoever asks."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.keys: dict[str, RSAKey | ECKey] = {}
        self.asked: list[str] = []
        self.is_up = True
        self.rotate("first")

    def rotate(self, kid: str) -> None:
        """Take a new key into use, and withdraw the others."""
        self.keys = {kid: RSAKey.generate_key(2048, {"kid": kid, "use": "sig"}, private=True)}

    def token(self, header: Json | None = None, key: Any = None, **claims: Any) -> str:
        """Return a token that is good, but for what the caller says."""
        kid = next(iter(self.keys))
        now = int(time.time())
        all_claims = {
            "iss": self.url,
            "aud": AUDIENCE,
            "sub": "ann",
            "iat": now,
            "exp": now + 300,
            **claims,
        }
        said = {name: value for name, value in all_claims.items() if value is not None}
        head = {"alg": "RS256", "kid": kid, **(header or {})}
        return jwt.encode(head, said, key or self.keys[kid], algorithms=[head["alg"]])

    def answer(self, path: str) -> Json | None:
        self.asked.append(path)
        if not self.is_up:
            return None
        if path == "/.well-known/openid-configuration":
            return {"issuer": self.url, "jwks_uri": f"{self.url}/keys"}
        shared = OctKey.import_key("a shared secret that is no public key", {"kid": "shared"})
        public = [key.as_dict(private=False) for key in self.keys.values()]
        return {"keys": [*public, shared.as_dict(private=True)]}


@contextmanager
def providing() -> Iterator[Provider]:
    """Run a provider."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = provider.answer(self.path)
            body = json.dumps(found).encode()
            self.send_response(200 if found is not None else 503)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider = Provider(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
