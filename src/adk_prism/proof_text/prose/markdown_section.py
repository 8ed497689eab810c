"""The section of a line: its headings, and the bold beginning of its paragraph."""

from __future__ import annotations

BOLD_HEADING = 7
"""The level of a bold line that stands for a heading: below every real one."""


class Section:
    """The current section."""

    def __init__(self) -> None:
        self._headings: list[tuple[int, str]] = []
        self._lead = ""

    @property
    def name(self) -> str:
        """The name of the innermost section that has one."""
        if self._lead:
            return self._lead
        return next((name for _, name in reversed(self._headings) if name), "")

    def open(self, level: int, name: str) -> None:
        """Begin a section; one without a name belongs to the one around it."""
        while self._headings and self._headings[-1][0] >= level:
            self._headings.pop()
        self._headings.append((level, name))
        self._lead = ""

    def lead(self, name: str) -> None:
        """Begin a paragraph with a bold beginning, or end it."""
        self._lead = name
