"""The fields of a search as people write them: texts in, a `RunQuery` out.

One table for `GET /api/runs` and `adk-prism runs`. Times are seconds since 1970, or ISO 8601; without an
offset they are UTC, and a day alone is that whole day.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, get_args

from adk_prism.errors import UsageError
from adk_prism.facts.pricing import KINDS, Prices, sum_of, total_cost
from adk_prism.features.search.digest import (
    ANY,
    NAME_KINDS,
    Bounds,
    FoundRun,
    NameKind,
    RunDigest,
    RunQuery,
    Used,
    search_terms,
    split_terms,
)
from adk_prism.features.search.index import uses_of
from adk_prism.log.entry import Outcome
from adk_prism.server.routes import shown_run

SEARCH_FIELDS: dict[str, str] = {
    "text": "words in what the user, the agents and the tools said; quotes keep words together",
    "tool": "name of a tool that was called; * at the beginning or end stands for anything",
    "agent": "name of an agent that ran",
    "model": "name of a model that answered",
    "error": "code of an error, such as ValueError; * for any error",
    "state": "key of the state that was set",
    "feedback": "what people said about it: up, down, any or none",
    "outcome": f"how the run ended: {', '.join(get_args(Outcome))}",
    "minTokens": "least number of tokens",
    "maxTokens": "greatest number of tokens",
    "minDuration": "least duration in seconds",
    "maxDuration": "greatest duration in seconds",
    "cost": "what its model calls cost: at least (0.5), from..to (0.1..0.5) or ..to; needs prices",
    "since": "earliest start: a date, a time, or seconds since 1970",
    "until": "latest start",
}
"""Names and meanings."""

LONGEST = 200
"""Characters of a field."""


def read_query(
    fields: Mapping[str, str],
    prices: Prices | None = None,
    *,
    app: str = "",
    user: str = "",
    session: str = "",
) -> RunQuery:
    """Read the fields of a search; an empty one is none. Raise `UsageError`, which names the field."""
    given = {name: value for name, value in fields.items() if value}
    for name, value in given.items():
        if len(value) > LONGEST:
            raise UsageError(f"`{name}` has {len(value)} characters; at most {LONGEST}.")
    outcome = _choice(given, "outcome", get_args(Outcome))
    feedback = _choice(given, "feedback", _FEEDBACK)
    names: dict[NameKind, str] = {kind: given[kind] for kind in NAME_KINDS if kind in given}
    if feedback:
        names["feedback"] = _FEEDBACK[feedback]
    search_terms(given.get("text", ""))
    return RunQuery(
        app=app,
        user=user,
        session=session,
        text=given.get("text", ""),
        names=names,
        without="feedback" if feedback == "none" else None,
        outcome=outcome,
        tokens=Bounds(_number(given, "minTokens"), _number(given, "maxTokens")),
        cost=_cost(given, prices),
        price=lambda used: cost_of_used(used, prices or Prices()),
        duration=Bounds(_number(given, "minDuration"), _number(given, "maxDuration")),
        started=Bounds(_moment(given, "since"), _moment(given, "until")),
    )


_FEEDBACK = {"up": "up", "down": "down", "any": "*", "none": ""}
"""Choices, and the patterns of what was said."""


def _choice(given: Mapping[str, str], name: str, known: Collection[str]) -> str:
    value = given.get(name, "")
    if value and value not in known:
        raise UsageError(f"`{name}` must be one of {', '.join(known)}, got {value[:40]!r}.")
    return value


def _cost(given: Mapping[str, str], prices: Prices | None) -> Bounds:
    text = given.get("cost", "")
    if not text:
        return Bounds()
    if not prices:
        raise UsageError("`cost` needs prices of models: name a file of them with --prices.")
    least, _, most = text.partition("..")
    try:
        bounds = Bounds(_amount(least), _amount(most))
        if bounds == ANY or (bounds.most or math.inf) < (bounds.least or 0):
            raise ValueError
    except ValueError:
        raise UsageError(
            f"`cost` must be a number, or two with .. between them, got {text[:40]!r}."
        ) from None
    return bounds


def _amount(text: str) -> float | None:
    if not text.strip():
        return None
    value = float(text)
    if not math.isfinite(value) or value < 0:
        raise ValueError
    return value


def _number(given: Mapping[str, str], name: str) -> float | None:
    if name not in given:
        return None
    try:
        value = float(given[name])
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 0:
        raise UsageError(f"`{name}` must be a number from 0, got {given[name][:40]!r}.")
    return value


_DAY = timedelta(days=1, microseconds=-1)


def _moment(given: Mapping[str, str], name: str) -> float | None:
    text = given.get(name, "")
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        return _date(name, text)
    if not math.isfinite(seconds):
        raise _no_time(name, text)
    return seconds


def _date(name: str, text: str) -> float:
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        if name == "until" and len(text) <= len("2026-01-31"):
            moment += _DAY
        return moment.timestamp()
    except (ValueError, OverflowError):
        raise _no_time(name, text) from None


def _no_time(name: str, text: str) -> UsageError:
    return UsageError(
        f"`{name}` must be a date (2026-01-31), a time (2026-01-31T12:00Z) or seconds since 1970, "
        f"got {text[:40]!r}."
    )


def cost_of_used(used: Used, prices: Prices) -> float | None:
    """Return what the model calls of a run cost, from its digest; None if a price is missing."""
    return total_cost(
        prices.cost(model, tokens)
        for model, tokens in used.items()
        if model or any(tokens.get(kind) for kind in KINDS)
    )


# ---------------------------------------------------------------------------
# Runs that a search found, as they are answered: by `GET /api/runs`, and by `adk-prism runs`.

LONGEST_TITLE = 120
"""Characters: two lines of a narrow list."""

BEFORE, AFTER = 40, 120
"""Characters of an excerpt around what was found."""

_PLURALS = {kind: kind if kind in ("state", "feedback") else f"{kind}s" for kind in NAME_KINDS}


def shown_found(found: FoundRun, text: str, prices: Prices) -> dict[str, Any]:
    """Return a run that was found, with what it was found by; `text` is what was searched for."""
    digest = found.digest
    shown = shown_run(found.summary)
    shown["title"] = " ".join(digest.user[: LONGEST_TITLE * 2].split())[:LONGEST_TITLE]
    shown |= {plural: digest.names.get(kind, []) for kind, plural in _PLURALS.items()}
    shown |= {"tokens": digest.tokens, "duration": digest.duration}
    shown |= sum_of(uses_of(digest), prices).shown()
    return shown | ({"match": _match(digest, text)} if text else {})


def _match(digest: RunDigest, text: str) -> dict[str, str]:
    """Return where the text was found and what is around it; the beginning, if it is spelled otherwise."""
    parts = {"user": digest.user, "agent": digest.agent, "calls": digest.calls}
    for term in split_terms(text):
        for name, part in parts.items():
            at = part.casefold().find(term.casefold())
            if at >= 0:
                return {"in": name, "excerpt": _excerpt(part, at)}
    name = next((name for name, part in parts.items() if part), "user")
    return {"in": name, "excerpt": _excerpt(parts[name], 0)}


def _excerpt(text: str, at: int) -> str:
    start, end = max(0, at - BEFORE), at + AFTER
    words = " ".join(text[start:end].split())
    return f"{'…' * (start > 0)}{words}{'…' * (end < len(text))}"
