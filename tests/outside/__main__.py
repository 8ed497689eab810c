"""Compare our server with `adk api_server` on a folder of ADK apps.

    python -m tests.outside FOLDER [--app NAME]

The exit code is 1 where an app differs.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.outside.comparison import Differs, compare
from tests.outside.servers import Servers, both_serving


def apps_in(folder: Path) -> list[Path]:
    """Return the folders in which ADK finds an app."""
    files = ("agent.py", "__init__.py", "root_agent.yaml")
    return sorted(
        each for each in folder.iterdir() if any((each / name).is_file() for name in files)
    )


async def _report(servers: Servers, apps: Sequence[Path]) -> bool:
    """Print the outcome of each app; return whether none differs."""
    good = True
    for app in apps:
        for streaming in (True, False):
            outcome = await compare(servers, app, streaming)
            good = good and not isinstance(outcome, Differs)
            print(f"{app.name} ({'streaming' if streaming else 'whole'}): {outcome}", flush=True)
    return good


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.outside", description=__doc__)
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="a folder of ADK apps")
    parser.add_argument("--app", action="append", metavar="NAME", help="only this app; repeatable")
    asked = parser.parse_args()
    apps = [app for app in apps_in(asked.folder) if not asked.app or app.name in asked.app]
    with (
        tempfile.TemporaryDirectory() as data,
        both_serving(asked.folder.resolve(), Path(data)) as servers,
    ):
        return 0 if asyncio.run(_report(servers, apps)) else 1


if __name__ == "__main__":
    sys.exit(main())
