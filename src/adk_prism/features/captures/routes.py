"""Recordings are downloaded; recordings and captures are uploaded, completely or not at all.

An uploaded file is read twice: first to see that all of it can be read, then to store it. So a broken file
leaves nothing, and only a batch of it is in memory. Afterwards it is a run like any other, except that its
session is only a name: it belongs to no chat.
"""

from __future__ import annotations

import asyncio
import gzip
import re
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from tempfile import TemporaryFile
from typing import Annotated, Any, BinaryIO
from urllib.parse import quote

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse
from msgspec import structs
from msgspec.structs import replace
from starlette.exceptions import HTTPException

from adk_prism.adk.redaction import foreign_json
from adk_prism.adk.request import CallRecorder
from adk_prism.errors import NotFound, PrismError, SourceError, Unprocessable
from adk_prism.facts.run_reader import CaptureEnding
from adk_prism.features.captures.events import UNNAMED
from adk_prism.features.captures.recording_file import read_run, write_run
from adk_prism.features.conversations.listing import ConversationTitles, change_label, short_title
from adk_prism.features.model_calls.calls import CallsLeftOut, ModelCalls
from adk_prism.features.model_calls.routes import WithCalls, check_may_see_calls
from adk_prism.features.model_calls.watching import from_file
from adk_prism.features.model_calls.writer import append_foreign
from adk_prism.log import entry as records
from adk_prism.log.contract import RunLog, RunSummary
from adk_prism.log.coordination import Leases, LocalLeases
from adk_prism.log.entry import Entry, ModelCalled, RunId
from adk_prism.log.hooks import bound_json
from adk_prism.runs.chats import Chats
from adk_prism.runs.recorder import FORKED_FROM, REQUEST_DIGEST
from adk_prism.runs.runs import new_run
from adk_prism.server.identity.caller import Caller, Guest, Principal, caller_of
from adk_prism.server.identity.identity import CallerOf, Run
from adk_prism.server.lifecycle import Lifecycle
from adk_prism.server.request_bodies import check_app, check_user
from adk_prism.server.routes import shown_run
from adk_prism.server.run_streams import RUN_HEADER

BATCH = 256
"""Entries that are read and stored in one go: milliseconds, so that live runs are not held up."""

_RUN = re.compile(r"[A-Za-z0-9_-]{1,100}")
"""Ids that an upload may keep; a session's name is made of them, and has 128 characters at most."""


class Uploads:
    """Takes uploaded runs."""

    def __init__(
        self, log: RunLog, leases: Leases | None = None, calls: CallRecorder | None = None
    ) -> None:
        """`calls` stores the model calls of recordings that have them; without: none."""
        self._log = log
        self._calls = calls
        self._leases: Leases = leases or LocalLeases()

    async def store(
        self,
        file: BinaryIO,
        named: Callable[[records.Origin], records.Origin],
        *,
        keeps_id: bool = True,
    ) -> RunSummary:
        """Store a recording or capture. `named` returns the origin with names that may be used here.

        `keeps_id`: under the recording's own run id, if that is free. Callers who may not
        know of other users' runs must not learn whether it is free.
        Raise `Unprocessable` for a file that cannot be read to its end, `LogError` if it cannot be
        stored; either way nothing of it is kept.
        """
        head = await self._checked(file)
        run = await self._free(head.run) if keeps_id else new_run()
        where = named(head.origin)
        origin = records.Origin(app=where.app, user=where.user, session=f"recording-{run}")
        lease = await self._leases.begin(run)  # So that no process takes it for a lost run.
        try:
            await self._append(file, run, as_upload(head, run, origin))
            await self._log.commit(run)
        except BaseException:
            await asyncio.shield(self._log.delete(origin))
            raise
        finally:
            await self._leases.release(lease)
        return await self._log.summary(run)

    async def _checked(self, file: BinaryIO) -> records.RunStarted:
        """Read the file to its end; return its first record."""
        head: records.RunStarted | None = None
        try:
            reading = read_upload(file)
            while batch := await _next(reading):
                first = batch[0].record
                head = head or (first if isinstance(first, records.RunStarted) else None)
        except SourceError as error:
            raise Unprocessable(f"{error.detail} Nothing was stored.") from None
        assert head is not None, "a file without a first entry is refused"
        return head

    async def _free(self, wanted: str) -> records.RunId:
        """Return the recording's own id, or another one if that is taken or was."""
        if _RUN.fullmatch(wanted) is None:
            return new_run()
        try:
            await self._log.summary(records.RunId(wanted))
        except NotFound:
            return records.RunId(wanted)
        except PrismError:
            pass
        return new_run()

    async def _append(self, file: BinaryIO, run: records.RunId, head: records.RunStarted) -> None:
        reading = read_upload(file)
        while batch := await _next(reading):
            if batch[0].cursor == 1:
                batch[0] = records.Entry(1, batch[0].time, head)
            await append_foreign(self._log, self._calls, run, head.origin, batch)


