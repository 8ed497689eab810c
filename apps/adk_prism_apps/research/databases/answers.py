"""What an HTTP answer or an error means, for every service alike; tables first, exceptions few.

`Reading` is what a service has of its own: where its error texts stand, and which statuses mean
something else there.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal

import httpx

from .database import BadAnswer
from .errors import ServiceError, ServiceErrorKind
from .fetch import TooLarge
from .text import clean

_STATUSES: Mapping[int, ServiceErrorKind] = {
    400: "malformed_query",
    401: "auth_failed",
    402: "access_restricted",
    403: "auth_failed",
    408: "timeout",
    413: "malformed_query",
    414: "malformed_query",
    422: "malformed_query",
    429: "rate_limited",
    431: "malformed_query",
    451: "access_restricted",
    504: "timeout",
}
_PASSING_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})
_SUBSCRIPTION = ("subscri", "institution", "licens", "purchase", "paywall", "entitle")
_LONGEST_WORDS = 200


def no_words(_: httpx.Response) -> str:
    """Return nothing: a service that explains itself nowhere."""
    return ""


@dataclass(frozen=True, slots=True)
class Reading:
    """How a service answers."""

    body: Literal["json", "xml"]
    words: Callable[[httpx.Response], str] = no_words
    statuses: Mapping[int, ServiceErrorKind] = field(default_factory=dict)


def error_of(answer: httpx.Response | Exception, reading: Reading) -> ServiceError | None:
    """Return what is wrong with an answer as far as its kind tells; None if it can be parsed."""
    if isinstance(answer, Exception):
        return _of_error(answer)
    if answer.status_code != 200:
        return _of_status(answer, reading)
    return _of_body(answer, reading.body)


def _of_error(error: Exception) -> ServiceError:
    match error:
        case TimeoutError() | httpx.TimeoutException():
            return ServiceError(
                "timeout", "no_answer", "The service did not answer in time.", passing=True
            )
        case TooLarge():
            return ServiceError(
                "service_error", "body.size", "The answer was larger than the limit."
            )
        case httpx.InvalidURL() | httpx.UnsupportedProtocol():
            return ServiceError(
                "network_error", "address", "The service's address is not a web address."
            )
        case httpx.RemoteProtocolError() | httpx.DecodingError() | httpx.ReadError():
            text = "The connection was closed before the answer was complete."
            return ServiceError("service_error", "body.cut", text, passing=True)
        case _:
            text = "The service could not be reached."
            return ServiceError("network_error", "no_connection", text, passing=True)


def _of_status(answer: httpx.Response, reading: Reading) -> ServiceError:
    status = answer.status_code
    said = clean(reading.words(answer), _LONGEST_WORDS)
    kind = reading.statuses.get(status) or _STATUSES.get(status, "service_error")
    if status == 403:
        kind = _of_forbidden(answer, kind)
    detail = f"The service answered with HTTP {status}" + (f": {said}" if said else ".")
    return ServiceError(
        kind,
        f"http.{status}",
        detail,
        status=status,
        retry_after=_retry_after(answer),
        passing=status in _PASSING_STATUSES or kind == "rate_limited",
    )


def _of_forbidden(answer: httpx.Response, kind: ServiceErrorKind) -> ServiceErrorKind:
    """Tell the reasons for a 403 apart: used up, not subscribed, not known."""
    remaining = [
        value for name, value in answer.headers.items() if name.endswith(("limit-remaining",))
    ]
    if "0" in remaining or "retry-after" in answer.headers:
        return "rate_limited"
    text = answer.text[:2_000].lower()
    return "access_restricted" if any(word in text for word in _SUBSCRIPTION) else kind


def _of_body(answer: httpx.Response, expected: str) -> ServiceError | None:
    head = answer.content[:512].lstrip().lower()
    if not head:
        return ServiceError(
            "service_error", "body.empty", "The answer was empty.", 200, passing=True
        )
    # Captive portals and maintenance pages answer 200 with a page for people.
    if head.startswith((b"<!doctype html", b"<html")):
        text = "The service answered with a web page instead of data."
        return ServiceError("service_error", "body.html", text, 200, passing=True)
    if expected == "json" and not head.startswith((b"{", b"[", b"\xef\xbb\xbf{")):
        text = "The service answered with something that is not JSON."
        return ServiceError("service_error", "body.json", text, 200, passing=True)
    return None


def _retry_after(answer: httpx.Response) -> float | None:
    """Return the seconds that the service asks for: a number, or a date by the service's clock."""
    said = answer.headers.get("retry-after", "").strip()
    if not said:
        return None
    try:
        seconds = float(said)
    except ValueError:
        seconds = _until(said, answer.headers.get("date", ""))
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _until(said: str, now: str) -> float:
    try:
        then = parsedate_to_datetime(said)
        start = parsedate_to_datetime(now) if now else datetime.now(UTC)
        return (then - start).total_seconds()
    except (TypeError, ValueError):
        return math.nan


def json_object(answer: httpx.Response) -> dict[str, Any]:
    """Return the answer's object; raises `BadAnswer` if it is none."""
    try:
        value = json.loads(answer.content)
    except (ValueError, RecursionError) as problem:
        raise BadAnswer("The answer is not complete JSON.") from problem
    if not isinstance(value, dict):
        raise BadAnswer(f"The answer is a JSON {type(value).__name__}, not an object.")
    return value


def said_in_json(*names: str) -> Callable[[httpx.Response], str]:
    """Return a reader of a service's error text: the first of the fields that holds one."""

    def words(answer: httpx.Response) -> str:
        try:
            value = json_object(answer)
        except BadAnswer:
            return ""
        return next((str(value[name]) for name in names if isinstance(value.get(name), str)), "")

    return words
