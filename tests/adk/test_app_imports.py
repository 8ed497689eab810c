"""Imports of apps: on first use, once, away from the loop, each with its own `.env`, tried again."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path

import pytest
from tests.adk.app_folders import AGENT, GATED, restored, seen, write_app
from tests.adk.runs import Reports, say
from tests.loopback_gemini import chunk, serve_gemini

from adk_prism.adk.apps import Apps
from adk_prism.adk.services import Services, ServiceUris, open_services
from adk_prism.errors import AppFailed
from adk_prism.log.entry import Origin

pytestmark = pytest.mark.filterwarnings("ignore:.*EXPERIMENTAL.*:UserWarning")

NEEDS_LOOP = """
import asyncio
from google.adk.agents import LlmAgent
LOOP = asyncio.get_running_loop()
root_agent = LlmAgent(name="greeter", model="m")
"""


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    with restored():
        yield


@pytest.fixture
def services(tmp_path_factory: pytest.TempPathFactory) -> Services:
    uris = ServiceUris(sessions="memory:", artifacts="memory:")
    return open_services(uris, data_dir=tmp_path_factory.mktemp("data"))


async def _run(apps: Apps, name: str) -> list[str]:
    """Run an app once, in a session of its own; return its texts."""
    runner, origin = await apps.load(name), Origin(app=name, user="u", session=os.urandom(4).hex())
    await apps.sessions(name).create(origin)
    texts: list[str] = []
    call = runner.run_async(user_id="u", session_id=origin.session, new_message=say("hello"))
    async with aclosing(call) as events:
        async for event in events:
            texts += [part.text or "" for part in (event.content and event.content.parts) or ()]
    return texts


async def test_the_loop_goes_on_while_an_app_is_imported(
    tmp_path: Path, services: Services
) -> None:
    """Many who ask for it first wait for one import, and a client that leaves stops nobody."""
    slow = write_app(tmp_path, "prism_test_slow", GATED + AGENT)
    apps = Apps.of_folder(tmp_path, services)
    asking = [asyncio.create_task(apps.load("prism_test_slow")) for _ in range(20)]
    await seen(slow / "begun")
    asking.pop().cancel()
    # Whatever the loop does is done before the import is let go.
    for _ in range(100):
        await asyncio.sleep(0)
    assert not any(task.done() for task in asking)
    assert not apps.is_loaded("prism_test_slow")
    with pytest.raises(RuntimeError, match="was not loaded"):
        apps.runner("prism_test_slow")
    (slow / "go").touch()
    runners = await asyncio.gather(*asking)
    assert len(set(map(id, runners))) == 1
    assert (slow / "begun").read_text() == "x"


async def test_a_failed_app_is_tried_again_when_its_files_change(
    tmp_path: Path, services: Services
) -> None:
    """Not before: the operator is told once for each try. A module that it uses counts as its file."""
    code = "from .tools import name\nfrom google.adk.agents import LlmAgent\n"
    code += "root_agent = LlmAgent(name=name, model='m')\n"
    app = write_app(tmp_path, "prism_test_broken", code, **{"tools.py": "nmae = 'fixed'\n"})
    reports = Reports()
    apps = Apps.of_folder(tmp_path, services, report=reports)
    for _ in range(3):
        with pytest.raises(AppFailed, match="ImportError"):
            await apps.load("prism_test_broken")
    assert [told.kind for told in reports] == ["app failed"]
    assert "when its files change" in reports[0].detail
    failure = apps.failure("prism_test_broken")
    assert failure is not None
    assert failure.correlation == reports[0].correlation
    (app / "tools.py").write_text("name = 'fixed'  # by hand\n")
    assert apps.failure("prism_test_broken") is None
    assert (await apps.load("prism_test_broken")).agent.name == "fixed"
    assert len(reports) == 1


async def test_an_app_that_needs_the_running_loop_gets_it(
    tmp_path: Path, services: Services
) -> None:
    """As under ADK's server, which imports every app on its loop."""
    write_app(tmp_path, "prism_test_loop", NEEDS_LOOP)
    write_app(tmp_path, "prism_test_exit", NEEDS_LOOP + "raise SystemExit(3)")
    apps = Apps.of_folder(tmp_path, services)
    assert await apps.load("prism_test_loop")
    with pytest.raises(AppFailed):
        await apps.load("prism_test_exit")


# ------------------------------------------------------------------------------ .env

ASKS = """
import os
from google.adk.agents import LlmAgent
AT_IMPORT = dict(os.environ)
root_agent = LlmAgent(name="greeter", model="gemini-2.5-flash")
"""


