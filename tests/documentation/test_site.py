"""The documentation site as `make docs` builds it: whole, and from no other host."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from website.agents import write
from website.links import problems
from website.places import ROOT
from website.stage import stage

ZENSICAL = ROOT / ".venv" / "docs" / "bin" / "zensical"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site in a folder of its own."""
    build = tmp_path_factory.mktemp("build")
    stage(build)
    command = [ZENSICAL, "build", "--strict", "--config-file", build / "mkdocs.yml"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    write(build)
    return build / "site"


def test_every_link_and_anchor_leads_somewhere(site: Path) -> None:
    """And nothing is loaded from another host."""
    assert list(problems(site)) == []
    assert len(list(site.rglob("*.html"))) > 80


@pytest.mark.parametrize(
    ("page", "says"),
    [
        ("commands", "--fail-on"),
        ("settings", "ADK_PRISM_ALLOW_ORIGIN"),
        ("http", "/api/runs/{run}/feedback"),
        ("http", "WS /api/live/{"),
        ("python", "Return an ADK tool that the client runs."),
    ],
)
def test_the_references_come_from_the_code(site: Path, page: str, says: str) -> None:
    assert says in (site / "reference" / f"{page}.html").read_text(encoding="utf-8")


def test_coding_agents_find_every_page_as_markdown(site: Path) -> None:
    """Links of `llms.txt` lead to Markdown; the whole has the guides and the references, and no history."""
    index = (site / "llms.txt").read_text(encoding="utf-8")
    linked = re.findall(r"\]\(([^)#]+)", index)
    assert len(linked) > 40
    assert all((site / name).is_file() and name.endswith(".md") for name in linked)
    whole = (site / "llms-full.txt").read_text(encoding="utf-8")
    for said in ("# A `useChat` front end", "--fail-on", "ADK_PRISM_ALLOW_ORIGIN"):
        assert said in whole
    assert "# Status" not in whole
    assert "<!-- built:" not in whole


@pytest.mark.parametrize(
    ("html", "problem"),
    [
        ('<a href="gone.html">', "index.html links to gone.html, which is not there"),
        ('<a href="#gone">', "index.html links to #gone, which is not there"),
        ('<script src="https://cdn.example/x.js">', "index.html loads https://cdn.example/x.js"),
        ('<a href="https://example.com"><h1 id="a">', None),
    ],
)
def test_what_is_wrong_is_found(tmp_path: Path, html: str, problem: str | None) -> None:
    (tmp_path / "index.html").write_text(html)
    assert list(problems(tmp_path)) == ([problem] if problem else [])
