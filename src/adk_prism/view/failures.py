"""Where something failed: each failure once, at the cursor where it was first seen.

One failure is reported several times: by the tool's node, by its result, by the error event of its agent, by
the nodes around it, and by the end of the run. Reports are of one failure if they name the same call, or if
the later one is of something that was already running when the earlier one came, with the same code or none.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import groupby

from msgspec import Struct

from adk_prism.facts.model import CallFailed, ErrorRaised, Fact, Nested, NodeBegan, NodeFinished
from adk_prism.runlog.entry import RunEnded


class _Report(Struct, frozen=True, gc=False):
    cursor: int
    since: int
    """Earlier failures from here on, with the same code, are this one."""
    code: str = ""
    call: str = ""


class FailureFilm:
    """The failures of one run."""

    def __init__(self) -> None:
        self._reports: list[_Report] = []
        self._running: dict[str, tuple[int, str]] = {}
        """Cursor and call of each open node; an agent's call is that of the tool that runs it."""
        self._starts: list[int] = []

    def feed(self, cursor: int, fact: Fact) -> None:
        """Read the facts of an entry."""
        match fact:
            case Nested():
                self.feed(cursor, fact.fact)
            case NodeBegan():
                self._running[fact.node] = cursor, fact.call if fact.kind == "tool" else ""
                self._starts.append(cursor)
            case NodeFinished():
                since, call = self._running.pop(fact.node, (0, ""))
                if since and fact.status == "failed":
                    self._reports.append(_Report(cursor, since, fact.error, call))
            case CallFailed():
                self._reports.append(_Report(cursor, cursor, call=fact.call))
            case ErrorRaised():
                self._reports.append(_Report(cursor, self._last_start(cursor), fact.code))
            case _:
                pass  # no failure

    def end(self, cursor: int, record: RunEnded) -> None:
        """Take the end of the run."""
        if record.outcome == "failed":
            self._reports.append(_Report(cursor, 1, record.code))

    def _last_start(self, cursor: int) -> int:
        """Return where the node began that ran last: an error is reported after what failed in it."""
        index = bisect_left(self._starts, cursor)
        return self._starts[index - 1] if index else 1

    def at(self, cursor: int) -> list[int]:
        """Return the cursors of the failures up to a cursor, in order."""
        found: list[int] = []
        calls: set[str] = set()
        by_code: dict[str, int] = {}
        last = 0
        for at, group in groupby(self._reports, key=lambda report: report.cursor):
            if at > cursor:
                break
            reports = list(group)
            known = any(
                report.call in calls
                or (by_code.get(report.code, 0) if report.code else last) >= report.since
                for report in reports
            )
            if not known:
                found.append(at)
            last = at
            calls.update(report.call for report in reports if report.call)
            by_code.update((report.code, at) for report in reports)
        return found
