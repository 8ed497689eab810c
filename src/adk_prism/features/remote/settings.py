"""Apps that other ADK servers run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from msgspec import Struct

from adk_prism.errors import Conflict, NotFound, PrismError
from adk_prism.options import SIZE, SPAN, FeatureSettings, several
from adk_prism.server.proxies import origin_of_url

# ---------------------------------------------------------------------- options
#
# What is known of a remote app before it is called: where it is, what it may cost, what its server speaks.
#
# The dialects are a table of the ADK servers that can be spoken to: how each differs from Python's 2.x.
# Python 1.39 and 2.13, TypeScript 2.0 and Agent Engine's methods on ADK's own server were run; Java 1.8, Go
# 2.2 and Kotlin 0.8 are written from their sources.


DEFAULT_IDLE = 600.0
"""Seconds without an event: a tool may take minutes, and ADK sends nothing meanwhile."""

DEFAULT_TOTAL = 3600.0
"""Seconds of one run."""

DEFAULT_EVENT_BYTES = 16 * 1024 * 1024
"""Of one event: a few MiB of inline media, and some room."""

_ENGINE = re.compile(r"/reasoningEngines/[^/]+$")


class Remote(Struct, frozen=True, kw_only=True):
    """One remote app."""

    name: str
    """Under which it is served here."""
    url: str
    """Of its server, without a slash at the end."""
    app: str
    """Its name on that server."""
    dialect: str = "auto"
    headers: Mapping[str, str] = {}
    """Sent with every request. Never logged."""
    token_command: str = ""
    """Prints a bearer token. Run again when the token is refused."""
    connect: float = 10.0
    """Seconds until a connection has to be there."""
    answer: float = 30.0
    """Seconds for a request that does not run the agent."""
    idle: float = DEFAULT_IDLE
    total: float = DEFAULT_TOTAL
    event_bytes: int = DEFAULT_EVENT_BYTES
    body_bytes: int = 64 * 1024 * 1024
    """Of an answer that is not a stream: a session with all its events."""

    @property
    def is_engine(self) -> bool:
        """Whether the address is that of an app on Agent Engine."""
        return _ENGINE.search(self.url) is not None

    def engine_path(self, *, stream: bool) -> str:
        """Return where methods of an app on Agent Engine are called: there, or on ADK's own server."""
        if self.is_engine:
            return ":streamQuery?alt=sse" if stream else ":query"
        return "/api/stream_reasoning_engine" if stream else "/api/reasoning_engine"


AUTO = "auto"

Refusals = Mapping[int, type[PrismError]]
"""What a status means beyond what it means to everybody."""


class Dialect(Struct, frozen=True, kw_only=True):
    """One kind of ADK server."""

    name: str
    prefix: str = ""
    """Of every path."""
    patches_state: bool = False
    """`PATCH …/sessions/{s}` changes state without a run."""
    has_app_info: bool = False
    """`GET /apps/{app}/app-info` describes the agents, if the root is an `LlmAgent`."""
    has_build_graph: bool = False
    """`GET /dev/apps/{app}/build_graph` describes them."""
    has_metadata: bool = False
    """A run takes `customMetadata`."""
    has_versions: bool = False
    """Artifacts have versions with metadata, and can be saved."""
    creates_by_path: bool = False
    """A session with an id is created by `POST …/sessions/{s}`, not by an id in the body."""
    takes_events: bool = False
    """A session can be created with events: those of a person and of agents, without actions."""
    no_session: Refusals = {}
    """Answers to reading a session that is not there."""
    session_exists: Refusals = {}
    """Answers to creating a session that is there."""
    has_live: bool = False
    """`WS /run_live` takes live runs."""
    has_newer_live: bool = False
    """There, state and messages in pieces are taken, too."""
    fails_silently: bool = False
    """A run that failed is a stream that ends."""
    is_engine: bool = False
    """Methods of Agent Engine take the place of ADK's routes. A run that failed breaks the connection."""


_CAN = {
    "python": "patches_state has_app_info has_metadata has_versions has_live has_newer_live takes_events",
    "python-1": "patches_state has_app_info has_live takes_events",
    "typescript": "has_build_graph creates_by_path",
    "java": "creates_by_path fails_silently",
    "go": "creates_by_path takes_events",
    "kotlin": "creates_by_path fails_silently",
    "agent-engine": "is_engine fails_silently",
}
_OTHERWISE: dict[str, dict[str, Any]] = {
    **{name: {"session_exists": {400: Conflict}} for name in ("typescript", "java", "kotlin")},
    "go": {"prefix": "/api", "no_session": {500: NotFound}},
}
DIALECTS = {
    name: Dialect(name=name, **dict.fromkeys(can.split(), True), **_OTHERWISE.get(name, {}))  # type: ignore[arg-type] # names of flags
    for name, can in _CAN.items()
}
"""By name, in the order in which they are listed."""


