"""The artifacts of a remote app, as one of ADK's artifact services."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
import pydantic
from google.adk.artifacts.base_artifact_service import (
    ArtifactVersion,
    BaseArtifactService,
    ensure_part,
)
from google.genai import types

from adk_prism.errors import NotFound, NotSupported, SourceError
from adk_prism.features.remote.connection import Connection, path_of

_NO_SESSION = "Artifacts of a remote app are read and written within a session; name one."
T = TypeVar("T")

_read_names = msgspec.json.Decoder(list[str]).decode
_read_numbers = msgspec.json.Decoder(list[int]).decode
_Versions = pydantic.TypeAdapter(list[ArtifactVersion])


class RemoteArtifacts(BaseArtifactService):
    """ADK's artifact service of one remote app. Raises `RemoteFailed` where its server cannot be used."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def save_artifact(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        artifact: types.Part | dict[str, Any],
        session_id: str | None = None,
        custom_metadata: dict[str, Any] | None = None,
    ) -> int:
        """Save a new version; return its number."""
        part = ensure_part(artifact).model_dump(mode="json", by_alias=True, exclude_none=True)
        body = {"filename": filename, "artifact": part, "customMetadata": custom_metadata}
        sent = {key: value for key, value in body.items() if value is not None}
        data = await self._connection.ask("POST", self._path(user_id, session_id), sent)
        return self._version(data).version

    async def load_artifact(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        session_id: str | None = None,
        version: int | None = None,
    ) -> types.Part | None:
        """Return an artifact, the newest version if none is named; None if it is not there."""
        names = [filename] if version is None else [filename, "versions", str(version)]
        data = await self._found(self._path(user_id, session_id, *names))
        if data is None:
            return None
        try:
            return types.Part.model_validate_json(data)
        except (pydantic.ValidationError, AttributeError):
            raise SourceError("The remote's artifact cannot be read.") from None

    async def list_artifact_keys(
        self, *, app_name: str, user_id: str, session_id: str | None = None
    ) -> list[str]:
        """Return the names of a session's artifacts."""
        data = await self._connection.ask("GET", self._path(user_id, session_id))
        return _read(_read_names, data)

    async def delete_artifact(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> None:
        """Delete an artifact, if it is there."""
        try:
            await self._connection.ask("DELETE", self._path(user_id, session_id, filename))
        except NotFound:
            return

    async def list_versions(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> list[int]:
        """Return the numbers of an artifact's versions; none if it is not there."""
        data = await self._found(self._path(user_id, session_id, filename, "versions"))
        return [] if data is None else _read(_read_numbers, data)

    async def list_artifact_versions(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> list[ArtifactVersion]:
        """Return what is known of an artifact's versions."""
        self._check_versions(app_name)
        path = self._path(user_id, session_id, filename, "versions", "metadata")
        data = await self._found(path)
        try:
            return [] if data is None else _Versions.validate_json(data)
        except pydantic.ValidationError:
            raise SourceError("The remote's artifact versions cannot be read.") from None

    async def get_artifact_version(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        session_id: str | None = None,
        version: int | None = None,
    ) -> ArtifactVersion | None:
        """Return what is known of one version, the newest if none is named."""
        self._check_versions(app_name)
        if version is None:
            where = {"app_name": app_name, "user_id": user_id, "session_id": session_id}
            known = await self.list_versions(filename=filename, **where)  # type: ignore[arg-type]
            if not known:
                return None
            version = max(known)
        names = (filename, "versions", str(version), "metadata")
        data = await self._found(self._path(user_id, session_id, *names))
        return None if data is None else self._version(data)

    def _check_versions(self, app: str) -> None:
        if not self._connection.dialect.has_versions:
            raise NotSupported(
                f"The app {app!r} runs on another server, which says nothing about artifact versions."
            )

    def _version(self, data: bytes) -> ArtifactVersion:
        try:
            return ArtifactVersion.model_validate_json(data)
        except pydantic.ValidationError:
            raise SourceError("The remote's artifact version cannot be read.") from None

    async def _found(self, path: str) -> bytes | None:
        try:
            return await self._connection.ask("GET", path)
        except NotFound:
            return None

    def _path(self, user: str, session: str | None, *names: str) -> str:
        if session is None:
            raise NotSupported(_NO_SESSION)
        where = ("apps", self._connection.app, "users", user, "sessions", session, "artifacts")
        return path_of(*where, *names)


def _read(read: Callable[[bytes], T], data: bytes) -> T:
    try:
        return read(data)
    except msgspec.MsgspecError:
        raise SourceError("The remote's list of artifacts cannot be read.") from None
