"""The session's state by scope, with changes of the last run and the last writer of each key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from adk_prism.console import words
from adk_prism.console.rows import Row, short_json, wrapped


def rows(view: Mapping[str, Any] | None, width: int) -> list[Row]:
    """Return every key; keys that the last run changed have a `Δ` and their previous value."""
    changes = {change.key: change for change in view["sinceStart"]} if view else {}
    if not view or not (changes or any(view["snapshot"].values())):
        return [Row(words.EMPTY_STATE, "dim")]
    shown: list[Row] = []
    for scope, values in view["snapshot"].items():
        if values:
            shown.append(Row(f"{scope} ({len(values)})", "title"))
        for key, value in values.items():
            line = words.KEY_LINE.format(
                key=key, value=short_json(value), writer=view["writers"].get(key, "?")
            )
            shown += _key(line, changes.get(key), width)
    for change in changes.values():
        if change.kind == "removed":
            line = words.KEY_REMOVED.format(key=change.key, value=short_json(change.before))
            shown += wrapped(f"Δ {line}", width, "dim", 4)
    return shown


def _key(line: str, change: Any, width: int) -> Iterator[Row]:
    if change is None:
        yield from wrapped(f"- {line}", width, hang=4)
        return
    yield from wrapped(f"Δ {line}", width, "changed", 4)
    if change.kind == "changed":
        yield from wrapped(words.WAS.format(value=short_json(change.before)), width, "dim", 4)
