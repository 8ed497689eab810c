"""ADK's sign-in requests: the sign-in URL, and the response that ADK's auth handling expects."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from adk_prism.console import words


class SignIn(Struct, frozen=True):
    """One request; its config is sent back with what the user entered."""

    config: dict[str, Any] = {}

    @property
    def address(self) -> str:
        """The sign-in URL; empty for a key or a password."""
        address = _tree(self._credential.get("oauth2")).get("authUri")
        return address if isinstance(address, str) and _is_web(address) else ""

    @property
    def wants(self) -> str:
        """What the user has to type."""
        if self.address:
            return words.REDIRECT_URL
        return words.API_KEY if self._credential.get("authType") == "apiKey" else words.TOKEN_OR_KEY

    @property
    def advice(self) -> str:
        """Instructions for the user."""
        if self.address:
            return words.SIGN_IN_AT.format(address=self.address, what=self.wants)
        return words.SIGN_IN.format(what=self.wants)

    def answer(self, text: str) -> dict[str, Any]:
        """Return the request's config with what the user entered."""
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
