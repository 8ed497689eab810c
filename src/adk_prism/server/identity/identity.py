"""Authentication of a request: by one of the configured methods, a ticket, or a share link.

Without a configured method, callers are not authenticated. With one, requests without a valid credential get
401, except on a few public routes.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial
from pathlib import Path as FilePath
from typing import Annotated, Protocol
from urllib.parse import parse_qsl, urlencode

from fastapi import Depends, Path, Query, Request
from msgspec import structs
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from adk_prism import errors
from adk_prism.adk.apps import HIDDEN
from adk_prism.extension import chosen
from adk_prism.log.contract import RunLog, RunSummary
from adk_prism.log.entry import Origin, Position, RunId, parse_position, run_of_position
from adk_prism.log.private_files import Recent
from adk_prism.server.identity import caller as callers
from adk_prism.server.identity import methods as authentication
from adk_prism.server.proxies import KNOWN_KEY, TrustedProxies
from adk_prism.server.request_bodies import AppName, SessionId, UserId
from adk_prism.server.settings import Settings

# ---------------------------------------------------------------------- names in requests
#
# Users and runs as requests name them, checked against the caller: the parameters that routes take.
#
# Every route that takes a user or a run uses these parameters, so that none can forget the check.


async def _caller(connection: HTTPConnection) -> callers.Caller:
    return callers.caller_of(connection)


CallerOf = Annotated[callers.Caller, Depends(_caller)]
"""Who calls."""


async def _administrator(caller: CallerOf) -> None:
    if not callers.may_operate(caller):
        raise errors.NotFound("Not found; this route is for administrators.")


Administrator = Depends(_administrator)
"""A dependency for routes with data of all users."""


async def _path_user(caller: CallerOf, user_id: UserId) -> str:
    return callers.acting_user(caller, user_id)


async def _query_user(
    caller: CallerOf, user: Annotated[UserId, Query(alias="userId")] = callers.DEFAULT_USER
) -> str:
    return callers.spoken_user(caller, user)


PathUser = Annotated[str, Depends(_path_user)]
"""`{user_id}` of a path."""
QueryUser = Annotated[str, Depends(_query_user)]
"""`userId` of a query, which may be left out."""


LARGEST_NUMBER = 10**15 - 1
"""Of a cursor or any other number of a request: exact in every JSON reader, and no store holds a larger
one."""

Cursor = Annotated[int, Path(ge=-LARGEST_NUMBER, le=LARGEST_NUMBER)]
"""`{cursor}` of a path."""

_RUN = r"^[A-Za-z0-9_-]{1,640}$"


async def _owned_run(
    connection: HTTPConnection, run: Annotated[RunId, Path(pattern=_RUN)]
) -> RunId:
    caller = callers.caller_of(connection)
    if not isinstance(caller, callers.Anyone):
        await check_run(connection.app.state.context.log, caller, run)
    return run


Run = Annotated[RunId, Depends(_owned_run)]
"""`{run}` of a path."""


async def _two_runs(
    connection: HTTPConnection,
    a: Annotated[RunId, Query(pattern=_RUN)],
    b: Annotated[RunId, Query(pattern=_RUN)],
) -> tuple[RunId, RunId]:
    return await _owned_run(connection, a), await _owned_run(connection, b)


TwoRuns = Annotated[tuple[RunId, RunId], Depends(_two_runs)]
"""`a` and `b` of a query."""


async def check_run(log: RunLog, caller: callers.Caller, run: RunId) -> RunSummary:
    """Return a run that the caller may read. Raise `NotFound` for another user's, as for an unknown one."""
    summary = await log.summary(run)
    if not callers.may_see(caller, run, summary.origin.user):
        raise errors.NotFound(f"There is no run {run[:60]!r}.")
    return summary


async def seen_position(
    log: RunLog, caller: callers.Caller, app: str, last: str
) -> tuple[RunId, Position]:
    """Return the run of an app that a client goes on with, and the position that it has seen.

    Raise `BadPosition`, or `NotFound` as `check_run` does.
    """
    run = run_of_position(last)
    if (await check_run(log, caller, run)).origin.app != app:
        raise errors.BadPosition(f"Position {last[:60]!r} belongs to another app.")
    return run, parse_position(last)


