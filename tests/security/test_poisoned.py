"""A poisoned row in ADK's oldest session schema: refused, and nothing of it has run."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import pytest
from tests.security import poisoned
from tests.server.conftest import AGENTS, OF_ADK, talking

from adk_prism.errors import Diagnostic
from adk_prism.server.app import create_app
from adk_prism.server.settings import Settings

pytestmark = [pytest.mark.filterwarnings(rule) for rule in OF_ADK]

SETTINGS = Settings(log="memory:", artifacts="memory://")


def test_the_poison_works(tmp_path: Path) -> None:
    """So that what follows shows something."""
    pickle.loads(poisoned.payload(tmp_path / "mark"))
    assert (tmp_path / "mark").exists()


async def test_a_poisoned_row_is_refused(tmp_path: Path) -> None:
    """Reading it, running in it, going on with it: safe words, no code, and others are served."""
    mark = tmp_path / "mark"
    address = poisoned.write(tmp_path / "v0.db", mark)
    told: list[Diagnostic] = []
    app = create_app(AGENTS, replace(SETTINGS, sessions=address), report=told.append)
    base = f"/apps/{poisoned.APP}/users/{poisoned.USER}/sessions"
    said = {"role": "user", "parts": [{"text": "hello"}]}
    where = {"appName": poisoned.APP, "userId": poisoned.USER, "sessionId": poisoned.SESSION}
    async with talking(app) as client:
        answers = [
            await client.get(f"{base}/{poisoned.SESSION}"),
            await client.patch(f"{base}/{poisoned.SESSION}", json={"stateDelta": {"a": 1}}),
        ]
        assert [answer.status_code for answer in answers] == [500, 500]
        failed = await client.post("/run", json={**where, "newMessage": said})
        [event] = failed.json()
        assert event["errorCode"] == "UnpicklingError"
        for answer in (*answers, failed):
            assert "Traceback" not in answer.text
            assert "Refusing to load" not in answer.text
            assert str(tmp_path) not in answer.text
        assert not mark.exists()
        assert "UnpicklingError" in "".join(report.cause for report in told)
        assert (await client.get(f"{base}/sound")).status_code == 200
