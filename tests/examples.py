"""`make test-examples`: the npm package, packed and installed as a user would, and the examples that use it.

Everything comes from npm, into `.venv/examples/`. What cannot be installed is a failed test, not a skipped
one. The file is named like no test: `make test-all` has to work without a network, and does not take it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.end_to_end.server import Server, serving

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / ".venv" / "examples"
PACKAGE = ROOT / "packages" / "client"
PROGRAMS = ROOT / "tests" / "node" / "package"
TOKEN = "a-token-that-is-long-enough"
MINUTES = 600
"""Seconds for a program; a registry may be slow."""


@dataclass(frozen=True)
class User:
    """Somebody's project: what is installed beside our package, and what of it is tried."""

    name: str
    packages: tuple[str, ...]
    types: str
    program: str


USERS = (
    User("ai-6.0.0", ("ai@6.0.0", "zod@4.6.7"), "use.ts", "talk.mjs"),
    User("ai-6", ("ai@6", "zod@4.6.7"), "use.ts", "talk.mjs"),
    User("ai-7", ("ai@7", "zod@4.6.7"), "use.ts", "talk.mjs"),
    User(
        "all",
        (
            "ai@7",
            "zod@4.6.7",
            "react@19",
            "@types/react@19",
            "@ag-ui/client@1.0.0",
            "@assistant-ui/react@0.15.21",
        ),
        "all.ts",
        "all.mjs",
    ),
)
RESOLUTIONS = {"bundler": "preserve", "nodenext": "nodenext"}
"""How TypeScript looks for packages, and the `module` that goes with it."""


def run(*command: str | Path, cwd: Path) -> str:
    """Run a program; what it wrote is the reason of a failure."""
    path = os.pathsep.join([str(ROOT / ".venv" / "bin"), os.environ["PATH"]])
    environ = {**os.environ, "PATH": path, "npm_config_update_notifier": "false"}
    done = subprocess.run(
        [*map(str, command)], cwd=cwd, env=environ, capture_output=True, text=True, timeout=MINUTES
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="session")
def tarball(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as it would be published."""
    folder = tmp_path_factory.mktemp("packed")
    run("npm", "run", "build", cwd=PACKAGE)
    run("npm", "pack", "--pack-destination", folder, cwd=PACKAGE)
    [found] = folder.glob("*.tgz")
    return found


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that asks who one is, runs one thing at a time for each, and refuses a second message."""
    folder = tmp_path_factory.mktemp("served")
    tokens = folder / "tokens.json"
    tokens.write_text(json.dumps({TOKEN: "ann"}))
    tokens.chmod(0o600)
    words = ["--tokens", str(tokens), "--limit-runs", "1", "--chat-busy", "refuse"]
    with serving(folder, *words) as found:
        yield found


@pytest.fixture(params=USERS, ids=lambda user: user.name)
def project(request: pytest.FixtureRequest, tarball: Path) -> tuple[User, Path]:
    """An empty folder into which a user has installed the package."""
    user: User = request.param
    folder = FOLDER / user.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "package.json").write_text('{"private": true, "type": "module"}')
    quiet = ("--no-audit", "--no-fund", "--loglevel=error")
    run("npm", "install", *quiet, tarball, "typescript@7.0.2", *user.packages, cwd=folder)
    for name in (user.types, user.program):
        shutil.copy(PROGRAMS / name, folder / name)
    return user, folder


def test_a_project_of_a_user(project: tuple[User, Path], server: Server) -> None:
    """It compiles strictly, however TypeScript finds packages, and talks to a real server."""
    user, folder = project
    for resolution, module in RESOLUTIONS.items():
        options = ("--strict", "--noEmit", "--target", "es2023", "--lib", "es2023,dom,dom.iterable")
        how = ("--module", module, "--moduleResolution", resolution, "--jsx", "react-jsx")
        checks = ("--types", "", "--skipLibCheck", "--exactOptionalPropertyTypes")
        run("npx", "tsc", *options, *how, *checks, user.types, cwd=folder)
    run("node", "--test-force-exit", user.program, server.url, TOKEN, cwd=folder)
