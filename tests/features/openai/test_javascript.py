"""OpenAI's package for JavaScript, and the AI SDK's provider, talk to a real server."""

from __future__ import annotations

import asyncio
import json

from tests.adk.scripted import Scripted
from tests.conftest import Node
from tests.features.openai.conftest import sessions, talking_over_a_socket
from tests.server.local_server import APP


async def test_the_javascript_clients(node: Node) -> None:
    """Models, chats, responses, coming back, refusals."""
    model = Scripted.saying("One.", "Two.", "Three.", "Four and more.", "Five.")
    async with talking_over_a_socket(model) as (client, server):
        process = await asyncio.create_subprocess_exec(
            *(str(node.binary), "openai.mjs", str(client.base_url).rstrip("/"), APP),
            cwd=node.folder,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        said, errors = await process.communicate()
        assert process.returncode == 0, errors.decode()
        found = json.loads(said)
        refused = found.pop("refused")
        assert found == {
            "models": [APP],
            "chat": "One.",
            "second": "Two.",
            "response": "Three.",
            "events": ["response.created", "response.completed"],
            "resumed": True,
            "aiSdk": "Five.",
            "finish": "stop",
        }
        assert refused[:2] == [404, "not_found"]
        assert len(await sessions(server)) == 3
