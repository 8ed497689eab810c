"""Where settings come from: the first of these that has a value decides.

The command line, `ADK_PRISM_…`, `[tool.adk-prism]` of the nearest pyproject.toml, the default.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from adk_prism.errors import UsageError
from adk_prism.server.settings import Settings, options
from adk_prism.server.settings.reading import (
    Option,
    flag_name,
    read_option,
    toml_name,
    variable_name,
)

REMOVED = {
    "live_shortcut": "was removed: audio always goes through ADK's flow; leave it out",
}
"""Settings of earlier versions, and what to do. Refused, so that none is ignored in silence."""


def read_settings(
    command_line: Mapping[str, object], environ: Mapping[str, str], start: Path
) -> Settings:
    """Return the settings of a process started in folder `start`.

    `command_line` holds only what was typed, by setting name. Raise `UsageError` with one line for
    a value that is not of its kind, a removed setting, an unknown key in `[tool.adk-prism]` or a broken rule.
    """
    table = options()
    values: dict[str, Any] = {}
    for name in REMOVED:
        if environ.get(variable_name(name)):
            raise removed_setting(name, variable_name(name))
    values.update(_from_pyproject(table, start))
    values.update(_from_environment(table, environ))
    for name, value in command_line.items():
        typed = name.upper() if table[name].positional else flag_name(name)
        values[name] = read_option(table[name], value, typed)
    return Settings(**values)


def removed_setting(name: str, given_as: str) -> UsageError:
    """Return the error for a setting that was removed."""
    return UsageError(f"{given_as} {REMOVED[name]}.")


def _from_environment(table: Mapping[str, Option], environ: Mapping[str, str]) -> dict[str, Any]:
    variables = {name: variable_name(name) for name in table}
    return {
        name: read_option(table[name], environ[variable], variable)
        for name, variable in variables.items()
        # An empty variable is how shells and compose files say "not set".
        if environ.get(variable)
    }


def _from_pyproject(table: Mapping[str, Option], start: Path) -> dict[str, Any]:
    file = next((f / "pyproject.toml" for f in (start, *start.parents) if _has_project(f)), None)
    if file is None:
        return {}
    section = _read_section(file)
    names = {toml_name(name): name for name in table}
    for name in REMOVED:
        if toml_name(name) in section:
            raise removed_setting(name, f"[tool.adk-prism] {toml_name(name)}")
    if unknown := [key for key in section if key not in names]:
        known = ", ".join(sorted(names))
        raise UsageError(f"Unknown key {unknown[0]!r} in [tool.adk-prism]; known keys: {known}.")
    values = {
        names[key]: read_option(table[names[key]], value, f"[tool.adk-prism] {key}")
        for key, value in section.items()
    }
    for name in values.keys() & {"agents_dir", "data_dir", "tokens", "audit"}:
        # A path in a file is relative to that file, not to the working folder.
        values[name] = str(file.parent / values[name])
    return values


def _has_project(folder: Path) -> bool:
    return (folder / "pyproject.toml").is_file()


def _read_section(file: Path) -> Mapping[str, Any]:
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{file} cannot be read as TOML: {error}.") from error
    section = document.get("tool", {}).get("adk-prism", {})
    if not isinstance(section, dict):
        raise UsageError(f"[tool.adk-prism] in {file} must be a table.")
    return section
