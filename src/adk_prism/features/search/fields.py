"""The fields of a search as people write them: texts in, a `RunQuery` out.

One table for `GET /api/runs` and `adk-prism runs`. Times are seconds since 1970, or ISO 8601; without an
offset they are UTC, and a day alone is that whole day; or how long ago, as in `2d`.
"""

from __future__ import annotations

import asyncio
import math
import re
import time
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, get_args

from fastapi import APIRouter, Query, Request, Response

from adk_prism.errors import UsageError
from adk_prism.features.search import digest as digests
from adk_prism.features.search.index import RunIndex, uses_of
from adk_prism.features.usage.usage import KINDS, Prices, sum_of, total_cost
from adk_prism.log.contract import RunLog, RunSummary
from adk_prism.log.entry import Origin, Outcome, RunId
from adk_prism.server.identity.caller import listed_user
from adk_prism.server.identity.identity import LARGEST_NUMBER, CallerOf
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
    "cost": "what its model calls cost: at least (0.5), from..to (0.1..0.5) or ..to",
    "since": "earliest start: a date, a time, seconds since 1970, or how long ago (30m, 12h, 2d, 4w)",
    "until": "latest start",
    "sort": "what comes first: newest (default), oldest, longest, shortest, most-tokens, fewest-tokens,"
    " highest-cost or lowest-cost",
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
) -> digests.RunQuery:
    """Read the fields of a search; an empty one is none. Raise `UsageError`, which names the field."""
    given = {name: value for name, value in fields.items() if value}
    for name, value in given.items():
        if len(value) > LONGEST:
            raise UsageError(f"`{name}` has {len(value)} characters; at most {LONGEST}.")
    outcome = _choice(given, "outcome", get_args(Outcome))
    feedback = _choice(given, "feedback", _FEEDBACK)
    names: dict[digests.NameKind, str] = {
        kind: given[kind] for kind in digests.NAME_KINDS if kind in given
    }
    if feedback:
        names["feedback"] = _FEEDBACK[feedback]
    digests.search_terms(given.get("text", ""))
    return digests.RunQuery(
        app=app,
        user=user,
        session=session,
        text=given.get("text", ""),
        names=names,
        without="feedback" if feedback == "none" else None,
        outcome=outcome,
        tokens=digests.Bounds(_number(given, "minTokens"), _number(given, "maxTokens")),
        cost=_cost(given, prices),
        price=lambda used: cost_of_used(used, prices or Prices()),
        duration=digests.Bounds(_number(given, "minDuration"), _number(given, "maxDuration")),
        started=digests.Bounds(_moment(given, "since"), _moment(given, "until")),
        order=_ORDERS[_choice(given, "sort", _ORDERS) or "newest"],
    )


_ORDERS = {
    "newest": digests.NEWEST,
    "oldest": digests.Order("started", is_ascending=True),
    "longest": digests.Order("duration"),
    "shortest": digests.Order("duration", is_ascending=True),
    "most-tokens": digests.Order("tokens"),
    "fewest-tokens": digests.Order("tokens", is_ascending=True),
    "highest-cost": digests.Order("cost"),
    "lowest-cost": digests.Order("cost", is_ascending=True),
}


_FEEDBACK = {"up": "up", "down": "down", "any": "*", "none": ""}
"""Choices, and the patterns of what was said."""


def _choice(given: Mapping[str, str], name: str, known: Collection[str]) -> str:
    value = given.get(name, "")
    if value and value not in known:
        raise UsageError(f"`{name}` must be one of {', '.join(known)}, got {value[:40]!r}.")
    return value


def _cost(given: Mapping[str, str], prices: Prices | None) -> digests.Bounds:
    text = given.get("cost", "")
    if not text:
        return digests.Bounds()
    if not prices:
        raise UsageError(
            "`cost` needs prices of models, and the file that --prices names has none."
        )
    least, _, most = text.partition("..")
    try:
        bounds = digests.Bounds(_amount(least), _amount(most))
        if bounds == digests.ANY or (bounds.most or math.inf) < (bounds.least or 0):
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
_AGO = re.compile(r"(\d{1,6})([mhdw])")
_SECONDS = {"m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def _moment(given: Mapping[str, str], name: str) -> float | None:
    text = given.get(name, "")
    if not text:
        return None
    if ago := _AGO.fullmatch(text):
        return time.time() - int(ago[1]) * _SECONDS[ago[2]]
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
        f"`{name}` must be a date (2026-01-31), a time (2026-01-31T12:00Z), seconds since 1970 or how long"
        f" ago (2d), got {text[:40]!r}."
    )


def cost_of_used(used: digests.Used, prices: Prices) -> float | None:
    """Return what the model calls of a run cost, from its digest; None if a price is missing."""
    return total_cost(
        prices.cost(model, tokens, is_sum=tokens.get("calls", 1) != 1)
        for model, tokens in used.items()
        if model or any(tokens.get(kind) for kind in KINDS)
    )


