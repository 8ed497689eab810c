"""What `make test` leaves to `make test-all`, and why. Nothing else decides this.

`make test` has to tell a contributor within five minutes whether a change is sound. `make test-all`, and CI,
also run what is below (`pytest --all`). A path that is named on the command line always runs:
`pytest tests/fuzz`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent

SLOW_PATHS: dict[str, str] = {
    "tests/chaos": "kills, stops and pauses of replicas",
    "tests/cluster": "replicas with Redis and PostgreSQL, several processes for each test",
    "tests/fuzz": "a minute of fuzzing for each group of decoders",
    "tests/outside": "62 apps of other people, each on a server of its own",
    "tests/security/test_hostile_agents.py": "a server for each agent that misbehaves",
    "tests/security/test_connections.py": "deadlines of ten seconds, over real sockets",
    "tests/security/test_schema.py": "Schemathesis over every route, with identity",
    "tests/server/test_schema.py": "Schemathesis over every route",
    "tests/web": "the page in a browser",
}
"""Folders and files."""

SLOW_VALUES: dict[str, frozenset[str]] = {
    "sdk": frozenset({"ai-5.0.0", "ai-6.0.0"}),
    "client": frozenset({"ai-6.0.0-dialect-6", "ai-6-dialect-6"}),
}
"""Parameters of which a quick run tries only the other values: the newest release of each dialect."""


def is_left_out(path: Path, named: Sequence[Path]) -> bool:
    """Say whether a quick run leaves a file or folder out, given the paths on the command line."""
    for slow in SLOW_PATHS:
        place = ROOT / slow
        if path == place or place in path.parents:
            return not any(each == place or place in each.parents for each in named)
    return False


def is_repetition(parameters: dict[str, object]) -> bool:
    """Say whether a test repeats another one for an older client."""
    return any(
        str(parameters[name]) in values
        for name, values in SLOW_VALUES.items()
        if name in parameters
    )
