"""`tus-js-client` as it is, and our own client, send a file over a connection that breaks."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import uvicorn
from tests.conftest import Node
from tests.features.uploads.sending import uploading
from tests.server.local_server import APP


async def test_a_file_arrives_over_a_broken_connection(node: Node, tmp_path: Path) -> None:
    """It goes on where it was; one that is stopped is removed."""
    async with uploading(tmp_path) as local:
        assert local.app is not None
        config = uvicorn.Config(local.app, port=0, log_config=None, lifespan="off")
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server.serve())
        while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        process = await asyncio.create_subprocess_exec(
            *(str(node.binary), "uploads.mjs", str(port), APP),
            cwd=node.folder,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        said, errors = await process.communicate()
        server.should_exit = True
        await serving
        assert process.returncode == 0, errors.decode()
        found = json.loads(said)
        for client in ("tus-js-client", "adk-prism"):
            about = found[client]
            assert (about["same"], about["cuts"], about["end"]) == (True, 1, 3_000_000), client
        assert found["stopped"] == ["stopped", 404]
        assert found["resumed"] == [1000, 3_000_000]
        assert found["refused"] == [422, "The file is empty."]
        assert not [each for each in local.reports if each.cause]
