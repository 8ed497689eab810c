"""What OpenAPI promises is kept for callers who have to be known: Schemathesis, with a user's token."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

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
from tests.security.people import ANN, headers, token_file

from adk_prism.server.app import create_app
from adk_prism.server.settings import Settings

AGENTS = Path(__file__).parent.parent / "server" / "agents"
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
IN_MEMORY = Settings(log="memory:", sessions="memory://", artifacts="memory://")
schema = schemathesis.openapi.from_dict(create_app(AGENTS, IN_MEMORY).openapi())

pytestmark = pytest.mark.filterwarnings(
    "ignore:LlmAgentConfig is deprecated", "ignore:.* is not a valid "
)


@schemathesis.serializer("application/jsonl", "application/x-ndjson")
def as_bytes(_: schemathesis.SerializationContext, value: bytes) -> bytes:
    """Send a drawn file as it is."""
    return value


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of a server that knows its callers."""
    folder = tmp_path_factory.mktemp("schema")
    settings = Settings(
        log="memory:", sessions="memory://", artifacts="memory://", tokens=token_file(folder)
    )
    server = uvicorn.Server(
        uvicorn.Config(create_app(AGENTS, settings), log_config=None, timeout_graceful_shutdown=1)
    )
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        yield "http://{}:{}".format(*listener.getsockname())
        server.should_exit = True
        thread.join()


@schema.parametrize()
@hypothesis.settings(
    max_examples=2,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(hypothesis.HealthCheck),
)
def test_no_request_breaks_a_promise(case: schemathesis.Case, url: str) -> None:
    """As without identity: no 5xx, nothing that is not named."""
    if "app_name" in case.path_parameters:
        case.path_parameters["app_name"] = "helper"
    if "user_id" in case.path_parameters:
        case.path_parameters["user_id"] = ANN
    case.call_and_validate(base_url=url, checks=CHECKS, timeout=PATIENCE, headers=headers(ANN))


def test_no_sequence_of_requests_breaks_a_promise(url: str, tmp_path: Path) -> None:
    """Schemathesis' own stateful phase: what one request answers, the next one asks for."""
    checks = "not_a_server_error,status_code_conformance,content_type_conformance"
    command = [
        Path(sys.executable).with_name("schemathesis"),
        *("run", f"{url}/openapi.json", "--phases", "stateful", "--seed", "7", "-n", "3"),
        *("--max-time", "15", "--request-timeout", str(PATIENCE), "--no-color"),
        *("--checks", f"{checks},response_schema_conformance"),
        *("--header", f"authorization: {headers(ANN)['authorization']}"),
    ]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=5 * PATIENCE
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert re.search(r"✅\s+Stateful", done.stdout), done.stdout[-3000:]
