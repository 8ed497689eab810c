"""Values from a service's records: of the right type or empty, cleaned, and of bounded size."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

LONGEST_TITLE = 500
LONGEST_ABSTRACT = 5_000
LONGEST_NAME = 200
# Papers of large collaborations name thousands; nobody reads them in a list of results.
MOST_AUTHORS = 50

_TAG = re.compile(r"</?[A-Za-z][^<>]{0,200}>")


def clean(value: object, longest: int = LONGEST_TITLE) -> str:
    """Return a text on one line, without markup and control characters; empty if it is not a string."""
    if not isinstance(value, str):
        return ""
    # Cut before the work as well: what is too long anyway is not worth cleaning.
    text = html.unescape(_TAG.sub(" ", html.unescape(value[: longest * 4])))
    plain = "".join(" " if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") else c for c in text)
    return " ".join(plain.split())[:longest].rstrip()


def number(value: object) -> int | None:
    """Return a whole number, also from digits in a text; None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    if isinstance(value, str) and value.isascii() and value.strip().isdigit() and len(value) < 16:
        return int(value)
    return None


def year(value: object) -> int | None:
    """Return a plausible year of publication, also the first in a text."""
    if isinstance(value, str):
        found = re.search(r"(?<!\d)(1[5-9]\d\d|20\d\d)(?!\d)", value)
        return int(found.group()) if found else None
    given = number(value)
    return given if given is not None and 1500 <= given <= 2100 else None


def mapping(value: object) -> Mapping[str, Any]:
    """Return an object, or an empty one."""
    return value if isinstance(value, dict) else {}


def items(value: object) -> Sequence[Any]:
    """Return a list, or an empty one."""
    return value if isinstance(value, list) else ()


def names(values: Sequence[str]) -> tuple[str, ...]:
    """Return the authors' names that there are, up to a bound."""
    cleaned = (clean(value, LONGEST_NAME) for value in values[:MOST_AUTHORS])
    return tuple(name for name in cleaned if name)


def link(value: object) -> str:
    """Return a web address that may be shown as a link, or nothing."""
    text = clean(value, 2_000)
    return text if text.startswith(("https://", "http://")) and " " not in text else ""
