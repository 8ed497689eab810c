"""`adk-prism run`: runs an app once and prints the run, as text or as the bytes of a protocol.

Everything stays in memory, unless `--session` names a conversation: then the session files that `serve` uses
by default are used, so that it can be continued.

As text, each fact is a short line, and what agents say streams, one block at a time: the output of parallel
agents is held back until it ends, so that sentences stay whole. Control characters from a model or a tool
never reach the terminal.

Where stdin and stdout are a terminal, the person is asked what a run waits for: approvals, forms, sign-ins,
results. The answers continue the run.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import secrets
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, aclosing, asynccontextmanager
from functools import partial
from getpass import getpass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw

from adk_prism.cli import AGENTS_DIR, FAILURE, DiagnosticPrinter, fail, note
from adk_prism.cli.terminal import Style, has_colour, one_line, painted, progress, short_json
from adk_prism.commands import RunAgent
from adk_prism.errors import PrismError, UsageError
from adk_prism.extension import installed
from adk_prism.facts import model as fact
from adk_prism.facts.outcome import BROKEN, takeover_text, with_reference
from adk_prism.facts.pending import Pending
from adk_prism.facts.run_reader import Reader, StoredFacts
from adk_prism.features.run.questions import Question, Terminal, ask, questions
from adk_prism.features.usage import PRICES_FILE, UsageSettings
from adk_prism.features.usage.usage import Prices, UsageSum, measured
from adk_prism.log.entry import Entry, Origin, RunEnded, RunId, RunStarted, to_raw
from adk_prism.log.memory import MemoryLog
from adk_prism.protocols.contract import Format, progress_text
from adk_prism.protocols.registry import names, protocol
from adk_prism.protocols.sse import encode
from adk_prism.server.setting_groups import DATA_DIR
from adk_prism.server.settings import Settings, read_settings

if TYPE_CHECKING:
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
    prices = Prices() if format else settings.of(UsageSettings).read()
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
    """Writes runs to stdout, as text or as a protocol; knows what the last one waits for."""

    def __init__(self, format: Format | None, prices: Prices) -> None:
        self._frames = format.reader() if format is not None else None
        self._prices = prices
        self._can_ask = format is None and sys.stdin.isatty() and sys.stdout.isatty()
        self.failed = False
        self._begin()

    def _begin(self) -> None:
        self._reader = Reader([make() for make in installed().annotators()])
        advice = "" if self._can_ask else CANNOT_ANSWER
        colour = has_colour(sys.stdout)
        self._readable = Readable(colour=colour, advice=advice, prices=self._prices)
        # A terminal shows text as it streams; a pipe gets what ADK stored.
        self._stored = None if sys.stdout.isatty() else StoredFacts()

    def asked(self) -> list[Question]:
        """Return what the run that was written waits for, if somebody can be asked."""
        return questions(self._readable.pending) if self._can_ask else []

    def write(self, entry: Entry) -> None:
        if isinstance(entry.record, RunStarted):
            self._begin()
        if isinstance(entry.record, RunEnded):
            self.failed = entry.record.outcome == "failed"
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
        run: RunId | None = await conversations.perform(start, _message([{"text": message}]))
        while run is not None:
            async with aclosing(log.read(run, follow=True)) as batches:
                async for batch in batches:
                    loading.close()
                    for entry in batch:
                        output.write(entry)
            run = await _answer(conversations, start, output.asked())
    return FAILURE if output.failed else 0


def _message(parts: Sequence[Any]) -> RunAgent:
    return RunAgent(content=to_raw({"role": "user", "parts": parts}))


async def _answer(
    conversations: Conversations, start: Start, asked: Sequence[Question]
) -> RunId | None:
    """Ask the person, and continue the run with the answers; return None if there is nothing to continue."""
    again = msgspec.structs.replace(start, state_delta={}, policy="wait")
    while asked:
        try:
            parts = [ask(question, _TERMINAL) for question in asked]
        except EOFError:
            print()
            note("Not answered: the run still waits.")
            return None
        try:
            return await conversations.perform(again, _message(parts))
        except PrismError as error:
            fail(error.detail)  # What does not fit is asked again.
    return None


def _read(prompt: str, read: Callable[[str], str] = input) -> str:
    """Read a line from the terminal, in the thread that Ctrl+C interrupts: asyncio would only note it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return read(prompt)
    except UnicodeDecodeError:
        return ""
    finally:
        signal.signal(signal.SIGINT, before)


