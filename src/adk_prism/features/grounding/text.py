"""The grounding box: question, stage, assumptions, open questions, results and the next step.

`Δ` marks what changed with the last message; removed lines stay until the next one. The box also shows the
keys and numbers that answer it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from adk_prism.cli.terminal import Row, Style, counted, one_line, short_json, wrapped
from adk_prism.errors import Conflict, UsageError
from adk_prism.features.grounding.shapes import PREFIX

CHANGED, SAME = "Δ ", "  "
SHOWN_RECEIPTS = 3
"""Receipts shown in the box; the history panel shows all."""
PLAN_KEYS = "[o] OK · [s] Short run · [m] Modify · [c] Cancel"
_SKIPPED = ("tool", "limit", "mode")
"""Fields of a plan that are not shown."""


class _Box:
    """The box of one view."""

    def __init__(self, view: Mapping[str, Any], width: int) -> None:
        self._box: Mapping[str, Any] = view["box"]
        self._view = view
        self._width = width
        self._changes = {
            change.key.removeprefix(PREFIX): change.before for change in view["changed"]
        }

    def rows(self) -> Iterator[Row]:
        if self._view["remedies"] or self._box.get("last_search_failure"):
            yield from self._help()
        if self._box.get("pending_search_plan"):
            yield from self._plan()
        yield from self._line("research_question", "Question", self._box.get("research_question"))
        yield from self._stage()
        yield from self._items("search_assumptions", "Assumes")
        yield from self._items("open_questions", "Open")
        yield from self._found()
        yield from self._line("current_filters", "Filters", pairs(self._box.get("current_filters")))
        yield from self._next()
        yield from self._receipts()
        for bad in self._view["unreadable"]:
            text = f"! {bad.key} is not valid: {bad.why} {short_json(bad.value, 60)}"
            yield from wrapped(text, self._width, "error")

    def _mark(self, *names: str) -> tuple[str, Style]:
        return _marked(any(name in self._changes for name in names))

    def _line(self, name: str, label: str, value: Any) -> Iterator[Row]:
        if value or self._changes.get(name):
            mark, style = self._mark(name)
            text = f"{label}: {value or '–'}"
            yield from _set_in(mark, wrapped(text, self._width - 2, style))

    def _stage(self) -> Iterator[Row]:
        step, stage = self._view["step"], self._box.get("stage")
        if stage:
            number = f" {step['number']}/{step['of']}" if step else ""
            yield from self._line("stage", "Stage", f"{stage}{number}")

    def _items(self, name: str, label: str) -> Iterator[Row]:
        items: Sequence[str] = self._box.get(name) or ()
        before = self._changes.get(name)
        gone = [item for item in before or () if item not in items] if name in self._changes else []
        if not items and not gone:
            return
        mark, style = self._mark(name)
        yield Row(f"{mark}{label} ({len(items)}):", style)
        for number, item in enumerate(items, 1):
            new = name in self._changes and item not in (before or ())
            mark, style = _marked(new)
            yield from _set_in(mark, wrapped(f"{number}. {item}", self._width - 2, style, 3))
        for item in gone:
            text = f"removed: {one_line(str(item), 80)}"
            yield from _set_in(CHANGED, wrapped(text, self._width - 2, "dim"))

    def _found(self) -> Iterator[Row]:
        papers = self._box.get("papers_found")
        databases = self._box.get("databases_searched") or []
        if papers is None and not databases:
            return
        mark, style = self._mark("papers_found", "databases_searched")
        names = f" in {', '.join(map(str, databases))}" if databases else ""
        text = f"Found: {counted(papers or 0, 'paper')}{names}"
        yield from _set_in(mark, wrapped(text, self._width - 2, style))

    def _next(self) -> Iterator[Row]:
        action = self._box.get("next_action")
        if action:
            yield from self._line("next_action", "Next", next_step(action))

    def _plan(self) -> Iterator[Row]:
        plan = self._box["pending_search_plan"]
        mark, _ = self._mark("pending_search_plan")
        yield Row(f"{mark}SEARCH PLAN – waiting for you", "ask")
        for name, value in plan.items():
            if value and name not in _SKIPPED:
                label = name.replace("_", " ").capitalize()
                shown = pairs(value) if isinstance(value, dict) else one_line(str(value))
                yield from _set_in("  │ ", wrapped(f"{label}: {shown}", self._width - 4))
        yield from _set_in("  ", wrapped(PLAN_KEYS, self._width - 2, "strong"))

    def _help(self) -> Iterator[Row]:
        failure = self._box.get("last_search_failure") or {}
        mark, _ = self._mark("last_search_failure")
        kind = str(failure.get("type", "")).replace("_", " ")
        yield Row(f"{mark}SEARCH HELP – {kind}", "ask")
        context = pairs(failure.get("context"))
        if context:
            yield from _set_in("  │ ", wrapped(context, self._width - 4))
        for remedy in self._view["remedies"]:
            text = f"[{remedy['number']}] {remedy['label']}"
            yield from _set_in("  ", wrapped(text, self._width - 2, "strong", 4))
        asks = (failure.get("remedies") or {}).get("ask_researcher")
        if asks:
            yield from _set_in("  ", wrapped(asks, self._width - 2))

    def _receipts(self) -> Iterator[Row]:
        receipts = self._view["receipts"]
        for receipt in receipts[-SHOWN_RECEIPTS:]:
            yield from receipt_rows(receipt, self._width, brief=True)
        if len(receipts) > SHOWN_RECEIPTS:
            earlier = counted(len(receipts) - SHOWN_RECEIPTS, "earlier search")
            yield Row(f"  {earlier}: [h] history", "dim")


def rows(view: Mapping[str, Any] | None, width: int) -> list[Row]:
    """Return the whole box."""
    if not view or not view["present"]:
        return [Row("This app has no research plan.", "dim")]
    return list(_Box(view, width).rows())


def history_rows(view: Mapping[str, Any] | None, width: int) -> list[Row]:
    """Return every search that was made, the latest first."""
    receipts = view["receipts"] if view else []
    if not receipts:
        return [Row("No searches yet.", "dim")]
    return [row for receipt in reversed(receipts) for row in receipt_rows(receipt, width)]


def receipt_rows(receipt: Mapping[str, Any], width: int, *, brief: bool = False) -> Iterator[Row]:
    """Yield a receipt's rows."""
    mark, style = _marked(receipt["new"])
    short = " (short run)" if receipt.get("preview") else ""
    offline = " (offline)" if receipt.get("mode") == "offline" else ""
    head = f"[{receipt['time'] or '--:--'}] {receipt['database']}{offline}: {receipt['query']}"
    yield from _set_in(mark, wrapped(head, width - 2, style))
    found = f"→ {counted(receipt['results_count'], 'paper')}{short}"
    fresh = receipt.get("new_count")
    found += f", {fresh} new" if fresh is not None else ""
    yield from _set_in("  ", wrapped(found + _breakdown(receipt), width - 2))
    if not brief:
        yield from _set_in("  ", _particulars(receipt, width - 2))
    for warning in receipt.get("warnings") or ():
        yield from _set_in("  ", wrapped(f"! {warning}", width - 2, "error"))


