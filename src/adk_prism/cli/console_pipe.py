"""The console in a pipe: lines in, readable lines out.

Each line of standard input is a message or a command; the next one is read when the run has ended. Runs are
printed as `adk-prism run` prints them. Exit 0 when the input ends, 1 if a run failed, a line was rejected, or
the server was lost.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TextIO, assert_never

from adk_prism.cli import FAILURE, fail, note, words
from adk_prism.cli.readable import Readable
from adk_prism.cli.terminal import has_colour
from adk_prism.console import literature_search_report
from adk_prism.console.client import Client, SessionAddress, connect
from adk_prism.console.intents import Export, Intent, Keep, Quit, Send, Show, Stop
from adk_prism.console.panels.registry import rows_of
from adk_prism.console.run_follower import (
    ConnectionLost,
    EntryReceived,
    Reconnected,
    RunAccepted,
    RunFinished,
    RunUpdate,
)
from adk_prism.console.session import Session
from adk_prism.console.token import Token
from adk_prism.errors import PrismError
from adk_prism.facts.hold_until_stored import StoredFacts
from adk_prism.facts.run_reader import Reader
from adk_prism.proof_text.annotator import ProofAnnotator
from adk_prism.runlog.entry import Entry, RunEnded, RunStarted

WIDTH = 100
"""Columns to which panel rows are wrapped."""
ADVICE = words.PIPE_ADVICE
LONGEST_LINE = 100_000
"""Most characters of one line; far below the server's limit."""


async def talk(url: str, address: SessionAddress, token: Token | None = None) -> int:
    """Run until the input ends; return the exit code."""
    async with connect(url, token) as http:
        pipe = _Pipe(Session(Client(http), address))
        return await pipe.run(sys.stdin)


class _Pipe:
    def __init__(self, session: Session) -> None:
        self._session = session
        self._readable = self._new_readable()
        self._reader = Reader(annotators=[ProofAnnotator()])
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
                _write(words.ALSO_ASKED.format(name=intent.next.name) + "\n")
            case Show():
                for row in rows_of(self._session.history, intent.panel, WIDTH):
                    _write(f"{row.text}\n")
            case Export():
                view = self._session.history.panel("grounding")
                file = literature_search_report.write(view, intent.file)
                _write(words.WRITTEN.format(file=file) + "\n")
            case Quit():
                return False
            case Stop():
                pass  # lines are only read when no run is active
            case _:
                assert_never(intent)
        return True

    async def _follow(self, updates: AsyncGenerator[RunUpdate, None]) -> None:
        async with aclosing(updates) as items:
            async for item in items:
                self._handle(item)

    def _handle(self, item: RunUpdate) -> None:
        match item:
            case EntryReceived():
                self._show(item.entry)
            case RunFinished():
                self._show(item.end)
            case ConnectionLost():
                note(words.RECONNECTING.format(why=item.why, wait=item.wait))
            case Reconnected():
                note(words.RECONNECTED)
            case RunAccepted():
                pass  # the run's output follows
            case _:
                assert_never(item)

    def _show(self, entry: Entry) -> None:
        record = entry.record
        if isinstance(record, RunStarted):
            self._reader = Reader(annotators=[ProofAnnotator()])
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
