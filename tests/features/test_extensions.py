"""The seam between the kernel and its features: each can be left out, and a broken one costs only itself."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from fastapi import APIRouter
from google.adk.agents import LlmAgent
from google.adk.tools import FunctionTool
from tests.adk.scripted import Scripted, call
from tests.server.answering import asked, chat, chunks, decided, said
from tests.server.local_server import APP, SESSION, LocalServer, agent, local_server

from adk_prism import extension, features
from adk_prism.errors import UsageError
from adk_prism.extension import Command, Extension, LogKind, Served, Warn, chosen, installed
from adk_prism.log.contract import RunLog
from adk_prism.log.entry import ModelCalled
from adk_prism.log.from_url import open_log
from adk_prism.log.memory import MemoryLog
from adk_prism.log.sqlite.store import SqliteLog
from adk_prism.server.settings import Settings

Json = dict[str, Any]
FEATURES = sorted(installed().used)
PREFIX = "adk_prism.features."
FOLDER = Path(features.__file__ or "").parent
PROTOCOLS = ("adk", "ai-sdk", "ag-ui", "studio")


def erase(page: str) -> Json:
    """Erase a page."""
    return {"erased": page}


def careful() -> LlmAgent:
    """Return an agent that asks before it erases."""
    model = Scripted.saying(call("erase", "c1", page="1"), "Done.", "Done again.", "And again.")
    return agent(model, tools=[FunctionTool(erase, require_confirmation=True)])


def everything_that_needs(name: str) -> set[str]:
    """Return a feature and all that cannot work without it."""
    gone = {name}
    while (
        more := {each.name for each in installed().used.values() if gone & set(each.requires)}
        - gone
    ):
        gone |= more
    return gone


async def check_kernel(server: LocalServer) -> None:
    """Ask, approve, regenerate; then read the run in every protocol, whole and resumed."""
    prompt = said("Erase page 1")
    message = await asked(server, "Erase page 1")
    answered = await chat(server, prompt, decided(message, "erase", True))
    assert "tool-output-available" in [chunk["type"] for chunk in chunks(answered)]
    again = await chat(server, prompt, trigger="regenerate-message", messageId=message["id"])
    assert again.status_code == 200, again.text
    versions = await server.client.get(f"/api/chat/{APP}/{SESSION}/versions")
    assert len(versions.json()[0]) == 2
    run = again.headers["x-prism-run"]
    for protocol in PROTOCOLS:
        path = f"/api/runs/{run}/stream?as={protocol}"
        whole = (await server.client.get(path)).text
        blocks = [block for block in whole.split("\n\n") if block.startswith("id: ")]
        first = blocks[0].splitlines()[0].removeprefix("id: ")
        rest = (await server.client.get(path, headers={"Last-Event-ID": first})).text
        assert blocks[0] + "\n\n" + rest == whole, protocol


@pytest.mark.parametrize("name", ["", *FEATURES])
async def test_the_kernel_works_without(name: str) -> None:
    """Without all features, and without each of them and what needs it: the rest of the routes is there."""
    gone = everything_that_needs(name) if name else set(FEATURES)
    async with local_server(careful(), without=tuple(gone)) as server:
        await check_kernel(server)
        setup = (await server.client.get("/api/setup")).json()
        assert setup["features"] == sorted(set(FEATURES) - gone)
        assert [report for report in server.reports if report.kind == "feature left out"] == []


async def test_without_model_calls_runs_have_none() -> None:
    """Nothing of them is recorded: neither requests nor times and tokens."""
    gone = tuple(everything_that_needs("model_calls"))
    async with local_server(
        agent(Scripted.saying("Hello.")), without=gone, model_calls="full"
    ) as server:
        entries = await server.entries(await server.say("Hi"))
    assert not any(isinstance(entry.record, ModelCalled) for entry in entries)


@pytest.mark.parametrize("name", FEATURES)
def test_what_another_feature_needs_cannot_be_left_out_alone(name: str) -> None:
    """The refusal names both."""
    needing = sorted(each.name for each in installed().used.values() if name in each.requires)
    if not needing:
        assert name not in chosen([name]).used
        return
    with pytest.raises(UsageError) as refused:
        chosen([name])
    assert name in refused.value.detail
    assert any(f"--without {each}" in refused.value.detail for each in needing)


@pytest.mark.parametrize("name", FEATURES)
def test_a_feature_imports_only_features_that_it_requires(name: str) -> None:
    """And what it requires it imports: a need that is gone is not kept."""
    imported: set[str] = set()
    for path in (FOLDER / name).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PREFIX):
                imported.add((node.module or "").removeprefix(PREFIX).split(".")[0])
    assert imported - {name} == set(installed().used[name].requires)


def test_an_unknown_feature_is_refused() -> None:
    """With the names of those that there are."""
    with pytest.raises(
        UsageError,
        match="there is no such feature; known: a2a, app_graph, app_rules, artifacts, audit",
    ):
        chosen(["serach"])


# --------------------------------------------------------------------------- other people's


class Point(EntryPoint):
    """An entry point whose object is at hand."""

    def load(self) -> Any:
        """Return it, or raise what importing it raises."""
        found = OTHERS[self.name]
        return found() if callable(found) else found


def _breaks() -> None:
    raise ImportError("No module named 'nothing'")


def _claims_route(_: Any) -> Served:
    router = APIRouter()
    router.get("/api/runs/{run}")(lambda run: run)
    return Served(routers=[router])


def _fails(_: Any) -> Served:
    raise ZeroDivisionError("division by zero")


def _works(_: Any) -> Served:
    router = APIRouter()
    router.get("/api/hello")(lambda: {"hello": "there"})
    return Served(routers=[router])


def _open_other(url: str, warn: Warn) -> RunLog:
    warn("a warning")
    return MemoryLog() if url == "other:name" else SqliteLog(url)


OTHERS: dict[str, Extension | Callable[[], None] | str] = {
    "broken": _breaks,
    "text": "no extension",
    "misnamed": Extension(name="other", summary=""),
    "needy": Extension(name="needy", summary="", requires=("absent",)),
    "usurper": Extension(name="usurper", summary="", commands=(Command("compare", "", "x"),)),
    "kernel_usurper": Extension(
        name="kernel_usurper", summary="", commands=(Command("serve", "", "x"),)
    ),
    "log_usurper": Extension(
        name="log_usurper", summary="", logs={"sqlite": LogKind("sqlite:", _open_other)}
    ),
    "other_log": Extension(
        name="other_log", summary="", logs={"other": LogKind("other:NAME", _open_other)}
    ),
    "router": Extension(name="router", summary="", serve=_claims_route),
    "faulty": Extension(name="faulty", summary="", serve=_fails),
    "hello": Extension(name="hello", summary="says hello", serve=_works),
}
REASONS = {
    "broken": "No module named 'nothing'",
    "text": "it must name an Extension, not str",
    "misnamed": "its `name` is 'other', but the entry point is 'misnamed'",
    "needy": "it needs 'absent'",
    "usurper": "its command 'compare' belongs to compare",
    "kernel_usurper": "its command 'serve' belongs to adk-prism itself",
    "log_usurper": "run logs of sqlite: belong to adk-prism itself",
}


@pytest.fixture
def others(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install extensions of other people beside our own."""
    found = extension.entry_points

    def with_others(group: str) -> list[EntryPoint]:
        points = [Point(name, f"others:{name}", group) for name in OTHERS]
        return [*found(group=group), *points]

    monkeypatch.setattr(extension, "entry_points", with_others)
    installed.cache_clear()
    yield
    installed.cache_clear()


