"""The snippet of the guide for `useChat` clients works as it is written."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import httpx
from tests.conftest import Node
from tests.end_to_end.server import Server
from tests.patience import PATIENCE

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "feedback.md"

AROUND = """
type UIMessage<T> = {{ id: string; metadata?: T }};
const plain = fetch;
globalThis.fetch = (path, init) => plain(process.env.PRISM_URL + path, init);
{snippet}
await rate(JSON.parse(process.env.MESSAGE), -1, 'wrong');
"""


def test_an_answer_is_rated(server: Server, node: Node, tmp_path: Path) -> None:
    """A message as `useChat` has it is enough."""
    message = {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "text"}]}
    chat = f"{server.url}/api/chat/tour"
    body = {"id": "rated", "messages": [message]}
    run = httpx.post(chat, json=body, timeout=PATIENCE).headers["x-prism-run"]
    answer = httpx.get(f"{chat}/rated/messages", timeout=PATIENCE).json()[-1]
    snippet = re.search(r"```ts\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert snippet
    script = tmp_path / "rate.mts"
    script.write_text(AROUND.format(snippet=snippet[1]))
    environment = os.environ | {"PRISM_URL": server.url, "MESSAGE": json.dumps(answer)}
    done = subprocess.run(
        [node.binary, script], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (kept,) = httpx.get(f"{server.url}/api/runs/{run}/feedback", timeout=PATIENCE).json()
    assert (kept["messageId"], kept["score"], kept["comment"]) == (answer["id"], -1, "wrong")
