"""`adk-prism export`: sends a recorded run as a trace to an OpenTelemetry collector."""

from __future__ import annotations

import argparse

import httpx

from adk_prism.cli import words
from adk_prism.cli.log_access import add_arguments
from adk_prism.cli.run_arguments import read_stored
from adk_prism.cli.terminal import progress
from adk_prism.console.client import shown_url
from adk_prism.errors import SourceError, UsageError
from adk_prism.server.observability.trace_export import otlp_address
from adk_prism.transport.otlp import trace_request
from adk_prism.version import VERSION
from adk_prism.view.exported_spans import exported_spans

PATIENCE = 60.0
"""Seconds for the collector to answer."""


def register(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("run", metavar="RUN|FILE", help=words.RUN_OR_FILE)
    parser.add_argument("--otlp", metavar="URL", required=True, help=words.EXPORT_OTLP)
    parser.add_argument(
        "--header",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help=words.EXPORT_HEADER,
    )
    add_arguments(parser)


def execute(args: argparse.Namespace) -> int:
    """Send the run. Raise `PrismError` if it is not there, or the collector does not take it."""
    url, headers = otlp_address(args.otlp), dict(map(_header, args.header))
    spans = exported_spans(read_stored(args.run, args))
    if not spans:
        raise SourceError(words.NO_TIMES)
    service = str(spans[0].attributes["gen_ai.agent.name"])
    with progress(words.SENDING):
        _send(url, headers, trace_request(spans, service, VERSION))
    print(words.EXPORTED.format(spans=len(spans), trace=spans[0].trace.hex()))
    return 0


def _header(text: str) -> tuple[str, str]:
    name, found, value = text.partition("=")
    if not found or not name.strip():
        raise UsageError(words.BAD_HEADER)
    return name.strip(), value


def _send(url: str, headers: dict[str, str], body: bytes) -> None:
    sent = {"content-type": "application/x-protobuf", **headers}
    try:
        answer = httpx.post(url, content=body, headers=sent, timeout=PATIENCE)
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeEncodeError):
        raise SourceError(words.NO_ANSWER.format(url=shown_url(url))) from None
    if not answer.is_success:
        raise SourceError(words.TRACE_REFUSED.format(url=shown_url(url), status=answer.status_code))