async def test_each_app_asks_its_model_with_its_own_key(
    tmp_path: Path, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever was loaded last; what another app's .env sets is not there."""
    for name in ("GOOGLE_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    secret = {name: f"key-of-{name}" for name in ("prism_test_a", "prism_test_b", "prism_test_c")}
    only_b = "PRISM_ONLY_B=1\n"
    for name, key in secret.items():
        more = only_b if name == "prism_test_b" else ""
        write_app(tmp_path, name, ASKS, env=f"GOOGLE_API_KEY={key}\n{more}")
    reports = Reports()
    apps = Apps.of_folder(tmp_path, services, report=reports)
    answer = [chunk({"text": "hello"}, finish="STOP")]
    with serve_gemini(*[answer] * 4) as gemini:
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", gemini.url)
        for name in secret:
            await apps.load(name)
        assert "PRISM_ONLY_B" not in os.environ  # the app that was loaded last does not set it
        for name in (*secret, "prism_test_a"):
            assert await _run(apps, name) == ["hello"]
            assert ("PRISM_ONLY_B" in os.environ) == (name == "prism_test_b")
    assert gemini.keys == [secret[name] for name in (*secret, "prism_test_a")]
    assert [told.kind for told in reports] == ["environment conflict"]
    assert "GOOGLE_API_KEY" in reports[0].detail
    assert "servers of their own" in reports[0].detail
    assert not any(key in str(reports) for key in secret.values())


async def test_what_was_set_before_the_server_wins(
    tmp_path: Path, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in ADK; then there is no conflict to report."""
    # ADK takes what was there at its first .env of the process: something that certainly was.
    before = os.environ["PATH"]
    for name in ("prism_test_a", "prism_test_b"):
        write_app(tmp_path, name, env=f"PATH=/of/{name}\n")
    reports = Reports()
    apps = Apps.of_folder(tmp_path, services, report=reports)
    apps.compare_environments()
    for name in ("prism_test_a", "prism_test_b"):
        await apps.load(name)
        assert os.environ["PATH"] == before
    assert reports == []


async def test_files_that_adk_does_not_load_conflict_with_nothing(
    tmp_path: Path, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ADK can be told to leave them alone."""
    monkeypatch.setenv("ADK_DISABLE_LOAD_DOTENV", "1")
    for name in ("prism_test_a", "prism_test_b"):
        write_app(tmp_path, name, env=f"PRISM_X={name}\n")
    reports = Reports()
    apps = Apps.of_folder(tmp_path, services, report=reports)
    apps.compare_environments()
    for name in ("prism_test_a", "prism_test_b"):
        await apps.load(name)
    assert reports == []
    assert "PRISM_X" not in os.environ


async def test_conflicts_are_known_without_loading(tmp_path: Path, services: Services) -> None:
    """From the files alone, once, with the names of apps and variables and no value."""
    for name, value in (("prism_test_a", "s3cret-1"), ("prism_test_b", "s3cret-2")):
        write_app(tmp_path, name, env=f"PRISM_X={value}\nPRISM_SAME=1\n# note\nexport PRISM_Y=2\n")
    write_app(tmp_path, "prism_test_c")
    reports = Reports()
    apps, before = Apps.of_folder(tmp_path, services, report=reports), dict(os.environ)
    for _ in range(2):
        apps.compare_environments()
    (told,) = reports
    assert "apps prism_test_a, prism_test_b set PRISM_X differently" in told.detail
    assert "s3cret" not in str(told)
    assert os.environ == before
    assert not any(map(apps.is_loaded, apps.names()))


async def test_an_import_and_a_run_do_not_mix_their_environments(
    tmp_path: Path, services: Services
) -> None:
    """A run whose values differ waits for the import's end; one whose values do not goes on."""
    code = GATED + "import os\nAT_IMPORT = os.environ.get('PRISM_X')\n" + AGENT
    slow = write_app(tmp_path, "prism_test_slow", code, env="PRISM_X=slow\n")
    quick = """
import os
from google.adk.agents import BaseAgent
from google.adk.events import Event
from google.genai import types

class Tells(BaseAgent):
    async def _run_async_impl(self, ctx):
        text = os.environ.get("PRISM_X", "nothing")
        yield Event(author=self.name, content=types.Content(role="model", parts=[types.Part(text=text)]))

root_agent = Tells(name="tells")
"""
    write_app(tmp_path, "prism_test_same", quick, env="PRISM_Z=1\n")
    write_app(tmp_path, "prism_test_differs", quick, env="PRISM_X=differs\n")
    apps = Apps.of_folder(tmp_path, services)
    assert await _run(apps, "prism_test_same") == ["nothing"]
    assert await _run(apps, "prism_test_differs") == ["differs"]
    loading = asyncio.create_task(apps.load("prism_test_slow"))
    await seen(slow / "begun")
    differs = asyncio.create_task(_run(apps, "prism_test_differs"))
    assert await _run(apps, "prism_test_same") == ["slow"]  # as in ADK, while it lasts
    assert os.environ["PRISM_Z"] == "1"
    assert not differs.done()
    assert not loading.done()
    (slow / "go").touch()
    await loading
    assert await differs == ["differs"]
    assert await _run(apps, "prism_test_same") == ["nothing"]
    module = __import__("prism_test_slow.agent").agent
    assert module.AT_IMPORT == "slow"
