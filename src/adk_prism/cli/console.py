"""`adk-prism console`: the terminal panel, on a terminal or in a pipe.

Decides which server it talks to: the one at `--url`, or one of its own in this process, on a free port of
the loopback interface, for as long as the panel is open. Either way the panel is a client like any other.
"""

from __future__ import annotations

import argparse
import asyncio
import secrets
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from adk_prism.cli import fail
from adk_prism.console.client import Client, connect, shown_url
from adk_prism.console.place import Place
from adk_prism.console.problems import Unreachable
from adk_prism.errors import NotFound, UsageError

NO_TEXTUAL = 'the console needs textual; install it with: pip install "adk-prism[console]"'


def register(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "app", metavar="APP", nargs="?", default="", help="name of the app; may be left out for one"
    )
    parser.add_argument("--url", metavar="URL", help="a running server; without: one of its own")
    parser.add_argument(
        "--session", metavar="S", default="", help="go on with this session; without: a new one"
    )
    parser.add_argument(
        "--dir", metavar="AGENTS_DIR", help="folder of ADK apps; without: the bundled apps"
    )


def execute(args: argparse.Namespace) -> int:
    """Open the panel; return the exit code. Raise `PrismError` for what keeps it from opening."""
    if args.url and args.dir:
        raise UsageError("--url and --dir exclude each other: the server has its own folder.")
    if args.url:
        connect(args.url)  # what was typed is checked before anything is loaded
    is_screen = sys.stdin.isatty() and sys.stdout.isatty()
    if is_screen and find_spec("textual") is None:
        return fail(NO_TEXTUAL)
    told: deque[str] = deque()
    if args.url:
        return _open(args.url, args, is_screen, told)
    with _own_server(args, told.append if is_screen else fail) as url:
        return _open(url, args, is_screen, told)


def _open(url: str, args: argparse.Namespace, is_screen: bool, told: deque[str]) -> int:
    session = args.session or f"console-{secrets.token_hex(6)}"
    place = Place(asyncio.run(_app(url, args.app)), session)
    if not is_screen:
        from adk_prism.cli.console_pipe import talk

        return asyncio.run(talk(url, place))
    from adk_prism.console.screen import Console

    return Console(url, place, told).run() or 0


async def _app(url: str, name: str) -> str:
    """Return the app to talk to, once the server has said that it has it."""
    async with connect(url) as http:
        try:
            apps = await Client(http).apps()
        except Unreachable as error:
            raise Unreachable(f"no server answers at {shown_url(url)}: {error.detail}") from None
    there = ", ".join(apps) or "none"
    if name and name not in apps:
        raise NotFound(f"There is no app {name[:60]!r}; there are {there}.")
    if not name and len(apps) != 1:
        raise UsageError(f"name an app: {there}; for example: adk-prism console {apps[0]}.")
    return name or apps[0]


@contextmanager
def _own_server(args: argparse.Namespace, tell: Callable[[str], object]) -> Iterator[str]:
    """Serve a folder, or the bundled apps, while the panel is open; yield the address."""
    from adk_prism.cli.own_server import serving

    kept = bool(args.session)
    with serving(args.dir or "", kept=kept, tell=tell) as url:
        yield url
