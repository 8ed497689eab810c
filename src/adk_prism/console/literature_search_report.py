"""The search strategy as Markdown, for a methods section: question, searches, databases and results.

Built from the grounding state alone, so it works for any app that writes one. All counts come from the
search receipts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from adk_prism.console import words
from adk_prism.console.rows import one_line, short_json
from adk_prism.errors import Conflict, UsageError

DEFAULT = "search-strategy.md"
_COLUMNS = (
    "#",
    words.WHEN,
    words.DATABASE,
    words.QUERY,
    words.FILTERS,
    words.FOUND_COLUMN,
    words.NEW_COLUMN,
)


def markdown(view: Mapping[str, Any] | None) -> str:
    """Return the document. Raise `Conflict` where there is no grounding."""
    if not view or not view["present"]:
        raise Conflict(words.NO_STRATEGY)
    return "\n".join(_lines(view["box"], view["receipts"])) + "\n"


def _lines(box: Mapping[str, Any], receipts: list[dict[str, Any]]) -> Iterator[str]:
    yield words.STRATEGY_TITLE
    yield ""
    yield words.STRATEGY_QUESTION.format(
        question=_plain(box.get("research_question") or words.NOT_STATED)
    )
    yield words.STRATEGY_STAGE.format(stage=_plain(box.get("stage") or words.NOT_STATED))
    for title, name in (
        (words.ASSUMPTIONS, "search_assumptions"),
        (words.OPEN_QUESTIONS, "open_questions"),
    ):
        items = box.get(name) or []
        if items:
            yield from ("", f"## {title}", "")
            yield from (f"- {_plain(item)}" for item in items)
    filters = box.get("current_filters") or {}
    if filters:
        yield from ("", "## Filters", "")
        yield from (f"- {_plain(name)}: {_plain(value)}" for name, value in filters.items())
    yield from ("", "## Searches", "")
    yield from _table(receipts) if receipts else (words.NONE_YET,)
    yield from ("", "## Counts", "")
    yield from _counts(box, receipts)


def _table(receipts: list[dict[str, Any]]) -> Iterator[str]:
    yield f"| {' | '.join(_COLUMNS)} |"
    yield f"|{' --- |' * len(_COLUMNS)}"
    for receipt in receipts:
        database = receipt["database"] + (words.SHORT_RUN if receipt.get("preview") else "")
        cells = (
            receipt["number"],
            receipt["timestamp"],
            database,
            f"`{_plain(receipt['query']).replace('`', '')}`",
            ", ".join(map(str, receipt.get("filters_applied") or ())),
            receipt["results_count"],
            receipt.get("new_count", ""),
        )
        yield "| " + " | ".join(_plain(cell) for cell in cells) + " |"


def _counts(box: Mapping[str, Any], receipts: list[dict[str, Any]]) -> Iterator[str]:
    identified = sum(receipt["results_count"] for receipt in receipts)
    yield words.RECORDS_IDENTIFIED.format(records=identified, searches=len(receipts))
    if "papers_found" in box:
        papers = box["papers_found"]
        yield words.DUPLICATES.format(count=max(identified - papers, 0))
        yield words.DISTINCT.format(count=papers)
    for database in dict.fromkeys(receipt["database"] for receipt in receipts):
        found = [r["results_count"] for r in receipts if r["database"] == database]
        yield words.SEARCHED.format(
            database=_plain(database), records=sum(found), searches=len(found)
        )


def _plain(value: Any) -> str:
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
        raise UsageError(words.FILE_EXISTS.format(file=str(path))) from None
    except OSError as error:
        raise UsageError(words.CANNOT_WRITE.format(file=str(path), why=error.strerror)) from None
    return path


def _free(path: Path) -> Path:
    number = 1
    found = path
    while found.exists():
        number += 1
        found = path.with_stem(f"{path.stem}-{number}")
    return found
