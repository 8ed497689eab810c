"""How a request is authenticated: by a function of the operator, a header of a proxy, a token or a ticket.

Features may bring further methods (`Extension.authentication`).
"""

from __future__ import annotations

import base64
import hashlib
import importlib
import inspect
import os
import secrets
import stat
import sys
import time
from asyncio import sleep
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec
from msgspec import Struct, structs
from starlette.requests import HTTPConnection

from adk_prism.errors import NoIdentity, PrismError, TooMany, Unauthorized, UsageError
from adk_prism.log.coordination import ExpiringValues
from adk_prism.log.private_files import Recent
from adk_prism.server.identity.caller import Principal
from adk_prism.server.proxies import TrustedProxies, counted_address
from adk_prism.server.request_bodies import check_user

# ---------------------------------------------------------------------- credentials
#
# What all authentication methods share, and how credentials are read from a request.

Method = Callable[[HTTPConnection], Awaitable[Principal | None]]
"""Return the caller, or None if the request has no credential for this method. Raise `Unauthorized` for a
credential that is not valid."""

LONGEST = 16 * 1024
"""Characters of a credential: ten times a JWT with many claims."""


def digest(secret: str) -> bytes:
    """Return what is stored of a token or ticket: it cannot be used in its place."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def bearer(connection: HTTPConnection) -> str:
    """Return the bearer token of a request, or the password of HTTP's basic scheme; else nothing.

    Browsers have a form for the latter, so a page can be opened with a token.
    """
    given = connection.headers.getlist("authorization")
    if not given:
        return ""
    if len(given) > 1:
        raise Unauthorized("Send only one Authorization header.")
    scheme, _, value = given[0].partition(" ")
    value = value.strip()
    if len(value) > LONGEST:
        raise Unauthorized("The Authorization header is too long.")
    if scheme.lower() == "bearer":
        return value
    return _password(value) if scheme.lower() == "basic" else ""


def _password(value: str) -> str:
    try:
        return base64.b64decode(value, validate=True).decode().partition(":")[2]
    except ValueError:  # not base64, or not text
        raise Unauthorized("The Authorization header must use the Basic scheme.") from None


# ---------------------------------------------------------------------- a function of the operator
#
# A Python function of the operator that authenticates a request.
#
#     def authenticate(connection: HTTPConnection) -> Principal | str | None: ...
#
# It may be async. A string is a user name; None means not authenticated. If it raises, the request fails
# with a server error.

Result = Principal | str | None
Authenticate = Callable[[HTTPConnection], Result | Awaitable[Result]]


class Callback:
    """Authenticates by calling a function."""

    def __init__(self, function: Authenticate) -> None:
        self._function = function

    async def __call__(self, connection: HTTPConnection) -> Principal | None:
        """Return the caller that the function returns."""
        said = self._function(connection)
        if inspect.isawaitable(said):
            said = await said
        if said is None or isinstance(said, Principal):
            return said
        if isinstance(said, str):
            return Principal(check_user(said))
        raise TypeError(f"authenticate returned a {type(said).__name__}, not a Principal")


def load(name: str) -> Authenticate:
    """Import `module:function`, also from the working directory. Raise `UsageError` if there is none."""
    module, _, attribute = name.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise UsageError(
            f"{name!r} cannot be imported ({type(error).__name__}); --authenticate must be MODULE:FUNCTION."
        ) from error
    if not callable(found):
        raise UsageError(f"{name!r} is not a function.")
    function: Authenticate = found
    return function


# ---------------------------------------------------------------------- proxy header
#
# The user header of an authenticating proxy, accepted only from that proxy.
#
# The address of the connection itself is checked. Servers such as uvicorn replace the scope's client by
# `X-Forwarded-For`, which anybody can send; `NoteConnection` keeps the original address.


class ProxyHeader:
    """One header, and the proxies that may set it."""

    def __init__(self, header: str, trusted: TrustedProxies) -> None:
        self._header = header
        self._trusted = trusted

    async def __call__(self, connection: HTTPConnection) -> Principal | None:
        """Return the user that a trusted proxy names; None without one, or from another address."""
        given = connection.headers.getlist(self._header)
        if not given or not self._trusted.sent(connection.scope):
            return None
        if len(given) > 1:
            raise Unauthorized("The proxy sent more than one user name.")
        try:
            # Header values are bytes; proxies write names in UTF-8.
            return Principal(check_user(given[0].encode("latin-1").decode().strip()))
        except (PrismError, UnicodeDecodeError):
            raise Unauthorized("The proxy sent no valid user name.") from None


# ---------------------------------------------------------------------------
# Static tokens: a JSON file with the user of each token.
#
#     {"a-long-random-token": "ann", "another": {"user": "operator", "scopes": ["admin"]}}
#
# The file is read again when it changes, so removing a token revokes it. Only digests are kept in
# memory, and a token is looked up by its digest, so the time of the lookup reveals nothing about
# valid tokens. If a changed file cannot be read, all requests fail with an error that says so.

# ---------------------------------------------------------------------- wrong tokens
#
# Slows down who tries tokens: each wrong one of an address is answered later than the one before.
#
# A right token is answered at once, whoever else tries some from the same address. Only so many answers are
# delayed at a time; the rest is refused with 429, so that nobody holds connections by being wrong.

FREE = 10
"""Wrong tokens of an address that are answered at once: of a page with an old token, and its retries."""
FIRST_DELAY, LONGEST_DELAY = 0.1, 1.0
"""Seconds of delay: of the next one, doubled with each, and at most."""
FORGET = 60.0
"""Seconds after its last wrong token for which an address is remembered."""
MOST_WAITING = 16
"""Delayed answers of one address."""
MOST_ADDRESSES = 4096
"""Remembered at a time: the oldest go first. Some hundred kilobytes."""


class _Address:
    __slots__ = ("last", "waiting", "wrong")

    def __init__(self) -> None:
        self.wrong = self.waiting = 0
        self.last = 0.0


class WrongTokens:
    """The addresses that sent wrong tokens lately."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._by_address: Recent[str, _Address] = Recent(MOST_ADDRESSES)

    def __len__(self) -> int:
        """Return how many addresses are remembered."""
        return len(self._by_address)

    async def delay(self, host: str) -> None:
        """Wait before a wrong token is refused. Raise `TooMany` instead if too many of its address wait."""
        address = counted_address(host)
        seconds = self.note(address)
        if not seconds:
            return
        found = self._by_address[address]
        if found.waiting >= MOST_WAITING:
            raise TooMany("Too many wrong tokens from this address.", LONGEST_DELAY)
        found.waiting += 1
        try:
            await sleep(seconds)
        finally:
            found.waiting -= 1

    def note(self, address: str) -> float:
        """Count a wrong token; return for how long its answer waits."""
        now = self._clock()
        found = self._by_address.get(address)
        if found is None or (now - found.last > FORGET and not found.waiting):
            found = _Address()
        self._by_address[address] = found
        found.wrong += 1
        found.last = now
        over = found.wrong - FREE
        return 0.0 if over <= 0 else min(LONGEST_DELAY, FIRST_DELAY * 2 ** min(over - 1, 10))


