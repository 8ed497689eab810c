"""The audit trail: who did what to whose run or session, when and from where.

One line of JSON for each deed, which is on the disk before its request is answered. A deed that cannot be
written down is reported with all it says, and not undone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from time import time

import msgspec
from msgspec import Struct

from adk_prism.diagnostics import Diagnostic, Report, cause_of
from adk_prism.errors import LogError
from adk_prism.pipeline.audit_actions import AuditedAction
from adk_prism.server.observability.audit.rotating_file import RotatingFile
from adk_prism.server.observability.request_tracking import CURRENT_REQUEST

LARGEST = 16 * 1024**2
"""Bytes of one file: some 50,000 deeds."""
KEPT = 9
"""Files put aside."""
LONGEST_ABOUT = 300
"""Characters: the name of an artifact is its owner's to choose."""


class AuditLine(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A deed as it is written down."""

    time: float
    action: str
    by: str = ""
    """Who did it; empty where callers need not be known."""
    address: str = ""
    request: str = ""
    app: str = ""
    user: str = ""
    """Whose run or session it is."""
    session: str = ""
    run: str = ""
    about: str = ""


Wanted = Callable[[AuditLine], bool]


class AuditLog:
    """The trail of one server."""

    def __init__(
        self, file: RotatingFile | None, report: Report, clock: Callable[[], float] = time
    ) -> None:
        """Without a file nothing is written down."""
        self._file = file
        self._report = report
        self._clock = clock

    @property
    def is_kept(self) -> bool:
        """Whether deeds are written down."""
        return self._file is not None

    async def note(self, deed: AuditedAction) -> None:
        """Write a deed down; done when it is on the disk."""
        if self._file is None:
            return
        account = self._account(deed)
        line = _line(account)
        try:
            await asyncio.to_thread(self._file.append, line)
        except OSError as error:
            told = Diagnostic(kind="audit failed", detail=line.decode(), cause=cause_of(error))
            self._report(told)

    def _account(self, deed: AuditedAction) -> AuditLine:
        call, origin = CURRENT_REQUEST.get(), deed.origin
        return AuditLine(
            time=self._clock(),
            action=deed.action,
            by=call.user if call else "",
            address=call.address if call else "",
            request=call.id if call else "",
            app=origin.app,
            user=origin.user,
            session=origin.session,
            run=deed.run,
            about=deed.about[:LONGEST_ABOUT],
        )

    async def last(self, count: int, wanted: Wanted) -> list[AuditLine]:
        """Return the last deeds that are wanted, the newest first. Raise `LogError`."""
        if self._file is None:
            return []
        try:
            return await asyncio.to_thread(_last, self._file, count, wanted)
        except OSError as error:
            raise LogError("The audit log cannot be read.") from error


def open_audit_log(path: str, report: Report) -> AuditLog:
    """Return the trail that is kept in a file; an empty path keeps none. Raise `LogError`."""
    if not path:
        return AuditLog(None, report)
    file = RotatingFile(Path(path), largest=LARGEST, kept=KEPT)
    try:
        file.make()
    except OSError as error:
        raise LogError(f"The audit log {path!r} cannot be written: {error.strerror}.") from error
    return AuditLog(file, report)


def _line(account: AuditLine) -> bytes:
    # Half a surrogate pair, in a name, cannot be written as it is.
    fields = {
        name: value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
        for name, value in msgspec.to_builtins(account).items()
    }
    return msgspec.json.encode(fields)


def _last(file: RotatingFile, count: int, wanted: Wanted) -> list[AuditLine]:
    found = (account for line in file.newest_first() if (account := _read(line)) is not None)
    return list(islice(filter(wanted, found), count))


def _read(line: bytes) -> AuditLine | None:
    """Read a line; one that was cut short by the end of its process is none."""
    try:
        return msgspec.json.decode(line, type=AuditLine)
    except msgspec.MsgspecError:
        return None
