"""Artifacts as they were at a moment, saved again under another session.

Versions count from 0 per name and session in every service of google-adk 2.13, so all of a name's
versions are saved in their order, also those that a rewind has overtaken: then every number that the
history mentions is right. A version that is not there (a tombstone of a rewind, or lost) becomes a
tombstone. The user's own artifacts (`user:`) are shared by all sessions of that user, and are not copied.
"""

from __future__ import annotations

from collections.abc import Sequence

from google.adk.artifacts.base_artifact_service import ArtifactVersion, BaseArtifactService
from google.genai import types
from msgspec import Struct

from adk_prism.runlog.entry import Origin
from adk_prism.source.fork import Cuttings

_SHARED = "user:"
_TOMBSTONE = types.Part(inline_data=types.Blob(mime_type="application/octet-stream", data=b""))
"""What ADK's rewind saves for an artifact that was not there; it loads as nothing."""


class ArtifactCopies(Struct, frozen=True):
    """Copies the artifacts of one session to another."""

    service: BaseArtifactService
    source: Origin | None
    """None: a session that this server never had."""
    target: Origin

    async def copy(self, cuttings: Cuttings, until: float) -> list[str]:
        """Copy the artifacts; return the names of those that events mention and that cannot be found.

        An artifact that no event mentions (a client's upload) is copied if it was saved before `until`.
        """
        named = [name for name in cuttings.saved if not name.startswith(_SHARED)]
        missing = []
        for name in dict.fromkeys([*named, *await self._names()]):
            first_later = cuttings.unsaved.get(name, float("inf"))
            last = cuttings.saved.get(name, -1)
            found = await self._versions(name)
            there = [
                version.version <= last
                or (version.version < first_later and version.create_time <= until)
                for version in found
            ]
            await self._copy(name, found[: _count(there)])
            if name in cuttings.saved and not any(there):
                missing.append(name)
        return missing

    async def discard(self) -> None:
        """Delete what was copied."""
        where = _where(self.target)
        for name in await self.service.list_artifact_keys(**where):
            if not name.startswith(_SHARED):
                await self.service.delete_artifact(filename=name, **where)

    async def _names(self) -> list[str]:
        if self.source is None:
            return []
        names = await self.service.list_artifact_keys(**_where(self.source))
        return [name for name in names if not name.startswith(_SHARED)]

    async def _versions(self, name: str) -> list[ArtifactVersion]:
        if self.source is None:
            return []
        found = await self.service.list_artifact_versions(filename=name, **_where(self.source))
        return sorted(found, key=lambda version: version.version)

    async def _copy(self, name: str, found: Sequence[ArtifactVersion]) -> None:
        assert self.source is not None or not found
        for version in found:
            part = await self.service.load_artifact(
                filename=name, version=version.version, **_where(self.source or self.target)
            )
            await self.service.save_artifact(
                filename=name,
                artifact=part or _TOMBSTONE,
                custom_metadata=version.custom_metadata or None,
                **_where(self.target),
            )


def _count(there: Sequence[bool]) -> int:
    """Return how many versions are copied: all up to the last one that was there."""
    return max((index + 1 for index, was in enumerate(there) if was), default=0)


def _where(origin: Origin) -> dict[str, str]:
    return {"app_name": origin.app, "user_id": origin.user, "session_id": origin.session}