# ---------------------------------------------------------------------- the layer

TICKET, SHARE = "ticket", "share"
"""Query parameters; removed before anything else sees the URL."""

OPEN_PATHS = frozenset({"/", "/health", "/ready", "/prism.svg"})
OPEN_FOLDERS = ("/assets/",)
"""Public routes: health checks and the files of the web page, which has its own sign-in form."""

MOST_ASKED = 4096
"""Requests that are kept to ask an operator's function again, one for each credential: some megabytes."""
_ASKED = "function"
_CREDENTIAL_HEADERS = (b"authorization", b"cookie", b"x-api-key")

_OF_RUN = re.compile(r"/api/runs/([^/]+)")

BASIC = 'Basic realm="adk-prism", charset="UTF-8"'
"""Makes a browser ask for a token, if an address other than the page is opened by hand."""


class GuestLinks(Protocol):
    """Links that give read access to one run (`features/share`)."""

    async def guest(self, token: str, run: RunId) -> callers.Guest | None:
        """Return the guest of a link's token; None if it is unknown, expired or of another run."""

    async def is_valid(self, guest: callers.Guest) -> bool:
        """Return whether a guest's link is still there."""


class Identity:
    """The authentication methods of one server."""

    def __init__(
        self,
        methods: Sequence[authentication.Method],
        tickets: authentication.Tickets,
        report: errors.Report,
        admins: Collection[str] = (),
    ) -> None:
        self._methods = methods
        by_others = (authentication.Callback, authentication.ProxyHeader)
        self._takes_tokens = not all(isinstance(each, by_others) for each in methods)
        self.tickets = tickets
        self.opened = callers.OpenConnections(report)
        self.links: GuestLinks | None = None
        """Set by the feature that makes them."""
        self.hides: Callable[[callers.Caller, str], bool] | None = None
        """Whether an app is not there for a caller; set by the feature that knows."""
        self._admins = frozenset(admins)
        self._wrong = authentication.WrongTokens()
        self._asked: Recent[str, tuple[int, Scope]] = Recent(MOST_ASKED)
        """The last requests that operators' functions let in: which function, and the request."""

    @property
    def required(self) -> bool:
        """Whether callers must authenticate."""
        return bool(self._methods)

    async def identify(self, scope: Scope) -> callers.Caller:
        """Return the caller; remove credentials from the URL. Raise `Unauthorized` or `NotFound`."""
        if not self._methods:
            return callers.Anyone(_address(scope))
        credentials = _take_credentials(scope)
        path = path_of(scope)
        if ticket := credentials.get(TICKET):
            return await self._by_ticket(ticket, path, scope)
        if link := credentials.get(SHARE):
            return await self._by_link(link, path, scope)
        connection = HTTPConnection(scope)
        for number, method in enumerate(self._methods):
            try:
                principal = await method(connection)
            except errors.Unauthorized:
                await self._wrong.delay(_address(scope))
                raise
            if principal is not None:
                if isinstance(method, authentication.Callback):
                    principal = self._remember(number, principal, scope)
                return self._with_rights(principal)
        if path in OPEN_PATHS or path.startswith(OPEN_FOLDERS):
            return callers.Anyone(_address(scope))
        if "authorization" in connection.headers:
            await self._wrong.delay(_address(scope))
        raise self._unknown(connection)

    def _unknown(self, connection: HTTPConnection) -> errors.Unauthorized:
        if not self._takes_tokens:
            return errors.Unauthorized("You are not signed in. Sign in, then try again.")
        text = "This server requires authentication: send Authorization: Bearer TOKEN."
        is_typed = connection.headers.get("sec-fetch-mode") == "navigate"
        return errors.Unauthorized(text, BASIC if is_typed else "")

    # ------------------------------------------------------------------ checking again

    def check_of(self, caller: callers.Principal | callers.Guest) -> callers.StillAllowed | None:
        """Return what tells whether a caller's credential is still valid; None if that cannot be told.

        A user that a proxy names is the proxy's to sign out; a signed token is valid until it expires.
        """
        if isinstance(caller, callers.Guest):
            return partial(self._is_shared, caller)
        kind, _, name = caller.credential.partition(" ")
        if f"{kind} " == authentication.OF_FILE:
            return partial(self._is_in_file, name, caller)
        if kind == _ASKED and caller.credential in self._asked:
            return partial(self._is_known, *self._asked[caller.credential], caller)
        return None

    async def _is_shared(self, guest: callers.Guest) -> bool:
        return self.links is not None and await self.links.is_valid(guest)

    async def _is_in_file(self, name: str, caller: callers.Principal) -> bool:
        files = (method for method in self._methods if isinstance(method, authentication.TokenFile))
        owners = (self._with_rights(owner) for file in files if (owner := file.owner(name)))
        return any(owner.has_rights_of(caller) for owner in owners)

    async def _is_known(self, number: int, scope: Scope, caller: callers.Principal) -> bool:
        try:
            found = await self._methods[number](HTTPConnection(scope))
        except errors.Unauthorized:
            return False
        return found is not None and self._with_rights(found).has_rights_of(caller)

    def _remember(
        self, number: int, principal: callers.Principal, scope: Scope
    ) -> callers.Principal:
        """Keep what an operator's function was asked, so that it can be asked again."""
        sent = [value for name, value in scope["headers"] if name in _CREDENTIAL_HEADERS]
        name = f"{_ASKED} {authentication.digest(repr((number, principal.user, sent))).hex()}"
        self._asked[name] = (number, dict(scope))
        return structs.replace(principal, credential=name)

    def _with_rights(self, principal: callers.Principal) -> callers.Principal:
        if principal.user in self._admins:
            return structs.replace(principal, admin=True)
        return principal

    async def _by_ticket(self, ticket: str, path: str, scope: Scope) -> callers.Principal:
        place = authentication.place_of(path, scope["query_string"].decode("latin-1"))
        caller = await self.tickets.redeem(ticket, place)
        # Tickets are for `EventSource` and `WebSocket`, which only send GET requests.
        if caller is None or scope.get("method", "GET") != "GET":
            raise errors.Unauthorized("The ticket is unknown, used, expired, or for another URL.")
        check = self.check_of(caller)
        if check is not None and not await check():
            raise errors.Unauthorized(
                "Who requested the ticket may no longer use it. Sign in again."
            )
        return caller

    async def _by_link(self, token: str, path: str, scope: Scope) -> callers.Guest:
        named = _OF_RUN.match(path)
        guest = None
        if named is not None and self.links is not None:
            guest = await self.links.guest(token, RunId(named[1]))
        if guest is None or scope["type"] != "http" or scope["method"] not in ("GET", "HEAD"):
            raise errors.NotFound("The link is unknown, expired, revoked, or for another page.")
        run = f"/api/runs/{guest.run}"
        if path != run and not path.startswith(f"{run}/"):
            raise errors.NotFound("The link is unknown, expired, revoked, or for another page.")
        return guest


