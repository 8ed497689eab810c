"""Apps that other ADK servers run."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from adk_prism.features.remote.options import (
    AUTO,
    DEFAULT_EVENT_BYTES,
    DEFAULT_IDLE,
    DEFAULT_TOTAL,
    DIALECTS,
    Remote,
)
from adk_prism.options import SIZE, SPAN, FeatureSettings, several
from adk_prism.server.proxies import origin_of_url

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
