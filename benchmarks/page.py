"""The web page in Chromium: an answer that it keeps up with, and what it holds after many runs.

The answer comes at the same pace into the page and into a bare text node, which is what a browser itself
makes of it. A page that draws all of its answer again with every token would spend ever more time.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.table import Row, kibibytes, millis

PACE = 200
"""Tokens a second: faster than any model that people read along with."""

LEAST = 0.05
"""Seconds: the shortest long task, so that none at all still gives a ratio."""

FRAME = 1 / 60


def rows(*, quick: bool) -> list[Row]:
    """Measure, and return the comparisons. Needs the built page and the browser of `make test-all`."""
    return [
        *_speed(4_000 if quick else 20_000),
        *_list(1_000),
        *_trace(10_000),
        *_memory(20 if quick else 50),
    ]


def _speed(tokens: int) -> list[Row]:
    found = _run("page_speed.mjs", tokens, PACE)
    page, text = ({name: ms / 1000 for name, ms in found[of].items()} for of in ("page", "text"))
    long = max(LEAST, page["long"]), max(LEAST, text["long"])
    return [
        Row(
            f"page: long tasks over {tokens:,} tokens, a text node",
            *map(millis, long),
            long[0] / long[1],
            1,
        ),
        Row(
            f"page: the longest task over {tokens:,} tokens, a frame",
            millis(page["longest"]),
            millis(FRAME),
            page["longest"] / FRAME,
            1,
        ),
        Row(
            f"page: the last tenth of {tokens:,} tokens, the first",
            millis(page["last"]),
            millis(page["first"]),
            page["last"] / page["first"],
            1.3,
        ),
        Row(
            f"page: all of {tokens:,} tokens, a text node",
            millis(page["all"]),
            millis(text["all"]),
            page["all"] / text["all"],
        ),
    ]


def _list(conversations: int) -> list[Row]:
    found = _run("page_list.mjs", conversations)
    name = f"page: the longest task to {{}} {conversations:,} conversations, a long task"
    return [
        Row(name.format(step), millis(ms / 1000), millis(LEAST), ms / 1000 / LEAST, 1)
        for step, ms in found.items()
    ]


OPENED, SCROLLED = 0.3, 0.03
"""Seconds: a run opens before anybody waits; a list that is scrolled keeps up with the finger."""


def _trace(steps: int) -> list[Row]:
    found = {name: ms / 1000 for name, ms in _run("page_trace.mjs", steps).items()}
    name = f"page: {{}} of a run of {steps:,} steps, the goal"
    wanted = {"open": OPENED, "conversation": OPENED, "trace": SCROLLED, "chat": SCROLLED}
    said = {
        "open": "opening",
        "conversation": "opening the conversation",
        "trace": "longest task scrolling the trace",
        "chat": "the chat",
    }
    return [
        Row(name.format(said[each]), millis(found[each]), millis(goal), found[each] / goal)
        for each, goal in wanted.items()
    ]


def _memory(runs: int) -> list[Row]:
    first, *_, last = _run("page_memory.mjs", runs)
    name = f"page: heap after {last['run']} runs, after {first['run']}"
    return [
        Row(
            name,
            kibibytes(last["heap"]),
            kibibytes(first["heap"]),
            last["heap"] / first["heap"],
            1.2,
        ),
        Row(
            f"page: nodes after {last['run']} runs, after {first['run']}",
            f"{last['nodes']:,.0f}",
            f"{first['nodes']:,.0f}",
            last["nodes"] / first["nodes"],
            1.2,
        ),
    ]


def _run(script: str, *words: int) -> Any:
    """Return what a script of the page's prints."""
    node = Path(sys.executable).with_name("node")
    command = [node, Path(__file__).with_name(script), *map(str, words)]
    environment = {**os.environ, "PRISM_URL": "-"}
    done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(
            f"The browser did not run; `make test-all` unpacks it. {done.stderr[-800:]}"
        )
    return json.loads(done.stdout)
