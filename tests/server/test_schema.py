"""What OpenAPI promises is kept, whatever is sent: Schemathesis over every route there is.

Bounded: a few examples per operation, always the same ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
import schemathesis
from fastapi import FastAPI
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from starlette.testclient import TestClient

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


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FastAPI]:
    """A running server that keeps its files, as the default one does."""
    folder = tmp_path_factory.mktemp("schema")
    settings = Settings(
        log=f"sqlite:///{folder}/runs.db",
        sessions=f"sqlite:///{folder}/sessions.db",
        artifacts=f"file://{folder}/artifacts",
    )
    app = create_app(AGENTS, settings)
    with TestClient(app):
        yield app


@schema.parametrize()
@hypothesis.settings(
    max_examples=15,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(hypothesis.HealthCheck),
)
def test_no_request_breaks_a_promise(case: schemathesis.Case, served: FastAPI) -> None:
    """No 5xx; no status, type or body that OpenAPI does not name."""
    response = case.call(app=served)
    case.validate_response(response, checks=CHECKS)
