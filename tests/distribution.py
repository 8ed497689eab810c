"""`make dist`: the wheels and source distributions of dist/, installed as a stranger would, without Node.

Packages come from the index that pip is configured for. What cannot be installed is a failed test, not
a skipped one. The file is named like no test: `make test-all` has to work without a network, and does
not take it.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from tests.end_to_end.server import free_port
from tests.patience import PATIENCE

ROOT = Path(__file__).parent.parent
DIST = ROOT / "dist"
CHECKS = ROOT / ".venv" / "dist" / "bin"
NOBODY = 65534
PRISM = 10001
"""The user of the container image."""

_WAY_OUT = re.compile(r"PIP_|SSL_|NODE_EXTRA_CA_CERTS|npm_config_|.*_proxy$", re.IGNORECASE)
"""Variables that say how packages are fetched."""

EXTRAS = {
    "apps": "adk_prism_apps.recovery, adk_prism_apps.research",
    "console": "textual, adk_prism.features.console.screen",
    "eval": "google.adk.evaluation.agent_evaluator, pandas, rouge_score",
    "gcs": "google.auth.transport.requests",
    "oidc": "joserfc.jwt",
    "otlp": "opentelemetry.distro, opentelemetry.exporter.otlp.proto.http.trace_exporter",
    "redis": "redis.asyncio",
}


@dataclass(frozen=True)
class Stranger:
    """Somebody with an empty environment and a home of their own, who is not root and has no Node."""

    folder: Path
    bin: Path
    """Of the environment, beside which there is nothing but a shell."""
    user: int | None

    def environment(self, **more: str) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if _WAY_OUT.match(name)}
        return {
            **kept,
            "PATH": f"{self.bin}{os.pathsep}{self.folder / 'tools'}",
            "HOME": str(self.folder),
            "TMPDIR": str(self.folder),
            **more,
        }

    def popen(self, *command: str | Path, cwd: Path | None = None, **variables: str) -> Any:
        return subprocess.Popen(
            [*map(str, command)],
            cwd=cwd or self.folder,
            env=self.environment(**variables),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            user=self.user,
            group=self.user,
            extra_groups=None if self.user is None else [],
        )

    def run(self, *command: str | Path, cwd: Path | None = None, **variables: str) -> str:
        """Run a program; what it wrote is the reason of a failure."""
        process = self.popen(*command, cwd=cwd, **variables)
        written, _ = process.communicate(timeout=1200)
        assert process.returncode == 0, written[-6000:]
        return str(written)

    def pip(self, *words: str | Path) -> str:
        return self.run(self.bin / "python", "-m", "pip", "--disable-pip-version-check", *words)


PYTHONS = (Path(sys.executable).resolve(), Path("/usr/local/bin/python3"), Path("/usr/bin/python3"))
_FITS = "import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))"


def python_for(user: int | None) -> Path:
    """Return a Python that somebody else can run, too: ours may be in a home that is closed to others."""
    for python in PYTHONS:
        try:
            if not subprocess.run(
                [python, "-c", _FITS], user=user, cwd="/", check=False
            ).returncode:
                return python
        except OSError:
            continue  # It is not there, or not for them.
    pytest.fail(f"none of {', '.join(map(str, PYTHONS))} can be run by user {user}")


@contextmanager
def stranger(user: int) -> Iterator[Stranger]:
    """Somebody else, where we may be; else ourselves, who are not root then."""
    with tempfile.TemporaryDirectory(prefix="adk-prism-dist-", dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        is_root = os.geteuid() == 0
        python = python_for(user if is_root else None)
        subprocess.run([python, "-m", "venv", folder / "venv"], check=True)
        shutil.copytree(DIST, folder / "dist")
        (folder / "tools").mkdir()
        (folder / "tools" / "sh").symlink_to("/bin/sh")  # npm runs scripts with it
        if is_root:
            for path in (folder, *folder.rglob("*")):
                os.lchown(path, user, user)
        yield Stranger(folder, folder / "venv" / "bin", user if is_root else None)


@pytest.fixture(scope="module")
def newcomer() -> Iterator[Stranger]:
    with stranger(NOBODY) as found:
        yield found


@pytest.fixture(scope="module")
def somebody(newcomer: Stranger) -> Stranger:
    """The same, who has installed the wheel."""
    newcomer.pip("install", "--quiet", "--find-links", "dist", "adk-prism")
    return newcomer


@contextmanager
def served(who: Stranger, *words: str, **variables: str) -> Iterator[httpx.Client]:
    port = free_port()
    command = (who.bin / "adk-prism", "serve", "--port", str(port), *words)
    process = who.popen(*command, **variables)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as http:
            deadline = time.monotonic() + PATIENCE
            while not _answers(http, process) and time.monotonic() < deadline:
                time.sleep(0.05)  # between two looks; nothing depends on how long
            yield http
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)


def _answers(http: httpx.Client, process: Any) -> bool:
    assert process.poll() is None, process.stdout.read()[-4000:]
    try:
        return http.get("/health").status_code == 200
    except httpx.TransportError:
        return False


def names(http: httpx.Client, **headers: str) -> set[str]:
    return {app["name"] for app in http.get("/api/apps", headers=headers).json()}


def test_the_wheel_is_served_without_node(somebody: Stranger) -> None:
    """It has its version, the tour, and the page with all that it names."""
    assert shutil.which("node", path=somebody.environment()["PATH"]) is None
    [wheel] = DIST.glob("adk_prism-*.whl")
    assert wheel.name.split("-")[1] in somebody.run(somebody.bin / "adk-prism", "--version")
    with served(somebody) as http:
        page = http.get("/")
        assert page.headers["content-type"].startswith("text/html")
        scripts = re.findall(r'(?:src|href)="\./(assets/[^"]+)"', page.text)
        assert scripts
        assert {http.get(f"/{path}").status_code for path in scripts} == {200}
        assert names(http) == {"tour"}


@pytest.mark.parametrize("extra", EXTRAS)
def test_an_extra_is_installed_and_imported(somebody: Stranger, extra: str) -> None:
    somebody.pip("install", "--quiet", "--find-links", "dist", f"adk-prism[{extra}]")
    somebody.run(somebody.bin / "python", "-W", "ignore", "-c", f"import {EXTRAS[extra]}")


def test_the_apps_are_served(somebody: Stranger) -> None:
    somebody.pip("install", "--quiet", "--find-links", "dist", "adk-prism[apps]")
    with served(somebody) as http:
        assert names(http) == {"recovery", "research", "tour"}


def files_of(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.mark.parametrize("package", ["adk_prism", "adk_prism_apps"])
def test_a_source_distribution_gives_the_same_wheel(newcomer: Stranger, package: str) -> None:
    """Without Node: the page is in it."""
    [source] = (newcomer.folder / "dist").glob(f"{package}-*.tar.gz")
    newcomer.pip("wheel", "--quiet", "--no-deps", "--wheel-dir", f"again-{package}", source)
    [again] = (newcomer.folder / f"again-{package}").glob("*.whl")
    [built] = DIST.glob(f"{package}-*.whl")
    assert files_of(again) == files_of(built)


def test_a_source_distribution_has_the_sources_of_the_page() -> None:
    [source] = DIST.glob("adk_prism-*.tar.gz")
    with tarfile.open(source) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    assert {"web/package-lock.json", "packages/client/src/index.ts"} <= held
    assert not {name for name in held if "node_modules" in name}


def test_a_read_only_checkout_is_installed(newcomer: Stranger) -> None:
    """By newcomer who may not write to it: the page is built elsewhere."""
    checkout = newcomer.folder / "checkout"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    for name in filter(None, listed.stdout.decode().split("\0")):
        target = checkout / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target, follow_symlinks=False)
    try:
        _set_writable(checkout, False)
        newcomer.pip("wheel", "--quiet", "--no-deps", "--wheel-dir", "from-checkout", checkout)
    finally:
        _set_writable(checkout, True)
    [again] = (newcomer.folder / "from-checkout").glob("*.whl")
    [built] = DIST.glob("adk_prism-*.whl")
    assert _unhashed(files_of(again)) == _unhashed(files_of(built))


def _unhashed(files: set[str]) -> list[str]:
    """Names without hashes, which may depend on the folder that the page is built in."""
    return sorted(re.sub(r"(/assets/.+)-[\w-]{8}(\.\w+)$", r"\1\2", name) for name in files)


def _set_writable(folder: Path, is_writable: bool) -> None:
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            mode = path.stat().st_mode
            path.chmod(mode | 0o200 if is_writable else mode & ~0o222)


# --- the container image, without a container: its user, its variables and its commands

Instructions = list[tuple[str, str]]


def instructions() -> Instructions:
    """The Dockerfile's instructions, of the image itself."""
    text = re.sub(r"^\s*#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE)
    lines = text.replace("\\\n", " ").splitlines()
    found = [(line.split()[0], line.partition(" ")[2].strip()) for line in lines if line.strip()]
    last = max(at for at, (word, _) in enumerate(found) if word == "FROM")
    return found[last:]


def test_the_image_as_its_user(somebody: Stranger) -> None:
    """Nothing but the data folder can be written; the image's health check finds the server well."""
    found = dict(instructions())
    assert found["USER"] == f"{PRISM}:{PRISM}"
    variables = dict(word.split("=", 1) for word in shlex.split(found["ENV"]))
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name)
        agents, data, tokens = (folder / each for each in ("agents", "data", "tokens.json"))
        shutil.copytree(ROOT / "src" / "adk_prism" / "apps" / "tour", agents / "tour")
        tokens.write_text(json.dumps({"a-token-that-is-long-enough": "ann"}))
        data.mkdir()
        user = None if somebody.user is None else PRISM
        if user:
            os.chown(data, user, user)
        prism = Stranger(folder, somebody.bin, user)
        places = {"/agents": agents, "/data": data, "/run/secrets": folder}
        moved = {word: _moved(value, places) for word, value in variables.items() if word != "PATH"}
        with _read_only(folder, agents), served(prism, TMPDIR=str(data), **moved) as http:
            assert http.get("/api/apps").status_code == 401
            assert names(http, authorization="Bearer a-token-that-is-long-enough") == {"tour"}
            assert http.get("/ready").status_code == 200
            check = json.loads(found["HEALTHCHECK"].partition("CMD ")[2])
            at = str(http.base_url.port)
            prism.run(prism.bin / check[0], *(word.replace("8000", at) for word in check[1:]))
        assert (data / "prism").is_dir()


