"""`GET /api/compare`: requests to models are compared too, for those who may see them."""

from __future__ import annotations

from pathlib import Path

from google.adk.agents import LlmAgent
from tests.adk.scripted import Scripted
from tests.security.people import BOB, ROOT, headers, said, token_file
from tests.server.local_server import APP, LocalServer, agent, local_server

OLD, NEW = "Answer in one word.", "Answer at length."


async def ask(server: LocalServer, session: str) -> str:
    """Let Bob say something in a new session; return the run."""
    await server.client.post(f"/apps/{APP}/users/{BOB}/sessions/{session}", headers=headers(BOB))
    body = said(BOB, "hello", session)
    answer = await server.client.post("/run_sse", headers=headers(BOB), json=body)
    assert answer.status_code == 200, answer.text
    return answer.headers["x-prism-run"]


async def test_another_instruction_is_found_by_administrators(tmp_path: Path) -> None:
    """The owner of the runs sees that they are the same, and no word of an instruction."""
    root = agent(Scripted.saying("Yes.", "Yes.", "Yes."))
    tokens = token_file(tmp_path)
    async with local_server(root, tokens=tokens, model_calls="full") as server:
        served = server.runner.agent
        assert isinstance(served, LlmAgent)
        served.instruction = OLD
        first, same = await ask(server, "one"), await ask(server, "two")
        served.instruction = NEW
        other = await ask(server, "three")

        async def compared(user: str, b: str) -> tuple[list[str], str]:
            runs = {"a": first, "b": b}
            answer = await server.client.get("/api/compare", params=runs, headers=headers(user))
            assert answer.status_code == 200, answer.text
            return answer.json()["differs"], answer.text

        assert (await compared(ROOT, same))[0] == []
        differs, text = await compared(ROOT, other)
        assert differs == ["requests"]
        assert OLD in text
        assert NEW in text
        differs, text = await compared(BOB, other)
        assert differs == []
        assert OLD not in text
        assert NEW not in text
