"""The TypeScript types compile with the AI SDK, and fit what is really sent."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.features.fields.runs import all_chunks, metadata

from adk_prism.cli import main
from adk_prism.features.types.data_parts import SENT, TAKEN
from adk_prism.features.types.typescript import declarations

if TYPE_CHECKING:
    from tests.conftest import Node

USE = """\
import type { ChatInit, DataUIPart } from 'ai';
import type { PrismDataParts, PrismMetadata, PrismUIMessage } from './prism';

type Tools = { look: { input: { at: string }; output: number } };

export const init: ChatInit<PrismUIMessage> = { messages: [] };

export function show(message: PrismUIMessage<Tools>): string {
  const tokens: number | undefined = message.metadata?.usage?.inputTokens;
  const run: string | undefined = message.metadata?.runId;
  for (const part of message.parts) {
    if (part.type === 'data-artifact') return `${part.data.filename} ${part.data.version}`;
    if (part.type === 'tool-look' && part.state === 'input-available') return part.input.at;
    // @ts-expect-error there is no such part
    if (part.type === 'data-telegram') return '';
  }
  // @ts-expect-error a version is a number
  const wrong: DataUIPart<PrismDataParts> = { type: 'data-artifact', data: { filename: '', version: '1' } };
  // @ts-expect-error there is no such key
  const stranger: PrismMetadata = { runId: 'a', mood: 'good' };
  return `${run} ${tokens} ${wrong} ${stranger}`;
}
"""


def sent() -> Iterator[dict[str, object]]:
    """Yield one of every different data part that any run sends, without what the SDK takes off."""
    seen = set()
    for chunk in all_chunks("6", "7"):
        if chunk["type"].startswith("data-"):
            part = {key: value for key, value in chunk.items() if key != "transient"}
            shape = json.dumps([part["type"], _shape(part["data"])])
            if shape not in seen:
                seen.add(shape)
                yield part


def _shape(value: object) -> object:
    if isinstance(value, dict):
        return {key: _shape(held) for key, held in value.items()}
    return [_shape(held) for held in value] if isinstance(value, list) else type(value).__name__


_ANSWER: dict[str, Any] = {"id": "a", "response": {}}
TAKEN_DATA = {
    "input-response": _ANSWER,
    "credential-response": _ANSWER,
    "approval-response": {"approvalId": "a", "approved": True, "reason": "fine"},
    "confirmation-response": {"approvalId": "a", "payload": {}},
}
"""What a client sends, by the part's name."""


def frames() -> str:
    """Return a module in which every data part and metadata stands as a literal.

    To literals the compiler applies its strictest rule: a key that the type does not have is refused.
    """
    begun = [{"runId": "run-1", **found} for found in metadata("6")]
    different = {json.dumps(found): None for found in begun}
    taken = [{"type": f"data-{name}", "data": TAKEN_DATA[name]} for name in TAKEN]
    parts = ",\n  ".join(json.dumps(part) for part in (*sent(), *taken))
    return "\n".join(
        (
            "import type { DataUIPart } from 'ai';",
            "import type { PrismDataParts, PrismMetadata } from './prism';",
            f"export const parts: DataUIPart<PrismDataParts>[] = [\n  {parts}\n];",
            f"export const metadata: PrismMetadata[] = [\n  {','.join(different)}\n];",
        )
    )


@pytest.mark.parametrize("release", ["ai-6", "ai-7"])
def test_the_types_fit_the_sdk_and_the_frames(node: Node, release: str, tmp_path: Path) -> None:
    """What is sent is assignable, what is not sent is not, and `useChat` takes the message type."""
    sdk = node.folder / "node_modules" / release / "dist" / "index.d.ts"
    options = {
        "strict": True,
        "noEmit": True,
        "skipLibCheck": True,
        "module": "preserve",
        "target": "es2022",
        "lib": ["es2022", "dom"],
        "types": [],
        "paths": {"ai": [str(sdk)]},
    }
    (tmp_path / "tsconfig.json").write_text(json.dumps({"compilerOptions": options}))
    (tmp_path / "prism.ts").write_text(declarations())
    (tmp_path / "use.ts").write_text(USE)
    (tmp_path / "frames.ts").write_text(frames())
    compiler = node.folder / "node_modules" / "typescript" / "bin" / "tsc"
    if not compiler.is_file():
        pytest.fail("typescript is not installed: run the tests through `make test`")
    done = subprocess.run([node.binary, compiler, "-p", tmp_path], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_the_command_prints_the_types(capsys: pytest.CaptureFixture[str]) -> None:
    """All of them, and nothing else, so that it can be redirected into a file."""
    assert main(["types"]) == 0
    assert capsys.readouterr() == (declarations(), "")
    for name in SENT | TAKEN:
        assert f"  '{name}': " in declarations()


def test_the_npm_package_has_the_types() -> None:
    """They are written into it, so that its users need no Python."""
    package = Path(__file__).parents[3] / "packages" / "client"
    written = (package / "src" / "prism.ts").read_text()
    assert written == declarations(), "adk-prism types > packages/client/src/prism.ts"


def test_the_npm_package_has_schemas_of_the_types(node: Node) -> None:
    """A script writes them from the types."""
    package = Path(__file__).parents[3] / "packages" / "client"
    script = package / "scripts" / "schemas.mjs"
    found = subprocess.run([node.binary, script], capture_output=True, text=True, check=True).stdout
    written = (package / "src" / "schemas.ts").read_text()
    assert written == found, "cd packages/client && node scripts/schemas.mjs > src/schemas.ts"


def test_the_command_needs_no_adk() -> None:
    """A front-end developer gets the types at once; importing ADK takes seconds."""
    script = """
import sys
from adk_prism.cli import main
main(["types"])
sys.exit(" ".join({"google", "fastapi"} & sys.modules.keys()) or 0)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
