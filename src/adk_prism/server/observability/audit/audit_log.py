"""The audit log: who did what to whose run or session, when and from where.

One line of JSON per action, written to disk before its request is answered. An action that cannot be written
is reported in full, and not undone.
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


class AuditLog:
    """The audit log of one server."""

    def __init__(
        self, file: RotatingFile | None, report: Report, clock: Callable[[], float] = time
    ) -> None:
        """Without a file nothing is written."""
        self._file = file
        self._report = report
        self._clock = clock

    @property
    def is_kept(self) -> bool:
        """Whether actions are written."""
        return self._file is not None

    async def note(self, action: AuditedAction) -> None:
        """Write an action; return once it is on disk."""
        if self._file is None:
            return
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
        if self._file is None:
            return []
        try:
            return await asyncio.to_thread(_last, self._file, count, wanted)
        except OSError as error:
            raise LogError("The audit log cannot be read.") from error


def open_audit_log(path: str, report: Report) -> AuditLog:
    """Return the audit log in a file; with an empty path nothing is written. Raise `LogError`."""
    if not path:
        return AuditLog(None, report)
    file = RotatingFile(Path(path), largest=LARGEST, kept=KEPT)
    try:
        file.make()
    except OSError as error:
        raise LogError(f"The audit log {path!r} cannot be written: {error.strerror}.") from error
    return AuditLog(file, report)


def _encode(line: AuditLine) -> bytes:
    # A lone surrogate in a name cannot be encoded as UTF-8.
    fields = {
        name: value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
        for name, value in msgspec.to_builtins(line).items()
    }
    return msgspec.json.encode(fields)


def _last(file: RotatingFile, count: int, wanted: Wanted) -> list[AuditLine]:
    found = (line for text in file.newest_first() if (line := _read(text)) is not None)
    return list(islice(filter(wanted, found), count))


def _read(text: bytes) -> AuditLine | None:
    """Read a line; return None for one that a dying process did not finish."""
    try:
        return msgspec.json.decode(text, type=AuditLine)
    except msgspec.MsgspecError:
        return None
