"""A target: a group of alike decoders, so that one process can take them all in turn."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module

from tests.fuzz.grown import grown

NAMES = ("texts", "requests", "frames", "streams", "recordings", "bodies", "credentials")


@dataclass(frozen=True)
class Target:
    """Takes any bytes and returns; an error that its decoders do not declare is a finding."""

    run: Callable[[bytes], object]
    declared: tuple[type[Exception], ...]
    seeds: Callable[[], Sequence[bytes]]
    words: Sequence[str] = ()
    longest: int = 4096

    def try_(self, data: bytes) -> None:
        """Give it some bytes. Raises what it does not declare."""
        try:
            self.run(data)
        except self.declared:
            return


def target(name: str) -> Target:
    """Return a target. Only what it reads with is imported, so that a fuzzer starts at once."""
    found: Target = import_module(f"tests.fuzz.targets.{name}").TARGET
    return found


def split(data: bytes, count: int) -> tuple[int, bytes]:
    """Return a choice that the first byte makes, and the rest."""
    return (data[0] % count, data[1:]) if data else (0, b"")


def as_text(data: bytes) -> str:
    """Return bytes as a text: with halves of surrogate pairs, if they are there."""
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def as_json(data: bytes, words: Sequence[str]) -> bytes:
    """Return bytes that say they are JSON: as they are, or grown from these."""
    how, rest = split(data, 4)
    return rest if how == 0 else json.dumps(grown(rest, words)).encode()
