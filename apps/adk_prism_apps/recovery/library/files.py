"""Reads one JSON, GeoJSON or CSV file into typed rows; what does not fit is a `DataProblem`.

Decides how text becomes values: an empty CSV cell is a value that is not there, `true` and `12.5`
are what they look like, a column that is not asked for is left alone. Bounds what it reads.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from .problem import DataProblem

T = TypeVar("T")

# A large perimeter has some ten thousand points: a megabyte or two. More is not such a file.
MOST_BYTES = 8_000_000
MOST_ROWS = 50_000
_FIELD = re.compile(r"`\$?\.?([^`]+)`$|field `([^`]+)`")


def read_json(path: Path, file: str, shape: type[T]) -> T:
    """Return the JSON file as `shape`; raise `DataProblem` if it is missing or does not fit."""
    try:
        return msgspec.json.decode(_text(path, file), type=shape)
    except msgspec.ValidationError as error:
        raise _misfit(file, str(error)) from None
    except msgspec.DecodeError as error:
        raise DataProblem("malformed file", f"{file} is not JSON: {error}.", file=file) from None


def read_csv(path: Path, file: str, row: type[T]) -> tuple[T, ...]:
    """Return the rows of a CSV file with a header line; raise `DataProblem` as `read_json`."""
    return tuple(_rows(csv.DictReader(io.StringIO(_text(path, file)), strict=True), file, row))


def _rows(reader: csv.DictReader[str], file: str, row: type[T]) -> Iterator[T]:
    try:
        for number, cells in enumerate(reader, start=1):
            if number > MOST_ROWS:
                raise DataProblem(
                    "malformed file", f"{file} has more than {MOST_ROWS} rows.", file=file
                )
            yield _row(cells, file, reader.line_num, row)
    except csv.Error as error:
        text = f"{file}, line {reader.line_num}: not CSV, {error}."
        raise DataProblem("malformed file", text, file=file) from None


def _row(cells: dict[Any, Any], file: str, line: int, row: type[T]) -> T:
    if None in cells or None in cells.values():
        text = f"{file}, line {line}: the number of cells differs from the header's."
        raise DataProblem("malformed file", text, file=file)
    given = {key.strip(): cell.strip() for key, cell in cells.items() if cell.strip()}
    try:
        return msgspec.convert(given, row, strict=False)
    except msgspec.ValidationError as error:
        raise _misfit(f"{file}, line {line}", str(error), file) from None


def _misfit(where: str, complaint: str, file: str = "") -> DataProblem:
    found = _FIELD.search(complaint)
    field = next((name for name in found.groups() if name), "") if found else ""
    text = f"{where}: {complaint[:1].lower()}{complaint[1:]}."
    return DataProblem("malformed file", text, file=file or where, field=field)


def _text(path: Path, file: str) -> str:
    try:
        with path.open("rb") as opened:
            content = opened.read(MOST_BYTES + 1)
    except FileNotFoundError:
        text = f"There is no {file}. The guide to the recovery app says what it holds."
        raise DataProblem("missing file", text, file=file) from None
    except OSError as error:
        text = f"{file} cannot be read: {error.strerror}."
        raise DataProblem("malformed file", text, file=file) from None
    if len(content) > MOST_BYTES:
        text = f"{file} is larger than {MOST_BYTES:,} bytes."
        raise DataProblem("malformed file", text, file=file)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        text = f"{file} is not UTF-8 text (byte {error.start})."
        raise DataProblem("malformed file", text, file=file) from None