def path_of(scope: Scope) -> str:
    """Return a request's path, without the prefix that the server is mounted under."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))


def _take_credentials(scope: Scope) -> dict[str, str]:
    """Remove tickets and links from a scope's query, so that nothing can store them."""
    raw: bytes = scope.get("query_string", b"")
    if TICKET.encode() not in raw and SHARE.encode() not in raw:
        return {}
    pairs = parse_qsl(raw.decode("latin-1"), keep_blank_values=True)
    found = {name: value for name, value in pairs if name in (TICKET, SHARE)}
    if found:
        rest = [(name, value) for name, value in pairs if name not in found]
        scope["query_string"] = urlencode(rest).encode("latin-1")
    return found


def _address(scope: Scope) -> str:
    client = scope.get("client")
    return str(client[0]) if client else ""


Limiting = Callable[[Scope, Receive, Send], AbstractAsyncContextManager[tuple[Receive, Send]]]
"""Counts what a caller uses while a request or socket is served, or refuses it."""


class IdentifyMiddleware:
    """Sets the caller of each request and socket, or refuses it; so are callers who use too much.

    Streams and sockets are closed when the credential expires, is revoked or changes its rights. A stream is
    cut, so that its client reconnects with a new token; a socket is closed with 1008.
    """

    def __init__(self, app: ASGIApp, identity: Identity, limits: Limiting) -> None:
        self._app = app
        self._identity = identity
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        caller = await self._identity.identify(scope)
        scope[callers.SCOPE_KEY] = caller
        hides = self._identity.hides
        token = HIDDEN.set(partial(hides, caller) if hides is not None else None)
        try:
            await self._serve_known(caller, scope, receive, send)
        finally:
            HIDDEN.reset(token)

    async def _serve_known(
        self, caller: callers.Caller, scope: Scope, receive: Receive, send: Send
    ) -> None:
        if not isinstance(caller, callers.Anyone) and (notify := scope.get(KNOWN_KEY)) is not None:
            notify()
        if isinstance(caller, callers.Anyone):
            await self._serve(scope, receive, send)
        else:
            await self._while_allowed(caller, scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._limits(scope, receive, send) as (counted_receive, counted_send):
            await self._app(scope, counted_receive, counted_send)

    async def _while_allowed(
        self, caller: callers.Principal | callers.Guest, scope: Scope, receive: Receive, send: Send
    ) -> None:
        left = None if caller.expires is None else caller.expires - time.time()
        check = self._identity.check_of(caller)
        try:
            async with asyncio.timeout(left) as limit:
                name = (
                    caller.credential
                    if isinstance(caller, callers.Principal)
                    else f"link {caller.link}"
                )
                opened = self._identity.opened
                with opened.holding(name, check, limit) if check is not None else nullcontext():
                    await self._serve(scope, receive, send)
        except TimeoutError:
            if not limit.expired():
                raise
            raise errors.Unauthorized(
                "Your access has expired or was revoked. Sign in again."
            ) from None


# ---------------------------------------------------------------------------
# The app, user and session of a request's path, checked, as one value. Another user's is not found.


async def origin_of_path(
    request: Request, app_name: AppName, user_id: PathUser, session_id: SessionId
) -> Origin:
    """Return the origin that `/apps/{app_name}/users/{user_id}/sessions/{session_id}` names.

    Raise `Gone` for a conversation that its user has deleted. It can still be deleted for good.
    """
    origin = Origin(app=app_name, user=user_id, session=session_id)
    if request.method != "DELETE":
        await request.app.state.context.runs.deletions.check(origin)
    return origin


PathOrigin = Annotated[Origin, Depends(origin_of_path)]


async def _origin_of_chat(app_name: AppName, chat_id: SessionId, user: QueryUser) -> Origin:
    return Origin(app=app_name, user=user, session=chat_id)


Chat = Annotated[Origin, Depends(_origin_of_chat)]
"""The conversation that `/api/chat/{app_name}/{chat_id}` names."""


# ---------------------------------------------------------------------------
# The identity that the settings ask for.

THIS_MACHINE = ("127.0.0.1", "::1")
"""Addresses whose user header is accepted if no proxy is configured."""


def build_identity(
    settings: Settings,
    tickets: authentication.Tickets,
    authenticate: authentication.Authenticate | None,
    report: errors.Report = errors.ignore,
) -> Identity:
    """Return the configured identity. Raise `UsageError` for a file or function that cannot be used."""
    methods: list[authentication.Method] = []
    if authenticate is not None:
        methods.append(authentication.Callback(authenticate))
    if settings.authenticate:
        methods.append(authentication.Callback(authentication.load(settings.authenticate)))
    if settings.proxy_user_header:
        trusted = TrustedProxies(settings.trusted_proxy or THIS_MACHINE)
        methods.append(authentication.ProxyHeader(settings.proxy_user_header, trusted))
    if settings.tokens:
        methods.append(_tokens(FilePath(settings.tokens).absolute(), report))
    makers = (each.authentication for each in chosen(settings.without).used.values())
    made = (make(settings) for make in makers if make is not None)
    methods += [method for method in made if method is not None]
    return Identity(methods, tickets, report, settings.admin)


def _tokens(path: FilePath, report: errors.Report) -> authentication.TokenFile:
    file = authentication.TokenFile(path)
    if file.is_readable_by_others:
        detail = f"Every user of this machine can read the tokens in {str(path)!r}: chmod 600 it."
        report(errors.Diagnostic(kind="tokens readable by others", detail=detail))
    if file.short:
        detail = (
            f"{file.short} tokens in {str(path)!r} have fewer than {authentication.SHORT} characters:"
            " easy to guess."
        )
        report(errors.Diagnostic(kind="short tokens", detail=detail))
    return file
