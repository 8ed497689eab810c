"""What OpenAPI promises is kept, whatever is sent: Schemathesis over every route there is.

Bounded: a few examples per operation, always the same ones.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import httpx
import hypothesis
import pytest
import schemathesis
import uvicorn
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from tests.patience import PATIENCE

from adk_prism.server.app import create_app
from adk_prism.server.settings import Settings

AGENTS = Path(__file__).parent / "agents"

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


IN_MEMORY = Settings(log="memory:", sessions="memory://", artifacts="memory://")
schema = schemathesis.openapi.from_dict(create_app(AGENTS, IN_MEMORY).openapi())


@schemathesis.serializer("application/jsonl", "application/x-ndjson")
def as_bytes(_: schemathesis.SerializationContext, value: bytes) -> bytes:
    """Send a drawn file as it is."""
    return value


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of a running server that keeps its files, as the default one does."""
    folder = tmp_path_factory.mktemp("schema")
    settings = Settings(
        log=f"sqlite:///{folder}/runs.db",
        sessions=f"sqlite:///{folder}/sessions.db",
        artifacts=f"file://{folder}/artifacts",
        uploads_dir=str(folder / "uploads"),
    )
    app = create_app(AGENTS, settings)  # A failure shows what the operator was told.
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=1))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        yield "http://{}:{}".format(*listener.getsockname())
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def run(url: str) -> str:
    """Return a run that is there to be asked for."""
    message = {"role": "user", "parts": [{"type": "text", "text": "hello"}]}
    body = {"id": "schema", "messages": [message]}
    answer = httpx.post(f"{url}/api/chat/helper", json=body, timeout=PATIENCE)
    found: str = answer.headers["x-prism-run"]
    return found


@schema.parametrize()
@hypothesis.settings(
    max_examples=5,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(hypothesis.HealthCheck),
)
def test_no_request_breaks_a_promise(case: schemathesis.Case, url: str, run: str) -> None:
    """No 5xx; no status, type or body that OpenAPI does not name; nothing that never ends."""
    if "run" in case.path_parameters and case.method != "POST":
        case.path_parameters["run"] = run  # Nor a run's.
    if "app_name" in case.path_parameters:
        case.path_parameters["app_name"] = "helper"  # No drawn name would ever be an app's.
    case.call_and_validate(base_url=url, checks=CHECKS, timeout=PATIENCE)
