"""How an option of a server is declared, and read: its kind of value, and the error for a wrong one.

Knows no option: `setting_groups` and features declare them, as fields of dataclasses. The spellings follow
from the name: `allow_origin` is `--allow-origin` on the command line, `ADK_PRISM_ALLOW_ORIGIN` in the
environment and `allow-origin` in `[tool.adk-prism]`. Imports little, since features declare their options
when they are loaded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, get_args

from adk_prism.errors import UsageError

if TYPE_CHECKING:
    from adk_prism.server.settings import Settings

ENVIRONMENT_PREFIX = "ADK_PRISM_"

SHOWN = 60
"""Characters of a wrong value that an error repeats: enough to recognise it, and still one line."""


_USUAL = object()


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of value: what it is called, what is expected, and how it is read."""

    metavar: str
    expected: str
    read: Callable[[Any], Any]
    """Take text or a TOML value; raise `ValueError` for what is not one of this kind."""
    default: Any = ""
    """The usual default."""
    many: bool = False
    """The option may be repeated, its TOML value is an array, its variable is split at commas."""
    flag: bool = False
    """The option is a switch without a value on the command line."""
    negatable: bool = False
    """The switch also has an opposite: `--no-…`."""
    show: Callable[[Any], str] = str
    """How a value of this kind is written, in the largest unit that is exact."""

    def option(
        self, help: str, default: Any = _USUAL, *, positional: bool = False, adk: str = ""
    ) -> Any:
        """Return the field of a setting: a dataclass with such fields is a group of settings."""
        value = self.default if default is _USUAL else default
        return field(default=value, metadata={"option": Option(self, help, positional, adk)})


@dataclass(frozen=True, slots=True)
class Option:
    """What a setting is, beside its name and default."""

    kind: Kind
    help: str
    positional: bool = False
    """It is a positional argument of the command line."""
    adk: str = ""
    """What `adk web` calls it on its command line, which is taken as well."""


def options_of(group: type[Any]) -> dict[str, Option]:
    """Return the options that a class of settings declares."""
    return {each.name: each.metadata["option"] for each in fields(group) if each.metadata}


@dataclass(frozen=True, kw_only=True)
class SettingGroup:
    """Base of a group of settings: a dataclass whose fields are options (`Kind.option`)."""

    title: ClassVar[str]
    """Their heading in `serve --help`."""


@dataclass(frozen=True, kw_only=True)
class FeatureSettings(SettingGroup):
    """Base of the settings that a feature declares."""

    @property
    def secrets(self) -> list[str]:
        """Values that must not be stored or reported."""
        return []

    @property
    def authenticates(self) -> bool:
        """Whether callers have to say who they are (`Extension.authentication`)."""
        return False

    def broken_rule(self) -> str:
        """Return what is wrong with the combination; empty if nothing is."""
        return ""

    def clash(self, settings: Settings) -> str:
        """Return what is wrong with the combination with other settings; empty if nothing is."""
        del settings
        return ""


def read_option(option: Option, value: object, origin: str) -> Any:
    """Read one value. Raise `UsageError` naming where it came from and what was expected."""
    try:
        return _read_many(option.kind, value) if option.kind.many else option.kind.read(value)
    except (ValueError, TypeError):
        shown = ascii(value)[:SHOWN]
        raise UsageError(f"{origin} must be {option.kind.expected}, got {shown}.") from None


def flag_name(name: str) -> str:
    """Return a setting's name on the command line."""
    return "--" + toml_name(name)


def toml_name(name: str) -> str:
    """Return a setting's name in `[tool.adk-prism]`."""
    return name.replace("_", "-")


def variable_name(name: str) -> str:
    """Return a setting's environment variable."""
    return ENVIRONMENT_PREFIX + name.upper()


def _read_many(kind: Kind, value: object) -> tuple[Any, ...]:
    if isinstance(value, str):
        value = [item.strip() for item in value.split(",") if item.strip()]
    if not isinstance(value, list | tuple):
        raise ValueError
    return tuple(kind.read(item) for item in value)


