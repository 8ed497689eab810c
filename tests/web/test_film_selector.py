"""The page reads a film as `Film.at` does: on every recording and capture, at every cursor."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.conftest import Node
from tests.features.page import films
from tests.recordings.library import CAPTURES, RECORDINGS
from tests.web.conftest import WEB

LOOKS = 120
"""Cursors of each; of the shorter ones, which are nearly all, every one."""


def test_the_page_selects_what_python_selects(tmp_path: Path, node: Node) -> None:
    """A film that is looked at in a file without Python is the same film."""
    for name in (*RECORDINGS, *CAPTURES):
        (tmp_path / f"{name.replace('/', '-')}.json").write_bytes(films.golden(name, LOOKS))
    vitest = WEB / "node_modules" / "vitest" / "vitest.mjs"
    assert vitest.is_file(), "web/node_modules is missing: run the tests through `make test`"
    done = subprocess.run(
        [node.binary, vitest, "run", "--reporter=dot", "src/film/film.test.ts"],
        cwd=WEB,
        env={**os.environ, "PRISM_FILMS": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
