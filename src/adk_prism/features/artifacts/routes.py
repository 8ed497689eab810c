"""ADK's artifact and memory routes.

Follows google-adk 2.13 `cli/api_server.py`. Deliberate differences: an unknown app is 404 and a
refused name 400; what the artifact service refuses is 400 without its text, which may hold a path;
`canonicalUri` is ADK's own `artifact://…` reference where ADK shows a `file://` path of the server.
Beyond ADK: memories can be searched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Response
from google.adk.artifacts.artifact_util import get_artifact_uri
from google.adk.artifacts.base_artifact_service import ArtifactVersion, BaseArtifactService
from google.adk.errors.input_validation_error import InputValidationError
from google.adk.memory.base_memory_service import BaseMemoryService
from google.genai import types
from msgspec import Struct
from pydantic import WrapValidator
from starlette.exceptions import HTTPException

from adk_prism.adk.apps import Apps
from adk_prism.adk.redaction import model_json
from adk_prism.errors import NotFound, UsageError
from adk_prism.log.entry import Origin
from adk_prism.protocols.adk.sessions import CamelModel, read_upstream
from adk_prism.runs.session_log import AuditedAction
from adk_prism.server import request_bodies as bodies
from adk_prism.server.identity.identity import PathOrigin, PathUser
from adk_prism.server.observability import AuditLog

_ALL = "/apps/{app_name}/users/{user_id}/sessions/{session_id}/artifacts"
_ONE = _ALL + "/{artifact_name:path}"
_MEMORY = "/apps/{app_name}/users/{user_id}/memory"

MOST_MEMORIES = 100
"""Memories of one answer; a service that finds more was asked too little."""

_VERSION = re.compile(r"-?[0-9]{1,15}")
_HIGHEST_VERSION = 10**15


class SaveArtifact(CamelModel):
    """A new version of an artifact."""

    filename: bodies.ArtifactName
    artifact: Annotated[types.Part, WrapValidator(read_upstream)]
    custom_metadata: dict[str, Any] | None = None


class UpdateMemory(CamelModel):
    """A session to remember."""

    session_id: bodies.SessionId


class Place(Struct, frozen=True):
    """Where an artifact is."""

    origin: Origin
    name: str

    def keys(self) -> dict[str, Any]:
        """Return it as ADK's artifact services take it."""
        return {**_scope(self.origin), "filename": self.name}


async def _place(origin: PathOrigin, artifact_name: bodies.ArtifactName) -> Place:
    return Place(origin, artifact_name)


async def _version(version_id: str) -> int | None:
    if version_id == "latest":
        return None
    if _VERSION.fullmatch(version_id) is None:
        raise HTTPException(422, "Invalid version ID")
    return int(version_id)


PathPlace = Annotated[Place, Depends(_place)]
PathVersion = Annotated[int | None, Depends(_version)]


