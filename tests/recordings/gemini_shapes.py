"""Runs of ADK's own `Gemini` class against a server on the loopback interface."""

from __future__ import annotations

import os
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.models import Gemini
from tests.gemini_replies import STREAMS
from tests.loopback_gemini import Reply, serve_gemini
from tests.recordings.shapes import Shape, Takes, one


def get_weather(city: str) -> dict[str, Any]:
    """Tell the weather."""
    return {"city": city, "sky": "sunny"}


def _shape(replies: tuple[Reply, ...]) -> Shape:
    async def play() -> Takes:
        # The client of google-genai insists on a key; the server does not look at it.
        os.environ.setdefault("GOOGLE_API_KEY", "synthetic")
        with serve_gemini(*replies) as server:
            model = Gemini(model="gemini-2.5-flash", base_url=server.url)
            return await one(LlmAgent(name="gemini", model=model, tools=[get_weather]))

    return play


GEMINI_SHAPES: dict[str, Shape] = {
    f"gemini_{name}": _shape(replies) for name, replies in STREAMS.items()
}
