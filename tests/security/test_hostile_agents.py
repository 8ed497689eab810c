"""A real server whose agents exit, panic, leak and hang: it answers, runs end, and the operator ends it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from tests.patience import PATIENCE

AGENTS = Path(__file__).parent / "hostile"


class Served:
    """A server process, and what it says."""

    def __init__(self, folder: Path, *words: str) -> None:
        command = [sys.executable, "-m", "adk_prism.cli", "serve", str(AGENTS), "--port", "0"]
        kept = {k: v for k, v in os.environ.items() if not k.startswith("ADK_PRISM_")}
        self.process = subprocess.Popen(
            [*command, *words], cwd=folder, env=kept, stderr=subprocess.PIPE, text=True
        )
        self.lines: list[str] = []
        self._ready = threading.Event()
        self.url = ""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._ready.wait(PATIENCE)
        assert self.url, "\n".join(self.lines)

    def _read(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as stderr:
            for line in stderr:
                if found := re.search(r"adk-prism on (http://\S+) ", line):
                    self.url = found[1]
                    self._ready.set()
                self.lines.append(line)
        self._ready.set()

    def say(self, text: str, session: str) -> tuple[str, str]:
        """Say something; return how the run ended, once the stream is over."""
        where = {"appName": "hostile", "userId": "u", "sessionId": session, "streaming": True}
        path = f"/apps/hostile/users/u/sessions/{session}"
        httpx.post(self.url + path, timeout=PATIENCE)
        body = where | {"newMessage": {"role": "user", "parts": [{"text": text}]}}
        answer = httpx.post(self.url + "/run_sse", json=body, timeout=PATIENCE)
        return self.outcome(answer.headers["x-prism-run"])

    def begin(self, text: str, session: str) -> str:
        """Say something and leave; return the run."""
        body = {"id": session, "messages": [_message(text)]}
        with httpx.stream(
            "POST", self.url + "/api/chat/hostile", json=body, timeout=PATIENCE
        ) as answer:
            run = answer.headers["x-prism-run"]
            next(line for line in answer.iter_lines() if "tool-input-available" in line)
        return str(run)

    def outcome(self, run: str) -> tuple[str, str]:
        """Return how a run ended, once its stream is over."""
        httpx.get(f"{self.url}/api/runs/{run}/stream", timeout=PATIENCE)
        lines = httpx.get(f"{self.url}/api/runs/{run}/recording", timeout=PATIENCE).text
        ends = [json.loads(line) for line in lines.splitlines() if '"outcome"' in line]
        assert len(ends) == 1, lines
        record = ends[0].get("record", ends[0])
        return record["outcome"], record.get("code", "")

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join()


def _message(text: str) -> dict[str, object]:
    return {"id": "m", "role": "user", "parts": [{"type": "text", "text": text}]}


@contextmanager
def serving(folder: Path, *words: str) -> Iterator[Served]:
    served = Served(folder, *words)
    try:
        yield served
    finally:
        served.close()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("hostile")) as found:
        yield found


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("work exit", ("failed", "SystemExit")),
        ("block exit", ("failed", "SystemExit")),
        ("model exit", ("failed", "SystemExit")),
        ("work interrupt", ("failed", "KeyboardInterrupt")),
        ("block interrupt", ("failed", "KeyboardInterrupt")),
        ("work group", ("failed", "KeyboardInterrupt")),
        ("block group", ("failed", "KeyboardInterrupt")),
        ("work panic", ("failed", "Panic")),
        ("work cancelled", ("failed", "CancelledError")),
        ("block cancelled", ("failed", "CancelledError")),
        ("work exit later", ("finished", "")),
        ("work stop loop", ("finished", "")),
        ("work leak task", ("finished", "")),
    ],
    ids=str,
)
def test_a_run_cannot_end_the_server(served: Served, words: str, expected: tuple[str, str]) -> None:
    """The run ends as it should, its stream closes, and the next one is served by the same process."""
    assert served.say(words, words.replace(" ", "-")) == expected
    assert served.say("block 0.3", f"after-{words.replace(' ', '-')}") == ("finished", "")
    assert served.process.poll() is None


@pytest.mark.parametrize("words", ["work hang", "work ignore"])
def test_a_stop_ends_a_run_that_does_not(served: Served, words: str) -> None:
    run = served.begin(words, words.replace(" ", "-"))
    httpx.post(f"{served.url}/api/runs/{run}/cancel", timeout=PATIENCE)
    assert served.outcome(run) == ("cancelled", "")


@pytest.mark.parametrize(
    "words", ["work ignore", "work leak thread", "block 3600"], ids=lambda words: words
)
@pytest.mark.parametrize("name", [signal.SIGTERM, signal.SIGINT], ids=lambda name: name.name)
def test_the_operator_ends_the_server(tmp_path: Path, words: str, name: signal.Signals) -> None:
    """Whatever a tool left running: it is not waited for."""
    with serving(tmp_path, "--grace", "2s") as served:
        served.begin(words, "chat")
        served.process.send_signal(name)
        assert served.process.wait(PATIENCE) == 0
