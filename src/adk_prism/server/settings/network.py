"""What is served, where the server listens, and which pages and hosts it accepts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from adk_prism.server.settings.option_kinds import FLAG, FOLDER, TEXT, URL, Option, count, several

HIGHEST_PORT = 65535


@dataclass(frozen=True, kw_only=True)
class NetworkSettings:
    """What is served, where the server listens, and which pages and hosts it accepts."""

    agents_dir: Annotated[
        str,
        Option(FOLDER, "folder of ADK apps, as for `adk web` (default: the example apps)", True),
    ] = ""
    host: Annotated[str, Option(TEXT, "address to listen on")] = "127.0.0.1"
    port: Annotated[
        int, Option(count(0, HIGHEST_PORT), "port to listen on; 0 means any free port")
    ] = 8000
    root_path: Annotated[
        str, Option(TEXT, "path prefix under which a proxy serves this server", adk="--url_prefix")
    ] = ""
    public_url: Annotated[
        str, Option(URL, "URL at which clients reach the server, if it differs from its address")
    ] = ""
    allow_origin: Annotated[
        tuple[str, ...],
        Option(
            several("ORIGIN", "origins such as https://app.example.com"),
            "origin of a web page that may call the server, besides the server's own; regex:PATTERN for"
            " several; repeatable",
            adk="--allow_origins",
        ),
    ] = ()
    dev: Annotated[
        bool,
        Option(
            FLAG, "let web pages on localhost, on any port, call the server; for local use only"
        ),
    ] = False
    allow_host: Annotated[
        tuple[str, ...],
        Option(
            several("HOST", "host names such as agents.example.com"),
            "host name under which the server may be called, besides this machine's own; repeatable",
        ),
    ] = ()
    insecure: Annotated[
        bool,
        Option(FLAG, "listen on an address that other machines can reach, without authentication"),
    ] = False
