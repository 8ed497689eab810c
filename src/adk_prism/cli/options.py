"""Command-line options, derived from the table of settings."""

from __future__ import annotations

import argparse
import os
from collections.abc import Container
from pathlib import Path

from adk_prism.server.settings import Settings, options
from adk_prism.server.settings.option_kinds import Option, flag_name, variable_name
from adk_prism.server.settings.sources import read_settings


def add_settings(parser: argparse.ArgumentParser, only: Container[str] | None = None) -> None:
    """Add all settings to a parser, or `only` some."""
    for name, option in options().items():
        if only is None or name in only:
            _add(parser, name, option)


def settings_of(args: argparse.Namespace) -> Settings:
    """Return the settings; the command line overrides the environment and pyproject.toml.

    Raise `UsageError` as `read_settings` does.
    """
    typed = {name: getattr(args, name, None) for name in options()}
    given = {name: value for name, value in typed.items() if value is not None}
    return read_settings(given, os.environ, Path.cwd())


def _add(parser: argparse.ArgumentParser, name: str, option: Option) -> None:
    # The default is None, so that an option that was not given can be recognised.
    text = f"{option.help}{_default(name, option)} [{variable_name(name)}]".replace("%", "%%")
    kind = option.kind
    if option.positional:
        parser.add_argument(name, nargs="?", metavar=name.upper(), help=text)
    elif kind.flag:
        parser.add_argument(flag_name(name), action="store_true", default=None, help=text)
    elif kind.many:
        parser.add_argument(flag_name(name), action="append", metavar=kind.metavar, help=text)
    else:
        parser.add_argument(flag_name(name), metavar=kind.metavar, help=text)


def _default(name: str, option: Option) -> str:
    value = Settings.__dataclass_fields__[name].default
    return f" (default: {option.kind.show(value)})" if value else ""
