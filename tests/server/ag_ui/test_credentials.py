"""A sign-in that is asked for: answered by `resume`, with nothing secret in the log or in any stream."""

from __future__ import annotations

from typing import Any

from tests.adk.scripted import Scripted, call
from tests.security.test_redaction import CANARY, ask_for_credential
from tests.server.ag_ui.thread import Thread, events, interrupts, resolved, user
from tests.server.local_server import APP, SESSION, agent, local_server

from adk_prism.log.entry import pack

Json = dict[str, Any]


async def test_a_credential_is_taken_and_kept_nowhere() -> None:
    model = Scripted.saying(call("ask_for_credential", "c-ask-0123456789"), "Signed in.")
    async with local_server(agent(model, tools=[ask_for_credential])) as server:
        thread = Thread(server)
        (asks,) = interrupts(await thread.run(user("sign in")))
        assert asks["reason"] == "adk:credential"
        config = asks["metadata"]["adk"]["request"].get("authConfig") or {}
        oauth = {"authResponseUri": f"https://example.com/back?code={CANARY}", "clientId": "id"}
        given = {**config, "exchangedAuthCredential": {"authType": "oauth2", "oauth2": oauth}}
        given["note"] = CANARY
        answer = await thread.post(resume=[resolved(asks["id"], given)])
        assert answer.status_code == 200, answer.text
        assert CANARY not in answer.text
        assert events(answer)[0]["type"] == "RUN_STARTED", answer.text
        for run in await server.context.log.list():
            for entry in await server.entries(run.run):
                assert CANARY.encode() not in pack(entry.record)[1], entry.record
        connected = await server.client.post(
            f"/api/ag-ui/{APP}/connect", json={"threadId": SESSION}
        )
        assert CANARY not in connected.text
