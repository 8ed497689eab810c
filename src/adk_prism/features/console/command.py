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
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import ExitStack, aclosing, contextmanager
from importlib.util import find_spec
from typing import TextIO, assert_never

from msgspec import Struct

from adk_prism.cli import ACCESS_TOKEN, AGENTS_DIR, FAILURE, fail, note
from adk_prism.cli.terminal import has_colour, is_screen, progress
from adk_prism.errors import NotFound, PrismError, UsageError
from adk_prism.extension import installed
from adk_prism.facts.run_reader import Reader, StoredFacts
from adk_prism.features.captures import client as clients
from adk_prism.features.console import session as sessions
from adk_prism.features.console.history import rows_of
from adk_prism.features.console.intents import Export, Intent, Keep, Quit, Send, Show, Stop
from adk_prism.features.grounding.text import write_report
from adk_prism.features.run.command import Readable
from adk_prism.log.entry import Entry, RunEnded, RunStarted

# ---------------------------------------------------------------------- without a terminal
#
# The console in a pipe: lines in, readable lines out.
#
# Each line of standard input is a message or a command; the next one is read when the run has ended. Runs
# are printed as `adk-prism run` prints them. Exit 0 when the input ends, 1 if a run failed, a line was
# rejected, or the server was lost.

WIDTH = 100
"""Columns to which panel rows are wrapped."""
ADVICE = (
    "Answer with /approve or /deny (a search plan: /ok, /short, /modify TEXT, /cancel), or"
    " type the requested value."
)
LONGEST_LINE = 100_000
"""Most characters of one line; far below the server's limit."""


async def talk(
    url: str, address: clients.SessionAddress, token: clients.Token | None = None
) -> int:
    """Run until the input ends; return the exit code."""
    async with clients.connect(url, token) as http:
        pipe = _Pipe(sessions.Session(clients.Client(http), address))
        return await pipe.run(sys.stdin)


class _Pipe:
    def __init__(self, session: sessions.Session) -> None:
        self._session = session
        self._readable = self._new_readable()
        self._reader = Reader([make() for make in installed().annotators()])
        self._stored = StoredFacts()
        self._failed = False

    @staticmethod
    def _new_readable() -> Readable:
        return Readable(colour=has_colour(sys.stdout), advice=ADVICE)

    async def run(self, lines: TextIO) -> int:
        live = await self._session.open()
        if live:
            await self._follow(self._session.attach(live))
        while line := await asyncio.to_thread(lines.readline, LONGEST_LINE):
            # Python keeps undecodable bytes as lone surrogates.
            said = line.encode(errors="replace").decode().strip()
            if said and not await self._take(said):
                break
        return FAILURE if self._failed else 0

    async def _take(self, said: str) -> bool:
        """Run a line; return whether to read on."""
        try:
            return await self._do(self._session.intents.read(said))
        except PrismError as error:
            self._failed = True
            fail(error.detail)
            return True

    async def _do(self, intent: Intent) -> bool:
        match intent:
            case Send():
                await self._follow(self._session.send(intent.body))
            case Keep():
                _write(f"{intent.next.name} also needs an answer.\n")
            case Show():
                for row in rows_of(self._session.history, intent.panel, WIDTH):
                    _write(f"{row.text}\n")
            case Export():
                view = self._session.history.panel("grounding")
                file = write_report(view, intent.file)
                _write(f"Written to {file}.\n")
            case Quit():
                return False
            case Stop():
                pass  # lines are only read when no run is active
            case _:
                assert_never(intent)
        return True

    async def _follow(self, updates: AsyncGenerator[sessions.RunUpdate, None]) -> None:
        async with aclosing(updates) as items:
            async for item in items:
                self._handle(item)

    def _handle(self, item: sessions.RunUpdate) -> None:
        match item:
            case sessions.EntryReceived():
                self._show(item.entry)
            case sessions.RunFinished():
                self._show(item.end)
            case sessions.ConnectionLost():
                note(f"{item.why} Reconnecting in {item.wait:g} s.")
            case sessions.Reconnected():
                note("Reconnected.")
            case sessions.RunAccepted():
                pass  # the run's output follows
            case _:
                assert_never(item)

    def _show(self, entry: Entry) -> None:
        record = entry.record
        if isinstance(record, RunStarted):
            self._reader = Reader([make() for make in installed().annotators()])
            self._readable = self._new_readable()
            self._stored = StoredFacts()
        facts = self._stored.feed(self._reader.feed(entry))
        _write("".join(map(self._readable.show, facts)))
        if isinstance(record, RunEnded) and record.outcome == "failed":
            self._failed = True


