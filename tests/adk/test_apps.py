"""Apps: found as `adk web` finds them, loaded once, failing alone."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from google.adk.agents import LlmAgent, SequentialAgent
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import InMemoryRunner, Runner
from google.adk.tools.agent_tool import AgentTool
from google.adk.workflow import Workflow
from tests.adk.own_service import OwnSessionService
from tests.adk.runs import Reports
from tests.adk.scripted import Scripted

from adk_prism.adk.agents import list_agents, root_kind
from adk_prism.adk.app_folder import APPS_PACKAGE, bundled_folders, install_hint
from adk_prism.adk.apps import Apps
from adk_prism.adk.client_tools import declared_tools
from adk_prism.adk.services import Services, ServiceUris, open_services
from adk_prism.adk.session_store import storage_of
from adk_prism.errors import AppFailed, NotFound, UsageError
from adk_prism.features.app_graph.graph import read_graph
from adk_prism.log.entry import Agent

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*deprecated.*:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*EXPERIMENTAL.*:UserWarning"),
]

_AGENT = """
from google.adk.agents import LlmAgent
root_agent = LlmAgent(name="greeter", model="gemini-2.5-flash", tools=[len, max])
"""
_APP = """
from google.adk.agents import LlmAgent
from google.adk.apps.app import App, ResumabilityConfig
app = App(
    name="other_name",
    root_agent=LlmAgent(name="root", model="gemini-2.5-flash"),
    resumability_config=ResumabilityConfig(is_resumable=True),
)
"""
_BROKEN = """
raise RuntimeError("password hunter2 in /srv/secret/place")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder of apps; ADK imports them as top-level modules, which the test takes back."""
    apps = {
        "prism_test_agent": _AGENT,
        "prism_test_app": _APP,
        "prism_test_broken": _BROKEN,
        "prism_test_leaves": "raise SystemExit(3)",
        "prism_test_empty": "",
    }
    for name, code in apps.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
        (tmp_path / name / "agent.py").write_text(code)
    (tmp_path / "not-an-app").mkdir()
    (tmp_path / "not-an-app" / "agent.py").write_text(_AGENT)
    (tmp_path / "notes").mkdir()
    (tmp_path / "prism_test_module.py").write_text("raise AssertionError('imported')")
    path = list(sys.path)
    yield tmp_path
    sys.path[:] = path
    for name in [name for name in sys.modules if name.startswith("prism_test_")]:
        del sys.modules[name]


@pytest.fixture
def services(tmp_path: Path) -> Services:
    uris = ServiceUris(sessions="memory:", artifacts="memory:")
    return open_services(uris, data_dir=tmp_path)


def test_names_are_folders_that_can_be_apps(folder: Path, services: Services) -> None:
    """Those that fail to load are there; folders without an agent and bad names are not."""
    assert Apps.of_folder(folder, services).names() == [
        "prism_test_agent",
        "prism_test_app",
        "prism_test_broken",
        "prism_test_empty",
        "prism_test_leaves",
    ]


@pytest.mark.parametrize("says", ["request", "never"])
async def test_a_module_lets_clients_bring_tools(
    folder: Path, services: Services, says: str
) -> None:
    """A bare agent has no place for plugins, so its module says it."""
    module = folder / "prism_test_agent" / "agent.py"
    module.write_text(f'{module.read_text()}\nclient_tools = "{says}"\n')
    runner = await Apps.of_folder(folder, services).load("prism_test_agent")
    assert (declared_tools(runner) is not None) == (says == "request")


async def test_an_agent_is_wrapped_and_an_app_is_taken(folder: Path, services: Services) -> None:
    """The Runner is named as the folder, keeps the app's settings, and is built once."""
    apps = Apps.of_folder(folder, services)
    runner = await apps.load("prism_test_agent")
    assert runner is await apps.load("prism_test_agent") is apps.runner("prism_test_agent")
    assert (runner.app_name, runner.agent.name) == ("prism_test_agent", "greeter")
    assert runner.session_service is services.sessions
    assert apps.agents("prism_test_agent") == [
        Agent(name="greeter", model="gemini-2.5-flash", tools=2)
    ]
    assert (await apps.load("prism_test_app")).app_name == "prism_test_app"
    assert [apps.resumable(name) for name in ("prism_test_agent", "prism_test_app")] == [
        False,
        True,
    ]


@pytest.mark.parametrize("name", ["prism_test_broken", "prism_test_leaves", "prism_test_empty"])
async def test_an_app_that_fails_fails_alone(folder: Path, services: Services, name: str) -> None:
    """The client gets one safe line with a reference, every time; the operator is told once."""
    reports = Reports()
    apps = Apps.of_folder(folder, services, report=reports)
    details = []
    for _ in range(2):
        with pytest.raises(AppFailed) as raised:
            await apps.load(name)
        details.append(raised.value.detail)
    (told,) = reports
    assert details == [details[0]] * 2
    assert told.correlation in details[0]
    assert "\n" not in details[0]
    assert "/" not in details[0]
    assert "hunter2" not in details[0]
    assert (told.kind, told.app) == ("app failed", name)
    assert "Traceback" in told.cause
    assert await apps.load("prism_test_agent")


@pytest.mark.parametrize(
    "name",
    ["nobody", "not-an-app", "notes", "../x", "os", "__x", "", "a\0b", "prism_test_module"],
)
async def test_a_name_that_is_not_an_app_imports_nothing(
    folder: Path, services: Services, name: str
) -> None:
    """A request can never name a module to import."""
    before = set(sys.modules)
    with pytest.raises(NotFound, match="There is no app"):
        await Apps.of_folder(folder, services).load(name)
    assert set(sys.modules) == before


