"""A copy of the bundled data that a test may change, one cell or one file at a time."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from adk_prism_apps.recovery.library import Library
from adk_prism_apps.recovery.library.folder import BUNDLED
from adk_prism_apps.recovery.skills.case import Case, open_case

FIRE = "cedar-creek-2022"
Row = dict[str, str]


def bundled_rows(file: str) -> list[Row]:
    """Return the rows of a bundled CSV file, as text, without the app's own reader."""
    text = (BUNDLED / FIRE / file).read_text()
    return list(csv.DictReader(io.StringIO(text)))


def case(as_of: str = "", folder: Path | None = None) -> Case:
    return open_case(Library(folder), FIRE, as_of)


class Folder:
    """A whole data folder of a test's own."""

    def __init__(self, root: Path) -> None:
        self.root = root / "data"
        shutil.copytree(BUNDLED, self.root)

    def path(self, file: str) -> Path:
        return self.root / FIRE / file

    def case(self, as_of: str = "") -> Case:
        return case(as_of, self.root)

    def set_cell(self, file: str, row: int, column: str, value: str) -> None:
        rows = list(csv.DictReader(io.StringIO(self.path(file).read_text())))
        rows[row][column] = value
        self.write_rows(file, rows)

    def write_rows(self, file: str, rows: list[Row]) -> None:
        out = io.StringIO()
        writer = csv.DictWriter(out, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        self.path(file).write_text(out.getvalue())

    def change_json(self, file: str, change: Callable[[Any], None]) -> None:
        document = json.loads(self.path(file).read_text())
        change(document)
        self.path(file).write_text(json.dumps(document))
