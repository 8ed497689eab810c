"""What the operator and callers are shown: errors, logs, the audit log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from adk_prism.server.settings.option_kinds import (
    FILE,
    FLAG,
    URL,
    Option,
    choice,
)

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
            "whether clients on this machine see exception texts, or only a reference; without: full if"
            " the server is only used locally",
        ),
    ] = ""
    model_calls: Annotated[
        ModelCallDetail,
        Option(
            choice("off", "summary", "full"),
            "what is recorded of model calls: times and tokens, or also requests and responses; without:"
            " full if the server is only used locally, else summary",
        ),
    ] = ""
    prices: Annotated[
        str,
        Option(
            FILE, "JSON file with prices of models per million tokens; without: no cost is shown"
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
            "lowest level of the apps' log records on stderr; libraries log warnings, and ADK everything"
            " with debug",
            adk="--log_level",
        ),
    ] = "info"
    access_log: Annotated[bool, Option(FLAG, "log every request to stderr")] = False
    audit: Annotated[
        str,
        Option(
            FILE, "audit log file: who approved, cancelled, deleted and shared what; without: none"
        ),
    ] = ""