def _particulars(receipt: Mapping[str, Any], width: int) -> Iterator[Row]:
    about = {
        "Filters": ", ".join(map(str, receipt.get("filters_applied") or ())),
        "Expected": receipt.get("expected"),
        "Years": pairs(receipt.get("by_year")),
        "Approved": receipt.get("approval"),
        "Next": receipt.get("next"),
    }
    for label, value in about.items():
        if value:
            yield from wrapped(f"{label}: {value}", width, "dim")


def next_step(action: Mapping[str, Any]) -> str:
    """Return the owner, the action and the due date."""
    what = " ".join(str(action.get(part) or "") for part in ("action", "target")).strip()
    due = f" (due {action['due']})" if action.get("due") else ""
    return f"{action['owner']} – {what.replace('_', ' ')}{due}"


def _marked(is_new: bool) -> tuple[str, Style]:
    return (CHANGED, "changed") if is_new else (SAME, "")


def _breakdown(receipt: Mapping[str, Any]) -> str:
    kinds = receipt.get("by_kind") or {}
    return f" ({', '.join(f'{count} {kind}' for kind, count in kinds.items())})" if kinds else ""


def pairs(values: Any) -> str:
    """Return the members of an object on one line, without those that are objects themselves."""
    if not isinstance(values, dict):
        return one_line(str(values)) if values else ""
    shown = (
        f"{name.replace('_', ' ')} {_plain(value)}"
        for name, value in values.items()
        if value not in (None, "", [], {}) and not isinstance(value, dict)
    )
    return ", ".join(shown)


