"""Redis, PostgreSQL and three replicas on this machine, until Ctrl-C: what `make cluster` runs.

The replicas are of the program that is named, installed from a wheel; each says on which port it serves. Kill
one (its process id is told) while it answers, and look at the same conversation at another.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tests.postgres_server import PostgresServer
from tests.redis_server import RedisServer

FIRST_PORT = 8001
REPLICAS = 3


def main(program: str, port: int, words: Sequence[str]) -> int:
    """Start everything, wait for a signal, end everything; `words` are for `adk-prism serve`."""
    replicas: list[subprocess.Popen[bytes]] = []
    with tempfile.TemporaryDirectory(prefix="prism-cluster-") as folder:
        data = Path(folder) / "redis"
        data.mkdir()
        redis, postgres = RedisServer(data), PostgresServer()
        print(f"Redis      {redis.url}\nPostgreSQL {postgres.uri}", flush=True)
        try:
            replicas += [
                _replica([program, "serve", *words], Path(folder), port + number, redis, postgres)
                for number in range(REPLICAS)
            ]
            with suppress(KeyboardInterrupt):
                signal.pause()
        finally:
            for replica in replicas:
                replica.terminate()
            for replica in replicas:
                replica.wait()
            redis.kill()
            postgres.close()
    return 0


def _replica(
    serve: Sequence[str], folder: Path, port: int, redis: RedisServer, postgres: PostgresServer
) -> subprocess.Popen[bytes]:
    # Files are shared too: replicas on several machines have them in a bucket.
    words = ["--log", redis.url, "--sessions", postgres.uri, "--lease", "3s", "--grace", "5s"]
    words += ["--artifacts", f"file://{folder / 'artifacts'}", "--data-dir", str(folder / "data")]
    replica = subprocess.Popen([*serve, "--port", str(port), *words], env=dict(os.environ))
    print(f"Replica    http://127.0.0.1:{port} is process {replica.pid}", flush=True)
    return replica


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--port", type=int, default=FIRST_PORT)
    given, further = parser.parse_known_args()
    sys.exit(main(str(Path(given.program).absolute()), given.port, further))
