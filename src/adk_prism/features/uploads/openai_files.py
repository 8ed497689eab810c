"""OpenAI's Files API, as far as its clients need it to refer to a file by `file_id`.

A file is sent as one form and is an uploaded file like any other; it can be used in every app of its user.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, HTTPException, Request, Response
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException

from adk_prism.commands import DEFAULT_USER
from adk_prism.errors import NotFound, UsageError
from adk_prism.features.uploads.files import Upload, UploadFolder
from adk_prism.features.uploads.routes import file_response
from adk_prism.server.context import Context
from adk_prism.server.identity.caller import Principal, acting_user, caller_of, listed_user
from adk_prism.server.identity.identity import CallerOf
from adk_prism.server.request_bodies import PathLimit

if TYPE_CHECKING:
    from adk_prism.features.uploads import UploadSettings

PATH = "/v1/files"
ENVELOPE = 64 * 1024
"""Bytes of a form beside its file."""
PIECE = 64 * 1024
MOST_LISTED = 1000

_ERROR = {"application/json": {"schema": {"type": "object", "required": ["error"]}}}
_RESPONSES: dict[int | str, dict[str, Any]] = {
    "default": {"description": "OpenAI's `error` object", "content": _ERROR}
}

Json = dict[str, Any]


def body_limits(settings: UploadSettings) -> list[PathLimit]:
    """Return how large the form of a file may be."""
    most = settings.uploads_file_limit + ENVELOPE
    return [PathLimit(re.compile(PATH), "--uploads-file-limit", most, is_held=False)]


@dataclass(frozen=True, slots=True)
class FileRoutes:
    """The routes of files."""

    context: Context
    folder: UploadFolder

    def router(self) -> APIRouter:
        """Return the router of files."""
        router = APIRouter(prefix=PATH, tags=["OpenAI"], responses=_RESPONSES)
        router.post("")(self.create)
        router.get("")(self.list_files)
        router.get("/{file}")(self.retrieve)
        router.delete("/{file}")(self.delete)
        router.get("/{file}/content", response_class=Response)(self.content)
        return router

    async def create(self, request: Request) -> Json:
        """Take a file: a form with `file` and `purpose`."""
        self.context.lifecycle.check_open()
        if not request.headers.get("content-type", "").startswith("multipart/form-data"):
            raise HTTPException(
                415, "The body must be multipart/form-data, with the file in `file`."
            )
        try:
            async with request.form(max_files=1, max_fields=10) as form:
                file = form.get("file")
                if not isinstance(file, UploadFile):
                    raise UsageError("The form has no file in `file`.")
                upload = await self.folder.create(
                    app="",
                    user=_user(caller_of(request)),
                    name=file.filename or "",
                    media_type=file.content_type or "",
                    size=file.size or 0,
                )
                await self.folder.append(upload, 0, _pieces(file))
        except MultiPartException as error:
            raise UsageError(f"The form cannot be read: {error.message}") from None
        return self._shown(upload)

    async def list_files(self, caller: CallerOf) -> Json:
        """Return the files that the caller has sent; an administrator sees all."""
        files = self.folder.complete(listed_user(caller, ""))
        found = [self._shown(each) for each in files[:MOST_LISTED]]
        return {"object": "list", "data": found, "has_more": False}

    async def retrieve(self, caller: CallerOf, file: str) -> Json:
        """Return what is known of a file."""
        return self._shown(self._own(caller, file))

    async def delete(self, caller: CallerOf, file: str) -> Json:
        """Remove a file."""
        self.folder.delete(self._own(caller, file))
        return {"id": file, "object": "file", "deleted": True}

    async def content(self, caller: CallerOf, file: str) -> Response:
        """Return the bytes of a file."""
        return file_response(self.folder, self._own(caller, file))

    def _own(self, caller: CallerOf, name: str) -> Upload:
        found = self.folder.find(name)
        acting_user(caller, found.user)
        if not self.folder.is_complete(found):
            raise NotFound("The file has not come completely yet.")
        return found

    def _shown(self, upload: Upload) -> Json:
        return {
            "id": upload.id,
            "object": "file",
            "bytes": upload.size,
            "created_at": int(upload.created),
            "expires_at": int(self.folder.expires(upload)),
            "filename": upload.name,
            "purpose": "user_data",
            "status": "processed",
        }


def _user(caller: CallerOf) -> str:
    return caller.user if isinstance(caller, Principal) else DEFAULT_USER


async def _pieces(file: UploadFile) -> AsyncIterator[bytes]:
    while piece := await file.read(PIECE):
        yield piece
