"""The built page: what it weighs, how it is served, and what it lists."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
from pathlib import Path

import httpx
import pytest
from tests.conftest import Node
from tests.end_to_end.server import Server
from tests.web.conftest import WEB

from adk_prism.apps.tour.scenarios import SCENARIOS

FIRST_LOAD = 260_000
"""Bytes, compressed, before a chat can be used."""

ALL = 1_500_000
"""Bytes, compressed, of everything that the page may ever load. Two thirds of it draw diagrams."""

SHARED = 420_000
"""Bytes, compressed, of the page in a shared file: people send it by mail."""

SHARED_PLAIN = 1_306_500
"""The same as it lies in the file."""

_STATIC = re.compile(r'(?:from|import)\s*"(\./[^"]+\.js)"|(?:src|href)="\./(assets/[^"]+)"')


def weight(path: Path) -> int:
    return len(gzip.compress(path.read_bytes()))


def needed(file: Path, seen: set[Path]) -> set[Path]:
    """Return a file and all that it loads without being asked."""
    if file not in seen:
        seen.add(file)
        if file.suffix in (".js", ".html"):
            for module, asset in _STATIC.findall(file.read_text()):
                needed(file.parent / (module or asset), seen)
    return seen


@pytest.mark.parametrize("place", ["Home", "ChatPage", "RunPage"])
def test_a_first_load_is_small(page: Path, place: str) -> None:
    """Whatever is opened first is within the budget, styles included."""
    assets = page / "assets"
    [opened] = assets.glob(f"{place}-*.js")
    files = needed(opened, needed(page / "index.html", set()))
    named = {file.name.rpartition("-")[0] for file in files}
    files |= {style for style in assets.glob("*.css") if style.name.rpartition("-")[0] in named}
    assert sum(map(weight, files)) <= FIRST_LOAD


def test_the_whole_page_is_small(page: Path) -> None:
    """All that it may ever load, every panel included."""
    assert sum(weight(path) for path in (page / "assets").iterdir()) <= ALL


def test_a_shared_file_is_small(page: Path) -> None:
    """It holds the page, uncompressed, and of it only what needs no server."""
    script, style = page / "share" / "page.js", page / "share" / "page.css"
    assert weight(script) + weight(style) <= SHARED
    assert script.stat().st_size + style.stat().st_size <= SHARED_PLAIN
    assert {path.name for path in (page / "share").iterdir()} == {"page.js", "page.css"}


def test_the_samples_are_recordings() -> None:
    """What the page offers to look at is what the tests read."""
    samples = {"agent-tool": "agent_tool", "recovered": "recovered_error"}
    samples["specialists"] = "parallel_specialists"
    folder = WEB / "src" / "features" / "captures" / "samples"
    recordings = WEB.parent / "tests" / "recordings"
    assert {path.stem for path in folder.glob("*.jsonl")} == set(samples)
    for name, recording in samples.items():
        written = (recordings / f"{recording}.jsonl").read_bytes()
        assert (folder / f"{name}.jsonl").read_bytes() == written


def test_the_page_comes_with_a_strict_policy(server: Server, page: Path) -> None:
    """Its document is never stale, and nothing of another origin is let in."""
    answer = server.http.get("/")
    assert answer.headers["cache-control"] == "no-cache"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "same-origin"
    policy = answer.headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert "microphone=(self)" in answer.headers["permissions-policy"]
    assert "://" not in answer.text, "the page names no address"


def test_diagrams_are_drawn_without_an_origin(server: Server, page: Path) -> None:
    """The document that draws them is sandboxed however it is opened, and can load nothing."""
    [frame] = (page / "assets").glob("*.html")
    answer = server.http.get(f"/assets/{frame.name}")
    assert (
        answer.headers["content-security-policy"] == "sandbox allow-scripts; frame-ancestors 'self'"
    )
    [policy] = re.findall(
        r'<meta http-equiv="Content-Security-Policy" content="([^"]+)">', answer.text[:2000]
    )
    directives = dict(part.split(" ", 1) for part in policy.split("; "))
    assert directives.keys() == {"default-src", "script-src", "style-src"}
    assert directives["default-src"] == "'none'"
    assert re.fullmatch(r"'sha256-[^']+'", directives["script-src"])


def test_assets_are_kept_for_ever_and_compressed(server: Server, page: Path) -> None:
    """Their names change with their content."""
    for asset in (page / "assets").iterdir():
        answer = server.http.get(f"/assets/{asset.name}")
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert answer.headers["content-encoding"] == "gzip"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.content == asset.read_bytes()
    plain = server.http.get("/prism.svg", headers={"accept-encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert plain.headers["content-type"] == "image/svg+xml"


@pytest.mark.parametrize(
    "path",
    ["/assets/nothing.js", "/assets/..%2Findex.html", "/assets/%00.js", "/assets/.hidden.js"],
)
def test_only_files_of_the_page_are_served(server: Server, path: str) -> None:
    """Whatever is asked for in their place is not found."""
    answer = server.http.get(path)
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"


def test_the_tour_offers_its_scenarios() -> None:
    """Whatever the file beside the app offers is one of them."""
    folder = Path(__file__).parent.parent.parent / "src" / "adk_prism" / "apps" / "tour"
    offered = json.loads((folder / "prompts.json").read_text())["prompts"]
    known = [{"prompt": s.example, "shows": s.shows} for s in SCENARIOS]
    assert [prompt for prompt in offered if prompt not in known] == []


def test_apps_and_conversations_are_listed(odd_server: Server) -> None:
    """An app that fails is listed with a safe error; a conversation by its first words, the latest first."""
    for name in ("broken", "parrot"):
        assert odd_server.http.get(f"/api/apps/{name}").status_code == 200
    apps = {app["name"]: app for app in odd_server.http.get("/api/apps").json()}
    assert "Reference:" in apps["broken"]["error"]
    assert "operator" not in json.dumps(apps)
    assert apps["parrot"]["offline"]
    assert apps["parrot"]["models"] == ["parrot-offline"]
    assert apps["parrot"]["live"]
    for chat, text in (("first", "one  two"), ("second", "three")):
        message = {"id": chat, "role": "user", "parts": [{"type": "text", "text": text}]}
        odd_server.http.post("/api/chat/parrot", json={"id": chat, "messages": [message]})
    found = odd_server.http.get("/api/conversations?app=parrot&limit=2").json()
    assert [(one["session"], one["title"]) for one in found] == [
        ("second", "three"),
        ("first", "one two"),
    ]
    assert odd_server.http.get("/api/conversations?limit=0").status_code in (400, 422)


def test_the_pages_own_tests(node: Node) -> None:
    """Its pure parts, in vitest."""
    vitest = WEB / "node_modules" / "vitest" / "vitest.mjs"
    assert vitest.is_file(), "web/node_modules is missing: run the tests through `make test`"
    command = [node.binary, vitest, "run", "--reporter=dot"]
    done = subprocess.run(command, cwd=WEB, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


def test_a_prefix_is_in_no_file(page: Path) -> None:
    """Every address is relative to where the page lies."""
    document = (page / "index.html").read_text()
    assert re.findall(r'(?:src|href)="(?!\./)', document) == []
    assert httpx.URL("http://host/prefix/").join("./assets/x.js").path == "/prefix/assets/x.js"
