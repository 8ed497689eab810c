"""What is served, where the server listens, and which pages and hosts it accepts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from adk_prism.server.settings.option_kinds import (
    FLAG,
    FOLDER,
    TEXT,
    URL,
    Option,
    count,
    several,
)

HIGHEST_PORT = 65535


@dataclass(frozen=True, kw_only=True)
class NetworkSettings:
    """What is served, where the server listens, and which pages and hosts it accepts."""

    agents_dir: Annotated[
        str,
        Option(FOLDER, "folder of ADK apps, as for `adk web`; without: the example apps", True),
    ] = ""
    host: Annotated[str, Option(TEXT, "address to listen on")] = "127.0.0.1"
    port: Annotated[int, Option(count(0, HIGHEST_PORT), "port to listen on; 0: any free port")] = (
        8000
    )
    root_path: Annotated[
        str, Option(TEXT, "path prefix that a proxy removes", adk="--url_prefix")
    ] = ""
    public_url: Annotated[
        str, Option(URL, "URL at which clients reach the server, if it is another one")
    ] = ""
    allow_origin: Annotated[
        tuple[str, ...],
        Option(
            several("ORIGIN", "origins such as https://app.example.com"),
            "web origin that may call from a browser, besides the server's own, or regex:PATTERN for"
            " several; repeatable",
            adk="--allow_origins",
        ),
    ] = ()
    dev: Annotated[
        bool,
        Option(
            FLAG, "allow pages on localhost, on any port, to call; only with a loopback address"
        ),
    ] = False
    allow_host: Annotated[
        tuple[str, ...],
        Option(
            several("HOST", "host names such as agents.example.com"),
            "host name that the server accepts, besides this machine's own; repeatable",
        ),
    ] = ()
    insecure: Annotated[
        bool, Option(FLAG, "allow a non-loopback address without authentication")
    ] = False
