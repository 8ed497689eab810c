"""What a run is found by, without reading it: a digest, stored beside the log when the run has ended.

Folded from facts (`facts.run_digest`), and small whatever the run was. It contains nothing that the log does
not, so what was redacted stays redacted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, get_args

import msgspec
from msgspec import Struct

from adk_prism.runlog.search_text import searchable

DIGEST_VERSION = 2
"""Of the fold: digests of a lower one are made again."""

NameKind = Literal["tool", "agent", "model", "error", "state", "feedback"]
NAME_KINDS: tuple[NameKind, ...] = get_args(NameKind)


Used = dict[str, dict[str, int]]
"""Model → tokens by kind, with `calls` and `ms`; under the empty name: calls that failed, and of models
beyond the bound."""


class RunDigest(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One run, in short."""

    user: str = ""
    """What the user said, from the beginning."""
    agent: str = ""
    """What the agents said."""
    calls: str = ""
    """Arguments and results of tools, and the texts of errors."""
    names: dict[NameKind, list[str]] = {}
    """Tools and agents that ran, models that answered, codes of errors, state keys that were set, and
    what people said about it in one word (`feedback_label`)."""
    tokens: int = 0
    used: Used = {}
    duration: float = 0.0
    """Seconds from the first entry to the last."""
    version: int = 0
    """The fold's; always written, since the default is no fold's."""

    @property
    def text(self) -> str:
        """All of its text, as it is searched."""
        return "".join(map(searchable, (self.user, self.agent, self.calls)))

    def folded_names(self) -> Iterator[tuple[NameKind, str]]:
        """Yield the names as they are compared, each once."""
        for kind, names in self.names.items():
            yield from ((kind, name) for name in dict.fromkeys(map(str.casefold, names)))


encode_digest = msgspec.json.Encoder().encode
decode_digest = msgspec.json.Decoder(RunDigest).decode


class _UsedOnly(Struct):
    used: Used = {}


_decode_used = msgspec.json.Decoder(_UsedOnly).decode


def decode_used(text: bytes) -> Used:
    """Return what a stored digest says was used: all else is passed over, which is several times as fast."""
    return _decode_used(text).used