_TERMINAL = Terminal(_read, partial(_read, read=getpass), lambda text: print(_clean(text)))


@asynccontextmanager
async def _conversations(
    args: argparse.Namespace, log: MemoryLog, settings: Settings
) -> AsyncIterator[tuple[Conversations, Start]]:
    # Importing ADK takes seconds, so arguments are checked first.
    from adk_prism.adk.apps import open_app
    from adk_prism.adk.services import IN_MEMORY, ServiceUris
    from adk_prism.runs.branches import SessionBranches
    from adk_prism.runs.chats import Chats
    from adk_prism.runs.conversations import Conversations, Start
    from adk_prism.runs.runs import Runs
    from adk_prism.runs.session_locks import SessionLocks
    from adk_prism.server.lifecycle import open_data_folder
    from adk_prism.server.observability import redaction_of_a_run, secrets_of

    secret = secrets_of(settings)
    printer = DiagnosticPrinter(traces=(args.errors or settings.errors) == "full")
    report = secret.redacting(printer)
    log.attach(redact=secret.payload, streams=partial(redaction_of_a_run, secret))
    folder = Path(args.dir) if args.dir else None
    uris = ServiceUris() if args.session else IN_MEMORY
    data = open_data_folder(settings, report) if args.session else Path(settings.data_dir)
    async with open_app(
        args.app, folder, uris, data, report=report, variables_seen=secret.learn_variables
    ) as apps:
        locks = SessionLocks()
        # Only what is shown is recorded: the positions of protocols stay what they are.
        calls = installed().call_recorder(
            log,
            "off" if args.protocol else "summary",
            report,
        )
        runs = Runs(log, locks, report, calls=calls)
        chats = Chats(log)
        branches = SessionBranches(log, apps, chats, locks)
        conversations = Conversations(apps, runs, locks, chats, branches, report)
        session = args.session or f"run-{secrets.token_hex(8)}"
        origin = Origin(app=args.app, user=USER, session=session)
        await apps.sessions(args.app).ensure(origin)
        yield conversations, Start(origin=origin, policy="refuse")


# ---------------------------------------------------------------------------
# Facts that are one line each; `adk-prism run` adds brackets, the console a mark.


def short_raw(raw: Raw) -> str:
    """Return JSON as it is stored on one line, shortened; nothing for no JSON."""
    return short_json(msgspec.json.decode(bytes(raw))) if bytes(raw) else ""


def _file(item: fact.FileShown) -> str:
    size = item.uri or f"{len(item.data) * 3 // 4} bytes"
    return " ".join(f"file {item.name} {item.media_type} {size}".split())


FACT_LINES: dict[type[Any], Callable[[Any], str]] = {
    fact.FileShown: _file,
    fact.CodeShown: lambda item: f"code {short_raw(item.code)}",
    fact.CodeResultShown: lambda item: f"result {short_raw(item.result)}",
    fact.SourceCited: lambda item: f"{item.source}: {item.title} {item.uri}",
    fact.ArtifactSaved: lambda item: f"saved {item.filename}, version {item.version}",
    fact.AgentTransferred: lambda item: f"transfer to {item.to}",
    fact.Interrupted: lambda item: f"{item.speaker.author} was interrupted",
    fact.Unrecognised: lambda item: f"unknown {item.kind}: {short_raw(item.raw)}",
}

# ---------------------------------------------------------------------------

SHORT = 200
"""Most characters of a value on a line, about two lines of a terminal."""

CANNOT_ANSWER = (
    "To answer, run this command on a terminal, or send the message in a chat of `adk-prism serve`."
)

_DIM: Style = "dim"
_RED: Style = "error"
_BOLD: Style = "strong"


class _Block:
    """A block of text that streams."""

    __slots__ = ("author", "ended", "held", "kind")

    def __init__(self, author: str, kind: fact.BlockKind) -> None:
        self.author = author
        self.kind = kind
        self.held: list[str] = []
        """Text that came while another block streams."""
        self.ended = False