async def test_a_folder_that_is_one_app(folder: Path, services: Services) -> None:
    """As `adk web` does: the folder of an agent itself may be named."""
    apps = Apps.of_folder(folder / "prism_test_agent", services)
    assert apps.names() == ["prism_test_agent"]
    assert (await apps.load("prism_test_agent")).agent.name == "greeter"


def test_a_folder_that_is_not_there(tmp_path: Path, services: Services) -> None:
    """The caller is told what is expected."""
    with pytest.raises(UsageError, match="one subfolder per app"):
        Apps.of_folder(tmp_path / "none", services)


def test_the_bundled_apps_are_the_default(services: Services) -> None:
    """They are found like anybody's."""
    assert Apps.of_folder(None, services).names() == ["recovery", "research", "tour"]


def test_without_adk_prism_apps_the_tour_is_served_alone(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever asks for one of the others is told how to install it."""
    assert install_hint("recovery") == ""
    monkeypatch.setitem(sys.modules, APPS_PACKAGE, None)
    bundled_folders.cache_clear()
    try:
        assert Apps.of_folder(None, services).names() == ["tour"]
        assert "adk-prism[apps]" in install_hint("recovery")
        assert install_hint("support") == ""
    finally:
        bundled_folders.cache_clear()


async def test_runners_of_the_host_program() -> None:
    """They are served under their key, with their sessions at hand, and left as they are."""
    runner = InMemoryRunner(LlmAgent(name="root", model=Scripted()), app_name="support")
    unnamed = InMemoryRunner(LlmAgent(name="root", model=Scripted()))
    apps = Apps.of_runners({"support": runner, "desk": unnamed})
    assert apps.names() == ["desk", "support"]
    assert apps.runner("support").agent is runner.agent
    assert apps.runner("desk").app_name == "desk"
    assert unnamed.app_name == "InMemoryRunner"
    assert storage_of(apps.runner("desk").session_service) is unnamed.session_service
    own = Runner(agent=runner.agent, app_name="own", session_service=OwnSessionService())
    assert Apps.of_runners({"own": own}).runner("own") is own
    with pytest.raises(NotFound):
        apps.runner("other")
    with pytest.raises(UsageError, match="is not a valid app name"):
        Apps.of_runners({"my-app": runner})
    await apps.close()


async def test_closing_reports_what_does_not_close(folder: Path, services: Services) -> None:
    """A plugin that fails to close is the operator's to know, and stops nobody."""
    reports = Reports()
    apps = Apps.of_folder(folder, services, report=reports)
    closed: list[str] = []

    class Stuck(BasePlugin):
        async def close(self) -> None:
            closed.append(self.name)
            raise ValueError("stuck")

    for name in ("prism_test_agent", "prism_test_app"):
        (await apps.load(name)).plugin_manager.register_plugin(Stuck(name=name))
    await apps.close()
    await apps.close()
    assert sorted(closed) == ["prism_test_agent", "prism_test_app"]
    assert [told.kind for told in reports] == ["app not closed"] * 2


def test_agents_are_listed_with_the_model_they_use() -> None:
    """Sub-agents inherit their parent's; workflow nodes and agents inside tools count."""
    expert = LlmAgent(name="expert", model="m2", tools=[len])
    child = LlmAgent(name="child", description="d")
    root = LlmAgent(
        name="root", model="m1", sub_agents=[child], tools=[AgentTool(agent=expert), max]
    )
    assert list_agents(root) == [
        Agent(name="root", model="m1", tools=2),
        Agent(name="child", model="m1"),
        Agent(name="expert", model="m2", tools=1),
    ]

    def step(node_input: str) -> str:
        return node_input

    flow = Workflow(name="flow", edges=[("START", step, LlmAgent(name="n", model="m3"))])
    assert list_agents(flow) == [Agent(name="flow"), Agent(name="n", model="m3")]
    legacy = SequentialAgent(name="seq", sub_agents=[LlmAgent(name="a", model=Scripted())])
    assert list_agents(legacy) == [Agent(name="seq"), Agent(name="a", model="scripted")]
    assert [root_kind(node) for node in (root, flow, legacy)] == ["llm", "workflow", "legacy"]


def test_an_agent_without_a_model_asks_the_one_that_adk_would(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its nearest ancestor's, else ADK's default; one in a tool or a workflow has no ancestor."""
    inside, child, grandchild = (LlmAgent(name=name) for name in ("inside", "child", "grandchild"))
    between = SequentialAgent(name="between", sub_agents=[grandchild])
    root = LlmAgent(
        name="root", model="m1", sub_agents=[child, between], tools=[AgentTool(agent=inside)]
    )
    alone = LlmAgent(name="alone")
    flow = Workflow(name="flow", edges=[("START", LlmAgent(name="step"))])
    for default in (LlmAgent.DEFAULT_MODEL, "gemini-own-default"):
        monkeypatch.setattr(LlmAgent, "_default_model", default)
        found = {a.name: a.model for r in (root, alone, flow) for a in list_agents(r)}
        assert found == {
            "root": "m1",
            "child": "m1",
            "between": "",
            "grandchild": "m1",
            "inside": default,
            "alone": default,
            "flow": "",
            "step": default,
        }
        assert alone.canonical_model.model == default
        assert inside.canonical_model.model == default
        drawn = {node.name: node.model for node in read_graph(root).nodes}
        assert (drawn["inside"], drawn["grandchild"]) == (default, "m1")
