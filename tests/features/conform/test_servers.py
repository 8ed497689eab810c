"""Servers that people run: ours in every protocol, ADK's own, and the real npm clients as judges."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest
from tests.end_to_end.server import Server, free_port, serving, serving_with_adk
from tests.patience import PATIENCE

if TYPE_CHECKING:
    from tests.conftest import Node

from adk_prism.cli import FAILURE, USAGE, main
from adk_prism.features.conform.checks import Options
from adk_prism.features.conform.conformance import Report, judge

PROMPTS = (
    "tool", "reasoning", "exception", "approval", "client tool", "mixed batch", "workflow", "input request",
    "state",
)  # fmt: skip
ROOT = Path(__file__).parents[3]
NODE_MODULES = ROOT / "tests" / "node" / "node_modules"
PACKAGES = {"ai-sdk": ("ai", "ai-7"), "ag-ui": ("@ag-ui/client", "ag-ui-client-1")}


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Our server of the tour."""
    with serving(tmp_path_factory.mktemp("served"), "--log", "memory:") as found:
        yield found


def wrong(report: Report) -> dict[str, str]:
    return {each.check.id: str(each.faults) for each in report.results if each.faults}


async def judged(protocol: str, url: str, *prompts: str, approve: bool = False) -> Report:
    options = Options(url=url, app="tour", prompts=prompts, approve=approve, timeout=PATIENCE)
    return await judge(protocol, options)


@pytest.mark.parametrize("protocol", ["ai-sdk", "ag-ui", "adk", "studio", "openai"])
async def test_our_server_conforms(ours: Server, protocol: str) -> None:
    """No fault and no advice; everything but the npm client is seen. Approvals are denied, or given."""
    report = await judged(protocol, ours.url, *PROMPTS)
    assert wrong(report) == {}
    missing = [each.check.id for each in report.results if each.verdict == "not seen"]
    assert missing == ["npm-client"]
    assert wrong(await judged(protocol, ours.url, "approval", approve=True)) == {}


async def test_adks_own_server_conforms(tmp_path: Path) -> None:
    """Its streams say nothing of caching, and nothing else is to be said."""
    with serving_with_adk(tmp_path) as url:
        report = await judged("adk", url, *PROMPTS)
    assert report.conforms
    assert wrong(report).keys() == {"cache-control"}


async def test_ag_ui_adk(tmp_path: Path) -> None:
    """Its one fault: the arguments of a call that is streamed, put together, are no JSON."""
    with serving_ag_ui_adk(tmp_path) as url:
        options = Options(url=url, prompts=("tool", "exception", "approval"), timeout=PATIENCE)
        assert wrong(await judge("ag-ui", options)) == {}
        options = Options(url=url, prompts=("streamed arguments",), timeout=PATIENCE)
        assert wrong(await judge("ag-ui", options)).keys() == {"call-arguments"}


@contextmanager
def serving_ag_ui_adk(folder: Path) -> Iterator[str]:
    """Serve the tour with ag-ui-adk, in a process that has its packages."""
    packages = ROOT / ".venv" / "ag-ui-adk"
    assert (packages / "ag_ui_adk").is_dir(), "run `make .venv/ag-ui-adk/.installed`"
    paths = [str(ROOT), str(packages), os.environ.get("PYTHONPATH", "")]
    models = {"ADK_PRISM_MODEL": "offline", "ADK_PRISM_OFFLINE_DELAY": "0"}
    environment = {**os.environ, **models, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    port = free_port()
    app = ["-m", "uvicorn", "--factory", "tests.ag_ui_adk.__main__:theirs", "--port", str(port)]
    with (folder / "server.log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-W", "ignore", *app],
            cwd=folder,
            env=environment,
            stdout=log,
            stderr=log,
        )
    try:
        while not _listens(port):
            assert process.poll() is None, (folder / "server.log").read_text()
            time.sleep(0.05)  # between two looks; nothing depends on how long
        yield f"http://127.0.0.1:{port}/"
    finally:
        process.kill()
        process.wait()


