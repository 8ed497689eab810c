"""What is wrong with the data, for its owner to correct: the file, the field, what was expected."""

from __future__ import annotations

from typing import Literal

Kind = Literal["unknown fire", "missing file", "malformed file", "bad argument"]


class DataProblem(Exception):
    """A skill cannot answer. The message names the file as the owner knows it, never a path."""

    def __init__(self, kind: Kind, message: str, *, file: str = "", field: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.file = file
        self.field = field

    def data(self) -> dict[str, str]:
        """Return it as JSON; the file and the field only where there are such."""
        fixed = {"kind": str(self.kind), "message": self.message}
        optional = {"file": self.file, "field": self.field}
        return fixed | {key: value for key, value in optional.items() if value}
