"""A command on a real terminal: a pseudo-terminal of the standard library, written to and read from."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.patience import PATIENCE

_CONTROL = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[PX^_\]].*?(?:\x1b\\|\x07)|[@-Z\\-_=>])", re.DOTALL
)


class RealTerminal:
    """One command and what it has written."""

    def __init__(self, process: subprocess.Popen[bytes], side: int) -> None:
        self.process = process
        self._side = side
        self.raw = ""
        self._seen = 0
        """How much of the text has been found so far."""

    @property
    def text(self) -> str:
        """All that was written, without what moves the cursor."""
        return _CONTROL.sub("", self.raw)

    def type(self, text: str) -> None:
        """Type."""
        os.write(self._side, text.encode())

    def sees(self, words: str) -> None:
        """Read until some words have been written after all that was seen before."""
        self._seen = self._find(words, self._seen) + len(words)

    def shows(self, words: str) -> None:
        """Read until some words have been written, whenever that was."""
        self._find(words, 0)

    def _find(self, words: str, start: int) -> int:
        end = time.monotonic() + PATIENCE
        while (at := self.text.find(words, start)) < 0:
            assert time.monotonic() < end, f"never: {words}\n{self.text[-3000:]}"
            assert self._read(), f"ended without: {words}\n{self.text[-3000:]}"
        return at

    def ends(self) -> int:
        """Read to the end; return the exit code."""
        while self._read():
            pass
        return self.process.wait(PATIENCE)

    def _read(self) -> bool:
        ready, _, _ = select.select([self._side], [], [], PATIENCE)
        assert ready, f"silent\n{self.text[-3000:]}"
        try:
            piece = os.read(self._side, 65536)
        except OSError:  # how Linux says that nobody has the other side open any more
            return False
        self.raw += piece.decode(errors="replace")
        return bool(piece)


@contextmanager
def on_terminal(
    *words: str, folder: Path, width: int = 100, height: int = 30, env: Mapping[str, str] = {}
) -> Iterator[RealTerminal]:
    """Run Python with some words on a terminal of a size."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
    process = subprocess.Popen(
        [sys.executable, *words],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=folder,
        env={**os.environ, "TERM": "xterm-256color", **env},
        start_new_session=True,
    )
    os.close(theirs)
    try:
        yield RealTerminal(process, ours)
    finally:
        process.kill()
        process.wait()
        os.close(ours)
