"""All dispositions in one place: of ADK's fields and values, of the AI SDK's chunks and AG-UI's events.

The tables themselves are in `tables/`, one file per subject. `home` returns where a type's rows are,
or belong, so that a message can send its reader there.
"""

from __future__ import annotations

from types import ModuleType

from adk_prism.features.fields.kinds import Chunk, ChunkDisposition, Disposition, Rows
from adk_prism.features.fields.tables import ag_ui_events, chunks, content, event, usage

_SUBJECTS: tuple[ModuleType, ...] = (event, content, usage)

FIELDS: dict[str, Rows] = {
    name: rows for subject in _SUBJECTS for name, rows in subject.TABLE.items()
}
"""By upstream type, by field or value."""

CHUNKS: dict[str, Chunk] = chunks.TABLE
"""By chunk type."""

FINISH_REASONS: dict[str, ChunkDisposition] = chunks.FINISH_REASONS
"""By value of `finish.finishReason`."""

CHUNKS_HOME = chunks.__name__

EVENTS: dict[str, Chunk] = ag_ui_events.TABLE
"""By event type of AG-UI."""

EVENTS_HOME = ag_ui_events.__name__


def home(upstream: str) -> str:
    """Return the module that holds the rows of a type; of an unknown one, where tables are joined."""
    for subject in _SUBJECTS:
        if upstream in subject.TABLE:
            return subject.__name__
    return __name__


def disposition(upstream: str, member: str) -> Disposition | None:
    """Look one field or value up."""
    return FIELDS.get(upstream, {}).get(member)
