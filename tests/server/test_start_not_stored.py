"""A run whose start the log could not store never was: the same request, sent again, starts it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.adk.scripted import Scripted
from tests.server.local_server import APP, agent, local_server

from adk_prism.log.group_commit import AppendResult, Group
from adk_prism.log.sqlite.store import SqliteLog, SqliteStore

HEADERS = {"idempotency-key": "once"}


class _FullStore(SqliteStore):
    """A store whose disk is full until there is room again."""

    is_full = False

    def write_now(self, group: Group) -> Sequence[AppendResult] | None:
        return None if self.is_full else super().write_now(group)

    async def write(self, group: Group) -> Sequence[AppendResult]:
        if self.is_full:
            return [AppendResult("failed", "No space left on device")] * len(group)
        return await super().write(group)


async def test_a_request_whose_run_was_not_stored_can_be_sent_again(tmp_path: Path) -> None:
    """It gets the error while the disk is full, and its answer afterwards."""
    log = SqliteLog(tmp_path / "runs.db")
    store = _FullStore(tmp_path / "runs.db", "normal", lambda _: None)
    log.store = store
    message = {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "hi"}]}
    body = {"id": "chat", "messages": [message], "trigger": "submit-message"}
    async with local_server(agent(Scripted.saying("Hello.")), log=log) as server:
        store.is_full = True
        for _ in range(2):
            refused = await server.client.post(f"/api/chat/{APP}", json=body, headers=HEADERS)
            assert refused.status_code == 503, refused.text
        store.is_full = False
        answer = await server.client.post(f"/api/chat/{APP}", json=body, headers=HEADERS)
        assert answer.status_code == 200
        assert "Hello." in answer.text
        again = await server.client.post(f"/api/chat/{APP}", json=body, headers=HEADERS)
        assert again.headers["x-prism-run"] == answer.headers["x-prism-run"]
