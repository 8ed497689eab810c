"""The verdict of the AI SDK's own code on a UI message stream.

`tests/node/judge.mjs` does the work and lists the codes. A test says

    verdict = judge(body, sdk)
    assert verdict.ok, verdict.why

and gets every violation in the failure message.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from tests.conformance.worker import Worker

Sdk = Literal["ai-5.0.0", "ai-5", "ai-6.0.0", "ai-6", "ai-7"]
SDKS: tuple[Sdk, ...] = ("ai-6.0.0", "ai-6", "ai-7")
"""The current releases, which all read dialect 6."""
FIVES: tuple[Sdk, ...] = ("ai-5.0.0", "ai-5")
"""Those that read dialect 5."""
READERS: tuple[tuple[Sdk, str], ...] = (
    *((sdk, "6") for sdk in SDKS),
    ("ai-7", "7"),
    *((sdk, "5") for sdk in FIVES),
)
"""Who reads which dialect."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One finding; `index` counts the chunks of the stream from 0."""

    code: str
    message: str
    index: int | None = None

    def __str__(self) -> str:
        where = "" if self.index is None else f" at chunk {self.index}"
        return f"{self.code}{where}: {self.message}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was found, and the message that the client shows at the end of the stream."""

    ok: bool
    errors: tuple[Problem, ...]
    warnings: tuple[Problem, ...]
    message: dict[str, Any] | None
    chunks: int

    @property
    def codes(self) -> set[str]:
        """The codes of the errors."""
        return {problem.code for problem in self.errors}

    @property
    def why(self) -> str:
        """Every error on its own line; pytest would cut the verdict itself short."""
        return "\n".join(["", *map(str, self.errors)])


@dataclass(frozen=True, slots=True)
class Judge:
    """Judges streams; call it."""

    worker: Worker

    def __call__(
        self,
        stream: bytes | str,
        sdk: Sdk,
        prior: dict[str, Any] | None = None,
        expect_error: bool = False,
    ) -> Verdict:
        """Judge one response body; `prior` is the assistant message that it continues."""
        text = stream if isinstance(stream, str) else stream.decode("utf-8")
        request: dict[str, Any] = {"sdk": sdk, "stream": text, "expectError": expect_error}
        if prior is not None:
            request["prior"] = prior
        reply = self.worker.ask(request)
        return Verdict(
            ok=reply["ok"],
            errors=tuple(Problem(**problem) for problem in reply["errors"]),
            warnings=tuple(Problem(**problem) for problem in reply["warnings"]),
            message=reply["message"],
            chunks=reply["chunks"],
        )