class Readable:
    """One run, in words."""

    def __init__(
        self, *, colour: bool, advice: str = CANNOT_ANSWER, prices: Prices | None = None
    ) -> None:
        """`advice` says what to do about a run that waits; empty where the person is asked at once.

        With `prices`, the end says what it cost.
        """
        self._spent = UsageSum(prices) if prices else None
        self._progress: dict[str, tuple[str, int]] = {}
        """What was last shown of how far a call is."""
        self._colour = colour
        self._advice = advice
        self.pending = Pending()
        self._blocks: dict[str, _Block] = {}
        """Those not yet written to their end; the first one streams."""
        self._author = ""
        """Who spoke last."""
        self._lines: list[str] = []
        """Lines that came while a block streams."""
        self._in_line = False

    def show(self, item: fact.Fact) -> str:
        """Return what to write for a fact; often nothing."""
        self.pending.feed([item])
        kind = type(item)
        if kind in _QUESTIONS and not self._advice:
            return ""  # It is asked at once.
        if kind in _SHOW:
            return "".join(_SHOW[kind](self, item))
        if kind in NOT_SHOWN:
            return ""
        text, style = _LINES[kind]
        line = text(item)
        return "".join(self._line(line, style)) if line else ""

    # -------------------------------------------------------------- lines

    def _line(self, text: str, style: Style = "") -> Iterator[str]:
        line = self._styled(_clean(text).replace("\n", " "), style) + "\n"
        if self._blocks:
            self._lines.append(line)
        else:
            yield line

    def _break(self) -> Iterator[str]:
        if self._in_line:
            self._in_line = False
            yield "\n"

    def _styled(self, text: str, style: Style) -> str:
        return painted(text, style, colour=self._colour)

    # -------------------------------------------------------------- text

    def _block_began(self, item: fact.BlockBegan) -> Iterator[str]:
        block = self._blocks[item.block] = _Block(item.speaker.author, item.kind)
        if self._streams(item.block):
            yield from self._announce(block)

    def _streams(self, block: str) -> bool:
        return next(iter(self._blocks)) == block

    def _announce(self, block: _Block) -> Iterator[str]:
        yield from self._break()
        if self._author and block.author != self._author:
            yield self._styled(_clean(f"[{block.author}]"), _BOLD) + "\n"
        self._author = block.author
        if block.kind == "reasoning":
            self._in_line = True
            yield self._styled("(thinking) ", _DIM)

    def _block_grew(self, item: fact.BlockGrew) -> Iterator[str]:
        block = self._blocks[item.block]
        if self._streams(item.block):
            yield self._said(block, item.text)
        else:
            block.held.append(item.text)

    def _said(self, block: _Block, text: str) -> str:
        self._in_line = not text.endswith("\n")
        return self._styled(_clean(text), _DIM if block.kind == "reasoning" else "")

    def _block_ended(self, item: fact.BlockEnded) -> Iterator[str]:
        self._blocks[item.block].ended = True
        for name, block in list(self._blocks.items()):
            if not block.ended:
                return
            del self._blocks[name]
            yield from self._break()
            yield from self._lines
            self._lines.clear()
            yield from self._turn_of_next()

    def _blocks_replaced(self, item: fact.BlocksReplaced) -> Iterator[str]:
        """Note that text on the terminal was replaced; a pipe never gets that text."""
        for name in item.blocks:
            if name in self._blocks:
                self._blocks[name].held.clear()
        yield from self._line("(the text above was replaced by the following)", _DIM)

    def _turn_of_next(self) -> Iterator[str]:
        block = next(iter(self._blocks.values()), None)
        if block is not None:
            yield from self._announce(block)
            text = "".join(block.held)
            block.held.clear()
            if text:
                yield self._said(block, text)

    # -------------------------------------------------------------- calls

    def _approval_requested(self, item: fact.ApprovalRequested) -> Iterator[str]:
        approval = self.pending.approvals[item.approval]
        return self._line(f"?? {approval.call.name} needs approval", _BOLD)

    def _call_progressed(self, item: fact.CallProgressed) -> Iterator[str]:
        """Yield a line where the message has changed, or a tenth of the work was done."""
        tenth = int(10 * (item.done or 0) / item.total) if item.total else 0
        if self._progress.get(item.call) != (item.message, tenth):
            self._progress[item.call] = item.message, tenth
            yield from self._line(f".. {progress_text(item)}", _DIM)

    def _annotated(self, item: fact.Annotated) -> Iterator[str]:
        return self._line(f"== {item.text}", _DIM) if item.place == "part" else iter(())

    # -------------------------------------------------------------- the end

    def _model_called(self, item: fact.ModelCalled) -> Iterator[str]:
        if self._spent is not None:
            self._spent.add(measured(item))
        return iter(())

    def _run_over(self, item: fact.RunOver) -> Iterator[str]:
        if item.outcome in BROKEN:
            yield from self._line(with_reference(item), _RED)
        elif item.outcome == "cancelled":
            yield from self._line("The run was cancelled.", _RED)
        elif item.outcome == "waiting" and self._advice:
            yield from self._waiting()
        if self._spent is not None and self._spent.says_cost:
            spent = self._spent.words()
            yield from self._line(f"[{self._spent.tokens.get('total', 0)} tokens, {spent}]", _DIM)

    def _waiting(self) -> Iterator[str]:
        pending = self.pending
        asked = [f"approval of {a.call.name}" for a in pending.approvals.values()]
        asked += [f"{request.kind}" for request in pending.requests.values()]
        asked += [f"the result of {call.name}" for call in pending.client_calls.values()]
        yield from self._line(f"The run is waiting for {', '.join(asked) or 'an answer'}.", _BOLD)
        yield from self._line(self._advice)


