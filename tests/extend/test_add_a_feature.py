"""A package adds a feature: the documented one works on the command line and in the server."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.end_to_end.server import serving
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "contribute" / "add-a-feature.md").read_text()
BLOCK = re.compile(r"```(?:python|toml)\n# (\S+)\n(.*?)```", re.DOTALL)
RUN = (sys.executable, "-m", "adk_prism.cli")


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the page's package; return its folder."""
    folder = tmp_path_factory.mktemp("site")
    for name, text in BLOCK.findall(PAGE):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    metadata = folder / f"{project['name']}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: 1.0\n"
    )
    points = project["entry-points"]["adk_prism.extensions"].items()
    lines = [f"{name} = {value}" for name, value in points]
    (metadata / "entry_points.txt").write_text("\n".join(["[adk_prism.extensions]", *lines, ""]))
    return folder


def run_command(package: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": f"{package}{os.pathsep}{ROOT / 'src'}"}
    return subprocess.run([*RUN, *words], env=env, capture_output=True, text=True, timeout=PATIENCE)


def test_it_is_listed(package: Path) -> None:
    """By `doctor`, and its command by `--help`."""
    listed = run_command(package, "doctor").stdout
    assert re.search("^answers +count the answers of an app$", listed, re.MULTILINE)
    assert "count the answers of an app" in run_command(package, "--help").stdout


def test_a_server_has_its_route(package: Path, tmp_path: Path) -> None:
    """Its command asks there."""
    with serving(tmp_path, "--log", "memory:", agents=None, packages=package) as server:
        assert server.http.get("/api/answers/tour").json() == {"answers": 0}
        body = {
            "id": "c",
            "messages": [{"id": "u", "role": "user", "parts": [{"type": "text", "text": "help"}]}],
        }
        assert server.http.post("/api/chat/tour", json=body).status_code == 200
        counted = run_command(package, "answers", "tour", "--url", str(server.http.base_url))
        assert (counted.stdout, counted.stderr) == ("1\n", "")


def test_it_is_left_out(package: Path, tmp_path: Path) -> None:
    """Where the operator says so."""
    words = ("--log", "memory:", "--without", "answers")
    with serving(tmp_path, *words, agents=None, packages=package) as server:
        assert server.http.get("/api/answers/tour").status_code == 404