def _plain(value: Any) -> str:
    if isinstance(value, list):
        return "/".join(map(_plain, value))
    return value if isinstance(value, str) else short_json(value, 80)


def _set_in(mark: str, rows: Iterator[Row]) -> Iterator[Row]:
    """Prefix the first row with a mark and indent the others."""
    for index, row in enumerate(rows):
        bar = mark if "│" in mark or not index else " " * len(mark)
        yield Row(bar + row.text, row.style)


# ---------------------------------------------------------------------- small windows

_Line = tuple[tuple[str, ...], str, Style]
"""State keys of a row, its text, and its style if nothing changed."""

_RECEIPT = "search_history"


def compact_rows(view: Mapping[str, Any], width: int) -> list[Row]:
    """Return the box for a small window: one shortened row per item, first what needs an answer."""
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
        yield (("research_question",), f"Question: {box['research_question']}", "")
    yield ("stage", "papers_found", "databases_searched"), _progress(view), ""
    for name, label in (("search_assumptions", "Assumes"), ("open_questions", "Open")):
        items = box.get(name) or []
        if items:
            yield (name,), f"{label} ({len(items)}): {'; '.join(map(str, items))}", ""
    if box.get("current_filters"):
        yield (("current_filters",), f"Filters: {pairs(box['current_filters'])}", "")
    if box.get("next_action"):
        yield ("next_action",), f"Next: {next_step(box['next_action'])}", ""
    for receipt in view["receipts"][-1:]:
        found = counted(receipt["results_count"], "paper")
        text = f"[{receipt['time']}] {receipt['database']} → {found}: {receipt['query']}"
        yield (_RECEIPT,) if receipt["new"] else (), text, ""
    if view["unreadable"]:
        yield ((), f"! {counted(len(view['unreadable']), 'value')} cannot be read: [g]", "error")


def _waiting(view: Mapping[str, Any]) -> Iterator[_Line]:
    plan = view["box"].get("pending_search_plan")
    if plan:
        text = f"SEARCH PLAN {plan['database']}: {plan['query']}"
        filters, expected = pairs(plan.get("filters")), plan.get("expected_results")
        text += f" – expects {expected}" if expected else ""
        text += f" ({filters})" if filters else ""
        yield ("pending_search_plan",), text, "ask"
    failure = view["box"].get("last_search_failure")
    if failure:
        kind = str(failure.get("type", "")).replace("_", " ")
        yield (
            ("last_search_failure",),
            f"SEARCH HELP {kind}: {pairs(failure.get('context'))}",
            "ask",
        )
    for remedy in view["remedies"]:
        yield (), f"[{remedy['number']}] {remedy['label']}", "strong"


def _progress(view: Mapping[str, Any]) -> str:
    box, step = view["box"], view["step"]
    stage = f"Stage: {box.get('stage') or 'not set'}"
    stage += f" {step['number']}/{step['of']}" if step else ""
    databases = ", ".join(map(str, box.get("databases_searched") or ()))
    found = (
        f", {counted(box['papers_found'], 'paper')}" if box.get("papers_found") is not None else ""
    )
    return stage + found + (f" in {databases}" if databases else "")


