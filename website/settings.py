"""The reference of the settings: every field of `Settings`."""

from __future__ import annotations

from dataclasses import fields

from adk_prism import Settings
from adk_prism.server.settings import options
from adk_prism.server.settings.reading import Option, flag_name, variable_name
from website.markdown import code, plain, table

HEADS = ("option and variable", "default", "what it is")


def settings() -> str:
    """Return a table for each group of settings."""
    groups = [base for base in reversed(Settings.__bases__) if base is not object]
    return "\n\n".join(_group(base) for base in groups)


def _group(group: type) -> str:
    names = [field.name for field in fields(group)]  # type: ignore[arg-type]
    table_of_options = options()
    title = (group.__doc__ or "").strip().splitlines()[0].rstrip(".")
    rows = (_row(name, table_of_options[name]) for name in names)
    return f"## {title}\n\n{table(HEADS, rows)}"


def _row(name: str, option: Option) -> list[str]:
    default = Settings.__dataclass_fields__[name].default
    flag = name.upper() if option.positional else f"{flag_name(name)} {option.kind.metavar}".strip()
    shown = option.kind.show(default) if default not in ("", (), None, False) else ""
    return [f"{code(flag)}<br>{code(variable_name(name))}", code(shown), plain(option.help)]
