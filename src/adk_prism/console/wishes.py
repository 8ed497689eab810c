"""What a typed line comes to, given what the session is waiting for: one wish, or a reason why not.

Pure. A message answers the question that waits for words, if one does; an approval is kept until the
whole batch is answered; a plan and a remedy are answered in the panel's own keys of the state as well as in
words, so that every app that keeps a grounding understands them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from adk_prism.console.commands import PANELS, Typed, parse
from adk_prism.console.dialogue import Dialogue
from adk_prism.console.questions import Question, questions, response
from adk_prism.errors import Conflict, UsageError
from adk_prism.grounding import Approval, key

LONGEST_ITEM = 500
"""Characters of an assumption or a question: a line of the box, not an essay."""


class Send(Struct, frozen=True):
    """Start a run with this request."""

    body: dict[str, Any]


class Keep(Struct, frozen=True):
    """An answer was taken; others of its batch are still missing."""

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


Wish = Send | Keep | Show | Export | Stop | Quit


class Wishes:
    """Reads lines for one session."""

    def __init__(
        self, dialogue: Dialogue, busy: Callable[[], bool], now: Callable[[], str]
    ) -> None:
        """`busy` tells whether something is being sent or run, `now` the time as ISO 8601 with its zone."""
        self._dialogue = dialogue
        self._busy = busy
        self._now = now
        self._given: dict[str, dict[str, Any]] = {}
        """Answers to questions whose batch is not complete, by ADK's id."""
        self._state: dict[str, Any] = {}
        """What goes into the state with them."""

    def read(self, line: str) -> Wish:
        """Return what a line wishes. Raise `UsageError` or `Conflict` for what cannot be."""
        typed = parse(line)
        if isinstance(typed, str):
            return self._say(typed)
        name = typed.command.name
        if name in PANELS:
            return Show(name)
        return _READ[name](self, typed)

    def asked(self) -> list[Question]:
        """Return the questions that have no answer yet, the next one first."""
        found = questions(self._dialogue.pending)
        known = {question.id for question in found}
        if not self._given.keys() <= known:
            # Expired: the conversation went on without them.
            self._given, self._state = {}, {}
        return [question for question in found if question.id not in self._given]

    @property
    def plan(self) -> dict[str, Any] | None:
        """The search plan that waits, if there is one."""
        plan = self._box().get("pending_search_plan")
        return plan if isinstance(plan, dict) and plan else None

    @property
    def remedies(self) -> list[dict[str, Any]]:
        """The remedies that are offered, numbered."""
        view = self._dialogue.panel("grounding")
        found: list[dict[str, Any]] = view["remedies"] if view else []
        return found

    def _box(self) -> dict[str, Any]:
        view = self._dialogue.panel("grounding")
        box: dict[str, Any] = view["box"] if view else {}
        return box

    # -------------------------------------------------------------- messages and answers

    def _say(self, text: str) -> Wish:
        self._check_free()
        asked = self.asked()
        if asked and asked[0].kind != "approval":
            return self._answer(asked[0], text)
        return Send(_message({"text": text}))

    def _check_free(self) -> None:
        if self._busy():
            raise Conflict("The app is busy with your last message; wait for its end, or stop it.")

    def _answer(self, question: Question, answer: bool | str, reason: str = "") -> Wish:
        self._given[question.id] = response(question, answer, reason)
        rest = self.asked()
        if rest:
            return Keep(rest[0])
        parts, state = list(self._given.values()), self._state
        self._given, self._state = {}, {}
        return Send(_message(*parts) | ({"stateDelta": state} if state else {}))

    def _decide(self, typed: Typed) -> Wish:
        self._check_free()
        asked = [question for question in self.asked() if question.kind == "approval"]
        if not asked:
            raise Conflict("Nothing waits for an approval.")
        return self._answer(asked[0], typed.command.name == "approve", typed.words)

    # -------------------------------------------------------------- the plan and its remedies

    def _on_plan(self, typed: Typed) -> Wish:
        self._check_free()
        plan = self.plan
        if plan is None:
            raise Conflict("No search plan waits for an answer.")
        approval, words = _APPROVALS[typed.command.name]
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
        text = f"{words}: {typed.words}" if typed.words else words
        return Send(_message({"text": text}) | {"stateDelta": state})

    def _remedy(self, typed: Typed) -> Wish:
        self._check_free()
        remedies = self.remedies
        chosen = next((r for r in remedies if str(r["number"]) == typed.words), None)
        if chosen is None:
            there = ", ".join(str(remedy["number"]) for remedy in remedies)
            told = f"there are {there}" if there else "none is offered"
            raise UsageError(f"There is no remedy {typed.words[:20]!r}; {told}.")
        context = {name: value for name, value in chosen.items() if name not in ("number", "name")}
        state = {key("selected_remedy"): chosen["name"], key("remedy_context"): context}
        return Send(_message({"text": str(chosen["label"])}) | {"stateDelta": state})

    # -------------------------------------------------------------- the box

    def _add(self, typed: Typed) -> Wish:
        name, items = self._list(typed)
        words = " ".join(typed.words.split())
        if len(words) > LONGEST_ITEM:
            raise UsageError(f"That has {len(words)} characters; at most {LONGEST_ITEM} fit.")
        if words in items:
            raise Conflict(f"{words[:60]!r} is there already.")
        return _change(name, [*items, words])

    def _remove(self, typed: Typed) -> Wish:
        name, items = self._list(typed)
        number = int(typed.words) if typed.words.isdecimal() else 0
        if not 1 <= number <= len(items):
            told = f"1 to {len(items)}" if items else "nothing"
            raise UsageError(f"There is no number {typed.words[:20]!r}; there is {told}.")
        return _change(name, [*items[: number - 1], *items[number:]])

    def _list(self, typed: Typed) -> tuple[str, list[str]]:
        name = _LISTS[typed.command.name]
        items = self._box().get(name)
        return name, list(items) if isinstance(items, list) else []

    # -------------------------------------------------------------- the rest

    def _export(self, typed: Typed) -> Wish:
        return Export(typed.words)

    def _stop(self, _: Typed) -> Wish:
        if not self._busy():
            raise Conflict("Nothing runs.")
        return Stop()

    def _quit(self, _: Typed) -> Wish:
        return Quit()


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
_READ: dict[str, Callable[[Wishes, Typed], Wish]] = {
    **dict.fromkeys(_APPROVALS, Wishes._on_plan),
    "remedy": Wishes._remedy,
    "approve": Wishes._decide,
    "deny": Wishes._decide,
    "assume": Wishes._add,
    "ask": Wishes._add,
    "unassume": Wishes._remove,
    "resolve": Wishes._remove,
    "export": Wishes._export,
    "stop": Wishes._stop,
    "quit": Wishes._quit,
}