async def _next(reading: Iterator[records.Entry]) -> list[records.Entry]:
    """Read some entries, in a thread: a file is decoded without a pause."""
    return await asyncio.to_thread(lambda: list(islice(reading, BATCH)))


def read_upload(file: BinaryIO) -> Iterator[records.Entry]:
    """Yield the entries of an uploaded file, from its beginning, redacted, with an end.

    Raise `SourceError` at the first value that cannot be read, naming its line.
    """
    file.seek(0)
    for entry in read_run(file, end=CaptureEnding()):
        yield cleaned(entry)


def cleaned(entry: records.Entry) -> records.Entry:
    """Return an entry from elsewhere without credentials. Raise `SourceError` if that cannot be decided."""
    if isinstance(entry.record, records.ModelCalled):
        from_file(entry.record)  # says what is wrong with it before anything is stored
    kind, payload = records.pack(entry.record)
    try:
        clean = foreign_json(bound_json(payload))
    except (ValueError, RecursionError):
        raise SourceError(
            f"Entry {entry.cursor} may hold a credential, and cannot be read to look for it."
        ) from None
    return (
        entry
        if clean is payload
        else records.Entry(entry.cursor, entry.time, records.unpack(kind, clean))
    )


def as_upload(head: records.RunStarted, run: str, origin: records.Origin) -> records.RunStarted:
    """Return an uploaded run's first record with its names here, without its key and its place in a chat."""
    moved = structs.replace(head, run=run, origin=origin, replaces="", restores="")
    return records.relabelled(moved, REQUEST_DIGEST(""), FORKED_FROM(None), records.UPLOADED(True))


# ---------------------------------------------------------------------------
# Upload of recordings: a file of a run from anywhere becomes a run of this server.
#
# The body is the file as it is: a recording (`GET /api/runs/{run}/recording`), JSON lines of ADK
# events, a body of `/run_sse`, or a JSON list or session. It is written to disk as it comes, bounded
# by a setting of its own; only then it is read. A body of a type that a foreign web page could send
# without asking (text, forms) is refused, as on every other route.

PATH = "/api/recordings"

TYPES = (
    "application/jsonl",
    "application/x-ndjson",
    "text/event-stream",
    "application/json",
    "application/octet-stream",
)

FileName = Annotated[str, Query(max_length=1000, description="Name of the file")]


def routes(uploads: Uploads, lifecycle: Lifecycle, log: RunLog) -> APIRouter:
    """Return the router of recordings."""
    router = APIRouter(tags=["runs"])

    async def upload(request: Request, response: Response, name: FileName = "") -> dict[str, Any]:
        """Take a recording or capture into the log; answer the run that it is now.

        `name` is the file's, and becomes the title of its conversation.
        """
        lifecycle.check_open()
        check_type(request, TYPES)
        with TemporaryFile() as file:
            async for chunk in request.stream():
                file.write(chunk)
            caller = caller_of(request)
            summary = await uploads.store(
                file, _naming(caller), keeps_id=not isinstance(caller, Principal)
            )
        if title := short_title("".join(c if c.isprintable() else " " for c in name)):
            await change_label(log, summary.origin, title, None)
        response.headers[RUN_HEADER] = summary.run
        response.headers["location"] = (
            f"{request.scope.get('root_path', '')}/api/runs/{summary.run}"
        )
        return shown_run(summary)

    content = {kind: {"schema": {"type": "string", "format": "binary"}} for kind in TYPES}
    body = {"requestBody": {"required": True, "content": content}}
    router.post(PATH, status_code=201, openapi_extra=body)(upload)
    return router


def check_type(request: Request, types: Sequence[str]) -> None:
    """Refuse a body of another type, such as a foreign web page could send without asking."""
    given = request.headers.get("content-type", "")
    if given.partition(";")[0].strip().lower() not in types:
        known = ", ".join(types)
        raise HTTPException(
            415, f"The body is {ascii(given)[:60]}; expected Content-Type: one of {known}."
        )