def _write(text: str) -> None:
    if text:
        sys.stdout.buffer.write(text.encode(sys.stdout.encoding, "replace"))
        sys.stdout.buffer.flush()


# ---------------------------------------------------------------------- the command

NO_TEXTUAL = 'the console needs textual; install it with: pip install "adk-prism[console]"'


class _Server(Struct, frozen=True):
    """The server's URL and the token for it."""

    url: str
    token: clients.Token | None = None


def register(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "app",
        metavar="APP",
        nargs="?",
        default="",
        help="name of the app (default: choose from a list)",
    )
    parser.add_argument(
        "--url", metavar="URL", help="URL of a running server (default: start one in this process)"
    )
    parser.add_argument(
        "--token-file", metavar="FILE", help="file with your access token for the server at --url"
    )
    parser.add_argument("--token", metavar="TOKEN", help=ACCESS_TOKEN)
    parser.add_argument(
        "--session", metavar="S", default="", help="continue this session (default: a new one)"
    )
    parser.add_argument("--dir", metavar="AGENTS_DIR", help=AGENTS_DIR)


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


def _checked(args: argparse.Namespace) -> clients.Token | None:
    """Check the arguments before anything is loaded; return the token for `--url`."""
    if not args.url:
        if args.token is not None or args.token_file is not None:
            raise UsageError(
                "--token and --token-file need --url: without it the console starts its own server."
            )
        return None
    if args.dir:
        raise UsageError(
            "--url and --dir cannot be used together: the server at --url has its own apps."
        )
    clients.connect(args.url)
    return clients.find_token(args.token, args.token_file, os.environ)


def _open(
    server: _Server, args: argparse.Namespace, on_screen: bool, diagnostics: deque[str]
) -> int:
    apps, user = asyncio.run(_ask(server, args.app))
    app = _chosen(server.url, args.app, apps, on_screen)
    if not app:
        return 0
    address = clients.SessionAddress(app, args.session or f"console-{secrets.token_hex(6)}", user)
    if not on_screen:
        return asyncio.run(talk(server.url, address, server.token))
    from adk_prism.features.console.screen import Console

    return Console(server.url, address, diagnostics, server.token).run() or 0


async def _ask(server: _Server, wanted: str) -> tuple[list[str], str]:
    """Return the server's apps, including the wanted one if it exists, and our user name."""
    async with clients.connect(server.url, server.token) as http:
        client = clients.Client(http)
        try:
            apps = await client.apps()
            if wanted and wanted not in apps and await client.has_app(wanted):
                apps.append(wanted)
            return apps, await client.user()
        except clients.Unreachable as error:
            where = clients.shown_url(server.url)
            raise clients.Unreachable(
                f"cannot connect to {where}: {error.detail} Start it with: adk-prism serve"
            ) from None


def _chosen(url: str, name: str, apps: list[str], on_screen: bool) -> str:
    """Return the app to open, or nothing if the user quits. Raise `NotFound` for an unknown app."""
    there = ", ".join(apps) or "none"
    if name and name not in apps:
        raise NotFound(f"There is no app {name[:60]!r}. Available apps: {there}.")
    if name or len(apps) == 1:
        return name or apps[0]
    if on_screen and apps:
        from adk_prism.features.console.widgets import AppPicker

        return AppPicker(url, apps).run() or ""
    example = f"; for example: adk-prism console {apps[0]}" if apps else ""
    raise UsageError(f"an app is required: {there}{example}.")


@contextmanager
def _own_server(args: argparse.Namespace, say: Callable[[str], object]) -> Iterator[str]:
    """Serve a folder, or the example apps, while the console is open; yield the URL."""
    from adk_prism.features.captures.client import own_settings, serving

    # A session that is named is kept, where `serve` keeps its own.
    settings = own_settings(kept=bool(args.session))
    with ExitStack() as stack:
        with progress("Starting the server…"):
            url = stack.enter_context(serving(args.dir or "", settings, say))
        yield url
