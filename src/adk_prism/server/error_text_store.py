"""The full texts of errors, beside the log, and who is shown them.

The log, and so every recording, shared file, fork and film, has a reference where an exception had a text.
On a developer's own machine the text is what they need, so it is kept here for a while, in memory, under
that reference. It is put in at the last moment, into error texts of answers to requests that may see it;
nothing that others are shown, or that is kept, ever holds it. After a restart, or on another replica, there
is none, and the reference is shown.

Secrets that the server knows by value are taken out before a text comes here.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from typing import Literal

from starlette.types import Scope

from adk_prism.diagnostics import Diagnostic
from adk_prism.projection.contract import Complete
from adk_prism.server.guards.local_requests import (
    is_forwarded,
    is_forwarded_from_elsewhere,
    is_local,
)
from adk_prism.server.identity.caller import SCOPE_KEY, may_operate
from adk_prism.source.error_text import place_in

ErrorRule = Literal["reference", "unforwarded", "full"]
"""Who gets full texts: nobody; who calls from this machine without a proxy; who calls from this machine,
also through a proxy on it."""

MOST_TEXTS = 256
"""Errors that are kept: more than a developer looks back at."""

LONGEST_TEXT = 4096
"""Characters of one: a model's API sends some hundred, a validation of a large schema thousands."""

LONGEST_TRACE = 16 * 1024
"""Characters of a traceback, from its end: the raised exception is there, and some hundred frames."""

_TRACEBACK = "Traceback (most recent call last)"

_REFERENCE = re.compile(r"Reference: ([0-9a-f]{12})\.")


class ErrorTexts:
    """The last texts, by reference."""

    def __init__(self, rule: ErrorRule = "reference") -> None:
        self._rule = rule
        self._texts: OrderedDict[str, str] = OrderedDict()
        self._traces: OrderedDict[str, str] = OrderedDict()

    def keep(self, diagnostic: Diagnostic) -> None:
        """Keep the text of a diagnostic under its reference, if a caller may see it. The first one stays."""
        reference, text, cause = diagnostic.correlation, diagnostic.message, diagnostic.cause
        if self._rule == "reference" or not reference:
            return
        if text:
            short = text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}…"
            _put(self._texts, reference, short)
        # An agent's error is reported twice: as ADK's event, and as the exception that ended the run.
        if _TRACEBACK in cause:
            _put(self._traces, reference, cause[-LONGEST_TRACE:])

    def completion(self, scope: Scope) -> Complete | None:
        """Return what completes error texts for a request; None for one that is shown references only."""
        return self._complete if self._shows(scope) else None

    def text(self, scope: Scope, text: str) -> str:
        """Return an error text as a request may see it."""
        return self._complete(text) if self._shows(scope) else text

    def trace(self, scope: Scope, reference: str) -> dict[str, str] | None:
        """Return an error's traceback, and the line of the app in it, if a request may see them."""
        trace = self._traces.get(reference) if self._shows(scope) else None
        if trace is None:
            return None
        place, source = place_in(trace) or ("", "")
        text = self._texts.get(reference, "")
        return {"text": text, "place": place, "source": source, "traceback": trace}

    def _shows(self, scope: Scope) -> bool:
        if self._rule == "reference" or not is_local(scope):
            return False
        passes = is_forwarded if self._rule == "unforwarded" else is_forwarded_from_elsewhere
        caller = scope.get(SCOPE_KEY)
        return not passes(scope) and caller is not None and may_operate(caller)

    def _complete(self, text: str) -> str:
        found = _REFERENCE.search(text)
        full = self._texts.get(found[1]) if found else None
        return text if found is None or full is None else f"{full} {found[0]}"


def _put(kept: OrderedDict[str, str], reference: str, text: str) -> None:
    """Keep a text; the first one of a reference stays, and the oldest go."""
    kept.setdefault(reference, text)
    while len(kept) > MOST_TEXTS:
        kept.popitem(last=False)