# ---------------------------------------------------------------------- the file

OF_FILE = "token "
"""How the name of such a credential begins."""

LOOK_EVERY = 0.5
"""Seconds between two checks of the file's time."""

SHORTEST, SHORT = 3, 12
"""Characters of a token. A shorter one than the first is refused: it is soon found, though wrong ones are
slowed down (`WrongTokens`). One that is shorter than the second is reported."""

SCOPES = frozenset({"admin", "record"})

_Stamp = tuple[int, int, int]


class TokenFile:
    """The tokens of one file."""

    def __init__(self, path: Path) -> None:
        """Read the file. Raise `UsageError` if it is not valid."""
        self._path = path
        self._stamp = _stamp(path)
        self._owners = _read(path)
        self._short = sum(len(token) < SHORT for token in msgspec.json.decode(path.read_bytes()))
        self._looked = time.monotonic()

    async def __call__(self, connection: HTTPConnection) -> Principal | None:
        """Return the user of a request's token; None if it is not in the file."""
        token = bearer(connection)
        if not token:
            return None
        return self.owner(digest(token).hex())

    def owner(self, name: str) -> Principal | None:
        """Return the user of the token with this digest; None if it is not in the file (any more)."""
        self._refresh()
        found = self._owners.get(bytes.fromhex(name))
        return structs.replace(found, credential=f"{OF_FILE}{name}") if found is not None else None

    @property
    def short(self) -> int:
        """How many tokens are so short that they can be guessed."""
        return self._short

    @property
    def is_readable_by_others(self) -> bool:
        """Whether other users of this machine can read the file."""
        return os.name == "posix" and bool(self._path.stat().st_mode & stat.S_IROTH)

    def _refresh(self) -> None:
        now = time.monotonic()
        if now - self._looked < LOOK_EVERY:
            return
        try:
            stamp = _stamp(self._path)
            if stamp != self._stamp:
                self._owners, self._stamp = _read(self._path), stamp
        except UsageError as error:
            # The next request checks again.
            raise NoIdentity("The server cannot read its token file.") from error
        self._looked = now


def _stamp(path: Path) -> _Stamp:
    try:
        found = path.stat()
    except OSError as error:
        raise UsageError(f"The tokens file {str(path)!r} cannot be read: {_why(error)}.") from error
    return (found.st_mtime_ns, found.st_size, found.st_ino)


