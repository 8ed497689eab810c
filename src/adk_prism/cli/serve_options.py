"""The options of `adk-prism serve`: all settings in groups, and what else `adk web` takes."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from adk_prism.errors import UsageError
from adk_prism.server.settings import Settings, options
from adk_prism.server.settings.reading import Option, flag_name, variable_name
from adk_prism.server.settings.settings import default_of, feature_settings, options_of
from adk_prism.server.settings.sources import REMOVED, read_settings, removed_setting

# ---------------------------------------------------------------------- groups
#
# Under which heading of `serve --help` each setting stands; every setting is in one group.

GROUPS: dict[str, tuple[str, ...]] = {
    "Server": (
        "host", "port", "root_path", "public_url", "workers", "worker_port", "reload", "a2a", "without",
        "auto_create_session", "keep_alive", "stalled", "grace",
    ),
    "Storage": (
        "data_dir", "log", "sessions", "artifacts", "memory", "local_storage", "retention_age",
        "retention_size", "retention_sessions", "files_from", "files_limit", "files_emulator",
    ),
    "Models": ("default_llm_model", "max_llm_calls", "model_calls", "prices"),
    "Running agents": (
        "chat_busy", "adk_busy", "tool_threads", "tool_timeout", "in_doubt", "in_doubt_tool",
        "lease",
        "client_state", "extra_plugins", "enable_features", "disable_features",
    ),
    "Voice": (
        "live_busy", "live_grace", "live_sound", "live_sound_limit", "approval_timeout",
        "client_tool_timeout",
    ),
    "Security": (
        "tokens", "oidc_issuer", "oidc_audience", "oidc_jwks", "oidc_user_claim", "oidc_algorithm",
        "proxy_user_header", "trusted_proxy", "authenticate", "admin", "allow_origin", "allow_host",
        "dev", "insecure", "redact", "reveal",
    ),
    "Limits": (
        "body_limit", "history_limit", "upload_limit", "limit_runs", "limit_requests",
        "limit_sockets", "limit_rate", "limit_bytes", "limit_run_time", "limit_unwatched",
    ),
    "Logging": ("log_level", "log_format", "access_log", "audit", "errors", "otlp"),
}  # fmt: skip
"""In the order in which someone who sets up a server needs them."""


# ---------------------------------------------------------------------- options of adk web
#
# Options of `adk web` and `adk api_server` that are not settings: what each means, or what to use instead.
#
# Follows google-adk 2.13 `cli/cli_tools_click.py`. Options that are settings under another name are spelled
# there (`Option.adk`). With this table a command line for `adk web` works for `adk-prism serve`, or is
# refused with a line that says what to do; none is ignored in silence.

_LOGO = "the page has no logo to change; leave it out"
_REGISTER = "register the agent with `adk api_server` instead"

_TRACING = (
    "traces go to the OpenTelemetry provider of the process: run it with"
    " `opentelemetry-instrument` and an exporter for Google Cloud"
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
    "--logo-text": _LOGO,
    "--logo-image-url": _LOGO,
    "--gemini_enterprise_app_name": _REGISTER,
    "--express_mode": _REGISTER,
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
        "--with_ui",
        action="store_true",
        help="accepted as by `adk api_server`; the page is always served",
    )
    for name in REFUSED:
        parser.add_argument(name, nargs="?", action=_Refuse, help=argparse.SUPPRESS)


# ---------------------------------------------------------------------- settings


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Add all settings to a parser, under the headings of their groups."""
    known = options()
    for name, option in known.items():
        if option.positional:
            _add(parser.add_argument, name, option)
    for title, names in GROUPS.items():
        group = parser.add_argument_group(title)
        for name in names:
            _add(group.add_argument, name, known[name])
    for kind in feature_settings():
        group = parser.add_argument_group(kind.title)
        for name, option in options_of(kind).items():
            _add(group.add_argument, name, option)
    for name in REMOVED:
        # Without a value, too: the answer is the same.
        parser.add_argument(flag_name(name), nargs="?", const="", help=argparse.SUPPRESS)


def settings_of(args: argparse.Namespace) -> Settings:
    """Return the settings; the command line overrides the environment and pyproject.toml.

    Raise `UsageError` as `read_settings` does.
    """
    for name in REMOVED:
        if getattr(args, name, None) is not None:
            raise removed_setting(name, flag_name(name))
    typed = {name: getattr(args, name, None) for name in options()}
    given = {name: value for name, value in typed.items() if value is not None}
    if getattr(args, "verbose", False):
        given.setdefault("log_level", "debug")
    return read_settings(given, os.environ, Path.cwd())


def _add(add: Callable[..., argparse.Action], name: str, option: Option) -> None:
    # The default is None, so that an option that was not given can be recognised.
    text = f"{option.help}{_default(name, option)} [{variable_name(name)}]".replace("%", "%%")
    kind = option.kind
    names = [flag_name(name), option.adk] if option.adk else [flag_name(name)]
    if option.positional:
        add(name, nargs="?", metavar=name.upper(), help=text)
    elif kind.negatable:
        add(*names, action=argparse.BooleanOptionalAction, help=text)
    elif kind.flag:
        add(*names, action="store_true", default=None, help=text)
    elif kind.many:
        add(*names, action="append", metavar=kind.metavar, help=text)
    else:
        add(*names, metavar=kind.metavar, help=text)


def _default(name: str, option: Option) -> str:
    value = default_of(name)
    return f" (default: {option.kind.show(value)})" if value else ""
