"""The scripts of the pages are compiled with `--strict` against real types: the AI SDK's, React's, our own.

One run of the TypeScript compiler for all of them. What a block takes for granted (a chat's id, a server's
address) is declared in `GIVEN`. Packages that the page's own environment does not hold are not typed here;
`make test-examples` builds projects on them.
"""

from __future__ import annotations

import json
import re
import subprocess

import pytest
from tests.conftest import Node
from tests.documentation.blocks import Block, blocks
from website.places import ROOT

from adk_prism.features.types.typescript import declarations

WEB = ROOT / "web"
CLIENT = ROOT / "packages" / "client" / "src"
STUDIO = ROOT / "src" / "adk_prism" / "clients"

SCRIPTS = [block for block in blocks("html", "js", "ts", "tsx") if block.is_run]

GIVEN = """
declare const app: string, chatId: string, run: string, server: string, threadId: string;
declare const headers: Record<string, string>;
declare const currentUser: any;
declare const connection: import('@adk-prism/client').Connection;
declare const picked: File, signal: AbortSignal, text: string;
declare function show(share: number): void;
declare const chat: {
  messages: { id: string; role: string }[]; status: string;
  sendMessage(message: {
    text: string; files?: { type: 'file'; url: string; mediaType: string; filename: string }[];
  }): Promise<void>;
};
declare const message: import('@adk-prism/client/ai').PrismUIMessage;
declare const transport: import('@adk-prism/client/ai').PrismChatTransport;
declare function render(state: unknown): void;
declare function token(): Promise<string>;
declare const Badge: any;
declare const useLive: typeof import('@adk-prism/client/live').useLive;
declare const PrismChatTransport: typeof import('@adk-prism/client/ai').PrismChatTransport;
declare const sendWhenAnswered: typeof import('@adk-prism/client/ai').sendWhenAnswered;
declare const Chat: typeof import('@ai-sdk/react').Chat;
declare const useChat: typeof import('@ai-sdk/react').useChat;
declare const useMemo: typeof import('react').useMemo, useState: typeof import('react').useState;
type PrismUIMessage = import('@adk-prism/client/ai').PrismUIMessage;
declare const WebSocketChatTransport: any;
declare const PrismAgent: any, prismThreadList: any;
declare const useAISDKRuntime: any, useRemoteThreadListRuntime: any;
declare function useAuiState<T>(read: (state: { threadListItem: { id: string } }) => T): T;
type Interrupt = { id: string; message?: string };
declare function useInterrupt(options: {
  render(asked: {
    interrupts: Interrupt[]; resolve(payload: unknown, id: string): void; cancel(id: string): void;
  }): unknown;
}): void;
declare module '@ag-ui/client';
declare module '@assistant-ui/*';
declare module '@copilotkit/*';
declare module '*.css';
declare module '*?url' { const url: string; export default url; }
"""

OPTIONS = {
    "allowImportingTsExtensions": True,
    "allowJs": True,
    "checkJs": False,
    "jsx": "react-jsx",
    "lib": ["ES2023", "DOM", "DOM.Iterable"],
    "module": "ESNext",
    "moduleResolution": "bundler",
    "noEmit": True,
    "skipLibCheck": True,
    "strict": True,
    "target": "ES2023",
    "types": ["react"],
}


def _file(block: Block) -> tuple[str, str]:
    """Return a block as a file: its ending, and its text as a module."""
    text = block.text
    if block.language == "html":
        return "js", "\n".join(re.findall(r"<script[^>]*>(.*?)</script>", text, re.DOTALL))
    if block.language == "tsx" and text.startswith("{"):
        text = f"export default <>\n{text}</>;\n"
    return block.language, text + "\nexport {};\n" * (block.language != "js")


@pytest.fixture(scope="module")
def errors(node: Node, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Compile every block; return what the compiler says."""
    folder = tmp_path_factory.mktemp("scripts")
    (folder / "node_modules").symlink_to(WEB / "node_modules")
    (folder / "given.d.ts").write_text(GIVEN)
    (folder / "prism.ts").write_text(declarations())
    for file in STUDIO.glob("*.ts"):
        (folder / file.name).write_text(file.read_text())
    for index, block in enumerate(SCRIPTS):
        ending, text = _file(block)
        (folder / f"block-{index}.{ending}").write_text(text)
    paths = {
        "@adk-prism/client": [str(CLIENT / "index.ts")],
        "@adk-prism/client/*": [str(CLIENT / "*.ts")],
        "ai": [str(WEB / "node_modules" / "ai")],
        "react": [str(WEB / "node_modules" / "@types" / "react")],
    }
    config = {"compilerOptions": OPTIONS | {"paths": paths}, "include": ["*"]}
    (folder / "tsconfig.json").write_text(json.dumps(config))
    compiler = WEB / "node_modules" / "typescript" / "bin" / "tsc"
    done = subprocess.run(
        [node.binary, compiler, "--project", folder, "--pretty", "false"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.stderr, done.stderr
    return done.stdout


@pytest.mark.parametrize("index", range(len(SCRIPTS)), ids=[str(block) for block in SCRIPTS])
def test_scripts_compile(errors: str, index: int) -> None:
    mine = [line for line in errors.splitlines() if line.startswith(f"block-{index}.")]
    assert mine == [], f"what a reader has of his own is declared in GIVEN\n{SCRIPTS[index].text}"


def test_the_compiler_was_there(errors: str) -> None:
    """A broken configuration would be an error of no block."""
    assert [line for line in errors.splitlines() if not line.startswith(("block-", " "))] == []
