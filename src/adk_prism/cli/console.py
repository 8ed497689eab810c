"""`adk-prism console`: the terminal panel, on a terminal or in a pipe.

Decides which server it talks to: the one at `--url`, or one of its own in this process, on a free port of
the loopback interface, for as long as the panel is open. Either way the panel is a client like any other.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import secrets
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from msgspec import Struct

from adk_prism.cli import fail
from adk_prism.console.client import Client, connect, shown_url
from adk_prism.console.place import Place
from adk_prism.console.problems import Unreachable
from adk_prism.console.token import VARIABLE, Token, find_token
from adk_prism.errors import NotFound, UsageError

NO_TEXTUAL = 'the console needs textual; install it with: pip install "adk-prism[console]"'


class _Server(Struct, frozen=True):
    """Whom to talk to, and as whom."""

    url: str
    token: Token | None = None


def register(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "app", metavar="APP", nargs="?", default="", help="name of the app; without: choose one"
    )
    parser.add_argument("--url", metavar="URL", help="a running server; without: one of its own")
    parser.add_argument(
        "--token-file", metavar="FILE", help="holds the token that the server at --url knows you by"
    )
    parser.add_argument(
        "--token", metavar="TOKEN", help=f"the token itself; better in {VARIABLE}, which ps hides"
    )
    parser.add_argument(
        "--session", metavar="S", default="", help="go on with this session; without: a new one"
    )
    parser.add_argument(
        "--dir", metavar="AGENTS_DIR", help="folder of ADK apps; without: the bundled apps"
    )


def execute(args: argparse.Namespace) -> int:
    """Open the panel; return the exit code. Raise `PrismError` for what keeps it from opening."""
    token = _checked(args)
    is_screen = sys.stdin.isatty() and sys.stdout.isatty()
    if is_screen and find_spec("textual") is None:
        return fail(NO_TEXTUAL)
    told: deque[str] = deque()
    if args.url:
        return _open(_Server(args.url, token), args, is_screen, told)
    with _own_server(args, told.append if is_screen else fail) as url:
        return _open(_Server(url), args, is_screen, told)


def _checked(args: argparse.Namespace) -> Token | None:
    """Check what was typed before anything is loaded; return the token for `--url`."""
    if not args.url:
        if args.token is not None or args.token_file is not None:
            raise UsageError("A token is for a server at --url; without one nobody is asked.")
        return None
    if args.dir:
        raise UsageError("--url and --dir exclude each other: the server has its own folder.")
    connect(args.url)
    return find_token(args.token, args.token_file, os.environ)


def _open(server: _Server, args: argparse.Namespace, is_screen: bool, told: deque[str]) -> int:
    apps, user = asyncio.run(_ask(server, args.app))
    app = _chosen(server.url, args.app, apps, is_screen)
    if not app:
        return 0
    place = Place(app, args.session or f"console-{secrets.token_hex(6)}", user)
    if not is_screen:
        from adk_prism.cli.console_pipe import talk

        return asyncio.run(talk(server.url, place, server.token))
    from adk_prism.console.screen import Console

    return Console(server.url, place, told, server.token).run() or 0


async def _ask(server: _Server, wanted: str) -> tuple[list[str], str]:
    """Return the server's apps, the wanted one among them if it is served, and whom it takes us for."""
    async with connect(server.url, server.token) as http:
        client = Client(http)
        try:
            apps = await client.apps()
            if wanted and wanted not in apps and await client.has_app(wanted):
                apps.append(wanted)
            return apps, await client.user()
        except Unreachable as error:
            where = shown_url(server.url)
            raise Unreachable(f"no server answers at {where}: {error.detail}") from None


def _chosen(url: str, name: str, apps: list[str], is_screen: bool) -> str:
    """Return the app to talk to; nothing if the person leaves the choice. Raise for one that is not there."""
    there = ", ".join(apps) or "none"
    if name and name not in apps:
        raise NotFound(f"There is no app {name[:60]!r}; there are {there}.")
    if name or len(apps) == 1:
        return name or apps[0]
    if is_screen and apps:
        from adk_prism.console.picker import Picker

        return Picker(url, apps).run() or ""
    example = f"; for example: adk-prism console {apps[0]}" if apps else ""
    raise UsageError(f"name an app: {there}{example}.")


@contextmanager
def _own_server(args: argparse.Namespace, tell: Callable[[str], object]) -> Iterator[str]:
    """Serve a folder, or the bundled apps, while the panel is open; yield the address."""
    from adk_prism.cli.own_server import serving

    kept = bool(args.session)
    with serving(args.dir or "", kept=kept, tell=tell) as url:
        yield url
