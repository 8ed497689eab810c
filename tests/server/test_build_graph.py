"""`/dev/apps/{app}/build_graph`: the same as of `adk web`, without what is ours or secret."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from google.adk.cli.fast_api import get_fast_api_app
from tests.adk.app_folders import restored, write_app
from tests.server.conftest import AGENTS, OPEN, talking

from adk_prism.server.app import create_app
from adk_prism.server.settings import Settings

APP = "prism_test_drawn"


@pytest.fixture
def agents(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "agents"
    folder.mkdir()
    with restored():
        yield folder


@pytest.mark.parametrize("drawn", ["helper", "flow"])
async def test_it_is_what_adk_sends(drawn: str, client: httpx.AsyncClient) -> None:
    """Of agents and of workflows."""
    adk = get_fast_api_app(
        agents_dir=str(AGENTS),
        web=True,
        session_service_uri="memory://",
        artifact_service_uri="memory://",
    )
    path = f"/dev/apps/{drawn}/build_graph"
    transport = httpx.ASGITransport(adk)
    async with httpx.AsyncClient(transport=transport, base_url=OPEN) as theirs:
        expected = await theirs.get(path)
    answer = await client.get(path)
    assert answer.status_code == expected.status_code == 200
    assert answer.json() == expected.json()


async def test_the_readme_comes_with_it(agents: Path, settings: Settings) -> None:
    """Of the app's folder, if it has one."""
    write_app(agents, APP, **{"README.md": "# Drawn"})
    async with talking(create_app(agents, settings)) as client:
        shown = (await client.get(f"/dev/apps/{APP}/build_graph")).json()
    assert shown["readme"] == "# Drawn"
    assert "plugins" not in shown


async def test_an_app_that_is_not_there_is_not_found(client: httpx.AsyncClient) -> None:
    """As everywhere."""
    assert (await client.get("/dev/apps/nobody/build_graph")).status_code == 404