@dataclass(frozen=True, slots=True)
class ArtifactRoutes:
    """The routes of artifacts and memory, made of the parts that they use."""

    apps: Apps
    audit: AuditLog

    def router(self) -> APIRouter:
        """Return the router of artifacts and memory."""
        router = APIRouter(route_class=bodies.StrictRoute, tags=["ADK: artifacts and memory"])
        no_nulls: dict[str, Any] = {"response_model_exclude_none": True}
        # A name may hold slashes, so the routes that would take anything come last.
        router.get(_ONE + "/versions/{version_id}/metadata", **no_nulls)(self.get_metadata)
        router.get(_ONE + "/versions/metadata", **no_nulls)(self.list_metadata)
        router.get(_ONE + "/versions/{version_id}", **no_nulls)(self.load_version)
        router.get(_ONE + "/versions")(self.list_versions)
        router.get(_ALL)(self.list_names)
        router.post(_ALL, **no_nulls)(self.save_artifact)
        router.get(_ONE, **no_nulls)(self.load_artifact)
        router.delete(_ONE)(self.delete_artifact)
        router.patch(_MEMORY)(self.add_to_memory)
        router.get(_MEMORY, response_class=Response)(self.search_memory)
        return router

    async def get_metadata(self, place: PathPlace, version: PathVersion) -> ArtifactVersion:
        """Return what is known of one version, or of the `latest`."""
        with _refusals():
            service = self._service(place.origin)
            found = await service.get_artifact_version(**place.keys(), version=version)
        if found is None:
            raise NotFound("Artifact version not found")
        return _public(found, place)

    async def list_metadata(self, place: PathPlace) -> list[ArtifactVersion]:
        """Return what is known of each version."""
        with _refusals():
            found = await self._service(place.origin).list_artifact_versions(**place.keys())
        return [_public(version, place) for version in found]

    async def load_version(self, place: PathPlace, version: PathVersion) -> types.Part | None:
        """Return the content of one version, or of the `latest`."""
        return await self._load(place, version)

    async def load_artifact(
        self,
        place: PathPlace,
        version: int | None = Query(None, gt=-_HIGHEST_VERSION, lt=_HIGHEST_VERSION),
    ) -> types.Part | None:
        """Return the content of an artifact: its last version, or the one asked for."""
        return await self._load(place, version)

    async def list_versions(self, place: PathPlace) -> list[int]:
        """Return the numbers of an artifact's versions."""
        with _refusals():
            return await self._service(place.origin).list_versions(**place.keys())

    async def list_names(self, origin: PathOrigin) -> list[str]:
        """Return the names of a session's artifacts and of its user's."""
        with _refusals():
            return await self._service(origin).list_artifact_keys(**_scope(origin))

    async def save_artifact(self, origin: PathOrigin, request: SaveArtifact) -> ArtifactVersion:
        """Save a new version of an artifact."""
        _check_content(request.artifact)
        place = Place(origin, request.filename)
        with _refusals():
            service = self._service(origin)
            version = await service.save_artifact(
                **place.keys(), artifact=request.artifact, custom_metadata=request.custom_metadata
            )
            saved = await service.get_artifact_version(**place.keys(), version=version)
        if saved is None:
            raise NotFound("Artifact metadata unavailable")
        return _public(saved, place)

    async def delete_artifact(self, place: PathPlace) -> None:
        """Delete every version of an artifact; one that is not there is no error."""
        with _refusals():
            await self._service(place.origin).delete_artifact(**place.keys())
        action = AuditedAction(action="artifact deleted", origin=place.origin, about=place.name)
        await self.audit.note(action)

    async def add_to_memory(
        self, app_name: bodies.AppName, user_id: PathUser, request: UpdateMemory
    ) -> None:
        """Let the memory service remember a session."""
        memory = self._memory(app_name)
        origin = Origin(app=app_name, user=user_id, session=request.session_id)
        await memory.add_session_to_memory(await self.apps.sessions(app_name).get(origin))

    async def search_memory(
        self,
        app_name: bodies.AppName,
        user_id: PathUser,
        query: str = Query(min_length=1, max_length=1000),
    ) -> Response:
        """Return what the app's memory service finds for a user, as the tool `load_memory` does."""
        service = self._memory(app_name)
        found = await service.search_memory(app_name=app_name, user_id=user_id, query=query)
        kept = found.model_copy(update={"memories": found.memories[:MOST_MEMORIES]})
        return Response(model_json(kept), media_type="application/json")

    def _memory(self, app: str) -> BaseMemoryService:
        memory = self.apps.memory_service(app)
        if memory is None:
            raise UsageError("Memory service is not configured.")
        return memory

    async def _load(self, place: Place, version: int | None) -> types.Part:
        with _refusals():
            service = self._service(place.origin)
            found = await service.load_artifact(**place.keys(), version=version)
        if not found:
            raise NotFound("Artifact not found")
        return found

    def _service(self, origin: Origin) -> BaseArtifactService:
        service = self.apps.artifact_service(origin.app)
        if service is None:
            raise UsageError("Artifact service is not configured.")
        return service


def _scope(origin: Origin) -> dict[str, Any]:
    return {"app_name": origin.app, "user_id": origin.user, "session_id": origin.session}


def _check_content(part: types.Part) -> None:
    # ADK's services take a part that has a field without its content, and fail when they write it.
    inline, file = part.inline_data, part.file_data
    if (inline is not None and inline.data is None) or (file is not None and not file.file_uri):
        raise UsageError("The artifact has no content: inlineData needs data, fileData a fileUri.")


def _public(version: ArtifactVersion, place: Place) -> ArtifactVersion:
    """Return a version's metadata without the path of a file on this machine."""
    if not version.canonical_uri.startswith("file:"):
        return version
    session = None if place.name.startswith(bodies.USER_SCOPE) else place.origin.session
    uri = get_artifact_uri(
        app_name=place.origin.app,
        user_id=place.origin.user,
        filename=place.name,
        version=version.version,
        session_id=session,
    )
    return version.model_copy(update={"canonical_uri": uri})


@contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except InputValidationError as error:
        raise UsageError("The artifact service refuses this name or content.") from error
