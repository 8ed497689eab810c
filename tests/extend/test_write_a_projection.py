"""A package adds a protocol: the documented one works in the CLI, the laws, the server and after a cut."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.end_to_end.server import serving
from tests.patience import PATIENCE
from tests.recordings.library import HERE

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "write-a-projection.md").read_text()
BLOCK = re.compile(r"```(?:python|toml)\n# (\S+)\n(.*?)```", re.DOTALL)
RECORDING = HERE / "tool.jsonl"
OURS = ("adk", "ai-sdk", "studio", "ag-ui", "openai-chat", "openai-responses")
"""The protocols of the kernel, then those of features by name."""
RUN = (sys.executable, "-m", "adk_prism.cli")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Install the page's package; return an environment that has it."""
    folder = tmp_path_factory.mktemp("site")
    for name, text in BLOCK.findall(PAGE):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    _register(folder, project["name"], project["entry-points"]["adk_prism.projections"])
    return _environment(folder)


def _register(folder: Path, name: str, points: dict[str, str]) -> None:
    """Write what an installer writes for an entry point."""
    metadata = folder / f"{name}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [f"{each} = {value}" for each, value in points.items()]
    (metadata / "entry_points.txt").write_text("\n".join(["[adk_prism.projections]", *lines, ""]))


def _environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT / 'src'}"}


def _said(env: dict[str, str], *words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*RUN, *map(str, words)], env=env, capture_output=True, text=True, timeout=PATIENCE
    )


def _frames(text: str) -> list[dict[str, str]]:
    return [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]


def test_a_recording_is_replayed_and_resumed(installed: dict[str, str]) -> None:
    """Whole, and after a position."""
    whole = _said(installed, "replay", RECORDING, "--as", "captions")
    assert (whole.returncode, whole.stderr) == (0, "")
    kinds = [frame["kind"] for frame in _frames(whole.stdout)]
    assert set(kinds) == {"text", "tool", "end"}
    assert _frames(whole.stdout)[-1] == {"kind": "end", "outcome": "finished"}
    blocks = [block + "\n\n" for block in whole.stdout.split("\n\n")[:-1]]
    position = blocks[0].splitlines()[0].removeprefix("id: ")
    rest = _said(installed, "replay", RECORDING, "--as", "captions", "--after", position)
    assert blocks[0] + rest.stdout == whole.stdout


def test_the_laws_are_checked(installed: dict[str, str]) -> None:
    """Those that need no grammar: deterministic, resumable, prefix-stable."""
    done = _said(installed, "laws", RECORDING)
    assert (done.returncode, done.stderr) == (0, "")
    assert "captions" in done.stdout


def test_a_run_is_written_in_it(installed: dict[str, str], tmp_path: Path) -> None:
    """`adk-prism run --as`, with the bundled app."""
    done = _said(installed, "run", "tour", "help", "--as", "captions")
    assert done.returncode == 0, done.stderr
    assert _frames(done.stdout)[-1] == {"kind": "end", "outcome": "finished"}


def test_a_server_speaks_it(
    installed: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Started in it, cut after each frame and resumed; a bad body gets the protocol's own refusal."""
    monkeypatch.setenv("PYTHONPATH", installed["PYTHONPATH"])
    with serving(tmp_path, agents=None) as server:
        client = server.http
        listed = {each["name"]: each for each in client.get("/api/protocols").json()}
        assert list(listed) == [*OURS[:4], "captions", *OURS[4:]]
        assert listed["captions"]["startsRuns"]
        answer = client.post("/api/protocols/captions/tour", json={"ask": "tool"})
        assert answer.status_code == 200
        assert [frame["kind"] for frame in _frames(answer.text)][-1] == "end"
        run = answer.headers["x-prism-run"]
        blocks = [block + "\n\n" for block in answer.text.split("\n\n")[:-1]]
        placed = [block for block in blocks if block.startswith("id: ")]
        for index, block in enumerate(placed):
            position = block.splitlines()[0].removeprefix("id: ")
            rest = client.get(
                f"/api/runs/{run}/stream",
                params={"as": "captions"},
                headers={"Last-Event-ID": position},
            )
            assert rest.text == "".join(placed[index + 1 :])
        refused = client.post("/api/protocols/captions/tour", json={"say": "tool"})
        assert (refused.status_code, '"ask"' in refused.json()["detail"]) == (422, True)


BROKEN = {
    "absent": "no_such_module_anywhere:SPEC",
    "half": "half_a_spec:SPEC",
    "other": "half_a_spec:OTHER",
    "leaves": "leaves_at_once:SPEC",
    "adk": "half_a_spec:TAKEN",
}
HALF = """
from adk_prism.extend import ProtocolSpec
from adk_prism.protocols.adk import SPEC as TAKEN

OTHER = {"name": "other"}


def __getattr__(name):
    if name == "SPEC":
        return ProtocolSpec(name="half", summary="lacks most of it")
    raise AttributeError(name)
"""


def test_a_bad_entry_point_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Absent, half, of another type, under a name that is taken, or one that exits: the rest serves."""
    (tmp_path / "half_a_spec.py").write_text(HALF)
    (tmp_path / "leaves_at_once.py").write_text("raise SystemExit")
    _register(tmp_path, "broken", BROKEN)
    env = _environment(tmp_path)
    done = _said(env, "replay", RECORDING, "--as", "half")
    assert done.returncode == 2
    assert "'half'" in done.stderr
    assert "Missing required argument" in done.stderr
    assert _said(env, "replay", RECORDING, "--as", "adk").returncode == 0
    monkeypatch.setenv("PYTHONPATH", env["PYTHONPATH"])
    with serving(tmp_path, agents=None) as server:
        listed = [each["name"] for each in server.http.get("/api/protocols").json()]
        assert listed == [*OURS]
        said = "".join(server.lines)
    assert all(f"'{name}'" in said for name in BROKEN)