@pytest.mark.usefixtures("others")
def test_a_broken_extension_is_left_out_with_one_line() -> None:
    """Each with its reason; all of ours, and the one that works, are used."""
    found = installed()
    assert {*FEATURES, "other_log", "router", "faulty", "hello"} == found.used.keys()
    for name, reason in REASONS.items():
        [fault] = [each for each in found.faults if repr(name) in each]
        assert reason in fault
        assert "\n" not in fault


@pytest.mark.usefixtures("others")
async def test_a_route_that_is_taken_and_a_feature_that_fails() -> None:
    """Both are reported and left out; the rest serves."""
    async with local_server(careful()) as server:
        await check_kernel(server)
        assert (await server.client.get("/api/hello")).json() == {"hello": "there"}
        left = {each.detail: each for each in server.reports if each.kind == "feature left out"}
        assert "ZeroDivisionError" in left["faulty"].cause
        [taken] = [each for each in left if "GET /api/runs/{run} belongs to" in each]
        assert "'router'" in taken


@pytest.mark.usefixtures("others")
async def test_a_log_of_another_package() -> None:
    """Its scheme is found like ours; the rest of the server does not notice."""
    async with local_server(careful(), log="other:name") as server:
        await check_kernel(server)
        assert "a warning" in [each.detail for each in server.reports]
    with pytest.raises(UsageError, match=r"expected memory:, .*, redis://.* or other:NAME"):
        open_log("unknown:name")


@pytest.mark.usefixtures("others")
def test_every_shown_fault_is_valid_text() -> None:
    """Faults can be shown as JSON, too."""
    assert json.loads(json.dumps(installed().faults))


def test_options_of_a_feature_that_is_left_out_are_refused(tmp_path: Path) -> None:
    """Whoever asks for an audit log must not believe that there is one."""
    with pytest.raises(UsageError, match="--without audit: options of this feature are set"):
        Settings(without=("audit",), audit=str(tmp_path / "audit.jsonl"))
    assert Settings(without=("audit",)).without == ("audit",)
