"""`make test-matrix`: the bundled apps in Chromium and Firefox, at three widths, light and dark.

Every scenario is one view, every panel another.
Each view is opened, checked (nothing thrown, no foreign request, axe finds nothing, nothing is wider than
the window) and photographed into `build/matrix/`. `index.html` there shows all pictures.
The file is named like no test: it takes minutes, and Firefox comes from Debian.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.end_to_end.server import Server, serving

from adk_prism.apps.tour.scenarios import SCENARIOS

ROOT = Path(__file__).parent.parent
PICTURES = ROOT / "build" / "matrix"
PROGRAM = ROOT / "tests" / "web" / "matrix.mjs"
FIREFOX = ROOT / "tests" / "node" / "node_modules" / ".firefox" / "browser.json"
BRIEFING = "Give me a recovery briefing for Cedar Creek Fire"
QUESTION = "What is known about counterfactual explanations?"
ANSWER = '.message[data-role="assistant"] .message-foot'
BRIEFED = "recovery/briefing"
PANEL = "section.panel"
PANELS = {
    **dict.fromkeys(("graph", "state", "proof", "event", "model", "artifacts"), BRIEFED),
    "grounding": "research/plan",
}
"""Each panel beside the chat, and the conversation that fills it."""
QUICKER = {"slow": "slow 0", "long": "long 400", "large file": "large file 30"}
CONVERSATIONS = (
    *(("tour", s.name.replace(" ", "-"), QUICKER.get(s.name, s.example)) for s in SCENARIOS),
    ("recovery", "briefing", BRIEFING),
    ("research", "plan", QUESTION),
)
"""App, session, and what is said in it."""


class View(NamedTuple):
    """A view of the page: its address, and what stands there when it is loaded."""

    name: str
    address: str
    ready: str


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Serve the bundled apps, as `make serve` does."""
    with serving(tmp_path_factory.mktemp("matrix"), agents=None) as found:
        yield found


@pytest.fixture(scope="module")
def views(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Have every conversation once; return a file with the views to open."""
    shutil.rmtree(PICTURES, ignore_errors=True)
    for app, session, text in CONVERSATIONS:
        _say(server, app, session, text)
    views = [
        View("home", "#/", ".card"),
        View("search", "#/search?text=fire", "h1"),
        *(View(f"{app} {at}", f"#/app/{app}/{at}", ANSWER) for app, at, _ in CONVERSATIONS),
        *(View(f"panel {name}", f"#/app/{at}?panel={name}", PANEL) for name, at in PANELS.items()),
        View("panel timeline", f"#/app/{BRIEFED}?panel=timeline", "section.timeline"),
    ]
    file = tmp_path_factory.mktemp("views") / "views.json"
    file.write_text(json.dumps([view._asdict() for view in views]))
    return file


def _say(server: Server, app: str, session: str, text: str) -> None:
    message = {"id": "m1", "role": "user", "parts": [{"type": "text", "text": text}]}
    body = {"id": session, "messages": [message], "trigger": "submit-message"}
    server.http.post(f"/api/chat/{app}", json=body).raise_for_status()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("browser", ["chromium", "firefox"])
def test_every_view(browser: str, scheme: str, server: Server, views: Path) -> None:
    """Nothing is wrong on any of them; a person looks at the pictures."""
    folder = PICTURES / f"{browser}-{scheme}"
    folder.mkdir(parents=True)
    settings = {
        "PRISM_URL": server.url,
        "PRISM_BROWSER": browser,
        "PRISM_SCHEME": scheme,
        "PRISM_VIEWS": str(views),
        "PRISM_FIREFOX": str(FIREFOX),
        "PRISM_PICTURES": str(folder),
    }
    done = subprocess.run(
        ["node", PROGRAM], env=os.environ | settings, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_contact_sheet() -> None:
    """One page with all pictures."""
    pictures = sorted(PICTURES.glob("*/*.png"))
    assert pictures
    figures = "".join(
        f'<figure><a href="{name}"><img loading="lazy" src="{name}" alt=""></a>'
        f"<figcaption>{name.removesuffix('.png')}</figcaption></figure>"
        for name in (file.relative_to(PICTURES).as_posix() for file in pictures)
    )
    style = "body{display:flex;flex-wrap:wrap;gap:8px;font:12px sans-serif}img{height:260px}"
    (PICTURES / "index.html").write_text(
        f"<!doctype html><meta charset=utf-8><title>Matrix</title><style>{style}</style>{figures}"
    )