# ---------------------------------------------------------------------- settings


_NAMED = re.compile(r"(?!__)([A-Za-z_][A-Za-z0-9_]{0,127})=(.{1,8192})")
_HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}):[ \t]*([\x21-\x7e][\x20-\x7e]*)")


def _read_named(value: object) -> str:
    """Check NAME=VALUE, where NAME is an app's; raise `ValueError`."""
    if not isinstance(value, str) or not value.isprintable() or not _NAMED.fullmatch(value):
        raise ValueError
    return value


def _read_remote(value: object) -> str:
    name, _, url = _read_named(value).partition("=")
    if origin_of_url(url) is None or any(sign in url for sign in "?#@"):
        raise ValueError
    return f"{name}={url.rstrip('/')}"


def _read_header(value: object) -> str:
    text = _read_named(value)
    if not _HEADER.fullmatch(text.partition("=")[2]):
        raise ValueError
    return text


def _read_dialect(value: object) -> str:
    text = _read_named(value)
    if text.partition("=")[2] not in (AUTO, *DIALECTS):
        raise ValueError
    return text


@dataclass(frozen=True, kw_only=True)
class RemoteSettings(FeatureSettings):
    """Apps that other ADK servers run."""

    title: ClassVar[str] = "Remote apps"

    remote: tuple[str, ...] = several(
        "NAME=URL", "remote apps such as support=https://agents.example", _read_remote
    ).option(
        "serve an app of another ADK server under this name; repeatable. Local apps are served only if"
        " AGENTS_DIR is given"
    )
    remote_app: tuple[str, ...] = several(
        "NAME=APP", "names such as support=help_desk", _read_named
    ).option("name of the app on its own server, if it differs; repeatable")
    remote_header: tuple[str, ...] = several(
        "NAME=HEADER", "headers such as 'support=X-Api-Key: 123'", _read_header
    ).option("header to send with every request to a remote app; never logged; repeatable")
    remote_token_command: tuple[str, ...] = several(
        "NAME=COMMAND", "commands such as 'support=cat token.txt'", _read_named
    ).option(
        "command that prints a bearer token for a remote app; run again when the token is refused;"
        " repeatable"
    )
    remote_dialect: tuple[str, ...] = several(
        "NAME=DIALECT",
        f"dialects such as support=python; known: {', '.join((AUTO, *DIALECTS))}",
        _read_dialect,
    ).option("kind of ADK server that a remote app is on, if it cannot be detected; repeatable")
    remote_idle: float = SPAN.option(
        "how long a run of a remote app may send no event", DEFAULT_IDLE
    )
    remote_total: float = SPAN.option("how long a run of a remote app may take", DEFAULT_TOTAL)
    remote_event_limit: int = SIZE.option(
        "largest event that is accepted from a remote app", DEFAULT_EVENT_BYTES
    )

    @property
    def remotes(self) -> list[Remote]:
        """The remote apps, with what is set for each."""
        apps, dialects = _by_name(self.remote_app), _by_name(self.remote_dialect)
        commands = _by_name(self.remote_token_command)
        return [
            Remote(
                name=name,
                url=url,
                app=apps.get(name, name),
                dialect=dialects.get(name, AUTO),
                headers=_headers(self.remote_header, name),
                token_command=commands.get(name, ""),
                idle=self.remote_idle,
                total=self.remote_total,
                event_bytes=self.remote_event_limit,
            )
            for name, url in _by_name(self.remote).items()
        ]

    @property
    def secrets(self) -> list[str]:
        """Values of headers."""
        return [value for name in _by_name(self.remote) for value in self._values_of(name)]

    def _values_of(self, name: str) -> list[str]:
        values = _headers(self.remote_header, name).values()
        # The token also by itself, without the scheme before it.
        return [secret for value in values for secret in {value, value.rpartition(" ")[2]}]

    def broken_rule(self) -> str:
        """Return what is wrong with the combination; empty if nothing is."""
        known = _by_name(self.remote)
        if len(known) != len(self.remote):
            return "--remote names an app twice; each remote app needs a name of its own."
        others = (
            ("--remote-app", self.remote_app),
            ("--remote-header", self.remote_header),
            ("--remote-token-command", self.remote_token_command),
            ("--remote-dialect", self.remote_dialect),
        )
        for flag, values in others:
            for name in _by_name(values):
                if name not in known:
                    return f"{flag} names {name!r}, which is not a --remote app."
        return ""


def _by_name(values: tuple[str, ...]) -> dict[str, str]:
    return {name: value for name, _, value in (each.partition("=") for each in values)}


def _headers(values: tuple[str, ...], app: str) -> dict[str, str]:
    found = (each.partition("=") for each in values)
    lines = (line.partition(":") for name, _, line in found if name == app)
    return {name.strip().lower(): value.strip() for name, _, value in lines}
