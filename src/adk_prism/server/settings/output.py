"""What the operator and callers are shown: errors, logs, the audit log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from adk_prism.server.settings.option_kinds import FILE, FLAG, URL, Option, choice

LogFormat = Literal["text", "json"]

LogLevel = Literal["debug", "info", "warning", "error"]

ModelCallDetail = Literal["", "off", "summary", "full"]

Errors = Literal["", "full", "reference"]


@dataclass(frozen=True, kw_only=True)
class OutputSettings:
    """What the operator and callers are shown: errors, logs, the audit log."""

    errors: Annotated[
        Errors,
        Option(
            choice("full", "reference"),
            "what clients on this machine see of an exception: its text, or a reference to the server's log"
            " (default: full if the server is only used locally)",
        ),
    ] = ""
    model_calls: Annotated[
        ModelCallDetail,
        Option(
            choice("off", "summary", "full"),
            "what is recorded of model calls: nothing, times and tokens, or also requests and responses"
            " (default: full if the server is only used locally, else summary)",
        ),
    ] = ""
    prices: Annotated[
        str,
        Option(
            FILE, "JSON file with prices of models per million tokens (default: no cost is shown)"
        ),
    ] = ""
    otlp: Annotated[
        str,
        Option(
            URL,
            "send every run that has ended as a trace to this OpenTelemetry collector, over HTTP",
        ),
    ] = ""
    log_format: Annotated[
        LogFormat, Option(choice("text", "json"), "format of log lines on stderr")
    ] = "text"
    log_level: Annotated[
        LogLevel,
        Option(
            choice("debug", "info", "warning", "error"),
            "least important log records of your apps that are printed on stderr; libraries print only"
            " warnings; with debug ADK prints everything",
            adk="--log_level",
        ),
    ] = "info"
    access_log: Annotated[bool, Option(FLAG, "log every request to stderr")] = False
    audit: Annotated[
        str,
        Option(
            FILE,
            "file that records who approved, cancelled, deleted and shared what (default: none)",
        ),
    ] = ""
