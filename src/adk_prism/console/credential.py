"""ADK's requests to sign in: where a person signs in, and the answer that ADK's auth handling expects."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct


class SignIn(Struct, frozen=True):
    """One request: its config goes back with what the person brought."""

    config: dict[str, Any] = {}

    @property
    def address(self) -> str:
        """Where to sign in; empty for a key or a password."""
        address = _tree(self._credential.get("oauth2")).get("authUri")
        return address if isinstance(address, str) and _is_web(address) else ""

    @property
    def wants(self) -> str:
        """What has to be typed."""
        if self.address:
            return "the address you are sent back to"
        return "the API key" if self._credential.get("authType") == "apiKey" else "the token or key"

    @property
    def advice(self) -> str:
        """What the person should do."""
        if self.address:
            return f"A tool needs you to sign in. Open\n{self.address}\nand type {self.wants}."
        return f"A tool needs you to sign in. Type {self.wants}."

    def answer(self, text: str) -> dict[str, Any]:
        """Return the request's own config with what the person brought."""
        credential = self._credential
        brought: dict[str, Any] = {"apiKey": text}
        if self.address:
            brought = {"oauth2": _tree(credential.get("oauth2")) | {"authResponseUri": text}}
        elif credential.get("authType") == "http":
            brought = {"http": _tree(credential.get("http")) | {"credentials": {"token": text}}}
        return self.config | {"exchangedAuthCredential": credential | brought}

    @property
    def _credential(self) -> dict[str, Any]:
        named = ("exchangedAuthCredential", "rawAuthCredential")
        return _tree(next((self.config[name] for name in named if self.config.get(name)), None))


def sign_in(request: Any) -> SignIn:
    """Read a request of ADK's `adk_request_credential`, in either spelling of its outer keys."""
    outer = _tree(request)
    return SignIn(_tree(outer.get("authConfig") or outer.get("auth_config") or outer))


def _tree(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _is_web(address: str) -> bool:
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and address.isprintable()