# ---------------------------------------------------------------------------
# Runs that a search found, as they are answered: by `GET /api/runs`, and by `adk-prism runs`.

LONGEST_TITLE = 120
"""Characters: two lines of a narrow list."""

BEFORE, AFTER = 40, 120
"""Characters of an excerpt around what was found."""

_PLURALS = {
    kind: kind if kind in ("state", "feedback") else f"{kind}s" for kind in digests.NAME_KINDS
}


def shown_found(found: digests.FoundRun, text: str, prices: Prices) -> dict[str, Any]:
    """Return a run that was found, with what it was found by; `text` is what was searched for."""
    digest = found.digest
    shown = shown_run(found.summary)
    shown["title"] = _title(digest)
    shown |= {plural: digest.names.get(kind, []) for kind, plural in _PLURALS.items()}
    shown |= {"tokens": digest.tokens, "duration": digest.duration}
    shown |= sum_of(uses_of(digest), prices).shown()
    if digest.confidence is not None:
        shown["confidence"] = digest.confidence
    return shown | ({"match": _match(digest, text)} if text else {})


def _title(digest: digests.RunDigest) -> str:
    return " ".join(digest.user[: LONGEST_TITLE * 2].split())[:LONGEST_TITLE]


def _match(digest: digests.RunDigest, text: str) -> dict[str, str]:
    """Return where the text was found and what is around it; the beginning, if it is spelled otherwise."""
    parts = {"user": digest.user, "agent": digest.agent, "calls": digest.calls}
    for term in digests.split_terms(text):
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


# ---------------------------------------------------------------------- routes
#
# `GET /api/runs`: every run that the caller may see, or those that fit a search. `GET /api/trends`: what
# those took over time.


DEFAULT_PAGE, MOST_FOUND = 50, 200
"""Runs in one answer to a search."""

PARTIAL = {"x-prism-search": "partial"}
"""The header of an answer for which not every run could be searched."""


_SEARCH_PARAMETERS = [
    {"name": name, "in": "query", "description": text, "schema": {"type": "string"}}
    for name, text in SEARCH_FIELDS.items()
]


def _fields(request: Request) -> dict[str, str]:
    return {name: request.query_params.get(name, "") for name in SEARCH_FIELDS}


@dataclass(frozen=True, slots=True)
class SearchRoutes:
    """The list of runs, made of the parts that it uses."""

    log: RunLog
    index: RunIndex
    prices: Prices

    def router(self) -> APIRouter:
        """Return the router of the list."""
        router = APIRouter(prefix="/api", tags=["runs"])
        parameters = {"parameters": _SEARCH_PARAMETERS}
        router.get("/runs", openapi_extra=parameters)(self.list_runs)
        router.get("/trends", openapi_extra=parameters)(self.show_trends)
        return router

    async def list_runs(
        self,
        request: Request,
        response: Response,
        caller: CallerOf,
        app: str = "",
        user: str = "",
        session: str = "",
        limit: Annotated[int | None, Query(ge=1, le=MOST_FOUND)] = None,
        before: Annotated[int | None, Query(ge=1, le=LARGEST_NUMBER)] = None,
    ) -> list[Any]:
        """Return the runs that the caller may see, oldest first; each filter may be left out.

        With a field of a search, `limit` or `before`: the ended runs that fit, newest first or as `sort`
        says, with what they are found by. The header `link` names the next page; `x-prism-search: partial`
        says that some runs could not be searched, because they are not indexed yet, or older than what
        Redis keeps for it.
        """
        owner = listed_user(caller, user)
        fields = _fields(request)
        if not any(fields.values()) and limit is None and before is None:
            found = await self.log.list(app=app, user=owner, session=session)
            return [shown_run(summary) for summary in found]
        query = read_query(fields, self.prices, app=app, user=owner, session=session)
        page = await self.index.search(query, limit=limit or DEFAULT_PAGE, before=before)
        if page.before is not None:
            following = request.url.include_query_params(before=page.before).query
            response.headers["link"] = f'<?{following}>; rel="next"'
        if not page.complete:
            response.headers.update(PARTIAL)
        answered = await self._answered([each.summary for each in page.found])
        messages = await self._messages(page.found)
        return [
            shown_found(each, query.text, self.prices)
            | ({"answered": True} if each.summary.run in answered else {})
            | messages.get(each.summary.run, {})
            for each in page.found
        ]

    async def show_trends(
        self,
        request: Request,
        response: Response,
        caller: CallerOf,
        app: str = "",
        user: str = "",
        session: str = "",
    ) -> dict[str, Any]:
        """Return what the newest runs that fit took over time, and the names that they can be found by.

        The fields are those of `GET /api/runs`. `points` are equal spans of time (`step` seconds, from `at`
        on): runs, failures, tokens, the median and 95th percentile of the duration in seconds, and where
        there are prices the cost of all runs but those that are `unpriced`. `limited` says that older runs
        fit, too, and are left out.
        """
        owner = listed_user(caller, user)
        fields = _fields(request) | {"sort": ""}
        query = read_query(fields, self.prices, app=app, user=owner, session=session)
        page = await self.index.search(query, limit=MOST_MEASURED)
        if not page.complete:
            response.headers.update(PARTIAL)
        models = {model for each in page.found for model in each.digest.used}
        has_prices = any(map(self.prices.says, models)) or (
            self.prices.is_given and bool(self.prices)
        )
        measured = await asyncio.to_thread(trends, page.found, query.price, has_prices)
        return measured | {"limited": page.before is not None}

    async def _messages(self, found: Sequence[digests.FoundRun]) -> dict[RunId, dict[str, str]]:
        """Return what was asked in the messages that some of the runs go on with."""
        firsts = {
            each.summary.run: RunId(each.summary.message)
            for each in found
            if each.summary.message not in ("", each.summary.run)
        }
        known = await self.index.digests_of(list(set(firsts.values()))) if firsts else {}
        return {
            run: {"messageTitle": _title(known[first])}
            for run, first in firsts.items()
            if first in known
        }

    async def _answered(self, found: Sequence[RunSummary]) -> set[RunId]:
        """Return which of some runs wait no longer: their conversation has gone on."""
        waiting = [summary for summary in found if summary.outcome == "waiting"]
        latest: dict[Origin, float] = {}
        for origin in {summary.origin for summary in waiting}:
            runs = await self.log.list(app=origin.app, user=origin.user, session=origin.session)
            latest[origin] = max((run.started for run in runs), default=0.0)
        return {summary.run for summary in waiting if summary.started < latest[summary.origin]}


