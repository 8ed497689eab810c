"""Model calls over HTTP: who may see them, and what of them leaves the server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.adk.scripted import Scripted, call
from tests.security.people import BOB, ROOT, SECRET, headers, house
from tests.server.local_server import LocalServer, agent, local_server

from adk_prism.errors import UsageError
from adk_prism.server.settings import Settings

Json = dict[str, Any]


def _agent() -> Any:
    return agent(Scripted.saying(call("count", "c1"), "One.", "Two."))


async def calls(server: LocalServer, run: str) -> list[Json]:
    answer = await server.client.get(f"/api/runs/{run}/model-calls")
    assert answer.status_code == 200, answer.text
    found: list[Json] = answer.json()
    return found


async def test_the_calls_of_a_run_are_answered_in_order() -> None:
    """Each at its cursor; one of them can be asked for alone."""
    async with local_server(_agent(), model_calls="full") as server:
        run = await server.say("count")
        first, second = await calls(server, run)
        assert first["cursor"] < second["cursor"]
        assert first["request"]["contents"] == [{"parts": [{"text": "count"}], "role": "user"}]
        assert second["request"]["contents"][0] == first["request"]["contents"][0]
        assert second["response"]["content"]["parts"] == [{"text": "One."}]
        path = f"/api/runs/{run}/model-calls"
        alone = await server.client.get(path, params={"cursor": second["cursor"]})
        assert alone.json() == [second]
        assert (await server.client.get(path, params={"cursor": 1})).json() == []
        assert (await server.client.get(path, params={"cursor": "x"})).status_code == 422
        assert (await server.client.get("/api/runs/none/model-calls")).status_code == 404


async def test_the_call_before_is_found_in_earlier_runs_too() -> None:
    """Of the same agent: in the run, else in the last run of the conversation that has one."""
    async with local_server(_agent(), model_calls="full") as server:
        runs = [await server.say("count"), await server.say("again")]
        one, two = await calls(server, runs[0])
        (three,) = await calls(server, runs[1])
        before = []
        for run, shown in ((runs[0], one), (runs[0], two), (runs[1], three)):
            path = f"/api/runs/{run}/model-calls?cursor={shown['cursor']}&previous=true"
            before.append((await server.client.get(path)).json())
        assert before == [[], [one | {"run": runs[0]}], [two | {"run": runs[0]}]]
        none = await server.client.get(f"/api/runs/{runs[1]}/model-calls?cursor=1&previous=true")
        assert none.json() == []


DEFAULTS: dict[str, tuple[dict[str, Any], bool, bool, str]] = {
    "our own server, local": ({}, False, True, "full"),
    "part of a program": ({}, False, False, "summary"),
    "callers are known": ({}, True, True, "summary"),
    "behind a proxy": ({"trusted_proxy": ("10.0.0.0/8",)}, False, True, "summary"),
    "a public address": ({"host": "0.0.0.0", "insecure": True}, False, True, "summary"),
    "as set": ({"model_calls": "off"}, False, True, "off"),
}


@pytest.mark.parametrize(("given", "known", "listens", "detail"), DEFAULTS.values(), ids=DEFAULTS)
def test_how_much_is_recorded(
    given: dict[str, Any], known: bool, listens: bool, detail: str
) -> None:
    """All of it only where nobody but the developer can see it."""
    settings = Settings(log="memory:", **given)
    assert settings.detail_of_model_calls(known=known, listens=listens) == detail


async def test_where_callers_are_known_they_are_for_administrators(tmp_path: Path) -> None:
    """The owner of a run gets a problem with 403; asking for a recording with them, too."""
    async with house(tmp_path, model_calls="full") as made:
        run = made.bobs.run
        for path in ("model-calls", "recording?modelCalls=true", "share?modelCalls=true"):
            refused = await made.client.get(f"/api/runs/{run}/{path}", headers=headers(BOB))
            assert refused.status_code == 403, path
            assert refused.headers["content-type"] == "application/problem+json"
        seen = await made.client.get(f"/api/runs/{run}/model-calls", headers=headers(ROOT))
        assert SECRET in seen.text


async def test_recordings_leave_them_out_unless_asked() -> None:
    """What is left is a whole recording; with them, an upload shows the same calls."""
    async with local_server(_agent(), model_calls="full") as server:
        run = await server.say("count")
        path = f"/api/runs/{run}/recording"
        without = (await server.client.get(path)).text
        cursors = [json.loads(line)["cursor"] for line in without.splitlines()]
        assert cursors == list(range(1, len(cursors) + 1))
        assert "ModelCalled" not in without
        whole = await server.client.get(path, params={"modelCalls": True})
        assert len(whole.text.splitlines()) == len(cursors) + 2
        copies = [await _upload(server, each) for each in (without, whole.text)]
        assert await calls(server, copies[0]) == []
        assert await calls(server, copies[1]) == await calls(server, run)


async def _upload(server: LocalServer, text: str, status: int = 201) -> str:
    answer = await server.client.post(
        "/api/recordings",
        content=text.encode(),
        headers={"content-type": "application/jsonl"},
    )
    assert answer.status_code == status, answer.text
    return str(answer.json().get("run", ""))


FORGED = {
    "no object": ('"request":[1]', 422),
    "contents that are no list": ('"request":{"contents":{}}', 422),
    "a response that is no object": ('"request":{},"response":"x"', 422),
    "a time that is no number": ('"duration":"x"', 422),
    "pieces of another log": ('"pieces":{"contents":1,"config":2}', 201),
    "a list that refers to itself": ('"request":{"contents":[[7,1],[7,2]]}', 201),
    "nothing at all": ('"agent":""', 201),
}


@pytest.mark.parametrize(("fields", "status"), FORGED.values(), ids=FORGED)
async def test_forged_calls_are_refused_or_harmless(fields: str, status: int) -> None:
    """Uploads are untrusted: nothing of another session is shown, and nothing half stored."""
    async with local_server(_agent(), model_calls="full") as server:
        run = await server.say("count")
        lines = (await server.client.get(f"/api/runs/{run}/recording")).text.splitlines()
        forged = f'{{"cursor":2,"time":1,"type":"ModelCalled",{fields}}}'
        before = len((await server.client.get("/api/runs")).json())
        copy = await _upload(server, "\n".join([lines[0], forged]), status)
        if status == 201:
            (shown,) = await calls(server, copy)
            assert "count" not in json.dumps(shown)
        else:
            assert len((await server.client.get("/api/runs")).json()) == before


async def test_a_fork_leaves_them_with_the_run_that_made_them() -> None:
    """The new run has its own calls only."""
    async with local_server(_agent(), model_calls="full") as server:
        run = await server.say("count")
        last = (await server.client.get(f"/api/runs/{run}")).json()["cursor"]
        fork = await server.client.post(
            f"/api/runs/{run}/fork",
            json={"at": last, "newMessage": {"role": "user", "parts": [{"text": "again"}]}},
        )
        assert fork.status_code == 200, fork.text
        made = fork.json()["run"]
        await server.client.get(f"/api/runs/{made}/stream")
        (only,) = await calls(server, made)
        assert only["request"]["contents"][-1]["parts"] == [{"text": "again"}]


async def test_prices_become_costs(tmp_path: Path) -> None:
    """Of a call and of the run; without a price list there is no cost."""
    file = tmp_path / "prices.json"
    file.write_text('{"scripted": {"input": 1, "output": 2}}')
    async with local_server(_agent(), model_calls="full", prices=str(file)) as server:
        run = await server.say("count")
        shown = (await server.client.get(f"/api/runs/{run}")).json()
        assert (shown["modelCalls"], shown["cost"]) == (2, 0.0)
        assert [each["cost"] for each in await calls(server, run)] == [0.0, 0.0]
    async with local_server(_agent()) as server:
        run = await server.say("count")
        assert "cost" not in (await server.client.get(f"/api/runs/{run}")).json()


@pytest.mark.parametrize("text", [None, "{"], ids=["missing", "no JSON"])
async def test_a_price_list_that_cannot_be_used_is_refused(
    text: str | None, tmp_path: Path
) -> None:
    """At the start, with one line."""
    file = tmp_path / "prices.json"
    if text is not None:
        file.write_text(text)
    with pytest.raises(UsageError, match="The price list"):
        async with local_server(_agent(), prices=str(file)):
            pass
