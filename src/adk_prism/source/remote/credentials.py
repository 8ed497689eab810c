"""What a remote app is sent to prove who calls: fixed headers, and a token from a command.

The command is the operator's. Its token is kept until the remote refuses it. Neither is ever logged.
"""

from __future__ import annotations

import asyncio
import shlex

from adk_prism.errors import RemoteFailed
from adk_prism.source.remote.app_options import Remote

COMMAND_TIME = 30.0
"""Seconds that the token command may take."""

LONGEST_TOKEN = 16 * 1024


class Credentials:
    """The headers of every request to one remote."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote
        self._token = ""
        self._asking = asyncio.Lock()

    @property
    def can_renew(self) -> bool:
        """Whether another token can be had when one is refused."""
        return bool(self._remote.token_command)

    async def headers(self) -> dict[str, str]:
        """Return the headers. Raise `RemoteFailed` if the token command fails."""
        headers = dict(self._remote.headers)
        if self._remote.token_command:
            headers["authorization"] = f"Bearer {await self._known_token()}"
        return headers

    def forget(self, headers: dict[str, str]) -> None:
        """Drop the token that these headers hold: it was refused."""
        if headers.get("authorization") == f"Bearer {self._token}":
            self._token = ""

    async def _known_token(self) -> str:
        async with self._asking:  # One command at a time, however many requests wait for it.
            if not self._token:
                self._token = await self._ask()
            return self._token

    async def _ask(self) -> str:
        try:
            async with asyncio.timeout(COMMAND_TIME):
                output = await _output(shlex.split(self._remote.token_command))
        except (OSError, ValueError, TimeoutError) as error:
            raise self._failed(type(error).__name__) from None
        token = output.decode(errors="replace").strip()
        if (
            not token
            or len(token) > LONGEST_TOKEN
            or not token.isascii()
            or not token.isprintable()
        ):
            raise self._failed("it printed no token")
        return token

    def _failed(self, why: str) -> RemoteFailed:
        return RemoteFailed(
            f"The token command of the remote app {self._remote.name!r} failed ({why})."
        )


async def _output(words: list[str]) -> bytes:
    process = await asyncio.create_subprocess_exec(
        *words,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        output, _ = await process.communicate()
    except BaseException:
        if process.returncode is None:
            process.kill()
        raise
    if process.returncode:
        raise ValueError(f"exit code {process.returncode}")
    return output
