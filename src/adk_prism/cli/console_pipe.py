"""The panel in a pipe: lines in, readable lines out.

Each line of standard input is a message or a command; the next one is read when the run is over. What is
said is the same text that `adk-prism run` writes. Exit 0 when the input ends, 1 if a run failed, a line
could not be taken, or the server was lost.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TextIO, assert_never

from adk_prism.cli import FAILURE, fail
from adk_prism.cli.readable import Readable
from adk_prism.console import strategy
from adk_prism.console.client import Client, connect
from adk_prism.console.exchange import Accepted, Back, Lost, News, Settled, Told
from adk_prism.console.panels.registry import rows_of
from adk_prism.console.place import Place
from adk_prism.console.session import Session
from adk_prism.console.token import Token
from adk_prism.console.wishes import Export, Keep, Quit, Send, Show, Stop, Wish
from adk_prism.errors import PrismError
from adk_prism.facts.reader import Reader
from adk_prism.facts.stored_facts import StoredFacts
from adk_prism.proof_text.annotator import ProofAnnotator
from adk_prism.runlog.entry import Entry, RunEnded, RunStarted

WIDTH = 100
"""Columns of a panel's rows, which are wrapped for reading."""
ADVICE = (
    "Answer with /approve or /deny (a search plan: /ok, /short, /modify WORDS, /cancel),"
    " or type what is asked for."
)
LONGEST_LINE = 100_000
"""Characters of one line: a long text, and far from what a server takes."""


async def talk(url: str, place: Place, token: Token | None = None) -> int:
    """Talk until the input ends; return the exit code."""
    async with connect(url, token) as http:
        pipe = _Pipe(Session(Client(http), place))
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
        colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        return Readable(colour=colour, advice=ADVICE)

    async def run(self, lines: TextIO) -> int:
        live = await self._session.open()
        if live:
            await self._follow(self._session.attach(live))
        while line := await asyncio.to_thread(lines.readline, LONGEST_LINE):
            # Bytes that are no text are kept by Python as half surrogate pairs.
            words = line.encode(errors="replace").decode().strip()
            if words and not await self._take(words):
                break
        return FAILURE if self._failed else 0

    async def _take(self, words: str) -> bool:
        """Do what a line wishes; tell whether to read on."""
        try:
            return await self._do(self._session.wishes.read(words))
        except PrismError as error:
            self._failed = True
            fail(error.detail)
            return True

    async def _do(self, wish: Wish) -> bool:
        match wish:
            case Send():
                await self._follow(self._session.send(wish.body))
            case Keep():
                _write(f"{wish.next.name} waits too.\n")
            case Show():
                for row in rows_of(self._session.dialogue, wish.panel, WIDTH):
                    _write(f"{row.text}\n")
            case Export():
                view = self._session.dialogue.panel("grounding")
                _write(f"Written to {strategy.write(view, wish.file)}.\n")
            case Quit():
                return False
            case Stop():
                pass  # a line is read when nothing runs
            case _:
                assert_never(wish)
        return True

    async def _follow(self, news: AsyncGenerator[News, None]) -> None:
        async with aclosing(news) as items:
            async for item in items:
                self._tell(item)

    def _tell(self, item: News) -> None:
        match item:
            case Told():
                self._show(item.entry)
            case Settled():
                self._show(item.end)
            case Lost():
                fail(f"{item.why} Trying again in {item.wait:g} s.")
            case Back():
                fail("The server is back.")
            case Accepted():
                pass  # the run's own words follow
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
