"""What the real AG-UI client makes of our streams.

`tests/node/ag_ui.mjs` does the work: an `HttpAgent` that gets our bytes as the responses to its requests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.conformance.worker import Worker

Json = dict[str, Any]

READERS: tuple[tuple[str, str], ...] = (
    ("ag-ui-client-0", "0.0.59"),
    ("ag-ui-client-1", "1.0"),
    ("ag-ui-client-1", "0.0.59"),
)
"""Clients, and the dialects that they read: a newer client may be given the older one."""


@dataclass(frozen=True, slots=True)
class Held:
    """What the client holds when it has read everything, and what it objected to."""

    faults: list[str]
    ended: list[Json]
    """How each run ended: its `outcome`, or its `error`."""
    messages: list[Json]
    state: Json
    interrupts: list[Json]


@dataclass(frozen=True, slots=True)
class AgUiClient:
    """Reads runs of one thread, in order; call it."""

    worker: Worker

    def __call__(self, runs: Sequence[bytes], client: str, piece: int = 4096) -> Held:
        """Return what the client holds after these responses; `piece`: bytes that come at a time."""
        texts = [run.decode() for run in runs]
        return Held(**self.worker.ask({"client": client, "runs": texts, "piece": piece}))
