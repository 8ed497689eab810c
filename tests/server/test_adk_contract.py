"""ADK's own routes answer as ADK's own server does, but for the differences that are listed.

The same requests go to google-adk's `get_fast_api_app` and to ours, one after the other; statuses
and bodies must be equal once ids and times are taken out. A difference is either in `DIFFERENCES`,
with its reason, or a bug.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

AGENTS = Path(__file__).parent / "agents"
SESSIONS = "/apps/helper/users/ada/sessions"
ARTIFACTS = SESSIONS + "/one/artifacts"

Json = Any


@dataclass(frozen=True)
class Step:
    method: str
    path: str
    body: Json = None
    differs: str = ""

    @property
    def name(self) -> str:
        return f"{self.method} {self.path} {self.body or ''}"


def without_own_version(body: Json) -> Json:
    return {key: value for key, value in body.items() if key != "adkPrism"}


DIFFERENCES: dict[str, Callable[[Json], Json]] = {
    "our own version is said too": without_own_version,
}

(OWN_VERSION,) = DIFFERENCES

EVENT = {
    "author": "user",
    "invocationId": "i1",
    "content": {"role": "user", "parts": [{"text": "Hello"}]},
}
CALL = {
    "author": "helper",
    "invocation_id": "i1",
    "content": {
        "parts": [{"function_call": {"id": "c", "name": "look_up", "args": {"word": "x"}}}]
    },
}
QUESTION = {
    "author": "helper",
    "content": {"parts": [{"functionCall": {"name": "adk_request_input"}}]},
}
PICTURE = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}

STEPS = [
    Step("GET", "/health"),
    Step("GET", "/version", differs=OWN_VERSION),
    Step("GET", "/list-apps"),
    Step("GET", "/list-apps?detailed=true"),
    Step("GET", "/list-apps?detailed=perhaps"),
    Step("GET", "/apps/helper/app-info"),
    Step("GET", "/apps/flow/app-info"),
    Step("GET", "/apps/nobody/app-info"),
    Step("GET", SESSIONS),
    Step("POST", SESSIONS),
    Step("POST", SESSIONS, {}),
    Step("POST", SESSIONS, {"sessionId": ""}),
    Step("POST", SESSIONS, {"sessionId": "one"}),
    Step("POST", SESSIONS, {"session_id": "one"}),
    Step("POST", SESSIONS, {"sessionId": "two", "state": {"a": {"b": [1, None]}}}),
    Step("GET", SESSIONS + "/two"),
    Step("POST", SESSIONS, {"sessionId": "three", "events": [EVENT, CALL]}),
    Step("GET", SESSIONS + "/three"),
    Step("POST", SESSIONS, {"events": [{**EVENT, "actions": {"stateDelta": {"a": 1}}}]}),
    Step("POST", SESSIONS, {"events": [{**EVENT, "longRunningToolIds": ["c"]}]}),
    Step("POST", SESSIONS, {"events": [QUESTION]}),
    Step("POST", SESSIONS, {"events": [{"content": 1}]}),
    Step("POST", SESSIONS, {"options": {"ttl": "1s"}}),
    Step("POST", SESSIONS, {"state": []}),
    Step("POST", SESSIONS, []),
    Step("POST", SESSIONS + "/four"),
    Step("POST", SESSIONS + "/four"),
    Step("POST", SESSIONS + "/five", {"a": 1}),
    Step("POST", SESSIONS + "/six", [1]),
    Step("GET", SESSIONS),
    Step("PATCH", SESSIONS + "/one", {"stateDelta": {"a": 1}}),
    Step("PATCH", SESSIONS + "/one", {"state_delta": {"b": None}}),
    Step("PATCH", SESSIONS + "/one", {"stateDelta": {}}),
    Step("PATCH", SESSIONS + "/one", {}),
    Step("PATCH", SESSIONS + "/one"),
    Step("PATCH", SESSIONS + "/nobody", {"stateDelta": {"a": 1}}),
    Step("GET", SESSIONS + "/one"),
    Step("GET", SESSIONS + "/nobody"),
    Step("DELETE", SESSIONS + "/four"),
    Step("DELETE", SESSIONS + "/four"),
    Step("GET", SESSIONS + "/four"),
    Step("POST", ARTIFACTS, {"filename": "a.txt", "artifact": {"text": "one"}}),
    Step("POST", ARTIFACTS, {"filename": "a.txt", "artifact": {"text": "two"}}),
    Step(
        "POST", ARTIFACTS, {"filename": "b/c.png", "artifact": PICTURE, "customMetadata": {"k": 1}}
    ),
    Step(
        "POST", ARTIFACTS, {"filename": "user:d", "artifact": {"text": "d"}, "custom_metadata": {}}
    ),
    Step("POST", ARTIFACTS, {"filename": "e", "artifact": {"fileData": {"fileUri": "gs://b/e"}}}),
    Step("POST", ARTIFACTS, {"filename": "f", "artifact": {}}),
    Step("POST", ARTIFACTS, {"filename": "f"}),
    Step("POST", ARTIFACTS, {"filename": "f", "artifact": {"text": 1}}),
    Step("GET", ARTIFACTS),
    Step("GET", ARTIFACTS + "/a.txt"),
    Step("GET", ARTIFACTS + "/a.txt?version=0"),
    Step("GET", ARTIFACTS + "/a.txt?version=7"),
    Step("GET", ARTIFACTS + "/a.txt?version=x"),
    Step("GET", ARTIFACTS + "/b/c.png"),
    Step("GET", ARTIFACTS + "/user:d"),
    Step("GET", ARTIFACTS + "/e"),
    Step("GET", ARTIFACTS + "/nothing"),
    Step("GET", ARTIFACTS + "/a.txt/versions"),
    Step("GET", ARTIFACTS + "/nothing/versions"),
    Step("GET", ARTIFACTS + "/a.txt/versions/0"),
    Step("GET", ARTIFACTS + "/a.txt/versions/latest"),
    Step("GET", ARTIFACTS + "/a.txt/versions/-1"),
    Step("GET", ARTIFACTS + "/a.txt/versions/x"),
    Step("GET", ARTIFACTS + "/b/c.png/versions/0/metadata"),
    Step("GET", ARTIFACTS + "/b/c.png/versions/latest/metadata"),
    Step("GET", ARTIFACTS + "/b/c.png/versions/4/metadata"),
    Step("GET", ARTIFACTS + "/b/c.png/versions/x/metadata"),
    Step("GET", ARTIFACTS + "/a.txt/versions/metadata"),
    Step("DELETE", ARTIFACTS + "/a.txt"),
    Step("DELETE", ARTIFACTS + "/a.txt"),
    Step("GET", ARTIFACTS),
    Step("PATCH", "/apps/helper/users/ada/memory", {"sessionId": "one"}),
    Step("PATCH", "/apps/helper/users/ada/memory", {"session_id": "nobody"}),
    Step("PATCH", "/apps/helper/users/ada/memory", {}),
    Step("GET", "/no/such/route"),
    Step("PUT", "/health"),
]

UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TIMES = ("timestamp", "lastUpdateTime", "createTime")


def plain(value: Json) -> Json:
    """Take out what is drawn or measured."""
    if isinstance(value, dict):
        return {k: 0 if k in TIMES else plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return UUID.sub("id", value) if isinstance(value, str) else value


async def ask(client: httpx.AsyncClient, step: Step) -> tuple[int, Json]:
    answer = await client.request(step.method, step.path, json=step.body)
    if answer.is_success:
        return answer.status_code, plain(answer.json())
    # Both say why, in their own words; where a request has the wrong shape, in the same form.
    detail = answer.json()["detail"]
    assert detail
    if isinstance(detail, str):
        return answer.status_code, None
    return answer.status_code, [[mistake["loc"], mistake["type"]] for mistake in detail]


async def test_adk_and_we_answer_the_same(serve: Callable[..., Any], tmp_path: Path) -> None:
    """Every step of the conversation: same status, same body, modulo what is listed."""
    from google.adk.cli.fast_api import get_fast_api_app

    theirs_app = get_fast_api_app(
        agents_dir=str(AGENTS),
        web=False,
        session_service_uri="memory://",
        artifact_service_uri="memory://",
    )
    transport = httpx.ASGITransport(theirs_app)
    unequal = []
    async with (
        serve(artifacts="memory://") as ours,
        httpx.AsyncClient(transport=transport, base_url=str(ours.base_url)) as theirs,
    ):
        for step in STEPS:
            their_status, their_body = await ask(theirs, step)
            our_status, our_body = await ask(ours, step)
            if step.differs:
                our_body = DIFFERENCES[step.differs](our_body)
            if (our_status, our_body) != (their_status, their_body):
                unequal.append((step.name, (their_status, their_body), (our_status, our_body)))
    assert unequal == []
