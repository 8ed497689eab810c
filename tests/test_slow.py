"""The table of slow tests says what is there, and a named path always runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.conformance.judge import FIVES, SDKS
from tests.end_to_end.clients import CLIENTS
from tests.slow import ROOT, SAMPLED, SLOW_PATHS, SLOW_VALUES, is_left_out, is_repetition


def test_the_table_names_what_exists() -> None:
    """A path or a value that nobody has would leave nothing out."""
    assert [path for path in (*SLOW_PATHS, *SAMPLED) if not (ROOT / path).exists()] == []
    assert SLOW_VALUES["sdk"] < {*SDKS, *FIVES}
    assert SLOW_VALUES["client"] < {str(client) for client in CLIENTS}


@pytest.mark.parametrize(
    ("path", "named", "left_out"),
    [
        ("tests/fuzz", ["tests"], True),
        ("tests/fuzz/test_fuzz.py", ["tests"], True),
        ("tests/fuzz/test_fuzz.py", ["tests/fuzz"], False),
        ("tests/fuzz/test_fuzz.py", ["tests/facts", "tests/fuzz/test_fuzz.py"], False),
        ("tests/server/test_schema.py", ["tests/server"], True),
        ("tests/server/test_schema.py", ["tests/server/test_schema.py"], False),
        ("tests/features/forks/test_fork.py", ["tests"], False),
    ],
)
def test_a_named_path_runs(path: str, named: list[str], left_out: bool) -> None:
    """Whoever asks for the fuzzing gets it."""
    assert is_left_out(ROOT / path, [Path(ROOT, each) for each in named]) is left_out


@pytest.mark.parametrize(
    ("parameters", "repeats"),
    [
        ({}, False),
        ({"sdk": "ai-6", "dialect": "6"}, False),
        ({"sdk": "ai-6.0.0", "dialect": "6"}, True),
        ({"client": CLIENTS[0]}, True),
        ({"client": CLIENTS[-1]}, False),
    ],
)
def test_older_clients_are_repetitions(parameters: dict[str, object], repeats: bool) -> None:
    """A quick run tries the newest release of each dialect."""
    assert is_repetition(parameters) is repeats