def _listens(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.parametrize("sdk", ["ai-6", "ai-7"])
async def test_the_ai_sdks_own_server(sdk: str, node: Node) -> None:
    """What the SDK itself sends breaks no rule: it calls tools, asks for approvals and fails."""
    prompts = ("hello", "tool", "approval", "error")
    with serving_ai_sdk(node, sdk) as url:
        for approve in (False, True):
            options = Options(url=url, prompts=prompts, approve=approve, timeout=PATIENCE)
            assert wrong(await judge("ai-sdk", options)) == {}


@contextmanager
def serving_ai_sdk(node: Node, sdk: str) -> Iterator[str]:
    """Serve with a release of the AI SDK itself, in Node."""
    command = [node.binary, "reference_server.mjs", sdk]
    with subprocess.Popen(command, cwd=node.folder, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}/api/chat"
        finally:
            process.kill()


@pytest.mark.parametrize("protocol", PACKAGES)
def test_the_real_clients(
    ours: Server, protocol: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are found in the folder's packages, and read what the server says, errors included."""
    name, package = PACKAGES[protocol]
    link = tmp_path / "node_modules" / name
    link.parent.mkdir(parents=True)
    link.symlink_to((NODE_MODULES / package).resolve())
    words = ["conform", ours.url, "--as", protocol, "--app", "tour", "--client", str(tmp_path)]
    assert main([*words, "--prompt", "tool", "--prompt", "exception"]) == 0
    assert "ok        npm-client" in capsys.readouterr().out


def test_reports(ours: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A server's first app is tried; JSON and JUnit say the same as the text, and no secret."""
    file, token = tmp_path / "report.xml", "Bearer s3cret-s3cret"
    words = ["conform", ours.url, "--as", "adk", "--header", f"authorization={token}"]
    assert main([*words, "--json", "--junit", str(file), "--except", "run"]) == 0
    out = capsys.readouterr().out
    report = json.loads(out)
    assert report["conforms"] is True
    verdicts = {each["id"]: each["verdict"] for each in report["checks"]}
    assert verdicts["status"] == "passed"
    assert verdicts["confirmation"] == "not seen"
    assert verdicts["run"] == "left out"
    suite = ElementTree.parse(file).getroot()
    assert suite.get("failures") == "0"
    skipped = {test.get("name") for test in suite if test.find("skipped") is not None}
    assert skipped == {key for key, value in verdicts.items() if value in ("not seen", "left out")}
    assert "s3cret" not in out + file.read_text()


def test_a_server_that_speaks_something_else(
    ours: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 1, with what was expected, what came, and where to read about it."""
    url, file = f"{ours.url}/api/ag-ui/tour", tmp_path / "report.xml"
    assert main(["conform", url, "--as", "ai-sdk", "--junit", str(file)]) == FAILURE
    out = capsys.readouterr().out
    assert "FAILED    status               A valid request is answered with 200." in out
    assert "          came: HTTP 4" in out
    assert "does not conform: " in out
    assert ElementTree.parse(file).getroot().find(".//failure") is not None


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["http://127.0.0.1:{port}"], "could not be tried: http://127.0.0.1:{port}"),
        (["{ours}", "--app", "nobody"], "there is no such address (HTTP 404)"),
        (["ftp://x"], "URL must begin with http:// or https://"),
        ([], "conform needs the URL of a server"),
        (["{ours}", "--except", "nonsense"], "unknown check, 'nonsense'; see --list"),
        (["{ours}", "--header", "nonsense"], "--header must be NAME=VALUE"),
        (["{ours}", "--client", "{folder}"], "--client needs the npm package ai in node_modules"),
    ],
    ids=["no server", "no app", "no http", "no url", "except", "header", "client"],
)
def test_what_cannot_be_tried(
    ours: Server,
    words: list[str],
    says: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Exit 2, and one line that says why."""
    values = {"ours": ours.url, "port": free_port(), "folder": tmp_path}
    given = [word.format(**values) for word in words]
    assert main(["conform", *given, "--as", "ai-sdk"]) == USAGE
    err = capsys.readouterr().err
    assert says.format(**values) in err
    assert err.count("\n") == 1


def test_the_list_of_checks(capsys: pytest.CaptureFixture[str]) -> None:
    """Each with its level and its rule, without a server."""
    assert main(["conform", "--as", "ag-ui", "--list"]) == 0
    out = capsys.readouterr().out
    assert "run-ids              should  RUN_STARTED and RUN_FINISHED name the threadId" in out
