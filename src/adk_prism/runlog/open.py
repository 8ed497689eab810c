"""A run log from its URL: the one place that knows which backends there are.

`memory:`; `sqlite:///FILE`, relative to the working directory, and `sqlite:////FILE`, absolute, as
SQLAlchemy writes them, with `?synchronous=full` for a disk flush at each commit. A URL can hold a
password, so no message repeats one.
"""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import parse_qs

from adk_prism.errors import NotBuilt, UsageError
from adk_prism.runlog.contract import RunLog
from adk_prism.runlog.memory import MemoryLog
from adk_prism.runlog.sqlite import SqliteLog
from adk_prism.runlog.sqlite_file import Synchronous

_EXPECTED = "expected memory:, sqlite:///FILE or sqlite:////FILE (absolute)"

_SYNCHRONOUS: dict[str, Synchronous] = {"normal": "normal", "full": "full"}


def open_log(url: str) -> RunLog:
    """Return the log that a URL names; it is not open yet.

    Raise `UsageError` for a URL that names none, `NotBuilt` for a backend of a later version.
    """
    scheme, colon, rest = url.partition(":")
    make = _BACKENDS.get(scheme.lower()) if colon else None
    if make is None:
        raise UsageError(f"The run log's URL names no kind of log; {_EXPECTED}.")
    return make(rest)


def _memory(rest: str) -> RunLog:
    if rest:
        raise UsageError(f"A run log in memory has no address; {_EXPECTED}.")
    return MemoryLog()


def _sqlite(rest: str) -> RunLog:
    path, _, query = rest.partition("?")
    if not path.startswith("///") or not path.strip("/") or path.endswith("/"):
        raise UsageError(f"The run log's URL names no file; {_EXPECTED}.")
    options = parse_qs(query, keep_blank_values=True)
    chosen = _SYNCHRONOUS.get(options.pop("synchronous", ["normal"])[-1])
    if options or chosen is None:
        raise UsageError(
            "The run log's URL has an option that is not known; expected synchronous=normal or "
            "synchronous=full."
        )
    return SqliteLog(path.removeprefix("///"), synchronous=chosen)


def _redis(rest: str) -> RunLog:
    del rest
    raise NotBuilt(
        "Run logs in Redis are not in this version. Use sqlite:///FILE, with one process."
    )


_BACKENDS: dict[str, Callable[[str], RunLog]] = {
    "memory": _memory,
    "sqlite": _sqlite,
    "redis": _redis,
    "rediss": _redis,
}
