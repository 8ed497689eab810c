"""A request as a curl command that can be pasted: quoted for the shell, without secrets.

Whatever holds a key or an address of a person is written as a shell variable's name instead, so that
the command still works for a user who has the key.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping

import httpx

# Headers and parameters that hold a secret or an e-mail address, and the variable shown instead.
SECRET_HEADERS: Mapping[str, str] = {
    "x-api-key": "SEMANTIC_SCHOLAR_API_KEY",
    "authorization": "AUTHORIZATION",
    "cookie": "COOKIE",
}
SECRET_PARAMETERS: Mapping[str, str] = {
    "api_key": "API_KEY",
    "apikey": "API_KEY",
    "key": "API_KEY",
    "token": "TOKEN",
    "mailto": "EMAIL",
    "email": "EMAIL",
}
# What httpx adds to every request, and curl adds by itself.
_OWN_HEADERS = frozenset({"host", "accept-encoding", "connection", "user-agent", "content-length"})


def as_curl(request: httpx.Request) -> str:
    """Return the request as one line for a POSIX shell; it has no body."""
    words = ["curl", "-sS"]
    if request.method != "GET":
        words += ["-X", request.method]
    for name, value in request.headers.items():
        if name.lower() not in _OWN_HEADERS:
            words += ["-H", _header(name, value)]
    return " ".join([*words, _quoted_url(request.url)])


def _header(name: str, value: str) -> str:
    variable = SECRET_HEADERS.get(name.lower())
    return f'"{name}: ${variable}"' if variable else shlex.quote(f"{name}: {value}")


def _quoted_url(url: httpx.URL) -> str:
    pairs = url.params.multi_items()
    hidden = [(name, SECRET_PARAMETERS[name]) for name, _ in pairs if name in SECRET_PARAMETERS]
    shown = [(name, value) for name, value in pairs if name not in SECRET_PARAMETERS]
    plain = url.copy_with(userinfo=b"", params=shown) if pairs else url.copy_with(userinfo=b"")
    text = shlex.quote(str(plain))
    for name, variable in hidden:
        joint = "&" if shown else "?"
        text += f'"{joint}{name}=${variable}"'
        shown.append((name, variable))
    return text
