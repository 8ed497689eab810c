"""`adk-prism run`: runs an app once and prints the run, as text or as the bytes of a protocol.

Everything stays in memory, unless `--session` names a conversation: then the session files that `serve` uses
by default are used, so that it can be continued.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import secrets
import sys
import warnings
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, ExitStack, aclosing, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from adk_prism.adk.errors import place_in
from adk_prism.cli import AGENTS_DIR, FAILURE, PRICES_FILE, fail
from adk_prism.cli.readable import Readable
from adk_prism.cli.terminal import clean, has_colour, one_line, printable, progress
from adk_prism.commands import RunAgent
from adk_prism.errors import Diagnostic, UsageError
from adk_prism.extension import installed
from adk_prism.facts.run_reader import Reader, StoredFacts
from adk_prism.facts.usage import Prices
from adk_prism.log.entry import Entry, Origin, RunEnded, to_raw
from adk_prism.log.memory import MemoryLog
from adk_prism.protocols.contract import Format
from adk_prism.protocols.registry import names, protocol
from adk_prism.protocols.sse import encode
from adk_prism.server.data_folder import prices_of
from adk_prism.server.setting_groups import DATA_DIR
from adk_prism.server.settings import Settings, read_settings

if TYPE_CHECKING:
    from adk_prism.adk.apps import Apps
    from adk_prism.runs.conversations import Conversations, Start

USER = "user"
"""The user of the sessions: the default of the chat routes."""


def register(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("app", metavar="APP", help="name of the app, e.g. tour")
    parser.add_argument("message", metavar="MESSAGE", help="message to send, e.g. help")
    parser.add_argument(
        "--as", dest="protocol", metavar="PROTOCOL", help=f"write the exact bytes of {names()}"
    )
    parser.add_argument(
        "--session",
        metavar="S",
        help=f"continue this session, stored under {DATA_DIR}/ [ADK_PRISM_DATA_DIR]",
    )
    parser.add_argument(
        "--state",
        metavar="KEY=JSON",
        action="append",
        default=[],
        help="set a state key before the run; repeatable",
    )
    parser.add_argument(
        "--errors",
        choices=("reference", "full"),
        help="full: also print the traceback of an exception [ADK_PRISM_ERRORS]",
    )
    parser.add_argument("--dir", metavar="AGENTS_DIR", help=AGENTS_DIR)
    parser.add_argument("--prices", metavar="FILE", help=PRICES_FILE)


def execute(args: argparse.Namespace) -> int:
    """Run the app once; return 1 if the run failed. Raise `UsageError` for bad arguments."""
    format = protocol(args.protocol).format() if args.protocol else None
    state = dict(_assignment(text) for text in args.state)
    # The server's settings also apply here; `insecure` only silences the rule about its address.
    given = {"insecure": True} | ({"prices": args.prices} if args.prices else {})
    settings = read_settings(given, os.environ, Path.cwd())
    prices = Prices() if format else prices_of(settings)
    return asyncio.run(_run(args, settings, state, _Output(format, prices)))


def _assignment(text: str) -> tuple[str, Any]:
    key, found, value = text.partition("=")
    try:
        if not found or not key:
            raise ValueError
        return key, msgspec.json.decode(value)
    except ValueError:  # also the base of msgspec's errors
        raise UsageError(
            f"--state must be KEY=JSON, e.g. --state 'city=\"Rome\"', got {text[:60]!r}."
        ) from None


class _Output:
    """Writes a run's entries to stdout, as text or as a protocol."""

    def __init__(self, format: Format | None, prices: Prices) -> None:
        self._frames = format.reader() if format is not None else None
        self._reader = Reader([make() for make in installed().annotators()])
        self._readable = Readable(colour=has_colour(sys.stdout), prices=prices)
        # A terminal shows text as it streams; a pipe gets what ADK stored.
        self._stored = None if sys.stdout.isatty() else StoredFacts()

    def write(self, entry: Entry) -> None:
        if self._frames is not None:
            payloads = self._frames.feed(entry)
            data = encode(self._frames.prefix, entry.cursor, payloads)
        else:
            facts = self._reader.feed(entry)
            sure = self._stored.feed(facts) if self._stored is not None else facts
            text = "".join(map(self._readable.show, sure))
            data = text.encode(sys.stdout.encoding, "replace")
        if data:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()


