"""What an app logs is on the server's stderr, once, from the level that is set, without known secrets."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.end_to_end.server import serving

SECRET = "a-very-secret-value-of-this-process"
AGENT = """import logging, os
from google.adk.agents import Agent

log = logging.getLogger(__name__)
log.debug("too much")
log.info("ready with %s", os.environ["SHOP_SECRET"])
log.warning("mind the step")
root_agent = Agent(name="shop", model="gemini-2.5-flash")
"""
INFO, WARNING = "info: shop.agent: ready with [redacted]", "warning: shop.agent: mind the step"
CASES = {"": [INFO, WARNING], "warning": [WARNING], "error": []}


@pytest.mark.parametrize("level", CASES)
def test_an_app_is_heard(level: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By default as `adk web` does: from info up; uvicorn's own lines for requests are not there."""
    monkeypatch.setenv("SHOP_SECRET", SECRET)
    (tmp_path / "agents" / "shop").mkdir(parents=True)
    (tmp_path / "agents" / "shop" / "agent.py").write_text(AGENT)
    words = ["--log-level", level] if level else []
    with serving(tmp_path, *words, agents=tmp_path / "agents") as server:
        message = {"id": "m", "role": "user", "parts": [{"type": "text", "text": "hello"}]}
        body = {"id": "chat", "messages": [message]}
        assert server.http.post(server.chat("shop"), json=body).status_code == 200
        server.terminate()
        server.wait()
    told = [line.rstrip()[9:] for line in server.lines]  # without the time
    assert [line for line in told if "shop.agent: " in line] == CASES[level]
    assert not any(SECRET in line or "POST /api" in line for line in told)