# ---------------------------------------------------------------------- search report
#
# The search strategy as Markdown, for a methods section: question, searches, databases and results.
#
# Built from the grounding state alone, so it works for any app that writes one. All counts come from the
# search receipts.


DEFAULT = "search-strategy.md"
_COLUMNS = ("#", "When", "Database", "Query", "Filters", "Found", "New")


def markdown(view: Mapping[str, Any] | None) -> str:
    """Return the document. Raise `Conflict` where there is no grounding."""
    if not view or not view["present"]:
        raise Conflict("This session has no search strategy: the app has no research plan.")
    return "\n".join(_report_lines(view["box"], view["receipts"])) + "\n"


def _report_lines(box: Mapping[str, Any], receipts: list[dict[str, Any]]) -> Iterator[str]:
    yield "# Search strategy"
    yield ""
    yield f"**Question:** {_cell(box.get('research_question') or 'not stated')}"
    yield f"**Stage:** {_cell(box.get('stage') or 'not stated')}"
    for title, name in (
        ("Assumptions", "search_assumptions"),
        ("Open questions", "open_questions"),
    ):
        items = box.get(name) or []
        if items:
            yield from ("", f"## {title}", "")
            yield from (f"- {_cell(item)}" for item in items)
    filters = box.get("current_filters") or {}
    if filters:
        yield from ("", "## Filters", "")
        yield from (f"- {_cell(name)}: {_cell(value)}" for name, value in filters.items())
    yield from ("", "## Searches", "")
    yield from _table(receipts) if receipts else ("None yet.",)
    yield from ("", "## Counts", "")
    yield from _counts(box, receipts)


def _table(receipts: list[dict[str, Any]]) -> Iterator[str]:
    yield f"| {' | '.join(_COLUMNS)} |"
    yield f"|{' --- |' * len(_COLUMNS)}"
    for receipt in receipts:
        database = receipt["database"] + (" (short run)" if receipt.get("preview") else "")
        cells = (
            receipt["number"],
            receipt["timestamp"],
            database,
            f"`{_cell(receipt['query']).replace('`', '')}`",
            ", ".join(map(str, receipt.get("filters_applied") or ())),
            receipt["results_count"],
            receipt.get("new_count", ""),
        )
        yield "| " + " | ".join(_cell(cell) for cell in cells) + " |"


def _counts(box: Mapping[str, Any], receipts: list[dict[str, Any]]) -> Iterator[str]:
    identified = sum(receipt["results_count"] for receipt in receipts)
    yield f"- Records identified: {identified} in {len(receipts)} searches"
    if "papers_found" in box:
        papers = box["papers_found"]
        yield f"- Duplicates removed: {max(identified - papers, 0)}"
        yield f"- Distinct papers: {papers}"
    for database in dict.fromkeys(receipt["database"] for receipt in receipts):
        found = [r["results_count"] for r in receipts if r["database"] == database]
        yield f"- {_cell(database)}: {sum(found)} in {len(found)} searches"


def _cell(value: Any) -> str:
    text = value if isinstance(value, str) else short_json(value)
    return one_line(text, 2000).replace("|", "\\|")


def write_report(view: Mapping[str, Any] | None, file: str) -> Path:
    """Write the document to a new file and return its path; the default name gets a number if it exists.

    Raise `UsageError` if the file exists or cannot be written.
    """
    text = markdown(view)
    path = Path(file).expanduser() if file else _free(Path(DEFAULT))
    try:
        with path.open("x", encoding="utf-8") as out:
            out.write(text)
    except FileExistsError:
        raise UsageError(f"{str(path)!r} already exists; choose another file name.") from None
    except OSError as error:
        raise UsageError(f"{str(path)!r} cannot be written: {error.strerror}.") from None
    return path


def _free(path: Path) -> Path:
    number = 1
    found = path
    while found.exists():
        number += 1
        found = path.with_stem(f"{path.stem}-{number}")
    return found
