"""The code blocks of the pages, each with what is done about it.

A comment right before a block may say more: `<!-- not run: REASON -->`; `<!-- file: NAME -->`, a
name to save it under; or what another test looks for (`request`, `shows`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from website.places import ROOT, pages

BLOCK = re.compile(
    r"(?:^<!-- (?P<note>[\w ]+): (?P<value>[^\n]*) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)

ELSEWHERE = {
    "docs/write-a-projection.md": "tests/extend/test_write_a_projection.py",
    "docs/write-a-run-log.md": "tests/extend/test_write_a_run_log.py",
}
"""Pages whose code is one program, which a test of its own installs and runs."""


@dataclass(frozen=True)
class Block:
    """One block of code."""

    page: str
    number: int
    language: str
    text: str
    note: str
    value: str

    def __str__(self) -> str:
        return f"{self.page}:{self.number}"

    @property
    def is_run(self) -> bool:
        """Whether it is for these tests to run."""
        return self.note != "not run" and self.page not in ELSEWHERE


def blocks(*languages: str) -> list[Block]:
    """Return the blocks in some languages, or all."""
    return [block for block in _all() if not languages or block.language in languages]


def _all() -> Iterator[Block]:
    for page in pages():
        if page.endswith(".md"):
            text = (ROOT / page).read_text(encoding="utf-8")
            for number, found in enumerate(BLOCK.finditer(text), 1):
                note, value = found["note"] or "", found["value"] or ""
                yield Block(page, number, found["language"], found["text"], note, value)
