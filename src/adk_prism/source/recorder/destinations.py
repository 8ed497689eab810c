"""Where a recorder delivers: an adk-prism server, or a folder with one recording for each run."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

import httpx
import msgspec
from msgspec import Struct

from adk_prism.runlog.private_files import FILE_MODE, make_folder
from adk_prism.source.recorder.outbox import OutboundRun

TIMEOUT = 15.0
"""Seconds for one delivery: only the thread of the recorder waits."""

_PROBLEM = "x-prism-problem"
_FINAL = frozenset({400, 404, 409, 410, 413, 415, 422})
"""Statuses with which an adk-prism server refuses a run for good. From anything else, such as a proxy in
front of it, they mean that the server is not there now."""


class Unavailable(Exception):
    """Nothing can be delivered now; try again later."""

    def __init__(self, reason: str, again: float = 0.0) -> None:
        super().__init__(reason)
        self.again = again
        """Seconds to wait at least, if the server says so."""


class Refused(Exception):
    """This run is not taken."""


class TooLong(Refused):
    """The run is not taken any further."""


class Destination(Protocol):
    """Takes lines of recordings; it is called in one thread only."""

    title: str
    """For the log line that says where records go."""

    def deliver(self, run: OutboundRun, lines: Sequence[bytes]) -> int:
        """Take a run's next lines; return the last cursor that is stored.

        Raise `Unavailable` or `Refused`.
        """

    def close(self) -> None:
        """Disconnect."""


class _Stored(Struct):
    cursor: int


class PrismServer:
    """An adk-prism server: `POST /api/record`."""

    def __init__(self, url: str, token: str = "") -> None:
        """Raise `ValueError`, with text for the log, for a URL that cannot be used."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("the URL must begin with http:// or https://")
        if parts.username or parts.password:
            raise ValueError("the URL holds a password; use the token instead")
        if not token.isascii() or not token.isprintable():
            raise ValueError("the token must be ASCII text")
        self.title = f"{parts.scheme}://{parts.netloc}{parts.path}".rstrip("/")
        self._token = token
        self._is_near = parts.hostname in ("127.0.0.1", "::1", "localhost")
        self._http: httpx.Client | None = None

    def deliver(self, run: OutboundRun, lines: Sequence[bytes]) -> int:
        """Send a piece of a run."""
        headers = {"content-type": "application/x-ndjson", "x-prism-recorder": run.secret}
        if self._token:
            headers["authorization"] = f"Bearer {self._token}"
        try:
            answer = self._client().post(
                f"{self.title}/api/record", content=b"".join(lines), headers=headers
            )
            if answer.status_code == httpx.codes.OK:
                return msgspec.json.decode(answer.content, type=_Stored).cursor
        except (httpx.HTTPError, msgspec.MsgspecError, ValueError) as error:
            raise Unavailable(f"no answer ({type(error).__name__})") from error
        if answer.status_code in _FINAL and _PROBLEM in answer.headers:
            is_long = answer.status_code == httpx.codes.REQUEST_ENTITY_TOO_LARGE
            refusal = TooLong if is_long else Refused
            raise refusal(f"{answer.status_code} {answer.headers[_PROBLEM][:60]}")
        again = answer.headers.get("retry-after", "")
        raise Unavailable(f"status {answer.status_code}", float(again) if again.isdigit() else 0.0)

    def _client(self) -> httpx.Client:
        """Return the connection; made late, as it takes a while to load certificates."""
        if self._http is None:
            # A proxy of the environment is for other machines.
            self._http = httpx.Client(timeout=TIMEOUT, trust_env=not self._is_near)
        return self._http

    def close(self) -> None:
        """Disconnect."""
        if self._http is not None:
            self._http.close()
            self._http = None


class RecordingFolder:
    """A folder: each run becomes a recording, `RUN.jsonl`, which only this user can read."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder).expanduser().absolute()
        self.title = str(self._folder)

    def deliver(self, run: OutboundRun, lines: Sequence[bytes]) -> int:
        """Append to the run's file."""
        if not lines:
            return 0  # A file needs no sign of life.
        try:
            make_folder(self._folder)
            _append(self._folder / f"{run.run}.jsonl", b"".join(lines))
        except OSError as error:
            raise Unavailable(error.strerror or type(error).__name__) from error
        return run.lines[0][0] + len(lines) - 1

    def close(self) -> None:
        """Do nothing: no file is open between two deliveries."""


def _append(path: Path, data: bytes) -> None:
    """Append to a file, all or nothing: a disk may be full in the middle of a line."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, FILE_MODE), "ab", 0) as file:
        size = os.fstat(file.fileno()).st_size
        try:
            if file.write(data) != len(data):
                raise OSError("the disk is full")
        except OSError:
            os.ftruncate(file.fileno(), size)
            raise
