"""A coding agent's session, played by the official MCP client: started by `test_mcp.py` with its packages.

Arguments: the server's URL, then `http` for its own `/mcp` with the bearer token in `MCP_TOKEN`, or further
words of `adk-prism mcp`. Reads steps from standard input, a JSON
list of `[tool, arguments]`, in which `$name` is what an earlier step's text matched; writes the results.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client


async def main() -> None:
    """Call the tools in order; write names and results as JSON."""
    url, *words = sys.argv[1:]
    command = ["-m", "adk_prism.cli", "mcp", "--url", url, *words]
    server: Any = StdioServerParameters(command=sys.executable, args=command, env=dict(os.environ))
    if words[:1] == ["http"]:
        token = os.environ.get("MCP_TOKEN", "")
        headers = {"authorization": f"Bearer {token}"} if token else {}
        http = create_mcp_http_client(headers=headers)
        server = streamable_http_client(f"{url}/mcp", http_client=http)
    known: dict[str, str] = {}
    results: list[Any] = []
    async with Client(server) as client:
        listed = (await client.list_tools()).tools
        prompts = (await client.list_prompts()).prompts
        for tool, arguments, *finds in json.load(sys.stdin):
            given = {key: known.get(str(value), value) for key, value in arguments.items()}
            answer = await client.call_tool(tool, given)
            text = "".join(getattr(part, "text", "") for part in answer.content)
            for name, pattern in finds:
                found = re.search(pattern, text)
                known[f"${name}"] = found[1] if found else ""
            results.append([tool, answer.is_error, text])
        resource = ""
        if known.get("$run"):
            read = await client.read_resource(f"adk-prism://runs/{known['$run']}")
            resource = "".join(getattr(part, "text", "") for part in read.contents)
    about = {
        each.name: bool(each.annotations and each.annotations.read_only_hint) for each in listed
    }
    named = {"tools": about, "prompts": [p.name for p in prompts], "resource": resource}
    print(json.dumps({**named, "results": results}))


asyncio.run(main())
