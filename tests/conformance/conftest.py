"""What conformance tests ask for: `sdk`, `judge`, `chat`, `ag_ui_client`, `chunk_schema`.

Each worker starts once per pytest process, at its first use. Where Node or its packages are
missing the tests fail, through the `node` fixture: `make test` installs both.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from tests.conformance.ag_ui import AgUiClient
from tests.conformance.chat import Chat
from tests.conformance.judge import SDKS, Judge, Sdk
from tests.conformance.worker import running

if TYPE_CHECKING:
    from tests.conftest import Node


@pytest.fixture(params=SDKS)
def sdk(request: pytest.FixtureRequest) -> Sdk:
    """Each release of the AI SDK in turn."""
    alias: Sdk = request.param
    return alias


@pytest.fixture(scope="session")
def judge(node: Node) -> Iterator[Judge]:
    """`judge(stream, sdk, prior=None, expect_error=False) -> Verdict`."""
    with running(node.binary, node.folder / "judge.mjs") as worker:
        yield Judge(worker)


@pytest.fixture(scope="session")
def chat(node: Node) -> Iterator[Chat]:
    """`chat(script) -> ChatResult`."""
    with running(node.binary, node.folder / "chat.mjs") as worker:
        yield Chat(worker)


@pytest.fixture(scope="session")
def ag_ui_client(node: Node) -> Iterator[AgUiClient]:
    """`ag_ui_client(runs, client) -> Held`."""
    with running(node.binary, node.folder / "ag_ui.mjs") as worker:
        yield AgUiClient(worker)


@pytest.fixture(scope="session")
def chunk_schema(node: Node) -> Callable[[Sdk], dict[str, Any]]:
    """`chunk_schema(sdk)`: the chunk types, keys and finish reasons that a release accepts."""

    def read(sdk: Sdk) -> dict[str, Any]:
        command = [node.binary, node.folder / "schema.mjs", sdk]
        printed = subprocess.run(command, check=True, capture_output=True).stdout
        schema: dict[str, Any] = json.loads(printed)
        return schema

    return read
