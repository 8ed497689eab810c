"""What every viewer of a run must have seen, whatever happened meanwhile.

A viewer's history is the frames that it was given, over all its connections, in the order in which they came.
It must be the run's stream itself: nothing missing, nothing twice, nothing in another order, and one end.
Viewers speak several protocols; in some of them the end has a frame of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

PROTOCOLS = ("ai-sdk", "adk", "studio")
END = {"ai-sdk": b"[DONE]"}
"""The frame that ends a stream, where the protocol has one beside the end of the body."""


@dataclass
class History:
    """What one viewer saw."""

    viewer: str
    frames: list[tuple[str, bytes]] = field(default_factory=list)
    """Position and data of each frame."""
    protocol: str = "ai-sdk"
    has_ended: bool = False
    """Whether a stream came to its own end: it was not cut, and did not break off."""
    connections: int = 0


def read_frames(stream: bytes) -> list[tuple[str, bytes]]:
    """Return the whole frames of a piece of an event stream."""
    frames = []
    for block in stream.split(b"\n\n")[:-1]:
        lines = dict(line.split(b": ", 1) for line in block.split(b"\n") if b": " in line)
        if b"data" in lines:
            frames.append((lines.get(b"id", b"").decode(), lines[b"data"]))
    return frames


def anomalies(history: History, reference: Sequence[tuple[str, bytes]]) -> Iterator[str]:
    """Yield what is wrong with a history, given the run's stream as it is in the end."""
    seen, whole = history.frames, list(reference)
    places = [position for position, _ in seen]
    if len(set(places)) != len(places):
        yield f"{history.viewer} was given a frame twice"
    if seen != whole[: len(seen)]:
        at = next(
            (i for i, pair in enumerate(zip(seen, whole, strict=False)) if pair[0] != pair[1]), 0
        )
        yield f"{history.viewer} saw something else at frame {at + 1}: {seen[at]}"
    if len(seen) < len(whole):
        yield f"{history.viewer} saw {len(seen)} of {len(whole)} frames"
    end = END.get(history.protocol)
    ends = [at for at, (_, data) in enumerate(seen) if data == end]
    if not history.has_ended or (end is not None and ends != [len(seen) - 1]):
        yield f"{history.viewer} saw no end, or more than one"


TRUE_CODES = {
    "full": {"log_unavailable"},
    "redis": {"log_unavailable"},
    "locked": {"log_unavailable"},
    "disk": {"log_unavailable", "no-sessions"},
    "postgres": {"no-sessions"},
}
"""With which code a run may fail of a fault that it has nothing to do with; any other must end as without."""


def outcome_anomalies(fault: str, outcome: str, code: str) -> Iterator[str]:
    """Yield what is untrue about the end of a run that nobody stopped, and that does nothing wrong."""
    if outcome == "failed" and code not in TRUE_CODES.get(fault, set()):
        yield f"the run failed with {code or 'no code'}, and {fault} does not do that"
    elif outcome not in ("finished", "failed"):
        yield f"the run ended as {outcome}, and nobody asked for that"


def answer_anomalies(answers: Sequence[str], outcome: str, words: int) -> Iterator[str]:
    """Yield what is wrong with the answers that a session has to one question of so many words."""
    whole = "".join(f"word{at + 1} " for at in range(words))
    expected = [whole] if outcome == "finished" else []
    if list(answers) not in (expected, [whole]):
        yield f"the session has {len(answers)} answers: {[answer[:40] for answer in answers]}"


def call_anomalies(
    begun: Mapping[str, int], doubted: Mapping[str, int], finished: Collection[str]
) -> Iterator[str]:
    """Yield calls that tools began with more often than takeovers explain, and those that were answered."""
    for call, times in begun.items():
        if times > 1 + doubted.get(call, 0):
            yield f"call {call} was begun {times} times, and in doubt {doubted.get(call, 0)} times"
        if call in finished and times > 1 and not doubted.get(call):
            yield f"call {call} had been answered, and was begun again"


def log_anomalies(cursors: Sequence[int], kinds: Sequence[str]) -> Iterator[str]:
    """Yield what is wrong with a run's log."""
    if list(cursors) != list(range(1, len(cursors) + 1)):
        yield "the log has a gap"
    if kinds.count("RunEnded") != 1 or kinds[-1] != "RunEnded":
        yield "the log has no end, or more than one"
    if kinds.count("RunStarted") != 1:
        yield "the log has more than one beginning"
