"""Opens the run log that a URL names, and what the processes that use it coordinate by.

Two kinds of logs are the kernel's: `memory:`; and `sqlite:///FILE`, relative to the working directory, or
`sqlite:////FILE`, absolute, as SQLAlchemy writes them, with `?synchronous=full` for a disk flush at each
commit. Features bring others (`Extension.logs`). A URL can hold a password, so no message repeats one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from urllib.parse import parse_qs

from adk_prism.errors import UsageError
from adk_prism.extension import LogKind, Warn, chosen, installed
from adk_prism.log.contract import RunLog
from adk_prism.log.coordination import Coordination, LocalCoordination
from adk_prism.log.memory import MemoryLog
from adk_prism.log.sqlite.file import Synchronous
from adk_prism.log.sqlite.store import SqliteLog

_SYNCHRONOUS: dict[str, Synchronous] = {"normal": "normal", "full": "full"}


def open_log(url: str, warn: Warn = lambda _: None, without: Collection[str] = ()) -> RunLog:
    """Return the log that a URL names; it is not open yet. `warn` reports a store that is not set up well.

    Raise `UsageError` for a URL that cannot be used, whose package is not installed, or whose feature is left
    out.
    """
    return kind_of(url, without).open(url, warn)


def open_coordination(url: str, without: Collection[str] = ()) -> Coordination:
    """Return what processes that use the log of a URL coordinate by. Raise `UsageError` like `open_log`."""
    coordinate = kind_of(url, without).coordinate
    return LocalCoordination() if coordinate is None else coordinate(url)


def is_shared(url: str, without: Collection[str] = ()) -> bool:
    """Return whether any number of processes can use the log of a URL. Raise `UsageError` like `open_log`."""
    return kind_of(url, without).coordinate is not None


def kind_of(url: str, without: Collection[str] = ()) -> LogKind:
    """Return the kind of the log that a URL names. Raise `UsageError` like `open_log`."""
    scheme, colon, _ = url.partition(":")
    scheme = scheme.lower() if colon else ""
    kinds = _KINDS | chosen(without).logs()
    if scheme not in kinds:
        for name in without:
            if scheme in installed().used[name].logs:
                raise UsageError(
                    f"--without {name}: the run log {scheme}: needs this feature; use it, or name"
                    " another run log with --log."
                )
        raise UsageError(f"The URL of the run log has an unknown scheme; {_expected(kinds)}.")
    return kinds[scheme]


def _expected(kinds: Mapping[str, LogKind]) -> str:
    *forms, last = dict.fromkeys(kind.form for kind in kinds.values())
    return f"expected {', '.join(forms)} or {last}"


def _memory(url: str, warn: Warn) -> RunLog:
    del warn
    if url.partition(":")[2]:
        raise UsageError(f"The run log memory: takes no path; {_expected(_KINDS)}.")
    return MemoryLog()


def _sqlite(url: str, warn: Warn) -> RunLog:
    path, _, query = url.partition(":")[2].partition("?")
    if not path.startswith("///") or not path.strip("/") or path.endswith("/"):
        raise UsageError(f"The URL of the run log has no file name; {_expected(_KINDS)}.")
    options = parse_qs(query, keep_blank_values=True)
    synchronous = _SYNCHRONOUS.get(options.pop("synchronous", ["normal"])[-1])
    if options or synchronous is None:
        raise UsageError(
            "The URL of the run log has an unknown option; expected synchronous=normal or "
            "synchronous=full."
        )
    return SqliteLog(path.removeprefix("///"), synchronous=synchronous, warn=warn)


_KINDS = {
    "memory": LogKind("memory:", _memory),
    "sqlite": LogKind("sqlite:///FILE, sqlite:////FILE (absolute)", _sqlite),
}
