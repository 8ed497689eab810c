"""What older ADK servers do differently, found with the servers themselves: kinds, errors, sign-ins."""

from __future__ import annotations

import json

import pytest
from tests.features.remote.conftest import JSON, Fronted
from tests.features.remote.loopback import Loopback, Reply, Wire, event, listening

from adk_prism.errors import Diagnostic

SECRET = "the-secret-of-the-client-4711"
REQUESTED = {
    "authScheme": {"type": "oauth2", "flows": {}},
    "rawAuthCredential": {
        "authType": "oauth2",
        "oauth2": {"clientId": "id", "clientSecret": SECRET},
    },
    "exchangedAuthCredential": {
        "authType": "oauth2",
        "oauth2": {"clientId": "id", "clientSecret": SECRET, "authUri": "https://example.org/auth"},
    },
    "credentialKey": "key",
}


@pytest.mark.parametrize(
    ("status", "is_served"), [(200, True), (404, True), (500, True), (502, False)]
)
async def test_a_document_that_fails(fronted: Fronted, status: int, is_served: bool) -> None:
    """A server without `/version` is told by its document, also by one that fails; else: how to name it."""
    far = Loopback(None)
    far.replies["/openapi.json"] = Reply(b"{}", status)
    async with listening(far), fronted(far.url) as chat:
        answer = await chat.say()
        assert (answer.status_code == 200) is is_served
        assert is_served or "--remote-dialect" in answer.text


async def test_an_error_that_is_not_escaped(
    far: Loopback, fronted: Fronted, reports: list[Diagnostic]
) -> None:
    """google-adk 1.16 writes an exception into its JSON as it is; the operator reads all of it."""

    async def fail(wire: Wire) -> None:
        await wire.send(b'data: {"error": "Tool \'look\' said "no", \\path\\to"}\n\n')
        await wire.end()

    far.run = fail
    async with fronted(far.url) as chat:
        await chat.say()
        outcome, _ = await chat.outcome()
    assert outcome == "failed"
    causes = " ".join(f"{each.cause} {each.message}" for each in reports)
    assert 'said "no"' in causes


async def test_the_secret_of_a_sign_in_goes_back_to_the_remote_alone(fronted: Fronted) -> None:
    """The client never sees it, and does not send it; google-adk 1.x needs it in the answer."""
    arguments = {"functionCallId": "t1", "authConfig": REQUESTED}
    call = {"id": "s1", "name": "adk_request_credential", "args": arguments}
    asking = event() | {
        "content": {"role": "model", "parts": [{"functionCall": call}]},
        "longRunningToolIds": ["s1"],
    }
    kind = {"version": "1.39.1", "language": "python"}

    async def ask(wire: Wire) -> None:
        await wire.send(b"data: " + json.dumps(asking).encode() + b"\n\n")
        await wire.end()

    async with listening(Loopback(kind)) as far, fronted(far.url) as chat:
        far.run = ask
        shown = await chat.say()
        far.session["events"] = [asking]
        assert SECRET not in shown.text
        given = json.loads(json.dumps(REQUESTED).replace(f', "clientSecret": "{SECRET}"', ""))
        given["exchangedAuthCredential"]["oauth2"]["authResponseUri"] = "https://app/?code=c"
        answer = {"id": "s1", "name": "adk_request_credential", "response": given}
        body = {
            "appName": "far",
            "userId": "user",
            "sessionId": "c1",
            "newMessage": {"role": "user", "parts": [{"functionResponse": answer}]},
        }
        done = await chat.http.post("/run_sse", json=body, headers=JSON)
        assert done.status_code == 200
        sent = far.ran()[-1].body["newMessage"]["parts"][0]["functionResponse"]["response"]
        oauth = sent["exchangedAuthCredential"]["oauth2"]
        assert (oauth["clientSecret"], oauth["authResponseUri"]) == (SECRET, "https://app/?code=c")
        assert sent["rawAuthCredential"]["oauth2"]["clientSecret"] == SECRET
        runs = (await chat.http.get("/api/runs")).json()
        for run in runs:
            recording = (await chat.http.get(f"/api/runs/{run['run']}/recording")).text
            assert SECRET not in recording
