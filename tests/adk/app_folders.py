"""Folders of apps that a test writes, and takes back: ADK imports them as top-level modules."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.patience import PATIENCE

GATED = f"""
import time
from pathlib import Path
here = Path(__file__).parent
with (here / "begun").open("a") as log:
    log.write("x")
for _ in range({int(PATIENCE * 100)}):
    if (here / "go").exists():
        break
    time.sleep(0.01)
else:
    raise RuntimeError("nobody let it go")
"""
"""A module that is imported until the test lets it go."""

PREFIX = "prism_test_"
"""How the names of such apps begin, so that their modules can be told from all others."""

AGENT = """
from google.adk.agents import LlmAgent
root_agent = LlmAgent(name="greeter", model="gemini-2.5-flash", description="Says hello.")
"""

NOTED = 'from pathlib import Path\nPath(__file__).with_suffix(".imported").touch()\n'
"""Leaves a file behind when it is imported."""


def write_app(folder: Path, name: str, code: str = AGENT, **files: str) -> Path:
    """Write an app: its agent.py, and other files by name (`env` is `.env`)."""
    app = folder / name
    app.mkdir(exist_ok=True)
    (app / "__init__.py").touch()
    (app / "agent.py").write_text(code)
    for key, text in files.items():
        (app / (".env" if key == "env" else key)).write_text(text)
    return app


@contextmanager
def restored(variables: Mapping[str, str] | None = None) -> Iterator[None]:
    """Put back the modules, the path and the environment that apps of a test change."""
    path, before = list(sys.path), dict(os.environ)
    os.environ.update(variables or {})
    try:
        yield
    finally:
        sys.path[:] = path
        for name in [name for name in sys.modules if name.startswith(PREFIX)]:
            del sys.modules[name]
        for name in os.environ.keys() - before.keys():
            del os.environ[name]
        os.environ.update(before)


async def seen(path: Path) -> None:
    """Wait for a file that another thread writes."""
    async with asyncio.timeout(PATIENCE):
        while not path.exists():  # noqa: ASYNC110 - a file rings no bell
            await asyncio.sleep(0.01)
