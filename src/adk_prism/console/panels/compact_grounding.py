"""The grounding box for small windows: one shortened row per item.

Pending plans and help come first, because they need an answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from adk_prism.console import words
from adk_prism.console.panels.grounding import CHANGED, SAME, next_step, pairs
from adk_prism.console.rows import Row, Style, counted, one_line
from adk_prism.grounding import PREFIX

_Line = tuple[tuple[str, ...], str, Style]
"""State keys of a row, its text, and its style if nothing changed."""

_RECEIPT = "search_history"


def rows(view: Mapping[str, Any], width: int) -> list[Row]:
    """Return the box with one row per item."""
    changed = {change.key.removeprefix(PREFIX) for change in view["changed"]} | {_RECEIPT}
    shown = []
    for keys, text, style in _lines(view):
        is_new = not changed.isdisjoint(keys)
        mark = CHANGED if is_new else SAME
        shown.append(Row(mark + one_line(text, width - 2), style or ("changed" if is_new else "")))
    return shown


def _lines(view: Mapping[str, Any]) -> Iterator[_Line]:
    box = view["box"]
    yield from _waiting(view)
    if box.get("research_question"):
        yield (
            ("research_question",),
            words.QUESTION_LINE.format(question=box["research_question"]),
            "",
        )
    yield ("stage", "papers_found", "databases_searched"), _progress(view), ""
    for name, label in (("search_assumptions", words.ASSUMES), ("open_questions", words.OPEN)):
        items = box.get(name) or []
        if items:
            yield (name,), f"{label} ({len(items)}): {'; '.join(map(str, items))}", ""
    if box.get("current_filters"):
        yield (
            ("current_filters",),
            words.FILTERS_LINE.format(filters=pairs(box["current_filters"])),
            "",
        )
    if box.get("next_action"):
        yield ("next_action",), words.NEXT_LINE.format(step=next_step(box["next_action"])), ""
    for receipt in view["receipts"][-1:]:
        found = counted(receipt["results_count"], "paper")
        text = f"[{receipt['time']}] {receipt['database']} → {found}: {receipt['query']}"
        yield (_RECEIPT,) if receipt["new"] else (), text, ""
    if view["unreadable"]:
        yield (
            (),
            words.VALUES_UNREADABLE.format(values=counted(len(view["unreadable"]), "value")),
            "error",
        )


def _waiting(view: Mapping[str, Any]) -> Iterator[_Line]:
    plan = view["box"].get("pending_search_plan")
    if plan:
        text = words.PLAN_LINE.format(database=plan["database"], query=plan["query"])
        filters, expected = pairs(plan.get("filters")), plan.get("expected_results")
        text += words.EXPECTS.format(expected=expected) if expected else ""
        text += f" ({filters})" if filters else ""
        yield ("pending_search_plan",), text, "ask"
    failure = view["box"].get("last_search_failure")
    if failure:
        kind = str(failure.get("type", "")).replace("_", " ")
        yield (
            ("last_search_failure",),
            words.HELP_LINE.format(kind=kind, context=pairs(failure.get("context"))),
            "ask",
        )
    for remedy in view["remedies"]:
        yield (), f"[{remedy['number']}] {remedy['label']}", "strong"


def _progress(view: Mapping[str, Any]) -> str:
    box, step = view["box"], view["step"]
    stage = words.STAGE_LINE.format(stage=box.get("stage") or words.NOT_SET)
    stage += f" {step['number']}/{step['of']}" if step else ""
    databases = ", ".join(map(str, box.get("databases_searched") or ()))
    found = (
        f", {counted(box['papers_found'], 'paper')}" if box.get("papers_found") is not None else ""
    )
    return stage + found + (words.IN_DATABASES.format(databases=databases) if databases else "")
