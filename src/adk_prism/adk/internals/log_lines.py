"""What ADK says only in its DEBUG lines: starts and ends of nodes, and tool calls that a live model cancels.

Lines are read by a filter on one of ADK's loggers, whatever level the operator has set. While a filter is
attached, the logger's level is one below DEBUG, a value that nobody else uses, so that an operator's own
setting can be distinguished from ours. The filter drops the lines that the operator did not ask for.

*Nodes.* google-adk has plugin callbacks for agents and tools only, and its events contain neither starts nor
ends. But the class that runs every node of the newer runtime (`workflow/_node_runner.py`), root agents and
delegated ones included, logs at DEBUG when a node starts, ends and is cancelled, in the node's own task and
with its full path. That is exact where spans are not (`invoke_node` spans carry a name, but neither path nor
run), installs nothing in OpenTelemetry, and costs a few lines per node, nothing per streamed part. Without
the lines, the plugin still sees agents and tools.

*Cancelled calls.* google-adk 2.13 receives `toolCallCancellation` of a Gemini live session and ignores it.
`GeminiLlmConnection.receive` logs every message before it handles it, with the message itself as the
argument. Without it (other log text, logging disabled) a cancelled call stays open until it is answered or
times out.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from contextvars import ContextVar
from pathlib import Path
from tempfile import gettempdir
from types import CodeType
from typing import Any

from google.adk.events.event import Event
from google.adk.models.gemini_llm_connection import GeminiLlmConnection
from google.adk.sessions import BaseSessionService, Session
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.genai import types

from adk_prism.adk.internals import Capability, require

LEVEL = logging.DEBUG - 1


class DebugLines(logging.Filter):
    """A filter on one logger. One per process: ADK has one logger for all runs."""

    def __init__(self, logger: str) -> None:
        super().__init__()
        self._logger = logging.getLogger(logger)
        self._level = logging.NOTSET
        """The operator's level of the logger."""

    def read(self, message: str, args: tuple[Any, ...]) -> None:
        """Handle a DEBUG line, which has not been formatted."""
        raise NotImplementedError

    def attach(self) -> None:
        """Add the filter and set the level, if they are not as we left them. Costs next to nothing."""
        if self._logger.level != LEVEL:
            self._level = self._logger.level
            self._logger.setLevel(LEVEL)
        if self not in self._logger.filters:
            self._logger.filters.insert(0, self)  # before one of the operator's that drops the line

    def detach(self) -> None:
        """Restore the logger."""
        self._logger.removeFilter(self)
        if self._logger.level == LEVEL:
            self._logger.setLevel(self._level)

    def filter(self, record: logging.LogRecord) -> bool:
        """Read a line; return whether the operator wants to see it."""
        if record.levelno == logging.DEBUG and isinstance(record.args, tuple):
            self.read(record.msg, record.args)
        if self._logger.level != LEVEL:  # the operator has set another one since
            return True
        parent = self._logger.parent
        wanted = self._level or (parent.getEffectiveLevel() if parent is not None else LEVEL)
        return record.levelno >= wanted


# --------------------------------------------------------------------------- nodes

NODE_LOGGER = "google_adk.google.adk.workflow._node_runner"

STARTED = "node %s started."
ENDED = "node %s end."
CANCELLED = "node %s cancelled via signal."

Signal = Callable[[str], None]
"""Called with a node's path."""


class AdkLogListener(DebugLines):
    """Reads the lines of the node runner."""

    def __init__(self, started: Signal, ended: Signal, cancelled: Signal) -> None:
        super().__init__(NODE_LOGGER)
        self._signals = {STARTED: started, ENDED: ended, CANCELLED: cancelled}

    def read(self, message: str, args: tuple[Any, ...]) -> None:
        """Signal a start or an end."""
        signal = self._signals.get(message)
        if signal is not None:
            signal(str(args[0]))


def _probe_nodes() -> None:
    from google.adk.workflow import _node_runner

    require(_node_runner.logger.name == NODE_LOGGER, "The node runner has another logger.")
    logged = set(_strings(vars(_node_runner)))
    missing = [line for line in (STARTED, ENDED, CANCELLED) if line not in logged]
    require(not missing, f"The node runner does not log {missing}.")


def _strings(names: Mapping[str, Any]) -> Iterator[str]:
    """Yield the string constants in the functions of a module's classes."""
    waiting: list[Any] = [
        member
        for each in names.values()
        if isinstance(each, type)
        for member in vars(each).values()
    ]
    while waiting:
        member = waiting.pop()
        if isinstance(member, str):
            yield member
        elif isinstance(member, CodeType):
            waiting.extend(member.co_consts)
        else:
            waiting.extend(filter(None, [getattr(member, "__code__", None)]))


NODES = Capability(
    name="workflow nodes",
    summary="see function and join nodes, and the ends of all nodes",
    without="only agents and tools appear as nodes; some ends are inferred",
    probe=_probe_nodes,
)


# --------------------------------------------------------------------------- cancelled live calls

LIVE_LOGGER = "google_adk.google.adk.models.gemini_llm_connection"
_RECEIVED = "Got LLM Live message: %s"

CancelCalls = Callable[[Sequence[str]], None]
"""Is given the ids of calls that the model has cancelled."""

CANCEL_CALLS: ContextVar[CancelCalls | None] = ContextVar("adk_prism_cancel_calls", default=None)
"""For the connections that are opened here; None in tools, which may have live runs of their own."""