async def _run(
    args: argparse.Namespace, settings: Settings, state: Mapping[str, Any], output: _Output
) -> int:
    log = MemoryLog()
    await log.open()
    async with AsyncExitStack() as stack:
        # The run speaks from its first entry on.
        loading = stack.enter_context(ExitStack())
        loading.enter_context(progress(f"Loading {one_line(args.app, 60)}…"))
        conversations, start = await stack.enter_async_context(_conversations(args, log, settings))
        start = msgspec.structs.replace(start, state_delta=state)
        # Python keeps undecodable bytes of the command line as lone surrogates.
        message = args.message.encode(errors="replace").decode()
        content = {"role": "user", "parts": [{"text": message}]}
        run = await conversations.perform(start, RunAgent(content=to_raw(content)))
        failed = False
        async with aclosing(log.read(run, follow=True)) as batches:
            async for batch in batches:
                loading.close()
                for entry in batch:
                    output.write(entry)
                    record = entry.record
                    failed = isinstance(record, RunEnded) and record.outcome == "failed"
    return FAILURE if failed else 0


@asynccontextmanager
async def _conversations(
    args: argparse.Namespace, log: MemoryLog, settings: Settings
) -> AsyncIterator[tuple[Conversations, Start]]:
    # Importing ADK takes seconds, so arguments are checked first.
    from adk_prism.adk.apps import Apps
    from adk_prism.adk.services import ServiceUris, close_services, open_services
    from adk_prism.runs.branches import SessionBranches
    from adk_prism.runs.chats import Chats
    from adk_prism.runs.conversations import Conversations, Start
    from adk_prism.runs.runs import Runs
    from adk_prism.runs.session_locks import SessionLocks
    from adk_prism.server.data_folder import open_data_folder, redaction_of_a_run, secrets_of

    secret = secrets_of(settings)
    printer = DiagnosticPrinter(traces=(args.errors or settings.errors) == "full")
    report = secret.redacting(printer)
    log.attach(redact=secret.payload, streams=partial(redaction_of_a_run, secret))
    in_memory = ServiceUris(sessions="memory://", artifacts="memory://")
    folder = Path(args.dir) if args.dir else None
    uris = ServiceUris() if args.session else in_memory
    data = open_data_folder(settings, report) if args.session else Path(settings.data_dir)
    services = open_services(uris, data_dir=data, agents_dir=folder)
    apps = Apps.of_folder(folder, services, report=report, variables_seen=secret.learn_variables)
    if apps.find(args.app) is None:
        raise UsageError(no_app(args.app, apps, folder))
    locks = SessionLocks()
    # Only what is shown is recorded: the positions of protocols stay what they are.
    calls = installed().call_recorder(
        log, "summary" if settings.prices and not args.protocol else "off", report
    )
    runs = Runs(log, locks, report, calls=calls)
    chats = Chats(log)
    branches = SessionBranches(log, apps, chats, locks)
    conversations = Conversations(apps, runs, locks, chats, branches, report)
    session = args.session or f"run-{secrets.token_hex(8)}"
    origin = Origin(app=args.app, user=USER, session=session)
    try:
        await apps.open(args.app)
        await apps.sessions(args.app).ensure(origin)
        yield conversations, Start(origin=origin, policy="refuse")
    finally:
        await apps.close()
        await close_services(services)


def no_app(name: str, apps: Apps, folder: Path | None) -> str:
    """Return that there is no such app, which there are, and why the others are not."""
    from adk_prism.adk.app_folder import install_hint

    there = ", ".join(apps.names()) or "none"
    sentences = (f"There is no app {name[:60]!r}. Available apps: {there}.", apps.advice())
    return " ".join(filter(None, sentences)) + (install_hint(name) if folder is None else "")


class DiagnosticPrinter:
    """Prints diagnostics in one line each, for the user of the command."""

    def __init__(self, say: Callable[[str], object] = fail, *, traces: bool = False) -> None:
        """With `traces`, an exception's traceback follows its line."""
        self._say = say
        self._traces = traces
        self._printed: set[str] = set()
        """References of printed diagnostics: a failed agent and its failed run share one."""
        # ADK would log the same errors to stderr with stack traces.
        logging.getLogger("google_adk").setLevel(logging.CRITICAL)
        warnings.filterwarnings("ignore", message=r"\[EXPERIMENTAL\]", category=UserWarning)

    def __call__(self, diagnostic: Diagnostic) -> None:
        if self._traces and (place := place_in(diagnostic.cause)) is not None:
            print(clean(diagnostic.cause), file=sys.stderr)
            self._say(": ".join(place))
        if diagnostic.correlation in self._printed:
            return
        self._printed |= {diagnostic.correlation} - {""}
        cause = diagnostic.message or diagnostic.cause.rstrip().rpartition("\n")[2]
        parts = [diagnostic.kind, diagnostic.detail, diagnostic.correlation, cause]
        line = ": ".join(part.rstrip(".") for part in parts if part)
        self._say(printable(line))
