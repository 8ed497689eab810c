"""The audit log: who did what to whose run or session, when and from where.

One line of JSON per action, written to disk before its request is answered. An action that cannot be written
is reported in full, and not undone.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from threading import Lock
from time import time
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Query
from msgspec import Struct

from adk_prism.errors import Diagnostic, LogError, NotFound, Report, cause_of
from adk_prism.runs.session_log import AuditedAction
from adk_prism.server.identity.identity import Administrator
from adk_prism.server.request_tracking import CURRENT_REQUEST

# ---------------------------------------------------------------------- the file
#
# An append-only file of lines with rotation, which several processes may share.
#
# `FILE` is written, `FILE.1` is the previous one, and so on; the oldest is deleted. A line is on the disk
# when `append` returns. A line that a dying process has not finished stays, and the next one starts on a
# new line.
#
# Not `logging.handlers.RotatingFileHandler`: two processes that rotate one file overwrite each other's
# (`docs/decisions/0060-kept-by-hand.md`).

if sys.platform == "win32":

    def _wait_for(descriptor: int) -> None:
        del descriptor  # There is no fork: one process serves.

else:
    import fcntl

    def _wait_for(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)


class RotatingFile:
    """One file and its rotated predecessors."""

    def __init__(self, path: Path, *, largest: int, kept: int) -> None:
        """`largest`: bytes of one file; `kept`: how many rotated files."""
        self._path = path.absolute()  # agent code may change the working directory
        self._largest = largest
        self._kept = kept
        self._turn = Lock()

    def make(self) -> None:
        """Check that it can be written. Raise `OSError`."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        os.close(_opened(self._path))

    def append(self, line: bytes) -> None:
        """Write a line. Raise `OSError`."""
        with self._alone():
            if self._size() + len(line) > self._largest:
                self._rotate()
            descriptor = _opened(self._path)
            try:
                os.write(descriptor, (b"" if self._ends_a_line() else b"\n") + line + b"\n")
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def newest_first(self) -> Iterator[bytes]:
        """Yield the lines, including those of rotated files. Raise `OSError`."""
        for number in range(self._kept + 1):
            place = self._aside(number)
            if not place.exists():
                return
            yield from reversed(place.read_bytes().split(b"\n"))

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Lock out every other writer, in this process and in others."""
        with self._turn:
            descriptor = _opened(self._path.with_name(f"{self._path.name}.lock"))
            try:
                _wait_for(descriptor)
                yield
            finally:
                os.close(descriptor)

    def _size(self) -> int:
        return self._path.stat().st_size if self._path.exists() else 0

    def _ends_a_line(self) -> bool:
        if not self._size():
            return True
        with self._path.open("rb") as opened:
            opened.seek(-1, os.SEEK_END)
            return opened.read(1) == b"\n"

    def _aside(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}") if number else self._path

    def _rotate(self) -> None:
        for number in range(self._kept, 0, -1):
            newer = self._aside(number - 1)
            if newer.exists():
                newer.replace(self._aside(number))


def _opened(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)


# ---------------------------------------------------------------------- the log

LARGEST = 16 * 1024**2
"""Bytes of one file: some 50,000 actions."""
KEPT = 9
"""Rotated files that are kept."""
LONGEST_ABOUT = 300
"""Characters: the name of an artifact is its owner's to choose."""


class AuditLine(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An action as it is written."""

    time: float
    action: str
    by: str = ""
    """Who did it; empty without authentication."""
    address: str = ""
    request: str = ""
    app: str = ""
    user: str = ""
    """Whose run or session it is."""
    session: str = ""
    run: str = ""
    about: str = ""


Wanted = Callable[[AuditLine], bool]


class AuditFile:
    """The audit log of one server."""

    def __init__(
        self, file: RotatingFile, report: Report, clock: Callable[[], float] = time
    ) -> None:
        self._file = file
        self._report = report
        self._clock = clock

    async def note(self, action: AuditedAction) -> None:
        """Write an action; return once it is on disk."""
        line = _encode(self._line_of(action))
        try:
            await asyncio.to_thread(self._file.append, line)
        except OSError as error:
            detail = line.decode()
            self._report(Diagnostic(kind="audit failed", detail=detail, cause=cause_of(error)))

    def _line_of(self, action: AuditedAction) -> AuditLine:
        call, origin = CURRENT_REQUEST.get(), action.origin
        return AuditLine(
            time=self._clock(),
            action=action.action,
            by=call.user if call else "",
            address=call.address if call else "",
            request=call.id if call else "",
            app=origin.app,
            user=origin.user,
            session=origin.session,
            run=action.run,
            about=action.about[:LONGEST_ABOUT],
        )

    async def last(self, count: int, wanted: Wanted) -> list[AuditLine]:
        """Return the last actions that match, the newest first. Raise `LogError`."""

        def read() -> list[AuditLine]:
            found = (
                line for text in self._file.newest_first() if (line := _read(text)) is not None
            )
            return list(islice(filter(wanted, found), count))

        try:
            return await asyncio.to_thread(read)
        except OSError as error:
            raise LogError("The audit log cannot be read.") from error


def open_audit_file(path: str, report: Report) -> AuditFile:
    """Return the audit log in a file. Raise `LogError` for one that cannot be written."""
    file = RotatingFile(Path(path), largest=LARGEST, kept=KEPT)
    try:
        file.make()
    except OSError as error:
        raise LogError(f"The audit log {path!r} cannot be written: {error.strerror}.") from error
    return AuditFile(file, report)


def _encode(line: AuditLine) -> bytes:
    # A lone surrogate in a name cannot be encoded as UTF-8.
    fields = {
        name: value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
        for name, value in msgspec.to_builtins(line).items()
    }
    return msgspec.json.encode(fields)


def _read(text: bytes) -> AuditLine | None:
    """Read a line; return None for one that a dying process did not finish."""
    try:
        return msgspec.json.decode(text, type=AuditLine)
    except msgspec.MsgspecError:
        return None


# ---------------------------------------------------------------------- `GET /api/audit`

MAX_LIMIT = 1000
"""Actions in one answer."""


def routes(file: AuditFile | None) -> APIRouter:
    """Return the router of the audit log, for administrators."""
    router = APIRouter(tags=["operating"], dependencies=[Administrator])

    @router.get("/api/audit")
    async def audit(
        action: str = "",
        by: str = "",
        user: str = "",
        run: str = "",
        before: Annotated[float, Query(description="Seconds since 1970; 0: now.")] = 0,
        limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = 100,
    ) -> list[dict[str, Any]]:
        """Return the last actions that match, the newest first."""
        if file is None:
            raise NotFound(
                "This server has no audit log; the operator can enable it with --audit FILE."
            )
        filters = {"action": action, "by": by, "user": user, "run": run}
        asked = {name: value for name, value in filters.items() if value}

        def wanted(line: AuditLine) -> bool:
            is_earlier = not before or line.time < before
            return is_earlier and all(getattr(line, n) == v for n, v in asked.items())

        return [msgspec.to_builtins(found) for found in await file.last(limit, wanted)]

    return router
