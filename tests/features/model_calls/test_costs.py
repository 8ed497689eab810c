"""What runs cost, by the operator's price list: wherever tokens are shown, and the same everywhere."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.adk.scripted import Scripted
from tests.server.local_server import LocalServer, agent, local_server

from adk_prism.cli import main

RECORDING = Path(__file__).parent.parent.parent / "recordings" / "parallel_specialists.jsonl"
Json = dict[str, Any]


async def get(server: LocalServer, path: str, **query: str) -> Any:
    answer = await server.client.get(path, params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_costs_are_the_same_everywhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a run, by agent and node, in the film, a search, a comparison and the commands: one number."""
    file = tmp_path / "prices.json"
    file.write_text('{"tour-offline": {"input": 300, "output": 2500}}')
    body, kind = RECORDING.read_bytes(), {"content-type": "application/jsonl"}
    async with local_server(agent(Scripted.saying()), prices=str(file)) as server:
        made = await server.client.post("/api/recordings", content=body, headers=kind)
        run = made.json()["run"]
        shown = await get(server, f"/api/runs/{run}")
        cost = shown["cost"]
        assert cost > 0
        assert sum(each["cost"] for each in shown["agents"].values()) == pytest.approx(cost)
        timeline = (await get(server, f"/api/runs/{run}/view", panel="timeline"))["timeline"]
        assert timeline["cost"] == cost
        assert sum(node.get("cost", 0) for node in timeline["nodes"]) == pytest.approx(cost)
        (found,) = await get(server, "/api/runs", cost=f"{cost / 2}..{cost * 2}")
        assert (found["run"], found["cost"], found["usage"]) == (run, cost, shown["usage"])
        assert await get(server, "/api/runs", cost=str(cost * 2)) == []
        compared = await get(server, "/api/compare", a=run, b=run)
        assert compared["a"]["cost"] == cost
        wrong = await server.client.get("/api/runs", params={"cost": "1...2"})
        assert wrong.status_code == 400
    prices = ["--prices", str(file)]
    view = ["view", str(RECORDING), "--panel", "timeline", *prices]
    assert await asyncio.to_thread(main, view) == 0
    assert json.loads(capsys.readouterr().out)["timeline"]["cost"] == cost
    files = ["compare", str(RECORDING), str(RECORDING), *prices]
    assert await asyncio.to_thread(main, files) == 0
    assert f"cost {cost:.4g}" in capsys.readouterr().out


async def test_without_prices_there_are_no_costs(tmp_path: Path) -> None:
    """None is guessed: the list that comes with the package does not know the model."""
    body, kind = RECORDING.read_bytes(), {"content-type": "application/jsonl"}
    async with local_server(agent(Scripted.saying())) as server:
        made = await server.client.post("/api/recordings", content=body, headers=kind)
        run = made.json()["run"]
        for path in (f"/api/runs/{run}", f"/api/runs/{run}/film", "/api/runs?limit=5"):
            assert '"cost"' not in (await server.client.get(path)).text
        trends = await server.client.get("/api/runs/trends")
        assert '"cost"' not in trends.text
        assert await get(server, "/api/runs", cost="..1") == []
    file = tmp_path / "prices.json"
    file.write_text("{}")
    async with local_server(agent(Scripted.saying()), prices=str(file)) as server:
        refused = await server.client.get("/api/runs", params={"cost": "1"})
        assert "needs prices" in refused.json()["detail"]