def _read(path: Path) -> dict[bytes, Principal]:
    try:
        document = msgspec.json.decode(path.read_bytes())
    except OSError as error:
        raise UsageError(f"The tokens file {str(path)!r} cannot be read: {_why(error)}.") from error
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise UsageError(f"The tokens file {str(path)!r} must be JSON.") from None
    if not isinstance(document, dict) or not document:
        raise UsageError(
            f'The tokens file {str(path)!r} must be a JSON object: {{"TOKEN": "USER", …}}.'
        )
    return {
        digest(_token(token, place)): _principal(owner, place)
        for place, (token, owner) in enumerate(document.items(), 1)
    }


def _token(token: str, place: int) -> str:
    if 0 < len(token) < SHORTEST:
        raise UsageError(
            f"Token {place} of the tokens file has fewer than {SHORTEST} characters, and can be guessed;"
            " make one with python -c 'import secrets; print(secrets.token_urlsafe(32))'."
        )
    if not token or len(token) > LONGEST or not token.isascii() or " " in token:
        # Its number, not its text: the message ends up in logs.
        raise UsageError(f"Token {place} of the tokens file is empty, too long, or not ASCII text.")
    return token


def _principal(owner: Any, place: int) -> Principal:
    fields: Mapping[str, Any] = owner if isinstance(owner, dict) else {"user": owner}
    user, scopes = fields.get("user"), fields.get("scopes", [])
    if not isinstance(user, str) or set(fields) - {"user", "scopes"}:
        raise UsageError(f"Token {place} of the tokens file has no user; expected USER or {_FORM}.")
    if not isinstance(scopes, list) or not SCOPES.issuperset(map(str, scopes)):
        raise UsageError(
            f"Token {place} of the tokens file has an unknown scope; expected admin or record."
        )
    try:
        return Principal(check_user(user), admin="admin" in scopes, recorder="record" in scopes)
    except PrismError as error:
        raise UsageError(f"Token {place} of the tokens file: {error.detail}") from None


_FORM = '{"user": USER, "scopes": ["admin"]}'


def _why(error: OSError) -> str:
    why = error.strerror or type(error).__name__
    if isinstance(error, PermissionError) and hasattr(os, "getuid"):
        return f"{why} for user {os.getuid()}, as whom the server runs; chown the file to that user"
    return why


# ---------------------------------------------------------------------------
# One-time tickets, with which a browser opens a stream or a socket without an `Authorization` header.
#
# `EventSource` and `WebSocket` send none of a page's own headers, and a token in a URL ends up in
# logs. So a client requests, with its token, a ticket for one URL, and opens that URL with
# `?ticket=…`. A ticket is valid once, for some seconds, for the URL that it was created for, and
# authenticates the user who requested it. The first attempt uses it up, even with a wrong URL.
# Where several processes share a run log, a ticket is valid in all of them.

TICKET_LIFETIME = 30.0
"""Seconds: a slow network's time to open a connection."""
LONGEST_URL = 4096

Place = tuple[str, tuple[tuple[str, str], ...]]
"""A path, and its query's parameters in order of name."""


class _Ticket(Struct, frozen=True):
    place: Place
    caller: Principal


class Tickets:
    """The unused tickets of a server. Their number is bounded by the values, or by the limits of callers."""

    def __init__(self, values: ExpiringValues) -> None:
        self._values = values

    async def issue(self, caller: Principal, place: Place) -> str:
        """Return a new ticket for a place. Raise `TooMany` for a caller with too many, or `LogError`."""
        ticket = secrets.token_urlsafe(32)
        value = msgspec.json.encode(_Ticket(place, caller))
        try:
            await self._values.put(_name(ticket), value, TICKET_LIFETIME, caller.user)
        except TooMany:
            raise TooMany(
                "Too many unused tickets; each is valid for 30 seconds.", TICKET_LIFETIME
            ) from None
        return ticket

    async def redeem(self, ticket: str, place: Place) -> Principal | None:
        """Use up a ticket; return who requested it, or None if it is not valid for this place."""
        value = await self._values.take(_name(ticket))
        found = msgspec.json.decode(value, type=_Ticket) if value is not None else None
        return found.caller if found is not None and found.place == place else None


def _name(ticket: str) -> str:
    return f"ticket:{digest(ticket).hex()}"


def place_of(path: str, query: str) -> Place:
    """Return what a URL names, however its parameters are ordered and escaped."""
    return path, tuple(sorted(parse_qsl(query, keep_blank_values=True)))


def place_of_url(url: str, root: str) -> Place:
    """Read the URL that a ticket is for, without this server's prefix. Raise `UsageError`."""
    if len(url) > LONGEST_URL or not url.startswith("/") or url.startswith("//"):
        raise UsageError("`url` must be a path of this server, such as /api/runs/run-1/stream.")
    try:
        parts = urlsplit(url)
    except ValueError:
        raise UsageError("`url` is not a valid URL.") from None
    path = parts.path.removeprefix(root) if root else parts.path
    return place_of(path, parts.query)
