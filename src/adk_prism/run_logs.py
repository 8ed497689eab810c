"""What a package needs to keep runs elsewhere: `docs/write-a-run-log.md`.

`HookedLog` is the base of a log, which redacts and bounds what is stored; `MemoryLog` is a whole one. A store
that is slow to write to is a `LogStore` below a `BufferedLog`, which writes groups.
"""

from __future__ import annotations

from adk_prism.extension import LogKind
from adk_prism.log.buffered_log import BufferedLog
from adk_prism.log.contract import (
    EndedRun,
    LogObserver,
    Owner,
    Receipt,
    Redact,
    Retention,
    RunLog,
    RunSummary,
    SideReader,
    SideStorage,
    SideStore,
    SideValue,
    StreamRedact,
    TrimmedRun,
    runs_to_trim,
)
from adk_prism.log.coordination import Coordination, Leases
from adk_prism.log.entry import Entry, Origin, Record, RunEnded, RunId, RunStarted, pack, unpack
from adk_prism.log.group_commit import (
    AppendBatch,
    AppendResult,
    FollowedRun,
    Group,
    LogStore,
    StoredRun,
)
from adk_prism.log.hooks import HookedLog
from adk_prism.log.memory import MemoryLog
from adk_prism.log.run_state import BufferedRun, RunState

__all__ = [
    "AppendBatch",
    "AppendResult",
    "BufferedLog",
    "BufferedRun",
    "Coordination",
    "EndedRun",
    "Entry",
    "FollowedRun",
    "Group",
    "HookedLog",
    "Leases",
    "LogKind",
    "LogObserver",
    "LogStore",
    "MemoryLog",
    "Origin",
    "Owner",
    "Receipt",
    "Record",
    "Redact",
    "Retention",
    "RunEnded",
    "RunId",
    "RunLog",
    "RunStarted",
    "RunState",
    "RunSummary",
    "SideReader",
    "SideStorage",
    "SideStore",
    "SideValue",
    "StoredRun",
    "StreamRedact",
    "TrimmedRun",
    "pack",
    "runs_to_trim",
    "unpack",
]