# ---------------------------------------------------------------------------
# What runs took over time: their number, failures, durations, tokens and costs in equal spans of time.
#
# Pure: counted from digests that a search found, so that it is the same on every log.

MOST_MEASURED = 2000
"""Runs that are counted, as many as Redis keeps for a search: a tenth to a fifth of a second from SQLite."""

MOST_POINTS = 48
"""Spans of time: what a chart on a phone has room for."""

MOST_NAMES = 50
"""Of each kind, the most frequent ones first."""

_STEPS = (60, 300, 900, 3600, 10_800, 21_600, 86_400, 604_800)
"""Seconds that a span of time may have: from a minute to a week, then whole weeks."""

_FAILED = ("failed", "incomplete")


def trends(
    found: Sequence[digests.FoundRun], price: digests.Price, has_prices: bool
) -> dict[str, Any]:
    """Return the spans of time from the first run to the last one, the sum of all, and the names of all."""
    starts = [each.summary.started for each in found]
    step = _step(max(starts) - min(starts)) if starts else 0
    spans: dict[int, list[digests.FoundRun]] = {}
    for each in found:
        spans.setdefault(int(each.summary.started // step), []).append(each)
    numbers = range(min(spans), max(spans) + 1) if spans else range(0)
    costs = price if has_prices else None
    return {
        "step": step,
        "points": [
            {"at": number * step} | _measured(spans.get(number, ()), costs) for number in numbers
        ],
        "total": _measured(found, costs),
        "names": _names(found),
    }


def _step(seconds: float) -> int:
    """Return the shortest step with which a span of time has at most `MOST_POINTS` points."""
    least = seconds / (MOST_POINTS - 1)
    weeks = math.ceil(least / _STEPS[-1]) * _STEPS[-1]
    return next((step for step in _STEPS if step >= least), weeks)


def _measured(runs: Sequence[digests.FoundRun], price: digests.Price | None) -> dict[str, Any]:
    durations = sorted(each.digest.duration for each in runs)
    shown: dict[str, Any] = {
        "runs": len(runs),
        "failed": sum(each.summary.outcome in _FAILED for each in runs),
        "tokens": sum(each.digest.tokens for each in runs),
        "median": _percentile(durations, 0.5),
        "p95": _percentile(durations, 0.95),
    }
    if price is not None:
        costs = [price(each.digest.used) for each in runs]
        known = [cost for cost in costs if cost is not None]
        shown["cost"] = total_cost(known) if known or not runs else None
        shown["unpriced"] = len(costs) - len(known)
    return shown


def _percentile(ordered: Sequence[float], share: float) -> float | None:
    """Return the least value that so large a share of all does not exceed; None of none."""
    return ordered[math.ceil(share * len(ordered)) - 1] if ordered else None


def _names(found: Iterable[digests.FoundRun]) -> Mapping[str, list[tuple[str, int]]]:
    """Return the names by which runs can be found, with how many have each."""
    counts: dict[str, Counter[str]] = {kind: Counter() for kind in ("app", *digests.NAME_KINDS)}
    for each in found:
        counts["app"][each.summary.origin.app] += 1
        for kind, names in each.digest.names.items():
            counts[kind].update(names)
    return {kind: count.most_common(MOST_NAMES) for kind, count in counts.items()}