class _Cancellations(DebugLines):
    """Reads the messages that ADK logs, while somebody watches."""

    watching = 0

    def read(self, message: str, args: tuple[Any, ...]) -> None:
        """Report the calls that a message cancels to whoever watches in the context that logs."""
        cancel, received = CANCEL_CALLS.get(), args[0] if message == _RECEIVED else None
        if cancel is None or not isinstance(received, types.LiveServerMessage):
            return
        cancelled = received.tool_call_cancellation
        if cancelled is not None and cancelled.ids:
            cancel(cancelled.ids)


_CANCELLATIONS = _Cancellations(LIVE_LOGGER)


@contextmanager
def watch_cancellations(cancel: CancelCalls) -> Iterator[None]:
    """Report the calls that models cancel on connections opened in this context."""
    token = CANCEL_CALLS.set(cancel)
    _CANCELLATIONS.watching += 1
    _CANCELLATIONS.attach()
    try:
        yield
    finally:
        _CANCELLATIONS.watching -= 1
        if not _CANCELLATIONS.watching:
            _CANCELLATIONS.detach()
        CANCEL_CALLS.reset(token)


class _ProbeSession:
    """A session that receives one cancellation."""

    session_id = "probe"

    async def receive(self) -> AsyncIterator[types.LiveServerMessage]:
        cancelled = types.LiveServerToolCallCancellation(ids=["probe"])
        yield types.LiveServerMessage(tool_call_cancellation=cancelled)


def _probe_cancellations() -> str | None:
    """Return None if cancelled calls are seen, else why not."""
    seen: list[str] = []
    session: Any = _ProbeSession()
    with watch_cancellations(seen.extend):
        try:
            GeminiLlmConnection(session).receive().asend(None).send(None)
        except (StopAsyncIteration, StopIteration):
            pass
        except Exception as error:  # whatever changed in ADK: it is not as we know it
            return f"GeminiLlmConnection.receive failed: {type(error).__name__}."
    if seen == ["probe"]:
        return None
    return "GeminiLlmConnection does not log the messages that it receives, or logging is disabled."


CANCELLATIONS = Capability(
    name="live cancellations",
    summary="see which tool calls a live model has cancelled",
    without="a cancelled call stays open until it is answered or times out",
    probe=_probe_cancellations,
)

# ---------------------------------------------------------------------------
# How ADK stores sessions: the SQLite file and connection, the revision mark, restored events.
#
# google-adk reserves `custom_metadata` keys with a prefix, and removes them from what callers send
# and see. It marks events that were put into a session, and did not happen there, with one of them.

Revision = tuple[float, str | None]


def session_revision(session: Session) -> Revision:
    """Return what changes with every write to the stored session."""
    return session.last_update_time, getattr(session, "_storage_update_marker", None)


def sqlite_file(service: BaseSessionService) -> Path | None:
    """Return the file of ADK's SQLite service once its tables exist; None for any other service.

    The service opens a connection for each query, so other threads may use the file.
    """
    path = getattr(service, "_db_path", "")
    is_ready = getattr(service, "_schema_ready", False)
    if type(service) is not SqliteSessionService or path in ("", ":memory:") or not is_ready:
        return None
    return Path(path)


def sqlite_connection(service: BaseSessionService) -> AbstractAsyncContextManager[Any] | None:
    """Open a connection to the database of ADK's SQLite service; None for any other service."""
    connect = getattr(service, "_get_db_connection", None)
    return connect() if isinstance(service, SqliteSessionService) and connect else None


def _probe_storage() -> None:
    path = str(Path(gettempdir()) / "adk-prism-probe" / "none.db")
    service = SqliteSessionService(path)  # opens no file
    require(getattr(service, "_db_path", "") == path, "SqliteSessionService has no _db_path.")
    require(
        getattr(service, "_schema_ready", None) is False,
        "SqliteSessionService has no _schema_ready.",
    )
    require(
        callable(getattr(service, "_get_db_connection", None)),
        "SqliteSessionService has no _get_db_connection.",
    )
    require(
        "_storage_update_marker" in Session.__private_attributes__,
        "Session has no _storage_update_marker.",
    )


STORAGE = Capability(
    name="session storage",
    summary="count events, remove state keys and list sessions off the event loop in ADK's SQLite store",
    without="sessions are read in full after another process wrote; a rewind leaves added keys as null",
    probe=_probe_storage,
)


# --------------------------------------------------------------------------- restored events

INTERNAL_PREFIX = "__adk_internal_"
RESTORED = f"{INTERNAL_PREFIX}restored_event"


def mark_restored(event: Event) -> Event:
    """Mark an event, in place, as restored; other internal keys are removed."""
    event.custom_metadata = {**_public(event.custom_metadata), RESTORED: True}
    return event


def is_restored(event: Event) -> bool:
    """Return whether an event was put into its session and did not happen there."""
    return bool((event.custom_metadata or {}).get(RESTORED))


def public_event(event: Event) -> Event:
    """Return the event without internal metadata; a copy if it had any."""
    metadata = event.custom_metadata or {}
    kept = _public(metadata)
    if len(kept) == len(metadata):
        return event
    return event.model_copy(update={"custom_metadata": kept or None})


def _public(metadata: dict[str, Any] | None) -> dict[str, Any]:
    kept = (metadata or {}).items()
    return {key: value for key, value in kept if not str(key).startswith(INTERNAL_PREFIX)}


def _probe_mark() -> None:
    from google.adk.events import _internal_metadata

    require(
        _internal_metadata.RESTORED_EVENT_KEY == RESTORED, "ADK marks restored events otherwise."
    )


RESTORED_EVENTS = Capability(
    name="restored events",
    summary="mark events of uploads and forks as ADK itself marks restored ones",
    without="the mark is ours alone: ADK treats such events like its own",
    probe=_probe_mark,
)