def _moved(value: str, places: dict[str, Path]) -> str:
    for place, folder in places.items():
        value = re.sub(rf"^{place}(?=/|$)", str(folder), value)
    return value


@contextmanager
def _read_only(folder: Path, agents: Path) -> Iterator[None]:
    _set_writable(agents, False)
    folder.chmod(0o555)
    try:
        yield
    finally:
        folder.chmod(0o755)
        _set_writable(agents, True)


# --- what others would refuse


def check(*command: str | Path) -> None:
    done = subprocess.run([*map(str, command)], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]


def test_the_dockerfile_is_sound() -> None:
    check(CHECKS / "hadolint", "Dockerfile")


def test_the_compose_file_fits_its_schema() -> None:
    check(
        CHECKS / "check-jsonschema",
        "--builtin-schema",
        "vendor.compose-spec",
        "deploy/compose.yaml",
    )


def test_the_kubernetes_file_fits_its_schemas(tmp_path: Path) -> None:
    """Strictly: a key that Kubernetes does not know is an error."""
    for number, one in enumerate(yaml.safe_load_all((ROOT / "deploy/kubernetes.yaml").read_text())):
        file = tmp_path / f"{number}.yaml"
        file.write_text(yaml.safe_dump(one))
        check(CHECKS / "kubernetes-validate", "--strict", file)


BILL = """
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(sys.stdin.read())
sys.exit(str(error) if error else 0)
"""


def test_the_bill_of_materials_fits_its_schema() -> None:
    """The one in the wheel, where tools look for it."""
    [wheel] = DIST.glob("adk_prism-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if "/sboms/" in name]
        bill = archive.read(name).decode()
    done = subprocess.run(
        [CHECKS / "python", "-c", BILL], input=bill, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-4000:]
