"""The app answers under both names: that of its folder, and that of its agent, which panels use."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.apps.research.talk import Talk
from tests.end_to_end.adk_client import client_of, opened
from tests.end_to_end.clients import APPROVE, DONE, Player, send
from tests.end_to_end.server import Server

NAMES = ("research", "research_agent")
SEARCH = "search_sample_library"


@pytest.mark.parametrize("name", NAMES)
async def test_adk_s_routes(research_server: Server, name: str) -> None:
    """A whole conversation, with sessions that belong to the name they were asked for by."""
    async with opened(client_of(research_server), name) as adk:
        talk = Talk(adk)
        await talk.say("counterfactual explanations")
        found = await talk.say("ok")
        assert found.response(SEARCH)["count"] > 10
        assert (await adk.session_now())["appName"] == name
        about = (await adk.http.get(f"/api/apps/{name}")).json()
        assert about["name"] == name
        assert about["agents"] == ["research_agent"]


async def test_it_is_listed_once(research_server: Server) -> None:
    """Under the name of its folder."""
    async with opened(client_of(research_server), "research") as adk:
        listed = (await adk.http.get("/list-apps")).json()
        assert [each for each in listed if "research" in each] == ["research"]
        shown = [each["name"] for each in (await adk.http.get("/api/apps")).json()]
        assert [each for each in shown if "research" in each] == ["research"]


def test_the_chat(play: Player) -> None:
    """A chat under the other name asks and searches."""
    result = play(send("counterfactual explanations"), APPROVE, app="research_agent")
    assert result.call(SEARCH)["state"] == DONE


@pytest.mark.parametrize(("name", "code"), [*((each, 0) for each in NAMES), ("researcher", 2)])
def test_the_command(name: str, code: int, tmp_path: Path) -> None:
    """`adk-prism run` knows both, and no third."""
    script = str(Path(sys.executable).with_name("adk-prism"))
    command = [script, "run", name, "counterfactual explanations"]
    environment = os.environ | {"ADK_PRISM_MODEL": "offline", "ADK_PRISM_OFFLINE": "1"}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, env=environment, cwd=tmp_path
    )
    assert done.returncode == code, done.stderr
    assert ("SEARCH PLAN" in done.stdout) == (code == 0)
