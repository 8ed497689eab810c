"""A model that reports what it uses, and who asks it."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from tests.adk.scripted import Scripted
from tests.server.local_server import APP, LocalServer

INPUT, OUTPUT = 30, 12
TOTAL = INPUT + OUTPUT


class Spending(Scripted):
    """Reports the same tokens for each of its answers."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        async for response in super().generate_content_async(llm_request, stream):
            if not response.partial:
                response.usage_metadata = types.GenerateContentResponseUsageMetadata(
                    prompt_token_count=INPUT,
                    candidates_token_count=OUTPUT,
                    total_token_count=TOTAL,
                )
            yield response


def prices(folder: Path, **models: dict[str, float]) -> str:
    """Write a price list; return its name."""
    file = folder / "prices.json"
    file.write_text(json.dumps(models))
    return str(file)


async def say(server: LocalServer, chat: str, **more: Any) -> Any:
    """Send a chat message and wait for the whole answer."""
    message = {"id": f"m-{chat}", "role": "user", "parts": [{"type": "text", "text": "hello"}]}
    body = {"id": chat, "messages": [message], **more}
    return await server.client.post(f"/api/chat/{APP}", json=body)


async def used(server: LocalServer, **query: str) -> list[dict[str, Any]]:
    """Return what is used of the budgets of today."""
    answer = await server.client.get("/api/budgets", params=query)
    assert answer.status_code == 200, answer.text
    return [each["used"] for each in answer.json()["budgets"]]
