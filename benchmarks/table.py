"""The one table that a run of the benchmarks prints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from benchmarks.rounds import Ratio

HEAD = ("benchmark", "ours", "reference", "ratio", "quartiles", "target", "")

Verdict = Literal["ok", "MISSED", ""]


@dataclass(frozen=True)
class Row:
    """One comparison. A row without a target only informs."""

    name: str
    ours: str
    reference: str
    ratio: float
    target: float | None = None
    """The highest ratio that is good."""

    @property
    def verdict(self) -> Verdict:
        """Say whether the target was reached."""
        if self.target is None:
            return ""
        return "ok" if self.ratio <= self.target else "MISSED"

    def cells(self) -> tuple[str, ...]:
        """Return the row as text."""
        target = "" if self.target is None else f"≤ {self.target:g}"
        ratio, spread = f"{self.ratio:.2f}", ""
        if isinstance(self.ratio, Ratio):
            spread = "{:.2f} to {:.2f}".format(*self.ratio.quartiles)
        return (self.name, self.ours, self.reference, ratio, spread, target, self.verdict)


def render(rows: Sequence[Row]) -> str:
    """Return the table as Markdown, so that it can be pasted as it is."""
    lines = [HEAD, *(row.cells() for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEAD))]
    text = [_line(line, widths) for line in lines]
    text.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(text)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    shown = [
        cell.ljust(width) if column == 0 else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return "| " + " | ".join(shown) + " |"


def micros(seconds: float) -> str:
    """Show a time per event."""
    return f"{seconds * 1e6:.2f} µs"


def thousands(count: float) -> str:
    """Show instructions per event."""
    return f"{count / 1000:.1f} k"


def millis(seconds: float) -> str:
    """Show a time per run."""
    return f"{seconds * 1e3:.0f} ms"


def kibibytes(size: float) -> str:
    """Show a size."""
    return f"{size / 1024:.0f} KiB"