def _naming(caller: Caller) -> Callable[[records.Origin], records.Origin]:
    """Return how an upload is named: whoever is known owns what it sends, whatever the file says."""
    if not isinstance(caller, Principal):
        return safe_names
    return lambda origin: replace(safe_names(origin), user=caller.user)


def safe_names(origin: records.Origin) -> records.Origin:
    """Return the origin's app and user, or those of a capture that says nothing, if they are no names."""
    try:
        app = check_app(origin.app)
    except PrismError:
        app = UNNAMED.app
    try:
        user = check_user(origin.user)
    except PrismError:
        user = UNNAMED.user
    return records.Origin(app=app, user=user, session=origin.session)


@dataclass(frozen=True, slots=True)
class DownloadRoutes:
    """The download of recordings, made of the parts that it uses."""

    log: RunLog
    chats: Chats
    calls: ModelCalls
    titles: ConversationTitles

    def router(self) -> APIRouter:
        """Return the router of downloads."""
        router = APIRouter(prefix="/api/runs", tags=["runs"])
        router.get("/{run}/recording", response_class=Response)(self.recording)
        return router

    async def recording(
        self, caller: CallerOf, run: Run, model_calls: WithCalls = False
    ) -> Response:
        """Return the run as a recording: JSON lines, one entry each; model calls only if asked for."""
        if model_calls:
            check_may_see_calls(caller)
        origin = (await self.log.summary(run)).origin
        title = await self.titles.of(origin, as_named=not isinstance(caller, Guest))
        return StreamingResponse(
            self._lines(run, model_calls),
            media_type="application/jsonl",
            headers={"content-disposition": attachment(title, run, ".jsonl")},
        )

    async def _lines(self, run: RunId, with_calls: bool) -> AsyncIterator[bytes]:
        left_out, calls = CallsLeftOut(), self.calls
        async for entry in self.chats.entries(run):
            if with_calls and isinstance(entry.record, ModelCalled):
                kept: Iterable[Entry] = [await calls.in_file(run, entry)]
            else:
                kept = [entry] if with_calls else left_out.feed(entry)
            for line in write_run(kept):
                yield line


# ---------------------------------------------------------------------------
# Names of files that a browser saves: after the conversation, on every file system.

LONGEST = 80
"""Characters; as UTF-8 with an ending, every file system takes that many."""

_UNSAFE = re.compile(r'[\\/:*?"<>|]+')
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)
"""Names that Windows has for devices, whatever their ending."""


def safe_name(title: str) -> str:
    """Return a title as the name of a file, without an ending; empty if nothing is left of it."""
    shown = "".join(c if c.isprintable() else " " for c in title)
    name = " ".join(_UNSAFE.sub(" ", shown).split())[:LONGEST]
    while len(name.encode()) > LONGEST * 3:
        name = name[:-1]
    name = name.strip(" .")
    return "" if _DEVICE.fullmatch(name) else name


def attachment(title: str, otherwise: str, ending: str) -> str:
    """Return a `content-disposition` (RFC 6266) that names a file after a title.

    `otherwise`, plain ASCII, is for clients that do not read the encoded form (RFC 5987), and for a title
    that is no name.
    """
    plain = f'attachment; filename="{otherwise}{ending}"'
    name = safe_name(title)
    return f"{plain}; filename*=UTF-8''{quote(name + ending, safe='')}" if name else plain


# ---------------------------------------------------------------------------
# Large responses are compressed, if the client accepts it.

SMALLEST = 1024
"""Bytes; below, the header costs more than it saves."""
LEVEL = 5
"""Of 9: nearly all of the gain in a third of the time."""


async def compressed(
    request: Request, body: bytes, media_type: str, headers: Mapping[str, str]
) -> Response:
    """Return a response whose body is gzipped where the client says that it reads that."""
    sent = dict(headers) | {"vary": "accept-encoding"}
    if len(body) >= SMALLEST and _accepts_gzip(request):
        body = await asyncio.to_thread(gzip.compress, body, LEVEL, mtime=0)
        sent["content-encoding"] = "gzip"
    return Response(body, media_type=media_type, headers=sent)


def _accepts_gzip(request: Request) -> bool:
    for each in request.headers.get("accept-encoding", "").split(","):
        coding, _, weight = each.partition(";")
        if coding.strip().lower() in ("gzip", "*"):
            return weight.strip().replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False
