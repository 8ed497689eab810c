"""The part of a model provider's error message that clients may see.

An exception's text never enters the log: it may quote requests, paths and secrets. An error of Google's API
is the exception, where it is about the state of the service: a user who reads "quota exceeded" knows what to
do. ADK writes such an error into its event as google-genai 2.34 spells it (`errors.APIError.__str__`):
`429 RESOURCE_EXHAUSTED. {'error': {'code': 429, 'message': '…', 'status': 'RESOURCE_EXHAUSTED'}}`, with its
own advice before it. Only the message in that form is taken, only of the codes below, its first line, and
without whatever looks like a key, an account, a project or the query of an address.
"""

from __future__ import annotations

import ast
import re
from typing import Any

PUBLIC_CODES = frozenset(
    """RESOURCE_EXHAUSTED UNAVAILABLE DEADLINE_EXCEEDED INTERNAL ABORTED CANCELLED NOT_FOUND
    FAILED_PRECONDITION""".split()
)
"""Codes of google.rpc whose message is about the service. Of the others, INVALID_ARGUMENT quotes the request,
PERMISSION_DENIED and UNAUTHENTICATED name accounts and keys."""

LONGEST = 300
"""Characters. The first line of the longest message that the API is known to send has 220."""

_MOST = 20_000
"""Characters of an error that are parsed: its details may hold whole requests."""

_WRITTEN = re.compile(
    r"(?:\A|\n)\d{3} (?P<status>[A-Z_]{2,40})\. (?P<details>\{.*\})\s*\Z", re.DOTALL
)

_MASKED = (
    (re.compile(r"(https?://[^\s?#]+)[?#]\S*"), r"\1"),
    (
        re.compile(r"\b(projects?[/:]|project_number:|consumer '?)\s*[\w.:-]+", re.IGNORECASE),
        r"\1…",
    ),
    (re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"), "…"),
    (
        re.compile(
            r"\b(key|token|secret|password|bearer)(['\"]?\s*[:=]\s*|\s+)['\"]?[\w./+-]{8,}",
            re.IGNORECASE,
        ),
        r"\1\2…",
    ),
    (re.compile(r"(?<![\w/.-])(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{24,}(?![\w/.-])"), "…"),
)
"""Queries and fragments of addresses, projects, accounts, what is called a key, and what looks like one."""


def provider_message(code: str, text: str) -> str:
    """Return what clients may see of a provider's error; empty if nothing."""
    if code not in PUBLIC_CODES or len(text) > _MOST:
        return ""
    found = _WRITTEN.search(text)
    if found is None or found["status"] != code:
        return ""
    return _masked(_message_in(found["details"]))


def _message_in(details: str) -> str:
    try:
        tree: Any = ast.literal_eval(details)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return ""
    error = tree.get("error", tree) if isinstance(tree, dict) else None
    message = error.get("message") if isinstance(error, dict) else None
    return message if isinstance(message, str) else ""


def _masked(message: str) -> str:
    line = " ".join(next((line for line in message.splitlines() if line.strip()), "").split())
    for pattern, shown in _MASKED:
        line = pattern.sub(shown, line)
    line = "".join(char for char in line if char.isprintable())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"
