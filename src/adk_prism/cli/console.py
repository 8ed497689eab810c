"""`adk-prism console`: the terminal panel, on a terminal or in a pipe.

Connects to the server at `--url`, or starts a server in this process on a free loopback port for as long as
the console is open. Either way the console is an ordinary HTTP client.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import secrets
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec

from msgspec import Struct

from adk_prism.cli import fail, words
from adk_prism.cli.terminal import is_screen, progress
from adk_prism.console.client import Client, SessionAddress, Unreachable, connect, shown_url
from adk_prism.console.token import VARIABLE, Token, find_token
from adk_prism.errors import NotFound, UsageError

NO_TEXTUAL = words.NO_TEXTUAL


class _Server(Struct, frozen=True):
    """The server's URL and the token for it."""

    url: str
    token: Token | None = None


def register(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("app", metavar="APP", nargs="?", default="", help=words.CONSOLE_APP)
    parser.add_argument("--url", metavar="URL", help=words.CONSOLE_URL)
    parser.add_argument("--token-file", metavar="FILE", help=words.CONSOLE_TOKEN_FILE)
    parser.add_argument("--token", metavar="TOKEN", help=words.TOKEN.format(variable=VARIABLE))
    parser.add_argument("--session", metavar="S", default="", help=words.CONSOLE_SESSION)
    parser.add_argument("--dir", metavar="AGENTS_DIR", help=words.AGENTS_DIR)


def execute(args: argparse.Namespace) -> int:
    """Open the console; return the exit code. Raise `PrismError` if it cannot be opened."""
    token = _checked(args)
    on_screen = sys.stdin.isatty() and is_screen(sys.stdout)
    if on_screen and find_spec("textual") is None:
        return fail(NO_TEXTUAL)
    diagnostics: deque[str] = deque()
    if args.url:
        return _open(_Server(args.url, token), args, on_screen, diagnostics)
    with _own_server(args, diagnostics.append if on_screen else fail) as url:
        return _open(_Server(url), args, on_screen, diagnostics)


def _checked(args: argparse.Namespace) -> Token | None:
    """Check the arguments before anything is loaded; return the token for `--url`."""
    if not args.url:
        if args.token is not None or args.token_file is not None:
            raise UsageError(words.TOKEN_NEEDS_URL_HERE)
        return None
    if args.dir:
        raise UsageError(words.URL_OR_DIR)
    connect(args.url)
    return find_token(args.token, args.token_file, os.environ)


def _open(
    server: _Server, args: argparse.Namespace, on_screen: bool, diagnostics: deque[str]
) -> int:
    apps, user = asyncio.run(_ask(server, args.app))
    app = _chosen(server.url, args.app, apps, on_screen)
    if not app:
        return 0
    address = SessionAddress(app, args.session or f"console-{secrets.token_hex(6)}", user)
    if not on_screen:
        from adk_prism.cli.console_pipe import talk

        return asyncio.run(talk(server.url, address, server.token))
    from adk_prism.console.screen import Console

    return Console(server.url, address, diagnostics, server.token).run() or 0


async def _ask(server: _Server, wanted: str) -> tuple[list[str], str]:
    """Return the server's apps, including the wanted one if it exists, and our user name."""
    async with connect(server.url, server.token) as http:
        client = Client(http)
        try:
            apps = await client.apps()
            if wanted and wanted not in apps and await client.has_app(wanted):
                apps.append(wanted)
            return apps, await client.user()
        except Unreachable as error:
            where = shown_url(server.url)
            raise Unreachable(
                words.CANNOT_CONNECT_START.format(url=where, why=error.detail)
            ) from None


def _chosen(url: str, name: str, apps: list[str], on_screen: bool) -> str:
    """Return the app to open, or nothing if the user quits. Raise `NotFound` for an unknown app."""
    there = ", ".join(apps) or "none"
    if name and name not in apps:
        raise NotFound(words.NO_APP.format(app=name[:60], apps=there))
    if name or len(apps) == 1:
        return name or apps[0]
    if on_screen and apps:
        from adk_prism.console.app_picker import AppPicker

        return AppPicker(url, apps).run() or ""
    example = words.APP_EXAMPLE.format(app=apps[0]) if apps else ""
    raise UsageError(words.APP_REQUIRED.format(apps=there, example=example))


@contextmanager
def _own_server(args: argparse.Namespace, say: Callable[[str], object]) -> Iterator[str]:
    """Serve a folder, or the example apps, while the console is open; yield the URL."""
    from adk_prism.cli.own_server import own_settings, serving

    # A session that is named is kept, where `serve` keeps its own.
    settings = own_settings(kept=bool(args.session))
    with ExitStack() as stack:
        with progress(words.STARTING):
            url = stack.enter_context(serving(args.dir or "", settings, say))
        yield url
