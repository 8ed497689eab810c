"""`make test-examples`: the npm package, packed and installed as a user would, and the examples that use it.

Everything comes from npm, into `.venv/checkout/`. What cannot be installed is a failed test, not a skipped
one. The file is named like no test: `make test-all` has to work without a network, and does not take it.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from tests.end_to_end.server import Server, free_port, serving
from tests.patience import PATIENCE

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
COPY = ROOT / ".venv" / "checkout"
"""The packed package and the examples, in the places that they have in a checkout."""
FOLDER = COPY / "examples"
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
PIP = ("install", "--quiet", "--no-deps", "--disable-pip-version-check")
QUIET = ("--no-audit", "--no-fund", "--loglevel=error")
RESOLUTIONS = {"bundler": "preserve", "nodenext": "nodenext"}
"""How TypeScript looks for packages, and the `module` that goes with it."""


def environment(**more: str) -> dict[str, str]:
    """Our environment, with the Node of the checkout."""
    path = os.pathsep.join([str(ROOT / ".venv" / "bin"), os.environ["PATH"]])
    return {**os.environ, "PATH": path, "npm_config_update_notifier": "false", **more}


def run(*command: str | Path, cwd: Path, typed: str = "", **variables: str) -> str:
    """Run a program; what it wrote is the reason of a failure."""
    done = subprocess.run(
        [*map(str, command)],
        cwd=cwd,
        env=environment(**variables),
        input=typed,
        capture_output=True,
        text=True,
        timeout=MINUTES,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="session")
def tarball() -> Path:
    """The package as it would be published, where the examples look for it."""
    folder = COPY / "packages" / "client"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
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
    run("npm", "install", *QUIET, tarball, "typescript@7.0.2", *user.packages, cwd=folder)
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


# --- the examples ------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def open_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The bundled apps, for pages on this machine."""
    with serving(
        tmp_path_factory.mktemp("open"), "--dev", "--log", "memory:", agents=None
    ) as found:
        yield found


@pytest.fixture
def example(request: pytest.FixtureRequest, tarball: Path) -> Path:
    """An example as a user has it: copied, and installed from its lock with the packed package."""
    folder = FOLDER / str(request.param)
    shutil.rmtree(folder, ignore_errors=True)
    left_out = shutil.ignore_patterns("node_modules", "dist", ".next")
    shutil.copytree(EXAMPLES / folder.name, folder, ignore=left_out)
    run("npm", "ci", *QUIET, cwd=folder)
    return folder


def of(*names: str) -> pytest.MarkDecorator:
    """Run a test for these examples."""
    return pytest.mark.parametrize("example", names, indirect=True)


@contextmanager
def started(*command: str, cwd: Path, page: str, **variables: str) -> Iterator[None]:
    """Run a program that serves a page until we are done with it."""
    environ = environment(**variables)
    with subprocess.Popen(command, cwd=cwd, env=environ, start_new_session=True) as process:
        try:
            while not _answers(page):
                assert process.poll() is None
            yield
        finally:
            os.killpg(process.pid, signal.SIGTERM)


def used(example: Path, page: str, server: Server) -> None:
    """Use an example's page in a browser, by the program that has its name, if there is one."""
    own = PROGRAMS / f"{example.name.replace('-', '_')}.mjs"
    program = own if own.exists() else PROGRAMS / "page.mjs"
    run("node", program, page, cwd=example, PRISM_URL=server.url)


@of("terminal")
def test_terminal(example: Path, open_server: Server) -> None:
    """An approval, a tool of the program, and a chat that is gone on with."""
    talk = ("node", "chat.mjs", open_server.url, "tour", "in-a-terminal")
    said = run(*talk, cwd=example, typed="mixed batch\ny\ntool\n")
    assert 'Allow send_invoice {"customer":"Ada","amount":42}? (y/n)' in said
    assert "It is sunny in Lisbon" in said
    messages = open_server.http.get("/api/chat/tour/in-a-terminal/messages").json()
    assert [message["role"] for message in messages] == ["user", "assistant"] * 2
    nowhere = ("node", "chat.mjs", open_server.url, "nowhere")
    with pytest.raises(AssertionError, match="There is no app 'nowhere'"):
        run(*nowhere, cwd=example, typed="text\n")


@of("vite-react", "assistant-ui", "vue", "svelte", "copilotkit", "live-voice")
def test_page(example: Path, open_server: Server) -> None:
    """It is built with Vite, served, and used in a browser."""
    run("npm", "run", "build", cwd=example, VITE_SERVER=open_server.url)
    port = free_port()
    page = f"http://localhost:{port}/"
    with started(
        "npx", "vite", "preview", "--strictPort", "--port", str(port), cwd=example, page=page
    ):
        used(example, page, open_server)


@of("nextjs")
def test_nextjs(example: Path, tmp_path: Path) -> None:
    """The browser talks to Next.js only, which says who asks; an answer is resumed through it."""
    run("npm", "run", "build", cwd=example, NEXT_TELEMETRY_DISABLED="1")
    port = free_port()
    page = f"http://localhost:{port}/"
    words = ["--proxy-user-header", "x-user", "--public-url", f"{page}prism"]
    with serving(tmp_path, "--log", "memory:", *words) as server:
        command = ("npx", "next", "start", "--port", str(port))
        with started(*command, cwd=example, page=page, PRISM_SERVER=server.url):
            used(example, page, server)


def test_fastapi_mount(tmp_path: Path) -> None:
    """The wheel in an application of one's own, which signs people in."""
    build = ("-m", "hatchling", "build", "--target", "wheel", "--directory", tmp_path)
    run(sys.executable, *build, cwd=ROOT, ADK_PRISM_PAGE="prebuilt")
    [wheel] = tmp_path.glob("*.whl")
    packages, folder = tmp_path / "packages", tmp_path / "shop"
    run(sys.executable, "-m", "pip", *PIP, "--target", packages, wheel, cwd=tmp_path)
    shutil.copytree(EXAMPLES / "fastapi-mount", folder)
    port = free_port()
    page = f"http://localhost:{port}/"
    command = (sys.executable, "-m", "uvicorn", "main:app", "--port", str(port))
    alone = {"PYTHONPATH": str(packages), "ADK_PRISM_MODEL": "offline"}
    with started(*command, cwd=folder, page=page, **alone):
        run("node", PROGRAMS / "fastapi_mount.mjs", page, cwd=folder, PRISM_URL=page)


def _answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=PATIENCE, follow_redirects=True).is_success
    except httpx.ConnectError:
        time.sleep(0.05)  # between two looks; nothing depends on how long
        return False
