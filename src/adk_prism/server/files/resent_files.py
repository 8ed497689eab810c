"""Files that a client sends again by their link: a message with a photo that is edited after a reload.

`GET …/messages` links what is large to the run's file route. A model cannot follow such a link, so in a new
message it is replaced by the bytes, if the file is of a run of the same user. A link to this server that
names no such file is refused; any other link stays what it is, a reference.
"""

from __future__ import annotations

import base64
import re
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import structs

from adk_prism.commands import Submit
from adk_prism.errors import Forbidden, Gone, NotFound, TooLarge, Unprocessable
from adk_prism.runlog.contract import RunLog
from adk_prism.runlog.entry import Origin, RunId, to_raw
from adk_prism.server.files.embedded_files import HeldBytes
from adk_prism.server.files.run_files import RunFiles

_MARK = b"/api/runs/"
_LINK = re.compile(
    r"(?:https?://.*)?/api/runs/(?P<run>[A-Za-z0-9_-]{1,128})"
    r"/files/(?P<cursor>[1-9]\d{0,14})/(?P<part>\d{1,6}(?:-\d{1,6})?)"
)
"""At whatever address the server was reached when it gave the link."""

Json = dict[str, Any]


class ResentFiles:
    """Replaces links to a user's own files by the files."""

    def __init__(self, log: RunLog, files: RunFiles, limit: int) -> None:
        self._log = log
        self._files = files
        self._limit = limit
        """Bytes of all files of one message."""

    async def fetched(self, message: Submit, origin: Origin, base: str) -> Submit:
        """Return a message whose links to own files are the files. Raise `Unprocessable` or `TooLarge`.

        `base` is the address of this server, as the client sees it.
        """
        if _MARK not in bytes(message.content):
            return message
        content: Json = msgspec.json.decode(message.content)
        room = self._limit
        parts = []
        for part in content["parts"]:
            found = await self._own_file(origin, part, base)
            if found is not None:
                room -= len(found.data)
                part = _inline(part["fileData"], found)
            if room < 0:
                raise TooLarge(
                    "The files that the message links to are larger than --body-limit together."
                )
            parts.append(part)
        return structs.replace(message, content=to_raw({**content, "parts": parts}))

    async def _own_file(self, origin: Origin, part: Json, base: str) -> HeldBytes | None:
        uri: str = part.get("fileData", {}).get("fileUri", "")
        link = _LINK.fullmatch(uri.partition("?")[0].partition("#")[0])
        if link is None:
            return None
        run = RunId(link["run"])
        with suppress(NotFound, Gone, Forbidden):
            owner = (await self._log.summary(run)).origin.user
            if owner == origin.user:
                return await self._files.load(run, int(link["cursor"]), link["part"])
        if uri.startswith((f"{base}/", "/")):
            raise Unprocessable(
                "The message links to a file that does not exist on this server, or that you may not"
                " read; send the file itself."
            )
        return None


def _inline(reference: Json, found: HeldBytes) -> Json:
    blob: Json = {
        "mimeType": found.media_type or reference["mimeType"],
        "data": base64.b64encode(found.data).decode(),
    }
    name = reference.get("displayName") or found.name
    return {"inlineData": {**blob, "displayName": name} if name else blob}
