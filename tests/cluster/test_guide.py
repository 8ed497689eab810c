"""The files in the guide to replicas: they can be read, and say what this version takes."""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import yaml
from tests.patience import PATIENCE
from tests.postgres_server import PostgresServer
from tests.redis_server import RedisServer

from adk_prism.adk.app_folder import TOUR_FOLDER
from adk_prism.cli.serve import add_settings
from adk_prism.server.settings import Settings, read_settings

GUIDE = Path(__file__).parents[2] / "docs/guides/cluster.md"
CLOSING = 2
"""Seconds that connections may take to close after the grace period."""


def blocks() -> list[Any]:
    """Return the YAML in the guide."""
    return [
        yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", GUIDE.read_text(), re.S)
    ]


def settings_of(words: list[str], environment: dict[str, str]) -> Settings:
    """Read a command as the program does."""
    assert words[:2] == ["adk-prism", "serve"]
    parser = argparse.ArgumentParser()
    add_settings(parser)
    given = vars(parser.parse_args(words[2:]))
    return read_settings({k: v for k, v in given.items() if v is not None}, environment, Path("/"))


def seconds(text: str) -> int:
    return int(text.removesuffix("s"))


def test_the_compose_file() -> None:
    """Its command and environment are settings, and a container has the time that a replica needs."""
    compose = blocks()[0]
    prism = compose["services"]["prism"]
    settings = settings_of(prism["command"].split(), prism["environment"])
    assert settings.log == "redis://redis:6379/0"
    assert seconds(prism["stop_grace_period"]) >= settings.grace + CLOSING
    assert set(prism["depends_on"]) == set(compose["services"]) - {"prism"}
    named = {
        volume.split(":")[0]
        for service in compose["services"].values()
        for volume in service.get("volumes", [])
    }
    assert named == set(compose["volumes"])
    assert (
        "--appendonly yes --maxmemory-policy noeviction" in compose["services"]["redis"]["command"]
    )


def test_the_commands_of_the_compose_file(tmp_path: Path) -> None:
    """Run on this machine, with its own names of hosts and folders: a chat is answered by a second replica,
    the artifacts are where the file says, and a replica that is told to stop ends in time."""
    services = blocks()[0]["services"]
    words = services["redis"]["command"].removeprefix("redis-server --").split(" --")
    (tmp_path / "redis").mkdir()
    redis = RedisServer(tmp_path / "redis", dict(word.split() for word in words))
    postgres = PostgresServer()
    prism = services["prism"]
    environment = prism["environment"] | {
        "ADK_PRISM_LOG": redis.url,
        "ADK_PRISM_SESSIONS": postgres.uri,
        "ADK_PRISM_ARTIFACTS": (tmp_path / "artifacts").as_uri(),
    }
    command = prism["command"].replace("/agents", str(TOUR_FOLDER)).split()
    try:
        with (
            started(command, environment, tmp_path) as (first, one),
            started(command, environment, tmp_path) as (_, other),
        ):
            host = {"host": environment["ADK_PRISM_ALLOW_HOST"]}
            message = {"role": "user", "parts": [{"type": "text", "text": "artifact"}]}
            body = {"id": "chat", "messages": [message]}
            asked = httpx.post(f"{one}/api/chat/tour", json=body, headers=host, timeout=PATIENCE)
            assert asked.status_code == 200, asked.text
            told = httpx.get(f"{other}/api/chat/tour/chat/messages", headers=host, timeout=PATIENCE)
            assert [entry["role"] for entry in told.json()] == ["user", "assistant"]
            assert [path for path in (tmp_path / "artifacts").rglob("*") if path.is_file()]
            first.send_signal(signal.SIGTERM)
            assert first.wait(PATIENCE) == 0
    finally:
        redis.kill()
        postgres.close()


@contextmanager
def started(
    command: list[str], environment: dict[str, str], folder: Path
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run a command of the file on a free port; yield the process and its address."""
    process = subprocess.Popen(
        [sys.executable, "-m", "adk_prism.cli", *command[1:], "--port", "0"],
        cwd=folder,
        env=os.environ | environment | {"ADK_PRISM_MODEL": "offline"},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    with process.stderr as lines:
        try:
            said = []
            while not (
                found := re.search(r"adk-prism on http://0.0.0.0:(\d+) ", said[-1] if said else "")
            ):
                said.append(lines.readline())
                assert said[-1], "the server has ended: " + "".join(said)
            yield process, f"http://127.0.0.1:{found[1]}"
        finally:
            process.kill()
            process.wait()
