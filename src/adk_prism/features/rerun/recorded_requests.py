"""Requests to models in a form in which two of them can be compared, and how they differ. Pure.

A request is a table: the name of each part (`instruction`, `tools/search`, `contents/3`) with its text. Left
out is what cannot matter for the answer: labels and HTTP options, ids that ADK draws, the order of tools, and
the sentence that ADK's models add when nobody has spoken last.

What changes from run to run by itself, such as a clock in an instruction, is left out by a rule that the user
names. When two requests differ in nothing else, the difference says which rule would help.
"""

from __future__ import annotations

import difflib
import re
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from adk_prism.adk.secret_forms import REDACTED
from adk_prism.errors import UsageError

NAMED_RULES: Mapping[str, str] = {
    "clock": r"\d{4}-\d\d?-\d\d?(?:[T ]\d\d?:\d\d(?::\d\d(?:\.\d+)?)?)?(?:Z|[+-]\d\d:?\d\d)?"
    r"|\d\d?:\d\d(?::\d\d(?:\.\d+)?)?(?: ?[AaPp][Mm])?",
    "uuid": r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}",
    "hex": r"\b[0-9a-f]{12,64}\b",
    "number": r"\d+(?:\.\d+)?",
}
"""What `--ignore` takes by name, the narrowest first; anything else is a regular expression."""

_CAUSES = {
    "clock": "a date or time",
    "uuid": "a UUID",
    "hex": "a random id",
    "number": "a number",
}

MOST_RULES, LONGEST_RULE = 20, 200
"""A person names a few, and each is applied to every text of every request."""

LONGEST_SHOWN = 20_000
"""Characters of a part that a difference shows."""
MOST_SHOWN = 20
"""Parts that a difference shows: once one message is new, all after it are."""
MOST_LINES = 40
"""Lines of a part's difference in a message for people."""

_LEFT_OUT = ("labels", "httpOptions", "cachedContent", "systemInstruction", "tools")
"""Parts of a config that do not decide about the answer, or that are compared by themselves."""
_DRAWN = "adk-"
"""How the ids begin that ADK gives to calls without one."""
_ADDED = (
    "Handle the requests as specified in the System Instruction.",
    "Continue processing previous requests as instructed. Exit or provide a summary if no more outputs"
    " are needed.",
)
"""What google-adk 2.13 adds as a user's message just before it sends a request (`models/base_llm.py`)."""

Json = Mapping[str, Any]


class Rules:
    """What is left out of texts before they are compared."""

    def __init__(self, given: Sequence[str] = ()) -> None:
        """Raise `UsageError` for a rule that cannot be used."""
        if len(given) > MOST_RULES:
            raise UsageError(f"At most {MOST_RULES} rules can be ignored, got {len(given)}.")
        self._patterns = [_pattern(rule) for rule in given]

    def apply(self, text: str) -> str:
        """Return a text without what is ignored."""
        for pattern in self._patterns:
            text = pattern.sub("…", text)
        return text


def _pattern(rule: str) -> re.Pattern[str]:
    if not 0 < len(rule) <= LONGEST_RULE:
        raise UsageError(f"A rule to ignore has 1 to {LONGEST_RULE} characters, got {len(rule)}.")
    try:
        return re.compile(NAMED_RULES.get(rule, rule))
    except re.error as error:
        known = ", ".join(NAMED_RULES)
        raise UsageError(
            f"{rule!r} is not a regular expression ({error}), and none of the names {known}."
        ) from None


def add_rules(parser: ArgumentParser) -> None:
    """Add the argument that names rules."""
    parser.add_argument(
        "--ignore",
        metavar="RULE",
        action="append",
        default=[],
        help=f"what does not count when requests are compared: {', '.join(NAMED_RULES)}, or a regular"
        " expression; repeatable",
    )


class ComparedRequest(Struct, frozen=True):
    """A request as it is compared."""

    parts: dict[str, str]
    is_cached: bool = False
    """The instruction, the tools and the first messages are in a cache of the model's server: only what
    was sent beside it is known."""

    @classmethod
    def read(cls, request: Json, model: str) -> ComparedRequest:
        """Read a request in the form that `GET /api/runs/{run}/model-calls` has."""
        config = request.get("config") or {}
        parts = {"model": model} if model else {}
        if instruction := config.get("systemInstruction"):
            parts["instruction"] = _text(instruction)
        parts |= {f"tools/{name}": text for name, text in _tools(request.get("tools") or ())}
        kept = {key: value for key, value in config.items() if key not in _LEFT_OUT}
        parts |= {f"config/{key}": _json(value) for key, value in kept.items()}
        contents = [_content(each) for each in request.get("contents") or ()]
        if contents and contents[-1] in _ADDED_CONTENTS:
            contents.pop()
        parts |= {f"contents/{n}": text for n, text in enumerate(contents)}
        return cls(parts, is_cached=bool(config.get("cachedContent")))

    def is_same(self, now: ComparedRequest, rules: Rules) -> bool:
        """Return whether a new request is the same as this one, which was recorded."""
        return not self._differing(now, rules)

    def differing(self, now: ComparedRequest, rules: Rules) -> list[ChangedPart]:
        """Return the parts in which a new request differs from this one, which was recorded."""
        before = self._sent_beside(now)
        return [
            ChangedPart(name, before.get(name, ""), now.parts.get(name, ""))
            for name in self._differing(now, rules)
        ]

    def _differing(self, now: ComparedRequest, rules: Rules) -> list[str]:
        before = self._sent_beside(now)
        if before == now.parts:
            return []
        names = [*before, *(name for name in now.parts if name not in before)]
        return [n for n in names if not _is_same(before.get(n), now.parts.get(n), rules)]

    def _sent_beside(self, now: ComparedRequest) -> dict[str, str]:
        """Return the parts, with those that a cache held as the new request has them."""
        if not self.is_cached:
            return self.parts
        own = [text for name, text in self.parts.items() if name.startswith("contents/")]
        sent = {n: t for n, t in self.parts.items() if not n.startswith("contents/")}
        first = sum(name.startswith("contents/") for name in now.parts) - len(own)
        held = {f"contents/{n}" for n in range(max(0, first))}
        cached = {
            name: text
            for name, text in now.parts.items()
            if name in held or name == "instruction" or name.startswith("tools/")
        }
        return sent | cached | {f"contents/{max(0, first) + n}": t for n, t in enumerate(own)}


