"""The page in Chromium over replicas, of which the one that answers dies in mid-answer."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.chaos.replicas import Replica, Replicas
from tests.conftest import NODE_FOLDER, Node
from tests.patience import PATIENCE

FILE = Path(__file__).parent / "page.test.mjs"
BROWSER = NODE_FOLDER / "node_modules" / ".browser" / "chromium"
LEASE = 4.0
SLOW = "0.5"
"""Seconds between two words of the one that dies: its answer is not over before a browser has begun to
show it, however long that takes. Who goes on with it is fast."""
TESTS = (
    "the replica of the page lives, the one that answers dies",
    "the replica behind the page dies, and a proxy asks another one",
)


@pytest.fixture(scope="module")
def replicas(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replicas]:
    made = Replicas(tmp_path_factory.mktemp("page"), lease=LEASE)
    yield made
    made.close()


@pytest.fixture(scope="module")
def survivor(replicas: Replicas) -> Replica:
    """Return the one that goes on with what others leave."""
    return replicas.start()[0]


@pytest.mark.parametrize("name", TESTS)
def test_the_text_goes_on_in_the_browser(
    name: str, node: Node, replicas: Replicas, survivor: Replica
) -> None:
    """What the file's own test of that name says; and somebody did die."""
    assert BROWSER.is_file(), f"{BROWSER} is missing: run the tests through `make test-all`"
    [owner] = replicas.start(delay=SLOW)
    environment = {
        **os.environ,
        "PRISM_URL": survivor.url,
        "PRISM_OWNER": json.dumps({"url": owner.url, "pid": owner.process.pid}),
    }
    survivor.lines.clear()
    done = subprocess.run(
        [node.binary, "--test", "--test-reporter=spec", f"--test-name-pattern=^{name}$", FILE],
        env=environment,
        capture_output=True,
        text=True,
        timeout=10 * PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    assert "pass 1" in done.stdout, f"{FILE} has no such test:\n{done.stdout}"
    assert (owner.process.wait(PATIENCE), survivor.process.poll()) == (-9, None)
    assert survivor.says("run taken over", PATIENCE)
