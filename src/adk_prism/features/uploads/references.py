"""Files that a message only refers to: what the agent gets in the place of the reference.

- A link to a file of one of the user's own runs, as `GET …/messages` gives it: a message with a photo that is
  edited after a reload. It becomes the bytes.
- An uploaded file, by its address or its id. It is saved as an artifact of the session, once. What a model
  takes inline, and fits the message (`--body-limit`), becomes the bytes as well. Anything else becomes the
  text that ADK's own `SaveFilesAsArtifactsPlugin` writes, `[Uploaded Artifact: "name"]`, and the artifact's
  address where a model can open that: the agent reads it with `load_artifacts`, or in a tool of its own.

A reference to this server that names no file of the user's is refused; any other link stays what it is.
"""

from __future__ import annotations

import asyncio
import base64
import re
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import msgspec
from google.adk.artifacts.base_artifact_service import BaseArtifactService
from google.adk.errors.input_validation_error import InputValidationError
from google.genai import types
from msgspec import Raw

from adk_prism import errors
from adk_prism.features.uploads.files import ID, Upload, UploadFolder
from adk_prism.log.entry import Origin, RunId, to_raw
from adk_prism.protocols.contract import UPLOADED
from adk_prism.server.context import Context
from adk_prism.server.run_files import HeldBytes

_RUN_FILE = re.compile(
    r"(?:https?://.*)?/api/runs/(?P<run>[A-Za-z0-9_-]{1,128})"
    r"/files/(?P<cursor>[1-9]\d{0,14})/(?P<part>\d{1,6}(?:-\d{1,6})?)"
)
"""At whatever address the server was reached when it gave the link."""
_UPLOAD = re.compile(rf"(?:(?:https?://.*)?/(?:api/uploads/[^/]+|v1/files)/)?(?P<id>{ID.pattern})")
_MARKS = (b"/api/runs/", b"file-")

_INLINE = re.compile(r"(?:image|audio|video)/(?!svg|xml).+|application/pdf|text/plain")
"""What models take inside of a message: the same as ADK's `LoadArtifactsTool` gives them."""
_OPENED_BY_MODELS = ("gs://", "https://")

AT_A_TIME = 2
"""Files that are read to be saved: ADK's services take each as a whole."""
PATIENCE = 120.0
"""Seconds for a service to save one artifact."""

_NOT_YOURS = (
    "The message links to a file that does not exist on this server, or that you may not read; send the"
    " file itself."
)

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class MessageFiles:
    """Puts files in the place of references."""

    context: Context
    folder: UploadFolder
    slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_A_TIME))

    async def attached(self, content: Raw, origin: Origin, base: str) -> Raw:
        """Return a message's content with the files that it refers to. Raise `Unprocessable` or `TooLarge`.

        `base` is the address of this server, as the client sees it.
        """
        if not any(mark in bytes(content) for mark in _MARKS):
            return content
        whole: Json = msgspec.json.decode(content)
        given = whole.get("parts")
        if not isinstance(given, list):
            return content
        message = _Message(self, origin, base, self.context.settings.body_limit)
        parts = [part for each in given for part in await message.parts_of(each)]
        # What the person wrote comes first: it is the conversation's title.
        return to_raw({**whole, "parts": [*parts, *message.named]})

    async def save(self, upload: Upload, origin: Origin) -> tuple[str, int] | None:
        """Save a file as an artifact of a session, once; None where the app has no artifact service."""
        place = f"{origin.app}/{origin.session}"
        if place in upload.saved:
            return upload.saved[place]
        service = self.context.apps.artifact_service(origin.app)
        if service is None:
            return None
        async with self.slots:
            data = await asyncio.to_thread(self.folder.path(upload).read_bytes)
            blob = types.Blob(data=data, mime_type=upload.media_type, display_name=upload.name)
            version = await _saved(service, origin, upload.name, types.Part(inline_data=blob))
        await self.folder.note_saved(upload, place, upload.name, version)
        return upload.name, version


async def _saved(service: BaseArtifactService, origin: Origin, name: str, part: types.Part) -> int:
    try:
        async with asyncio.timeout(PATIENCE):
            return await service.save_artifact(
                app_name=origin.app,
                user_id=origin.user,
                session_id=origin.session,
                filename=name,
                artifact=part,
            )
    except InputValidationError as error:
        raise errors.Unprocessable("The artifact service refuses this file.") from error
    except TimeoutError:
        raise errors.SourceError("The artifact service did not answer in time.") from None
    except Exception as error:  # a service of the operator's, on some network
        raise errors.SourceError("The artifact service could not save the file.") from error


