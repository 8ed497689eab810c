"""Whether a tool's response reports a failure."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw, Struct

from adk_prism.facts.json_value import read_value
from adk_prism.facts.strict_json import repair
from adk_prism.runlog.entry import NOTHING


def failure(response: Raw) -> str | None:
    """Return the error text of a failed tool's response; None for a success.

    A failure is `success: false`, or an `error` that is not empty, unless the response declares a success
    by a `result`, by `success: true`, or by its `status`. The text is the error, or its `message`, or the
    whole response if neither is a text.
    """
    if not _may_report_failure(response):
        return None
    raw = bytes(response)
    tree = read_value(raw)
    if not isinstance(tree, dict):
        return None
    error = tree.get("error")
    if tree.get("success") is not False and (not error or _is_success(tree)):
        return None
    if isinstance(error, dict):
        error = error.get("message")
    return error if isinstance(error, str) and error.strip() else repair(raw).decode()


_SUCCESS = frozenset(
    "success succeeded successful ok okay completed complete done finished".split()
)
"""Values of `status` that mean success."""


def _is_success(tree: dict[str, Any]) -> bool:
    status = tree.get("status")
    said = isinstance(status, str) and status.strip().lower() in _SUCCESS
    return said or "result" in tree or tree.get("success") is True


class _Indicators(Struct, gc=False):
    """The members that can report a failure. Decoding skips the rest, which costs less than searching the
    bytes for the words, and does not find them inside values."""

    error: Raw = NOTHING
    success: Raw = NOTHING


_read_indicators = msgspec.json.Decoder(_Indicators).decode


def _may_report_failure(response: Raw) -> bool:
    try:
        found = _read_indicators(response)
    except (msgspec.MsgspecError, RecursionError):
        return True
    return found.error is not NOTHING or found.success is not NOTHING
