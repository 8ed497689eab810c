"""What a protocol's driver works with: the server's address, the user's options, and the sheet."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from itertools import count
from secrets import token_hex
from typing import Any
from urllib.parse import quote

from msgspec import Struct

from adk_prism.conform.check import Check, Sheet
from adk_prism.conform.exchange import NEVER, Answer, Exchange, Leave

SHORT = 60
"""Characters of a prompt that are shown."""


class Options(Struct, frozen=True, kw_only=True):
    """What the user asked for."""

    url: str
    app: str = ""
    prompts: tuple[str, ...]
    approve: bool = False
    """Approvals that are asked for are given; otherwise they are denied."""
    headers: Mapping[str, str] = {}
    timeout: float = 60.0


class Probe:
    """One server under test."""

    def __init__(self, options: Options, exchange: Exchange, sheet: Sheet, endpoint: str) -> None:
        self.options = options
        self.exchange = exchange
        self.sheet = sheet
        self.endpoint = endpoint
        """Where a client sends its messages; for ADK the server's base."""
        self._name, self._numbers = token_hex(4), count(1)

    def new_id(self, kind: str) -> str:
        """Return an id that this server has not seen."""
        return f"conform-{self._name}-{kind}-{next(self._numbers)}"

    def trying(self, what: str) -> None:
        """Say what is tried from now on; faults name it."""
        self.sheet.where = what

    async def post(self, body: Any, *, leave: Leave = NEVER, last_id: str = "") -> Answer:
        """Post JSON to the endpoint."""
        given = {"accept": "text/event-stream"}
        if last_id:
            given["last-event-id"] = last_id
        return await self.exchange.send(
            "POST", self.endpoint, json=body, headers=given, leave=leave
        )

    async def post_text(self, text: str, media_type: str = "application/json") -> Answer:
        """Post a text to the endpoint."""
        headers = {"accept": "text/event-stream", "content-type": media_type}
        return await self.exchange.send(
            "POST", self.endpoint, content=text.encode(), headers=headers
        )


class Driver(Struct, frozen=True, kw_only=True):
    """How one protocol is tried."""

    name: str
    checks: tuple[Check, ...]
    own_path: str
    """Where an adk-prism server speaks it for an app; empty: at the server's address."""
    run: Callable[[Probe], Awaitable[None]]

    def endpoint(self, url: str, app: str) -> str:
        """Return the address that is tried, for an app of an adk-prism server or as it was given."""
        base, _, query = url.partition("?")
        if not app or not self.own_path:
            return url if query else base.rstrip("/") if not self.own_path else base
        return base.rstrip("/") + self.own_path.format(app=quote(app, safe=""))


def shortened(prompt: str) -> str:
    """Return a prompt for a report."""
    plain = " ".join(prompt.split())
    return f"prompt {plain[:SHORT]!r}"
