"""An app that tests save, a server that reloads it, and what a page shows of its conversation."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.adk.app_folders import restored, write_app
from tests.patience import PATIENCE
from tests.server.conftest import talking

from adk_prism.server.app import create_app
from adk_prism.server.settings import Settings

Json = dict[str, Any]
APP = "prism_test_shop"
CODE = '''
from pathlib import Path
from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.genai import types

HERE = Path(__file__).parent

class Shop(BaseLlm):
    async def generate_content_async(self, llm_request, stream=False):
        with (HERE / "asked.txt").open("a") as file:
            file.write("x")
        last = llm_request.contents[-1].parts[0]
        if last.function_response:
            part = types.Part(text="It costs " + str(last.function_response.response["price"]) + ".")
        else:
            part = types.Part(function_call=types.FunctionCall(name="price", args={"of": last.text}))
        yield LlmResponse(content=types.ModelContent(part))

def price(of: str) -> dict:
    """Look up a price."""
    with (HERE / "called.txt").open("a") as file:
        file.write("x")
    return {"price": len(of)}

def polite(callback_context, llm_response):
    POLITE

root_agent = LlmAgent(
    name="shop",
    model=Shop(model="shop-1"),
    instruction="INSTRUCTION",
    tools=[price],
    after_model_callback=polite,
)
'''


def write(folder: Path, instruction: str = "Be brief.", polite: str = "return None") -> None:
    write_app(folder, APP, CODE.replace("INSTRUCTION", instruction).replace("POLITE", polite))


@pytest.fixture
def agents(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "agents"
    folder.mkdir()
    write(folder)
    with restored():
        yield folder


@pytest.fixture
async def client(agents: Path, tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    settings = Settings(
        log=f"sqlite:///{tmp_path}/runs.db",
        data_dir=str(tmp_path / "data"),
        reload=True,
        model_calls="full",
        errors="full",
    )
    async with talking(create_app(agents, settings)) as client:
        yield client


async def say(client: httpx.AsyncClient, text: str, app: str = APP) -> None:
    await client.post(f"/apps/{app}/users/user/sessions/s")
    body = {"appName": app, "userId": "user", "sessionId": "s", "streaming": True}
    said = {"role": "user", "parts": [{"text": text}]}
    answer = await client.post("/run_sse", json=body | {"newMessage": said}, timeout=PATIENCE)
    assert answer.status_code == 200, answer.text


class Strip:
    """What a page shows of a conversation."""

    def __init__(
        self, client: httpx.AsyncClient, app: str = APP, ignore: Sequence[str] = ()
    ) -> None:
        self._client = client
        self._path = f"/api/watch/{app}/s"
        self._number = -1
        self._ignore = list(ignore)

    async def next(self) -> Json:
        """Wait for something new that is no intermediate state."""
        while True:
            asked = {"after": self._number, "ignore": self._ignore}
            answer = await self._client.get(self._path, params=asked, timeout=60)
            assert answer.status_code == 200, answer.text
            found: Json = answer.json()
            self._number = found["number"]
            if found["state"] != "checking":
                return found
