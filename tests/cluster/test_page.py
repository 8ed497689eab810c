"""The page in Chromium over three replicas, of which two die in mid-answer."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from tests.chaos.replicas import Replicas
from tests.conftest import NODE_FOLDER, Node

FILE = Path(__file__).parent / "page.test.mjs"
BROWSER = NODE_FOLDER / "node_modules" / ".browser" / "chromium"
PATIENCE = 300


def test_the_text_goes_on_in_the_browser(node: Node, tmp_path: Path) -> None:
    """What the file's own tests say."""
    assert BROWSER.is_file(), f"{BROWSER} is missing: run the tests through `make test`"
    replicas = Replicas(tmp_path, lease=2.0, delay="0.02")
    try:
        begun = replicas.start(3)
        known = [{"url": each.url, "pid": each.process.pid} for each in begun]
        environment = {
            **os.environ,
            "PRISM_URL": begun[0].url,
            "PRISM_REPLICAS": json.dumps(known),
        }
        done = subprocess.run(
            [node.binary, "--test", "--test-reporter=spec", FILE],
            env=environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
        assert [each.process.poll() for each in begun] == [-9, -9, None]
    finally:
        replicas.close()
