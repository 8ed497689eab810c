"""Options of `adk web` and `adk api_server` that are not settings: what each means, or what to use instead.

Follows google-adk 2.13 `cli/cli_tools_click.py`. Options that are settings under another name are spelled
there (`Option.adk`). With this table a command line for `adk web` works for `adk-prism serve`, or is
refused with a line that says what to do; none is ignored in silence.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from adk_prism.errors import UsageError

_TRACING = (
    "traces go to the OpenTelemetry provider of the process: run it with `opentelemetry-instrument`"
    " and an exporter for Google Cloud"
)
_TRIGGERS = (
    "triggers are not built: let Pub/Sub or Eventarc call `adk api_server --trigger_sources`"
)

REFUSED = {
    "--trace_to_cloud": _TRACING,
    "--otel_to_cloud": _TRACING,
    "--eval_storage_uri": "eval sets are files beside the agent here, and run with `adk-prism eval`",
    "--no_use_local_storage": "use --sessions memory:// and --artifacts memory://",
    "--trigger_sources": _TRIGGERS,
    "--trigger_oidc_audience": _TRIGGERS,
    "--trigger_oidc_service_accounts": _TRIGGERS,
    "--avatar_config": "video output is not built: serve it with `adk api_server --avatar_config`",
    "--logo-text": "the page has no logo to change; leave it out",
    "--logo-image-url": "the page has no logo to change; leave it out",
    "--gemini_enterprise_app_name": "register the agent with `adk api_server` instead",
    "--express_mode": "register the agent with `adk api_server` instead",
}
"""Options that are not built, and what to do instead."""


class _Refuse(argparse.Action):
    """Refuses an option, with its line of the table."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        """Raise `UsageError`."""
        del parser, namespace, values
        name = option_string or self.option_strings[0]
        raise UsageError(f"{name} of `adk web` is not supported; {REFUSED[name]}.")


def add_adk_options(parser: argparse.ArgumentParser) -> None:
    """Add what `adk web` takes and no setting is."""
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="the same as --log-level debug"
    )
    parser.add_argument(
        "--with_ui", action="store_true", help="as for `adk api_server`; the page is always served"
    )
    for name in REFUSED:
        parser.add_argument(name, nargs="?", action=_Refuse, help=argparse.SUPPRESS)