def _is_same(before: str | None, now: str | None, rules: Rules) -> bool:
    if before is None or now is None:
        return before is now
    if before == now:
        return True
    before, now = rules.apply(before), rules.apply(now)
    if before == now:
        return True
    # A secret is not in the log, so any value in its place is taken for the same.
    if REDACTED not in before:
        return False
    pattern = ".*?".join(map(re.escape, before.split(REDACTED)))
    return re.fullmatch(pattern, now, re.DOTALL) is not None


def _content(content: Json | None) -> str:
    if content is None:
        return "(not kept)"
    return f"{content.get('role') or 'user'}:\n{_text(content)}"


def _text(value: Any) -> str:
    """Return an instruction or a content as a person reads it: texts as they are, all else as JSON."""
    match value:
        case str():
            return value
        case {"parts": [*parts]}:
            return "\n".join(map(_text, parts))
        case {"text": str(text), **rest} if not rest:
            return text
        case list():
            return "\n".join(map(_text, value))
        case _:
            return _json(value)


_ADDED_CONTENTS = frozenset(f"user:\n{text}" for text in _ADDED)


def _tools(tools: Iterable[Any]) -> Iterator[tuple[str, str]]:
    """Yield each declaration under its name, and each tool of the model's own under its key."""
    for tool in tools:
        if not isinstance(tool, dict):
            yield str(tool)[:100], _json(tool)
            continue
        for key, value in tool.items():
            if key == "functionDeclarations":
                for declared in value or ():
                    yield str(declared.get("name", "")), _json(declared)
            else:
                yield key, _json(value)


def _json(value: Any) -> str:
    plain = msgspec.json.encode(_without_names(value), order="sorted")
    return msgspec.json.format(plain, indent=2).decode()


def _without_names(value: Any) -> Any:
    """Return a value without ids that ADK draws, and without names of files, which not every API takes."""
    match value:
        case dict():
            return {
                key: _without_names(item)
                for key, item in value.items()
                if not (key == "displayName" and "mimeType" in value)
                and not (key == "id" and isinstance(item, str) and item.startswith(_DRAWN))
            }
        case list():
            return [_without_names(item) for item in value]
        case _:
            return value


# ---------------------------------------------------------------------- how two requests differ


class ChangedPart(Struct, frozen=True):
    """A part of a request that was otherwise when it was recorded; empty: it was not there, or is not now."""

    part: str
    before: str
    after: str

    def shown(self) -> ChangedPart:
        """Return the part as it is shown: around the first difference, if it is very long."""
        longest = max(len(self.before), len(self.after))
        if longest <= LONGEST_SHOWN:
            return self
        pairs = zip(self.before, self.after, strict=False)
        first = next((n for n, (a, b) in enumerate(pairs) if a != b), 0)
        start = max(0, first - LONGEST_SHOWN // 4)
        window = slice(start, start + LONGEST_SHOWN)
        mark = "…" if start else ""
        return ChangedPart(self.part, mark + self.before[window], mark + self.after[window])

    def lines(self) -> list[str]:
        """Return the difference as lines that begin with `-`, `+` or a space."""
        shown = self.shown()
        diff = difflib.unified_diff(
            shown.before.splitlines(), shown.after.splitlines(), lineterm="", n=1
        )
        lines = [line for line in diff if not line.startswith(("---", "+++", "@@"))]
        more = len(lines) - MOST_LINES
        return [*lines[:MOST_LINES], *([f"  … and {more} more lines"] if more > 0 else [])]


def find_cause(parts: Sequence[ChangedPart]) -> tuple[list[str], str]:
    """Return the fewest named rules that make all parts the same, and a sentence; empty if none do."""
    alone = ([name] for name in NAMED_RULES)
    names = next((each for each in (*alone, list(NAMED_RULES)) if _makes_same(parts, each)), [])
    for name in reversed(names):  # the widest first
        fewer = [each for each in names if each != name]
        names = fewer if _makes_same(parts, fewer) else names
    if not names:
        return [], ""
    values = (_first_values(parts, NAMED_RULES[name]) for name in names)
    causes = (f"{_CAUSES[n]} ({a!r}, now {b!r})" for n, (a, b) in zip(names, values, strict=True))
    verb, them = ("differs", "it") if len(names) == 1 else ("differ", "them")
    return names, (
        f"Only {' and '.join(causes)} {verb} in `{parts[0].part}`, which may be so in each run."
        f" To leave {them} out: {' '.join(f'--ignore {name}' for name in names)}."
    )


def _makes_same(parts: Sequence[ChangedPart], names: Sequence[str]) -> bool:
    rules = Rules(names)
    return bool(parts and names) and all(
        _is_same(p.before or None, p.after or None, rules) for p in parts
    )


def _first_values(parts: Iterable[ChangedPart], pattern: str) -> tuple[str, str]:
    found = ((re.findall(pattern, p.before), re.findall(pattern, p.after)) for p in parts)
    pairs = (pair for before, after in found for pair in zip(before, after, strict=False))
    return next(((a, b) for a, b in pairs if a != b), ("", ""))
