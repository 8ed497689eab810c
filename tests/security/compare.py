"""The same attacks on adk-prism and on `adk api_server`: `python -m tests.security.compare`.

Prints the table of `docs/security-tests.md`. Both are real servers, in processes of their own.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import httpx
from tests.patience import PATIENCE
from tests.security import poisoned
from tests.security.attacks import ATTACKS, besiege
from tests.security.servers import APP, Server, ours, theirs

Serve = Callable[..., AbstractContextManager[Server]]
POISON = "a poisoned row in a database of ADK's first schema"


def attacked(serve: Serve) -> dict[str, str]:
    """Start a server, make every attack; return what it did."""
    with tempfile.TemporaryDirectory() as folder, serve(Path(folder)) as server:
        answers = asyncio.run(besiege(server))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        mark = folder / "mark"
        address = poisoned.write(folder / "v0.db", mark, app=APP, user="ann")
        with serve(folder, address) as server:
            path = f"/apps/{APP}/users/ann/sessions/{poisoned.SESSION}"
            answer = httpx.get(server.url + path, headers=server.ann, timeout=PATIENCE)
        done = "code ran" if mark.exists() else "no code ran"
        return {**answers, POISON: f"{answer.status_code}, {done}"}


def table(mine: dict[str, str], other: dict[str, str]) -> str:
    """Return what both did, as Markdown."""
    rows = [(each.number, each.name) for each in ATTACKS] + [(40, POISON)]
    lines = [f"| {number} | {name} | {mine[name]} | {other[name]} |" for number, name in rows]
    head = ["| | attack | adk-prism | adk api_server 2.13 |", "| --- | --- | --- | --- |"]
    return "\n".join([*head, *lines])


if __name__ == "__main__":
    print(table(attacked(ours), attacked(theirs)))
