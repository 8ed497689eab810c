"""Turns a typed line into one intent, given what the session is waiting for, or an error.

Pure. A message answers the pending text question, if there is one. Approvals are held back until every
question of the batch is answered. Plans and remedies are answered both in words and in the `grounding:`
state keys, so that every app with a grounding box understands them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from adk_prism.errors import Conflict, UsageError
from adk_prism.features.console.commands import PANELS, Typed, parse
from adk_prism.features.console.history import SessionHistory
from adk_prism.features.run.questions import Question, questions, response
from adk_prism.grounding import Approval, key

LONGEST_ITEM = 500
"""Most characters of an assumption or an open question: one line of the grounding box."""


class Send(Struct, frozen=True):
    """Start a run with this request."""

    body: dict[str, Any]


class Keep(Struct, frozen=True):
    """An answer was accepted; other questions of its batch are still open."""

    next: Question


class Show(Struct, frozen=True):
    """Show a panel."""

    panel: str


class Export(Struct, frozen=True):
    """Write the search strategy."""

    file: str


class Stop(Struct, frozen=True):
    """Stop the run."""


class Quit(Struct, frozen=True):
    """Leave."""


Intent = Send | Keep | Show | Export | Stop | Quit


class IntentReader:
    """Reads lines for one session."""

    def __init__(
        self, history: SessionHistory, busy: Callable[[], bool], now: Callable[[], str]
    ) -> None:
        """`busy` returns whether a run is active, `now` the current time as ISO 8601 with a time zone."""
        self._history = history
        self._busy = busy
        self._now = now
        self._given: dict[str, dict[str, Any]] = {}
        """Answers whose batch is not complete yet, by ADK's id."""
        self._state: dict[str, Any] = {}
        """State changes to send with them."""

    def read(self, line: str) -> Intent:
        """Return the intent of a line. Raise `UsageError` or `Conflict` if it is not possible now."""
        typed = parse(line)
        if isinstance(typed, str):
            return self._say(typed)
        name = typed.command.name
        if name in PANELS:
            return Show(name)
        return _READ[name](self, typed)

    def asked(self) -> list[Question]:
        """Return the questions that have no answer yet, the next one first."""
        found = questions(self._history.pending)
        known = {question.id for question in found}
        if not self._given.keys() <= known:
            # They have expired: the conversation continued without them.
            self._given, self._state = {}, {}
        return [question for question in found if question.id not in self._given]

    @property
    def plan(self) -> dict[str, Any] | None:
        """The pending search plan, if there is one."""
        plan = self._box().get("pending_search_plan")
        return plan if isinstance(plan, dict) and plan else None

    @property
    def remedies(self) -> list[dict[str, Any]]:
        """The remedies that are offered, numbered."""
        view = self._history.panel("grounding")
        found: list[dict[str, Any]] = view["remedies"] if view else []
        return found

    def _box(self) -> dict[str, Any]:
        view = self._history.panel("grounding")
        box: dict[str, Any] = view["box"] if view else {}
        return box

    # -------------------------------------------------------------- messages and answers

    def _say(self, text: str) -> Intent:
        self._check_free()
        asked = self.asked()
        if asked and asked[0].kind != "approval":
            return self._answer(asked[0], text)
        return Send(_message({"text": text}))

    def _check_free(self) -> None:
        if self._busy():
            raise Conflict(
                "The app is still running. Wait until it finishes, or stop it with /stop."
            )

    def _answer(self, question: Question, answer: bool | str, reason: str = "") -> Intent:
        self._given[question.id] = response(question, answer, reason)
        rest = self.asked()
        if rest:
            return Keep(rest[0])
        parts, state = list(self._given.values()), self._state
        self._given, self._state = {}, {}
        return Send(_message(*parts) | ({"stateDelta": state} if state else {}))

    def _decide(self, typed: Typed) -> Intent:
        self._check_free()
        asked = [question for question in self.asked() if question.kind == "approval"]
        if not asked:
            raise Conflict("There is nothing to approve.")
        return self._answer(asked[0], typed.command.name == "approve", typed.words)

    # -------------------------------------------------------------- the plan and its remedies

    def _on_plan(self, typed: Typed) -> Intent:
        self._check_free()
        plan = self.plan
        if plan is None:
            raise Conflict("There is no search plan to answer.")
        approval, text = _APPROVALS[typed.command.name]
        state = {
            key("user_approval"): approval,
            key("approval_timestamp"): self._now(),
            key("preview_mode"): approval == "short_run",
        }
        asked = (question for question in self.asked() if question.kind == "approval")
        gate = next((q for q in asked if q.name == plan.get("tool", q.name)), None)
        if gate is not None and approval != "modify":
            self._state |= state
            return self._answer(gate, approval != "cancel")
        text = f"{text}: {typed.words}" if typed.words else text
        return Send(_message({"text": text}) | {"stateDelta": state})

    def _remedy(self, typed: Typed) -> Intent:
        self._check_free()
        remedies = self.remedies
        chosen = next((r for r in remedies if str(r["number"]) == typed.words), None)
        if chosen is None:
            there = ", ".join(str(remedy["number"]) for remedy in remedies)
            expected = f"expected one of {there}" if there else "none is offered"
            raise UsageError(f"There is no remedy {typed.words[:20]!r}; {expected}.")
        context = {name: value for name, value in chosen.items() if name not in ("number", "name")}
        state = {key("selected_remedy"): chosen["name"], key("remedy_context"): context}
        return Send(_message({"text": str(chosen["label"])}) | {"stateDelta": state})

    # -------------------------------------------------------------- the box

    def _add(self, typed: Typed) -> Intent:
        name, items = self._list(typed)
        text = " ".join(typed.words.split())
        if len(text) > LONGEST_ITEM:
            raise UsageError(
                f"The text has {len(text)} characters; at most {LONGEST_ITEM} are allowed."
            )
        if text in items:
            raise Conflict(f"{text[:60]!r} is already in the list.")
        return _change(name, [*items, text])

    def _remove(self, typed: Typed) -> Intent:
        name, items = self._list(typed)
        number = int(typed.words) if typed.words.isdecimal() else 0
        if not 1 <= number <= len(items):
            expected = f"expected 1 to {len(items)}" if items else "the list is empty"
            raise UsageError(f"There is no item {typed.words[:20]!r}; {expected}.")
        return _change(name, [*items[: number - 1], *items[number:]])

    def _list(self, typed: Typed) -> tuple[str, list[str]]:
        name = _LISTS[typed.command.name]
        items = self._box().get(name)
        return name, list(items) if isinstance(items, list) else []

    # -------------------------------------------------------------- the rest

    def _stop(self, _: Typed) -> Intent:
        if not self._busy():
            raise Conflict("There is no run to stop.")
        return Stop()


def _message(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"newMessage": {"role": "user", "parts": list(parts)}}


def _change(name: str, items: list[str]) -> Send:
    """Change the state and nothing else: no model is called."""
    body = {"newMessage": {"role": "system", "parts": []}, "stateDelta": {key(name): items}}
    return Send(body)


_APPROVALS: dict[str, tuple[Approval, str]] = {
    "ok": ("ok", "ok"),
    "short": ("short_run", "short run"),
    "modify": ("modify", "modify"),
    "cancel": ("cancel", "cancel"),
}
_LISTS = {
    "assume": "search_assumptions",
    "unassume": "search_assumptions",
    "ask": "open_questions",
    "resolve": "open_questions",
}
_READ: dict[str, Callable[[IntentReader, Typed], Intent]] = {
    **dict.fromkeys(_APPROVALS, IntentReader._on_plan),
    "remedy": IntentReader._remedy,
    "approve": IntentReader._decide,
    "deny": IntentReader._decide,
    "assume": IntentReader._add,
    "ask": IntentReader._add,
    "unassume": IntentReader._remove,
    "resolve": IntentReader._remove,
    "export": lambda _, typed: Export(typed.words),
    "stop": IntentReader._stop,
    "quit": lambda *_: Quit(),
}
