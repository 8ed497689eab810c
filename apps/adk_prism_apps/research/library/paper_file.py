"""The bundled file of papers: one line each, bibliographic facts only, in a schema of our own.

Every line has a DOI or an arXiv id and names the record or list that it was checked against. Authors and
the count of citations are those of a service's own record; where there is no record, or it does not say,
they are empty.
"""

from __future__ import annotations

import csv
import hashlib
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path

from ..databases.paper import Paper

BUNDLED = Path(__file__).parent / "data" / "papers.tsv"


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the file. Authors are separated by semicolons; `topics` are words of the subject."""

    title: str
    authors: str
    year: str
    venue: str
    kind: str
    doi: str
    arxiv: str
    citations: str
    field: str
    topics: str
    checked: str

    def paper(self) -> Paper:
        """Return the row as every database gives papers."""
        where = f"https://doi.org/{self.doi}" if self.doi else f"https://arxiv.org/abs/{self.arxiv}"
        return Paper(
            title=self.title,
            authors=tuple(name for name in self.authors.split("; ") if name),
            year=int(self.year),
            venue=self.venue,
            kind=self.kind,
            doi=self.doi,
            arxiv=self.arxiv,
            url=where,
            citations=int(self.citations) if self.citations else None,
            fields=(self.field,) if self.field else (),
        )


COLUMNS = tuple(column.name for column in fields(Row))


class PaperFile:
    """The file, read when it is first needed."""

    def __init__(self, path: Path = BUNDLED) -> None:
        self._path = path

    @cached_property
    def fingerprint(self) -> str:
        """Return a hash of the file's bytes."""
        return hashlib.sha256(self._path.read_bytes()).hexdigest()[:16]

    @cached_property
    def size(self) -> int:
        """Return the number of papers."""
        return self._path.read_bytes().count(b"\n") - 1

    def rows(self) -> tuple[Row, ...]:
        """Return all lines."""
        with self._path.open(encoding="utf-8", newline="") as file:
            reader = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
            header = next(reader)
            if tuple(header) != COLUMNS:
                raise ValueError(f"{self._path.name} has the columns {header}, not {COLUMNS}")
            return tuple(Row(*line) for line in reader)
