"""Options of `adk web` and `adk api_server` that are not settings: what each means, or what to use instead.

Follows google-adk 2.13 `cli/cli_tools_click.py`. Options that are settings under another name are spelled
there (`Option.adk`). With this table a command line for `adk web` works for `adk-prism serve`, or is
refused with a line that says what to do; none is ignored in silence.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from adk_prism.cli import words
from adk_prism.errors import UsageError

_TRACING = words.ADK_TRACING
_TRIGGERS = words.ADK_TRIGGERS

REFUSED = {
    "--trace_to_cloud": _TRACING,
    "--otel_to_cloud": _TRACING,
    "--eval_storage_uri": words.ADK_EVAL_STORAGE,
    "--no_use_local_storage": words.ADK_NO_LOCAL_STORAGE,
    "--trigger_sources": _TRIGGERS,
    "--trigger_oidc_audience": _TRIGGERS,
    "--trigger_oidc_service_accounts": _TRIGGERS,
    "--avatar_config": words.ADK_AVATAR,
    "--logo-text": words.ADK_LOGO,
    "--logo-image-url": words.ADK_LOGO,
    "--gemini_enterprise_app_name": words.ADK_REGISTER,
    "--express_mode": words.ADK_REGISTER,
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
        raise UsageError(words.ADK_REFUSED.format(option=name, instead=REFUSED[name]))


def add_adk_options(parser: argparse.ArgumentParser) -> None:
    """Add what `adk web` takes and no setting is."""
    parser.add_argument("-v", "--verbose", action="store_true", help=words.VERBOSE)
    parser.add_argument("--with_ui", action="store_true", help=words.WITH_UI)
    for name in REFUSED:
        parser.add_argument(name, nargs="?", action=_Refuse, help=argparse.SUPPRESS)
