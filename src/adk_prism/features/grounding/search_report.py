"""The search strategy as Markdown, for a methods section: question, searches, databases and results.

Built from the grounding state alone, so it works for any app that writes one. All counts come from the
search receipts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from adk_prism.cli.terminal import one_line, short_json
from adk_prism.errors import Conflict, UsageError

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


def write(view: Mapping[str, Any] | None, file: str) -> Path:
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
