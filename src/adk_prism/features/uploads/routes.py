"""The tus protocol, version 1.0.0, at `/api/uploads/{app}`: `tus-js-client` and Uppy work as they are.

Extensions: creation, creation-with-upload, checksum, expiration, termination. Beyond tus: `GET` gives the
file back to who sent it. Files belong to the caller; another's is not found.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from email.utils import formatdate
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Depends, Header, HTTPException, Request, Response
from fastapi.responses import FileResponse
from starlette.requests import ClientDisconnect

from adk_prism.errors import NotFound, UsageError
from adk_prism.features.uploads.files import Checksum, Upload, UploadFolder, WrongChecksum
from adk_prism.features.uploads.references import MessageFiles
from adk_prism.log.entry import Origin
from adk_prism.server.context import Context
from adk_prism.server.identity.caller import acting_user, caller_of, spoken_user
from adk_prism.server.identity.identity import CallerOf, QueryUser
from adk_prism.server.request_bodies import AppName, PathLimit, check_session, check_user
from adk_prism.server.run_files import Presentation
from adk_prism.server.run_streams import base_url

if TYPE_CHECKING:
    from adk_prism.features.uploads import UploadSettings

PATH = "/api/uploads"
VERSION = "1.0.0"
EXTENSIONS = "creation,creation-with-upload,checksum,expiration,termination"
PIECE = "application/offset+octet-stream"
A_WHILE = 300
"""Seconds for which a browser keeps a file that it fetched: it can be deleted."""
LONGEST_METADATA = 8 * 1024

_NUMBER = re.compile(r"\d{1,15}")


def body_limits(settings: UploadSettings) -> list[PathLimit]:
    """Return how large a piece may be: as large as a file, since clients need not cut it."""
    path = re.compile(rf"{PATH}/[^/]+(?:/[^/]+)?")
    return [PathLimit(path, "--uploads-file-limit", settings.uploads_file_limit, is_held=False)]


async def _check_version(
    response: Response, tus: Annotated[str, Header(alias="Tus-Resumable")] = ""
) -> None:
    if tus != VERSION:
        # A page of another site cannot send this header unasked, so it is also what keeps those out.
        text = f"Tus-Resumable must be {VERSION}."
        raise HTTPException(412, text, {"tus-version": VERSION})
    response.headers["tus-resumable"] = VERSION


def _headers(**more: str) -> dict[str, str]:
    named = {name.replace("_", "-"): value for name, value in more.items()}
    return {"tus-resumable": VERSION, "cache-control": "no-store", **named}


@dataclass(frozen=True, slots=True)
class UploadRoutes:
    """The routes of uploads."""

    context: Context
    folder: UploadFolder
    messages: MessageFiles

    def router(self) -> APIRouter:
        """Return the router of uploads."""
        router = APIRouter(prefix=PATH, tags=["uploads"])
        tus = {"dependencies": [Depends(_check_version)], "response_class": Response}
        router.options("/{app_name}", response_class=Response, status_code=204)(self.options)
        router.post("/{app_name}", status_code=201, **tus)(self.create)  # type: ignore[arg-type]
        router.head("/{app_name}/{upload}", **tus)(self.head)  # type: ignore[arg-type]
        router.patch("/{app_name}/{upload}", status_code=204, **tus)(self.append)  # type: ignore[arg-type]
        router.delete("/{app_name}/{upload}", status_code=204, **tus)(self.delete)  # type: ignore[arg-type]
        router.get("/{app_name}/{upload}", response_class=Response)(self.download)
        return router

    async def options(self, app_name: AppName) -> Response:
        """Tell what this server can do."""
        self.context.apps.check(app_name)
        about = _headers(
            tus_version=VERSION,
            tus_extension=EXTENSIONS,
            tus_max_size=str(self.folder.largest),
            tus_checksum_algorithm=",".join(Checksum.ALGORITHMS),
        )
        return Response(status_code=204, headers=about)

    async def create(self, request: Request, app_name: AppName, user: QueryUser) -> Response:
        """Begin a file of `Upload-Length` bytes; the body may be its beginning.

        `Upload-Metadata`: `filename`, `filetype`, `userId`, and `session`: there the file is saved as an
        artifact when it is complete.
        """
        self.context.lifecycle.check_open()
        self.context.apps.check(app_name)
        known = _metadata(request.headers.get("upload-metadata", ""))
        if named := known.get("userId"):
            user = spoken_user(caller_of(request), check_user(named))
        session = known.get("session") or known.get("sessionId") or ""
        if session:
            await self._check_open(Origin(app=app_name, user=user, session=check_session(session)))
        upload = await self.folder.create(
            app=app_name,
            user=user,
            session=session,
            name=known.get("filename") or known.get("name") or "",
            media_type=known.get("filetype") or known.get("type") or "",
            size=_number(request, "upload-length"),
        )
        has_body = request.headers.get("content-type", "").lower() == PIECE
        offset = await self._append(request, upload, 0) if has_body else 0
        root = base_url(request, self.context.settings)
        place = {"location": f"{root}{PATH}/{app_name}/{upload.id}"}
        return Response(status_code=201, headers=place | self._standing(upload, offset))

    async def head(self, caller: CallerOf, app_name: AppName, upload: str) -> Response:
        """Tell how many bytes of a file have come."""
        found = self._own(caller, app_name, upload)
        standing = self._standing(found, self.folder.offset(found))
        return Response(headers=standing | {"upload-length": str(found.size)})

    async def append(
        self, request: Request, caller: CallerOf, app_name: AppName, upload: str
    ) -> Response:
        """Add the body to a file, at `Upload-Offset`."""
        found = self._own(caller, app_name, upload)
        given = request.headers.get("content-type", "")
        if given.lower() != PIECE:
            raise HTTPException(415, f"The body is {ascii(given)[:60]}; expected {PIECE}.")
        try:
            offset = await self._append(request, found, _number(request, "upload-offset"))
        except WrongChecksum as error:
            return Response(error.detail, 460, _headers(), "text/plain")
        return Response(status_code=204, headers=self._standing(found, offset))

    async def delete(self, caller: CallerOf, app_name: AppName, upload: str) -> Response:
        """Remove a file. Messages and artifacts that were made of it stay."""
        self.folder.delete(self._own(caller, app_name, upload))
        return Response(status_code=204, headers=_headers())

    async def download(self, caller: CallerOf, app_name: AppName, upload: str) -> Response:
        """Return a file that is complete."""
        found = self._own(caller, app_name, upload)
        if not self.folder.is_complete(found):
            raise NotFound("The file has not come completely yet.")
        return file_response(self.folder, found)

    # ------------------------------------------------------------------

    def _own(self, caller: CallerOf, app: str, name: str) -> Upload:
        """Return a file of the caller. Raise `NotFound` for another's, as for one that is not there."""
        self.context.apps.check(app)
        found = self.folder.find(name)
        if found.app != app:
            raise NotFound("There is no such uploaded file; it may have expired.")
        acting_user(caller, found.user)
        return found

    async def _append(self, request: Request, upload: Upload, offset: int) -> int:
        declared = request.headers.get("content-length", "0")
        if _NUMBER.fullmatch(declared) and offset + int(declared) > upload.size:
            raise HTTPException(413, f"The file was declared with {upload.size} bytes.")
        checksum = _checksum(request.headers.get("upload-checksum", ""))
        offset = await self.folder.append(upload, offset, _until_lost(request), checksum)
        if offset == upload.size and upload.session:
            origin = Origin(app=upload.app, user=upload.user, session=upload.session)
            await self.messages.save(upload, origin)
        return offset

    async def _check_open(self, origin: Origin) -> None:
        await self.context.runs.deletions.check(origin)

    def _standing(self, upload: Upload, offset: int) -> dict[str, str]:
        expires = formatdate(self.folder.expires(upload), usegmt=True)
        return _headers(upload_offset=str(offset), upload_expires=expires)


