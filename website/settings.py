"""The reference of the settings: those of the kernel, then those of features."""

from __future__ import annotations

from dataclasses import fields

from adk_prism.options import Option, flag_name, variable_name
from adk_prism.server.setting_groups import GROUPS
from adk_prism.server.settings import feature_settings
from website.markdown import code, plain, table

HEADS = ("option and variable", "default", "what it is")


def settings() -> str:
    """Return a table for each group of settings."""
    return "\n\n".join(map(_group, (*GROUPS, *feature_settings().values())))


def _group(group: type) -> str:
    title = (group.__doc__ or "").strip().splitlines()[0].rstrip(".")
    rows = (_row(field.name, field.metadata["option"], field.default) for field in fields(group))  # type: ignore[arg-type]
    return f"## {title}\n\n{table(HEADS, rows)}"


def _row(name: str, option: Option, default: object) -> list[str]:
    flag = name.upper() if option.positional else f"{flag_name(name)} {option.kind.metavar}".strip()
    shown = option.kind.show(default) if default not in ("", (), None, False) else ""
    return [f"{code(flag)}<br>{code(variable_name(name))}", code(shown), plain(option.help)]
