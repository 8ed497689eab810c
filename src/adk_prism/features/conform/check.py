"""Checks, and the sheet on which a probe notes what it saw of each.

A check that must hold fails; one that should hold gives advice, for what every client survives. A check that
was never noted was not seen.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from adk_prism.errors import UsageError

Level = Literal["must", "should"]
Verdict = Literal["passed", "failed", "advice", "not seen", "left out"]

MAX_FAULTS = 3
"""Faults of one check that are kept; one fault often repeats with every frame."""
MAX_EXCERPT = 240
"""Characters of what came that are shown."""


class Check(Struct, frozen=True):
    """One rule of a protocol."""

    id: str
    expected: str
    source: str
    """Where the protocol says so."""
    level: Level = "must"


class Fault(Struct, frozen=True):
    """One time that a rule was broken."""

    came: str
    where: str


class Result(Struct, frozen=True):
    """What was found for one check."""

    check: Check
    verdict: Verdict
    faults: tuple[Fault, ...] = ()
    count: int = 0
    """How often the rule was broken."""


class Sheet:
    """Collects what a probe sees."""

    def __init__(
        self, checks: Sequence[Check], left_out: Collection[str] = (), secrets: Iterable[str] = ()
    ) -> None:
        """`secrets` never appear in a report. Raise `UsageError` if `left_out` names an unknown check."""
        self._checks = {check.id: check for check in checks}
        unknown = sorted(set(left_out) - self._checks.keys())
        if unknown:
            raise UsageError(f"--except names an unknown check, {unknown[0]!r}; see --list.")
        self._left_out = frozenset(left_out)
        # The longest first: a shorter secret may be a part of it.
        self._secrets = sorted(filter(None, secrets), key=len, reverse=True)
        self._seen: set[str] = set()
        self._faults: dict[str, list[Fault]] = {}
        self._counts: dict[str, int] = {}
        self.where = ""
        """What is being tried, such as the prompt; part of each fault."""

    @property
    def has_results(self) -> bool:
        """Whether anything was tried."""
        return bool(self._seen)

    @property
    def has_faults(self) -> bool:
        """Whether anything was wrong."""
        return bool(self._faults)

    def seen(self, *ids: str) -> None:
        """Note that checks were tried; they pass if no fault follows."""
        self._seen.update(ids)

    def fault(self, id: str, came: str, at: str = "") -> None:
        """Note a fault of a check: what came, and at which frame."""
        self._seen.add(id)
        self._counts[id] = self._counts.get(id, 0) + 1
        kept = self._faults.setdefault(id, [])
        if len(kept) < MAX_FAULTS:
            where = ", ".join(filter(None, [self.where, at]))
            kept.append(Fault(self._shown(came), self._shown(where)))

    def expect(self, id: str, holds: bool, came: str, at: str = "") -> bool:
        """Note whether a rule holds; return it."""
        if holds:
            self.seen(id)
        else:
            self.fault(id, came, at)
        return holds

    def results(self) -> tuple[Result, ...]:
        """Return the result of each check, in the protocol's order."""
        return tuple(map(self._result, self._checks.values()))

    def _result(self, check: Check) -> Result:
        if check.id in self._left_out:
            return Result(check, "left out")
        if check.id not in self._seen:
            return Result(check, "not seen")
        faults = tuple(self._faults.get(check.id, ()))
        if not faults:
            return Result(check, "passed")
        verdict: Verdict = "failed" if check.level == "must" else "advice"
        return Result(check, verdict, faults, self._counts[check.id])

    def _shown(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, "[hidden]")
        plain = "".join(c if c.isprintable() else " " for c in text)
        return plain if len(plain) <= MAX_EXCERPT else plain[: MAX_EXCERPT - 1] + "…"


# ---------------------------------------------------------------------- value types
#
# The types of values in a frame, by key: what the JSON schema of a protocol says beyond its keys.

Json = dict[str, Any]
TypeRule = tuple[str, Callable[[Any], bool]]
"""A type's name, and whether a value has it."""

STRING: TypeRule = ("a string", lambda value: isinstance(value, str))
BOOLEAN: TypeRule = ("true or false", lambda value: isinstance(value, bool))
OBJECT: TypeRule = ("an object", lambda value: isinstance(value, dict))
LIST: TypeRule = ("a list", lambda value: isinstance(value, list))
WHOLE: TypeRule = (
    "a whole number",
    lambda value: isinstance(value, int) and not isinstance(value, bool),
)
NUMBER: TypeRule = (
    "a number",
    lambda value: isinstance(value, int | float) and not isinstance(value, bool),
)


def named(value: Any) -> str:
    """Return a value for a report; of objects and lists only what they are."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    return "null" if value is None else repr(value)


def wrong_types(frame: Json, rules: Mapping[str, TypeRule]) -> Iterator[str]:
    """Yield each value of a frame that is not of its type; null is of none."""
    for key, (name, fits) in rules.items():
        if key in frame and not fits(frame[key]):
            yield f"{key} must be {name}, got {named(frame[key])}"


def missing_keys(frame: Json, required: tuple[str, ...]) -> Iterator[str]:
    """Yield each required key that a frame lacks."""
    yield from (f"{key} is missing" for key in required if key not in frame)
