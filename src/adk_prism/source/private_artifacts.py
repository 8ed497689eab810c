"""ADK's artifacts in files, which only this user can read: ADK leaves their modes to the umask."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from google.adk.artifacts.file_artifact_service import FileArtifactService

from adk_prism.runlog.private_files import below, make_folder, tighten


class PrivateArtifacts(FileArtifactService):
    """A folder of artifacts for this user alone."""

    def __init__(self, root_dir: Path) -> None:
        make_folder(root_dir)
        super().__init__(root_dir)

    async def save_artifact(self, **about: Any) -> int:
        """Save an artifact as ADK does, and close what was made for it to others."""
        version = await super().save_artifact(**about)
        where = {key: about.get(key) for key in ("app_name", "user_id", "filename", "session_id")}
        saved = await self.get_artifact_version(version=version, **where)  # type: ignore[arg-type] # as given
        if saved is not None:
            file = Path(url2pathname(urlsplit(saved.canonical_uri).path))
            await asyncio.to_thread(self._close, file)
        return version

    def _close(self, file: Path) -> None:
        above = [folder for folder in file.parents if folder.is_relative_to(self.root_dir)]
        tighten([*above, *below(file.parent)])