@dataclass(slots=True)
class _Message:
    """One message whose references are replaced."""

    files: MessageFiles
    origin: Origin
    base: str
    room: int
    """Bytes of files that still fit."""
    named: list[Json] = field(default_factory=list)
    """What says of the other files that they are artifacts."""

    async def parts_of(self, part: Any) -> list[Any]:
        """Return what stands in the place of a part of the message."""
        reference = part.get("fileData") if isinstance(part, dict) else None
        uri = reference.get("fileUri") if isinstance(reference, dict) else None
        if not isinstance(uri, str):
            return [part]
        uri = uri.removeprefix(UPLOADED)
        path = uri.partition("?")[0].partition("#")[0]
        is_ours = uri.startswith((f"{self.base}/", "/"))
        if (link := _RUN_FILE.fullmatch(path)) is not None:
            return await self._run_file(part, link, must=is_ours)
        if (upload := _UPLOAD.fullmatch(path)) is not None:
            return await self._upload(part, upload["id"], must=is_ours or path == upload["id"])
        return [part]

    async def _run_file(self, part: Json, link: re.Match[str], *, must: bool) -> list[Json]:
        context, run = self.files.context, RunId(link["run"])
        with suppress(errors.NotFound, errors.Gone, errors.Forbidden):
            owner = (await context.log.summary(run)).origin.user
            if owner == self.origin.user:
                found = await context.files.load(run, int(link["cursor"]), link["part"])
                if len(found.data) > self.room:
                    raise errors.TooLarge(
                        "The files that the message links to are larger than --body-limit together."
                    )
                return [self._inline(part["fileData"], found)]
        if must:
            raise errors.Unprocessable(_NOT_YOURS)
        return [part]

    async def _upload(self, part: Json, name: str, *, must: bool) -> list[Json]:
        folder = self.files.folder
        try:
            upload = folder.find(name)
            if upload.user != self.origin.user or upload.app not in ("", self.origin.app):
                raise errors.NotFound(_NOT_YOURS)
        except (errors.NotFound, errors.NotSupported):
            if must:
                raise errors.Unprocessable(_NOT_YOURS) from None
            return [part]
        if not folder.is_complete(upload):
            raise errors.Unprocessable("The message refers to a file that has not come completely.")
        saved = await self.files.save(upload, self.origin)
        if upload.size <= self.room and _INLINE.fullmatch(upload.media_type):
            data = await asyncio.to_thread(folder.path(upload).read_bytes)
            held = HeldBytes(data, upload.media_type, upload.name)
            return [self._inline(part["fileData"], held)]
        if saved is None:
            raise errors.TooLarge(
                "The file is too large for a message, or of a type that models do not take, and the app"
                " has no artifact service to keep it."
            )
        self.named.append({"text": f'[Uploaded Artifact: "{saved[0]}"]'})
        return await self._address(upload, saved)

    async def _address(self, upload: Upload, saved: tuple[str, int]) -> list[Json]:
        """Return a reference to an artifact, if models can open its address."""
        service = self.files.context.apps.artifact_service(self.origin.app)
        assert service is not None, "it saved the artifact"
        try:
            found = await service.get_artifact_version(
                app_name=self.origin.app,
                user_id=self.origin.user,
                session_id=self.origin.session,
                filename=saved[0],
                version=saved[1],
            )
        except Exception as error:  # a service of the operator's: the agent can load the artifact
            self.files.context.report(
                errors.Diagnostic(kind="artifact without an address", cause=errors.cause_of(error))
            )
            return []
        if found is None or not found.canonical_uri.startswith(_OPENED_BY_MODELS):
            return []
        about = {"mimeType": upload.media_type, "displayName": upload.name}
        return [{"fileData": {"fileUri": found.canonical_uri, **about}}]

    def _inline(self, reference: Json, found: HeldBytes) -> Json:
        self.room -= len(found.data)
        blob: Json = {
            "mimeType": found.media_type or reference.get("mimeType") or "",
            "data": base64.b64encode(found.data).decode(),
        }
        name = reference.get("displayName") or found.name
        return {"inlineData": {**blob, "displayName": name} if name else blob}
