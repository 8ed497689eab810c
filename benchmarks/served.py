"""The child process of a live benchmark: `python -m benchmarks.served KIND PORT`.

Serves the scripted agent in one of these ways, or runs it without a server (`bare`), and answers one
line of JSON for each line on stdin: `usage` tells this process's CPU time and resident memory,
`run N [quiet]` (bare only) does a run. It ends when stdin does, so no child outlives the benchmark.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

AGENTS = Path(__file__).parent / "agents"
APP = "speaker"
PAGE = os.sysconf("SC_PAGE_SIZE")


def usage() -> dict[str, float]:
    """Return what this process has used: seconds of CPU, all threads, and bytes of memory."""
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * PAGE
    return {"cpu": time.process_time(), "resident": resident}


def _answer(line: dict[str, float]) -> None:
    print(json.dumps(line), flush=True)


def _listen_to_parent() -> None:
    for _ in sys.stdin:
        _answer(usage())
    os._exit(0)


# --------------------------------------------------------------------------- servers


TOKEN, OTHER_TOKEN = "a-token-for-the-benchmark", "another-token-for-the-benchmark"
LIMIT_RATE = 100
"""Requests a second, of a server that is flooded: what is usual."""


def serve_prism(port: int, *more: str) -> None:
    """Serve with adk-prism, as its command line does, run log in SQLite."""
    from adk_prism.cli import main

    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path("tokens.json").write_text(json.dumps({TOKEN: "user", OTHER_TOKEN: "other"}))
        options = ["--port", str(port), "--sessions", "memory://", "--artifacts", "memory://"]
        log = ["--log", f"sqlite:///{folder}/runs.db"]
        sys.exit(main(["serve", str(AGENTS), *options, *log, *more]))


def serve_known(port: int) -> None:
    """Serve with adk-prism to callers who have to be known, within limits that nothing here reaches.

    With everything that an operator can have written down.
    """
    limits = ("--limit-bytes", "64GiB", "--limit-rate", "100000")
    written = ("--access-log", "--log-format", "json", "--audit", "audit.jsonl")
    serve_prism(port, "--tokens", "tokens.json", *limits, *written)


def serve_limited(port: int) -> None:
    """Serve with adk-prism to callers who have to be known, within the usual limits."""
    serve_prism(port, "--tokens", "tokens.json", "--limit-rate", str(LIMIT_RATE))


def serve_remote(port: int, upstream: str) -> None:
    """Serve with adk-prism what another server runs."""
    url = f"http://127.0.0.1:{upstream}"
    serve_prism(port, "--remote", f"speaker={url}", "--remote", f"caller={url}")


def serve_quick(port: int) -> None:
    """Serve runs that cost nearly nothing."""
    import uvloop

    from benchmarks.loopback import serve_loopback

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve_loopback(port))


def serve_adk(port: int) -> None:
    """Serve with ADK's own server, as `adk api_server` does."""
    import uvicorn
    from google.adk.cli.fast_api import get_fast_api_app

    app = get_fast_api_app(
        agents_dir=str(AGENTS),
        session_service_uri="memory://",
        artifact_service_uri="memory://",
        use_local_storage=False,
        web=False,
    )
    uvicorn.run(app, port=port, log_level="warning")


def serve_ag_ui(port: int) -> None:
    """Serve with ag-ui-adk's endpoint, as its documentation says."""
    import uvicorn
    from ag_ui_adk import ADKAgent, add_adk_fastapi_endpoint
    from fastapi import FastAPI

    from benchmarks.agents.speaker.agent import root_agent

    app = FastAPI()
    agent = ADKAgent(
        adk_agent=root_agent, app_name=APP, user_id="user", use_in_memory_services=True
    )
    add_adk_fastapi_endpoint(app, agent, path="/")
    uvicorn.run(app, port=port, log_level="warning")


# --------------------------------------------------------------------------- no server


def run_bare(_: int) -> None:
    """Run the agent when told to, and do nothing with its events."""
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_run_when_told())


async def _run_when_told() -> None:
    from google.adk.agents.run_config import RunConfig, StreamingMode
    from google.adk.runners import InMemoryRunner
    from google.genai import types

    from adk_prism.adk.app_environment import run_telemetry
    from benchmarks.agents.speaker.agent import root_agent

    runner = InMemoryRunner(app_name=APP, agent=root_agent)
    _answer(usage())
    for line in sys.stdin:  # Blocks the loop on purpose: between runs there is nothing to do.
        _, count, *how = line.split()
        session = await runner.session_service.create_session(app_name=APP, user_id="user")
        telemetry = run_telemetry() if how else None
        config = RunConfig(streaming_mode=StreamingMode.SSE, telemetry=telemetry)
        message = types.UserContent(count)
        wall, cpu = time.perf_counter(), time.process_time()
        async for _ in runner.run_async(
            user_id="user", session_id=session.id, new_message=message, run_config=config
        ):
            pass
        _answer({"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu})


KINDS: dict[str, Callable[..., None]] = {
    "prism": serve_prism,
    "known": serve_known,
    "limited": serve_limited,
    "adk": serve_adk,
    "remote": serve_remote,
    "loopback": serve_quick,
    "ag-ui": serve_ag_ui,
    "bare": run_bare,
}


if __name__ == "__main__":
    kind, port, *words = sys.argv[1], int(sys.argv[2]), *sys.argv[3:]
    if kind != "bare":
        threading.Thread(target=_listen_to_parent, daemon=True).start()
    KINDS[kind](port, *words)
