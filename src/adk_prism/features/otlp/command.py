"""`adk-prism export`: sends a recorded run as a trace to an OpenTelemetry collector."""

from __future__ import annotations

import argparse

import httpx

from adk_prism.cli import RUN_OR_FILE
from adk_prism.cli.terminal import progress
from adk_prism.errors import SourceError, UsageError
from adk_prism.features.captures.client import shown_url
from adk_prism.features.captures.stored_runs import add_arguments, read_stored
from adk_prism.features.otlp.export import exported_spans, otlp_address, trace_request
from adk_prism.version import VERSION

PATIENCE = 60.0
"""Seconds for the collector to answer."""


def register(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("run", metavar="RUN|FILE", help=RUN_OR_FILE)
    parser.add_argument(
        "--otlp",
        metavar="URL",
        required=True,
        help="OTLP over HTTP, e.g. http://127.0.0.1:6006 for Phoenix; /v1/traces is added to a bare address",
    )
    parser.add_argument(
        "--header",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="header for the collector, e.g. authorization='Bearer …'; repeatable",
    )
    add_arguments(parser)


def execute(args: argparse.Namespace) -> int:
    """Send the run. Raise `PrismError` if it is not there, or the collector does not take it."""
    url, headers = otlp_address(args.otlp), dict(map(_header, args.header))
    spans = exported_spans(read_stored(args.run, args))
    if not spans:
        raise SourceError("The run has no times, so it cannot be a trace.")
    service = str(spans[0].attributes["gen_ai.agent.name"])
    with progress("Sending the trace…"):
        _send(url, headers, trace_request(spans, service, VERSION))
    print(f"{len(spans)} spans, trace {spans[0].trace.hex()}")
    return 0


def _header(text: str) -> tuple[str, str]:
    name, found, value = text.partition("=")
    if not found or not name.strip():
        raise UsageError("--header must be NAME=VALUE.")
    return name.strip(), value


def _send(url: str, headers: dict[str, str], body: bytes) -> None:
    sent = {"content-type": "application/x-protobuf", **headers}
    try:
        answer = httpx.post(url, content=body, headers=sent, timeout=PATIENCE)
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeEncodeError):
        raise SourceError(f"{shown_url(url)} does not answer.") from None
    if not answer.is_success:
        raise SourceError(f"{shown_url(url)} refused the trace: HTTP {answer.status_code}.")
