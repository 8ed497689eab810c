"""Rows with their origin: what a skill computes with, and what it cites, are one thing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec

from adk_prism.proof import Citation, fingerprint

from .records import SourceNote

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Sheet(Generic[T]):
    """The rows of one file and what `sources.json` says of it."""

    file: str
    rows: tuple[T, ...]
    note: SourceNote

    @property
    def synthetic(self) -> bool:
        """Whether the file, or any row of it, was made up."""
        return self.note.synthetic or any(getattr(row, "synthetic", False) for row in self.rows)

    def citation(self) -> Citation:
        """Return the citation of the file; its hash changes with any value of its rows.

        What is synthetic says so, whatever its owner wrote.
        """
        mark = " (synthetic)" if self.synthetic and "synthetic" not in self.note.source else ""
        return Citation(
            source=self.note.source + mark,
            reference=f"{self.file}, {self.note.dated}: {self.note.reference}",
            uri=self.note.uri,
            hash=fingerprint(plain(self.rows)),
        )


def plain(value: Any) -> Any:
    """Return rows as JSON values."""
    return msgspec.to_builtins(value)
