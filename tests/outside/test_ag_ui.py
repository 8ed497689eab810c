"""Apps of every mechanism that ADK has, in the hands of the real AG-UI client."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.conformance.worker import Worker, running
from tests.outside.__main__ import apps_in
from tests.outside.comparison import prompts_of
from tests.outside.servers import ours_serving
from tests.outside.test_apps import APPS

if TYPE_CHECKING:
    from tests.conftest import Node

Json = dict[str, Any]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Our server, on a copy of the apps."""
    folder = tmp_path_factory.mktemp("outside-ag-ui")
    shutil.copytree(APPS, folder / "agents")
    with ours_serving(folder / "agents", folder / "data") as url:
        yield url


@pytest.fixture(scope="module")
def talker(node: Node) -> Iterator[Worker]:
    with running(node.binary, node.folder / "ag_ui_talk.mjs") as worker:
        yield worker


@pytest.mark.parametrize("client", ["ag-ui-client-0", "ag-ui-client-1"])
@pytest.mark.parametrize("app", apps_in(APPS), ids=lambda app: app.name)
def test_the_client_takes_whatever_an_app_does(
    app: Path, client: str, server: str, talker: Worker
) -> None:
    """Every run ends, nothing is objected to, each call has arguments that can be read."""
    texts = ("".join(part.get("text", "") for part in each.parts) for each in prompts_of(app))
    reply = talker.ask(
        {
            "client": client,
            "url": f"{server}/api/ag-ui/{app.name}",
            "thread": f"{app.name}-{client}",
            "prompts": [text for text in texts if text],
        }
    )
    assert reply["faults"] == []
    assert "nothing" not in reply["ended"]
    for call in calls_in(reply["messages"]):
        json.loads(call["function"]["arguments"])


def calls_in(messages: list[Json]) -> Iterator[Json]:
    for message in messages:
        yield from message.get("toolCalls", ())
