"""Rules for the tests themselves: no fixed sleeps, no reads of our private attributes.

The exceptions are listed here, with reasons. The lists only get shorter.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SOURCES = HERE.parent / "src" / "adk_prism"
FILES = sorted(
    path.relative_to(HERE) for path in HERE.rglob("*.py") if "node_modules" not in path.parts
)
TESTS = [str(path) for path in FILES if path.name.startswith("test_")]

SLEEPS = {
    "chaos/test_workers.py": "a worker must outlive the seconds in which a death counts as a failed start",
    "cluster/test_processes.py": "a kill at a random moment; nothing may happen for one lease and a half",
    "features/backup/test_backup.py": "a kill at a random moment",
    "features/redis/test_leases.py": "the loop is blocked for two leases",
    "features/limits/test_limits.py": "time alone must not end a run that somebody watches",
    "runs/test_tool_progress.py": "a tool's reports have to be apart in time",
}
"""Tests that wait for a fixed time because time is what they test."""

PRIVATE = frozenset(
    {
        "cluster/replica.py",
        "cluster/test_tickets.py",
        "cluster/test_unretrieved.py",
        "features/console/terminal.py",
        "features/console/test_grounding.py",
        "features/console/test_lost.py",
        "features/console/test_research.py",
        "facts/test_argument_writer.py",
        "features/fields/stream.py",
        "fuzz/targets/credentials.py",
        "protocols/ai_sdk/test_strictness.py",
        "recordings/record.py",
        "features/redis/test_redis_urls.py",
        "features/redis/test_leases.py",
        "features/redis/test_redis.py",
        "log/test_sqlite.py",
        "adk/test_redaction.py",
        "features/page/test_film.py",
    }
)
"""Tests that still read private attributes of ours. Not a place to add to."""

FOREIGN = {"_actions", "_get_declaration", "_replace", "_send_content"}
"""Private names of ADK's and Python's own, which classes of ours have, too."""


def _is_sleep(node: ast.AST) -> bool:
    """Whether a node is `time.sleep(…)` or `asyncio.sleep(…)` for longer than no time."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name("time" | "asyncio"), attr="sleep")):
            return ast.unparse(node.args[0]) != "0"
        case _:
            return False


def _fixed_sleeps(node: ast.AST, in_test: bool = False) -> Iterator[int]:
    """Yield the lines that sleep in a test or its helpers, polls and functions inside them apart.

    A function that is defined inside another one is a tool or a model that has to be slow.
    """
    for child in ast.iter_child_nodes(node):
        if _is_sleep(child) and in_test:
            yield child.lineno  # type: ignore[attr-defined]
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from () if in_test else _fixed_sleeps(child, True)
        elif not isinstance(child, ast.While | ast.Lambda | ast.ClassDef):
            yield from _fixed_sleeps(child, in_test)


@pytest.mark.parametrize("name", TESTS)
def test_no_test_sleeps_for_a_fixed_time(name: str) -> None:
    """It waits for a condition (`while`, an event, `tests.patience`), however long that takes."""
    lines = list(_fixed_sleeps(ast.parse((HERE / name).read_text())))
    assert bool(lines) == (name in SLEEPS), f"{name} sleeps in lines {lines}"


def _defined(tree: ast.AST) -> set[str]:
    """Return the private names that a file itself defines."""
    names: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case (
                ast.Attribute(value=ast.Name("self"), attr=name)
                | ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.AnnAssign(target=ast.Name(name))
            ):
                names.add(name)
            case _:
                pass
    return {name for name in names if name.startswith("_") and not name.startswith("__")}


@cache
def _ours() -> frozenset[str]:
    """Return every private attribute that a class of ours has."""
    files = SOURCES.rglob("*.py")
    return frozenset(name for path in files for name in _defined(ast.parse(path.read_text())))


def _private_reads(name: str) -> set[str]:
    tree = ast.parse((HERE / name).read_text())
    private = _ours() - _defined(tree) - FOREIGN
    return {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in private
    }


@pytest.mark.parametrize("name", [str(path) for path in FILES])
def test_no_test_reads_a_private_attribute_of_ours(name: str) -> None:
    """A test that does breaks when the code gets better, and proves nothing that a user can see."""
    assert not (found := _private_reads(name)) or name in PRIVATE, f"{name} reads {found}"