def file_response(folder: UploadFolder, upload: Upload) -> Response:
    """Return a whole file, or a range of it."""
    shown = Presentation(upload.media_type, upload.name, A_WHILE)
    return FileResponse(folder.path(upload), media_type=shown.media_type, headers=shown.headers())


async def _until_lost(request: Request) -> AsyncIterator[bytes]:
    """Yield a body, until its client is gone: what came stays."""
    try:
        async for chunk in request.stream():
            yield chunk
    except ClientDisconnect:
        return


def _number(request: Request, name: str) -> int:
    given = request.headers.get(name, "")
    if _NUMBER.fullmatch(given) is None:
        raise UsageError(f"{name.title()} must be a number of bytes, got {ascii(given)[:40]}.")
    return int(given)


def _metadata(given: str) -> dict[str, str]:
    """Read `Upload-Metadata`: pairs of a key and a text in Base64. Raise `UsageError`."""
    if len(given) > LONGEST_METADATA:
        raise UsageError(f"Upload-Metadata is longer than {LONGEST_METADATA} bytes.")
    found = {}
    for pair in filter(None, (each.strip() for each in given.split(","))):
        key, _, value = pair.partition(" ")
        try:
            found[key] = base64.b64decode(value, validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            raise UsageError(
                f"The value of {ascii(key)[:40]} in Upload-Metadata must be UTF-8 in Base64."
            ) from None
    return found


def _checksum(given: str) -> Checksum | None:
    if not given:
        return None
    algorithm, _, value = given.partition(" ")
    try:
        expected = base64.b64decode(value, validate=True)
    except binascii.Error:
        expected = b""
    if algorithm not in Checksum.ALGORITHMS or not expected:
        known = " or ".join(Checksum.ALGORITHMS)
        raise UsageError(f"Upload-Checksum must be {known}, and the checksum in Base64.")
    return Checksum(algorithm, expected)