# --------------------------------------------------------------------------- pieces


def _bracketed(text: Callable[[Any], str]) -> Callable[[Any], str]:
    return lambda item: f"[{text(item)}]"


def _cut(text: str) -> str:
    return text if len(text) <= SHORT else f"{text[:SHORT]}…"


def _clean(text: str) -> str:
    """Return text without control characters."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text)


_R = Readable
_SHOW: dict[type[Any], Callable[[Any, Any], Iterator[str]]] = {
    fact.BlockBegan: _R._block_began,
    fact.BlockGrew: _R._block_grew,
    fact.BlockEnded: _R._block_ended,
    fact.BlocksReplaced: _R._blocks_replaced,
    fact.ApprovalRequested: _R._approval_requested,
    fact.CallProgressed: _R._call_progressed,
    fact.Annotated: _R._annotated,
    fact.RunOver: _R._run_over,
    fact.ModelCalled: _R._model_called,
}
_LINES: dict[type[Any], tuple[Callable[[Any], str], Style]] = {
    fact.InputTranscribed: (lambda item: f"you: {item.text}" if item.final else "", _DIM),
    fact.UserSpoke: (lambda item: f"you: {item.text}", _DIM),
    fact.CallRequested: (lambda item: f"-> {item.name} {short_raw(item.input)}", _DIM),
    fact.CallAnswered: (lambda item: f"<- {item.name} {short_raw(item.output)}", _DIM),
    fact.CallFailed: (lambda item: f"<- {item.name} failed: {_cut(item.error)}", _RED),
    fact.CallDenied: (
        lambda item: f"<- {item.name} was denied" + (f": {item.reason}" if item.reason else ""),
        _RED,
    ),
    fact.CallAbandoned: (lambda item: f"<- {item.name} stopped before it returned", _RED),
    fact.ApprovalDecided: (lambda item: "you: yes" if item.approved else "you: no", _DIM),
    fact.InputRequested: (
        lambda item: f"?? {item.kind} requested: {short_raw(item.request)}",
        _BOLD,
    ),
    fact.AudioHeard: (
        lambda item: f"[audio {len(item.data) * 3 // 4} bytes, {item.sample_rate} Hz]",
        _DIM,
    ),
    fact.StateChanged: (lambda item: f"[state {short_json(item.delta)}]", _DIM),
    fact.NodeOutput: (
        lambda item: f"[output of {item.speaker.author}: {short_raw(item.output)}]",
        _DIM,
    ),
    fact.ErrorRaised: (
        lambda item: f"!! {item.speaker.author}: {item.code} {_cut(item.message)}",
        _RED,
    ),
    **{kind: (_bracketed(text), _DIM) for kind, text in FACT_LINES.items()},
    fact.TakenOver: (lambda item: takeover_text(item.in_doubt), ""),
}
"""Facts that are one line each, with its style; an empty text is no line."""

_QUESTIONS = (fact.ApprovalRequested, fact.InputRequested)

NOT_SHOWN = frozenset(
    (
        fact.RunBegan,
        fact.MessageBegan,
        fact.MessageEnded,
        fact.CallInputGrew,
        fact.CallDelegated,
        fact.CallPending,
        fact.SourcesLinked,
        fact.CitationsGiven,
        fact.ModelCallEnded,
        fact.MetadataGiven,
        fact.NodeBegan,
        fact.NodeFinished,
        fact.Nested,
    )
)
