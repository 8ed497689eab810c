"""What OpenAPI promises is kept, whatever is sent: Schemathesis over every route there is.

Bounded: a few examples per operation, always the same ones.
"""

from __future__ import annotations

from pathlib import Path

import hypothesis
import pytest
import schemathesis
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from adk_prism.server.app import create_app
from adk_prism.server.settings import Settings

AGENTS = Path(__file__).parent / "agents"

CHECKS = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
)


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> schemathesis.BaseSchema:
    artifacts = tmp_path_factory.mktemp("artifacts")
    settings = Settings(log="memory:", sessions="memory://", artifacts=f"file://{artifacts}")
    return schemathesis.openapi.from_asgi("/openapi.json", create_app(AGENTS, settings))


schema = schemathesis.pytest.from_fixture("api")


@schema.parametrize()
@hypothesis.settings(
    max_examples=15,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(hypothesis.HealthCheck),
)
def test_no_request_breaks_a_promise(case: schemathesis.Case) -> None:
    """No 5xx, no status, type or body that OpenAPI does not name."""
    case.call_and_validate(checks=CHECKS)