# --------------------------------------------------------------------------- readers

_LONGEST_NUMBER = 18
"""Characters of a number: nobody counts further, and Python refuses to read thousands of digits."""

_SIZE = re.compile(r"(\d{1,15})\s*(|B|KiB|MiB|GiB)")
_SIZE_UNITS = {"": 1, "B": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}
_SPAN = re.compile(r"(\d{1,9}(?:\.\d{1,3})?)\s*(|s|m|h|d)")
_SPAN_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 24 * 3600}
_SWITCH = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}


def _read_text(value: Any) -> str:
    if not isinstance(value, str) or not value.isprintable():
        raise ValueError
    return value


def _read_count(lowest: int, highest: int) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        if isinstance(value, str) and value.isascii() and value.isdigit():
            value = int(value)
        if type(value) is not int or not lowest <= value <= highest:
            raise ValueError
        return value

    return read


def _read_whole_number(value: Any) -> int:
    if isinstance(value, str) and value.isascii() and value.removeprefix("-").isdigit():
        value = int(value[:_LONGEST_NUMBER])
    if type(value) is not int:
        raise ValueError
    return value


def _read_size(value: Any) -> int:
    if type(value) is int and value > 0:
        return value
    match = _SIZE.fullmatch(_read_text(value))
    if match is None or int(match[1]) == 0:
        raise ValueError
    return int(match[1]) * _SIZE_UNITS[match[2]]


def _read_span(value: Any) -> float:
    if type(value) in (int, float) and value > 0:
        return float(value)
    match = _SPAN.fullmatch(_read_text(value))
    if match is None or float(match[1]) == 0:
        raise ValueError
    return float(match[1]) * _SPAN_UNITS[match[2]]


def _read_flag(value: Any) -> bool:
    found = value if isinstance(value, bool) else _SWITCH.get(_read_text(value).lower())
    if found is None:
        raise ValueError
    return found


def _in_units(units: Mapping[str, int], value: float) -> str:
    unit = max((u for u in units if value % units[u] == 0), key=lambda u: (units[u], u))
    return f"{value / units[unit]:g}{unit}"


# --------------------------------------------------------------------------- kinds

TEXT = Kind("TEXT", "text", _read_text)
URL = Kind("URL", "a URL", _read_text)
FOLDER = Kind("FOLDER", "a folder", _read_text)
FILE = Kind("FILE", "a file", _read_text)
SIZE = Kind(
    "SIZE", "a size such as 8MiB, above 0", _read_size, 0, show=partial(_in_units, _SIZE_UNITS)
)
SPAN = Kind(
    "TIME", "a time such as 15s, 10m or 30d, above 0", _read_span, 0.0,
    show=partial(_in_units, _SPAN_UNITS),
)  # fmt: skip
WHOLE_NUMBER = Kind("N", "a whole number", _read_whole_number, None)
FLAG = Kind("", "true or false", _read_flag, False, flag=True)
SWITCH = Kind("", "true or false", _read_flag, None, flag=True, negatable=True)


def count(lowest: int, highest: int) -> Kind:
    """Return the kind of whole numbers between two bounds, both included."""
    return Kind("N", f"a whole number from {lowest} to {highest}", _read_count(lowest, highest), 0)


def choice(literal: Any) -> Kind:
    """Return the kind that is one of the words of a `Literal`; an empty one is not named."""
    words = [word for word in get_args(literal) if word]

    def read(value: Any) -> str:
        word = value.lower() if isinstance(value, str) else value
        if word not in words:
            raise ValueError
        return str(word)

    return Kind("|".join(words), f"one of {', '.join(words)}", read)


def several(metavar: str, expected: str, read: Callable[[Any], Any] = _read_text) -> Kind:
    """Return the kind of an option that may be given more than once."""
    return Kind(metavar, expected, read, (), many=True)
