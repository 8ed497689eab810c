"""A command line for `adk web` works for `adk-prism serve`, or one line says what to use instead."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import httpx
import pytest
from google.adk.agents import LlmAgent
from google.adk.cli.cli_tools_click import cli_api_server, cli_web
from google.adk.cli.fast_api import get_fast_api_app
from tests.adk.app_folders import restored, write_app
from tests.server.conftest import AGENTS, OPEN, talking

from adk_prism.adk.app_environment import set_features
from adk_prism.cli import main
from adk_prism.cli.serve import REFUSED, register, settings_of
from adk_prism.errors import UsageError
from adk_prism.server.app import create_app
from adk_prism.server.settings import Settings

APP = "prism_test_caller"
LOOPING = """
from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.genai import types

class Calling(BaseLlm):
    model: str = "calling"

    async def generate_content_async(self, llm_request, stream=False):
        asked = len([c for c in llm_request.contents if c.role == "model"])
        if asked < 4:
            call = types.FunctionCall(name="look", args={})
            part = types.Part(function_call=call)
        else:
            part = types.Part(text="Seen.")
        yield LlmResponse(content=types.Content(role="model", parts=[part]))

def look() -> dict:
    return {"seen": True}

root_agent = LlmAgent(name="caller", model=Calling(), tools=[look])
"""
PLUGIN = """
from google.adk.plugins.base_plugin import BasePlugin

class Counting(BasePlugin):
    made = []

    def __init__(self, name="counting"):
        super().__init__(name=name)
        self.made.append(self)
        self.runs = 0

    async def before_run_callback(self, *, invocation_context):
        self.runs += 1

ready = Counting("ready")
NOTHING = 5
"""
BODY: dict[str, Any] = {
    "appName": APP,
    "userId": "u",
    "sessionId": "s",
    "newMessage": {"role": "user", "parts": [{"text": "look"}]},
}
SESSION = f"/apps/{APP}/users/u/sessions/s"


@pytest.fixture
def agents(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "agents"
    folder.mkdir()
    write_app(folder, APP, LOOPING)
    (folder / "prism_test_plugins.py").write_text(PLUGIN)
    with restored():
        yield folder


def _read(*words: str) -> Settings:
    parser = argparse.ArgumentParser()
    register(parser)
    return settings_of(parser.parse_args(words))


def _options(command: click.Command) -> set[str]:
    return {
        name
        for option in command.params
        if isinstance(option, click.Option)
        for name in (*option.opts, *option.secondary_opts)
    }


def test_every_option_of_adk_is_known() -> None:
    """Of the installed version; a new one has to be built or refused."""
    parser = argparse.ArgumentParser()
    register(parser)
    ours = {name for action in parser._actions for name in action.option_strings}
    assert _options(cli_web) | _options(cli_api_server) <= ours


def test_adks_spellings_mean_our_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line of a shell script, with `adk web` replaced."""
    monkeypatch.chdir(tmp_path)
    words = """agents --host 127.0.0.1 --port=0 --session_service_uri=memory:// --artifact_service_uri memory://
        --memory_service_uri memory:// --allow_origins https://a.example --allow_origins regex:https://.*
        --url_prefix /adk --log_level WARNING --extra_plugins a.B,c.D --max_llm_calls -1
        --default_llm_model m --enable_features A --disable_features B --auto_create_session --with_ui"""
    read = _read(*words.split())
    assert (read.sessions, read.artifacts, read.memory) == ("memory://",) * 3
    assert read.allow_origin == ("https://a.example", "regex:https://.*")
    assert (read.root_path, read.log_level, read.max_llm_calls) == ("/adk", "warning", -1)
    assert read.extra_plugins == ("a.B,c.D",)
    assert (read.default_llm_model, read.auto_create_session) == ("m", True)
    assert _read("-v").log_level == "debug"
    assert _read("-v", "--log_level", "error").log_level == "error"
    assert _read("--use_local_storage").local_storage
    assert [_read(word).reload for word in ("--reload", "--reload_agents", "--no-reload")] == [
        True,
        True,
        False,
    ]


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_built_says_what_to_use(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One line, and exit 2; with a value or without."""
    for words in ([name], [name, "x"], [f"{name}=x"]):
        assert main(["serve", *words]) == 2
        told = capsys.readouterr().err
        assert told.startswith(f"adk-prism: {name} of `adk web` is not supported; ")
        assert told.count("\n") == 1


# ---------------------------------------------------------------------- origins


@pytest.mark.parametrize(
    ("origin", "is_allowed"),
    [
        ("https://a.example.com", True),
        ("https://A.example.com:443", True),
        ("https://a.example.com.evil.org", False),
        ("https://a.example.com:8443", False),
        ("http://a.example.com", False),
        ("null", False),
    ],
)
async def test_a_pattern_matches_the_whole_origin(
    origin: str, is_allowed: bool, settings: Settings
) -> None:
    """As with `adk web`; what is allowed gets CORS headers for itself."""
    pattern = r"regex:https://.*\.example\.com"
    async with talking(create_app(None, replace(settings, allow_origin=(pattern,)))) as client:
        answer = await client.get("/list-apps", headers={"origin": origin})
    assert (answer.status_code == 200) == is_allowed
    assert answer.headers.get("access-control-allow-origin") == (origin if is_allowed else None)


@pytest.mark.parametrize("text", ["regex:", "regex:(", "*", "regexp:https://a"])
def test_a_pattern_that_is_none_is_refused(text: str) -> None:
    """At start, with an example."""
    with pytest.raises(UsageError, match="--allow-origin must be an origin"):
        Settings(allow_origin=(text,))


# ---------------------------------------------------------------------- runs


async def test_a_run_stops_at_the_limit_of_model_calls(agents: Path, settings: Settings) -> None:
    """The limit counts for each run; 0 is none."""
    for limit, ends in ((2, "LlmCallsLimitExceededError"), (0, ""), (None, "")):
        served = replace(settings, max_llm_calls=limit, auto_create_session=True)
        async with talking(create_app(agents, served)) as client:
            events = (await client.post("/run_sse", json=BODY)).text
        assert ("Seen." in events) == (not ends)
        assert ends in events


async def test_a_session_is_created_on_request_only(agents: Path, settings: Settings) -> None:
    """As with `adk api_server`: 404 without the option."""
    for is_on, status in ((False, 404), (True, 200)):
        served = replace(settings, auto_create_session=is_on)
        async with talking(create_app(agents, served)) as client:
            assert (await client.post("/run", json=BODY)).status_code == status


async def test_each_app_gets_the_extra_plugins(agents: Path, settings: Settings) -> None:
    """A class is made for each app, an object is shared; the folder of apps is searched, too."""
    named = ("prism_test_plugins.Counting, prism_test_plugins.ready",)
    served = replace(settings, extra_plugins=named, auto_create_session=True)
    async with talking(create_app(agents, served)) as client:
        assert (await client.post("/run", json=BODY)).status_code == 200
    import prism_test_plugins  # type: ignore[import-not-found]  # written by the fixture

    assert [plugin.name for plugin in prism_test_plugins.Counting.made] == [
        "ready",
        "prism_test_plugins.Counting",
    ]
    assert [plugin.runs for plugin in prism_test_plugins.Counting.made] == [1, 1]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("prism_test_plugins.Missing", "cannot be imported \\(AttributeError"),
        ("prism_test_nowhere.Plugin", "cannot be imported \\(ModuleNotFoundError"),
        ("prism_test_plugins.NOTHING", "is not a plugin"),
        ("Plugin", "is not a plugin"),
    ],
)
def test_a_plugin_that_cannot_be_used_stops_the_start(
    name: str, says: str, agents: Path, settings: Settings
) -> None:
    """Where ADK logs and goes on without it."""
    with pytest.raises(UsageError, match=says):
        create_app(agents, replace(settings, extra_plugins=(name,)))


def test_the_default_model_is_that_of_agents_without_one(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For the whole process, as with ADK."""
    monkeypatch.setattr(LlmAgent, "_default_model", LlmAgent.DEFAULT_MODEL)
    create_app(None, replace(settings, default_llm_model="gemini-test"))
    assert LlmAgent(name="plain").canonical_model.model == "gemini-test"


def test_an_unknown_feature_is_named() -> None:
    """ADK warns and goes on; a feature that is misspelled would be off unnoticed."""
    with pytest.raises(UsageError, match=r"no feature 'NO_SUCH'; it has .*AGENT_STATE"):
        set_features(enabled=["AGENT_STATE,NO_SUCH"], disabled=[])


# ---------------------------------------------------------------------- storage


async def test_sessions_of_adk_web_are_found(agents: Path, settings: Settings) -> None:
    """Those in the `.adk` folder of each app; what is said here, `adk web` finds."""
    adk = get_fast_api_app(agents_dir=str(agents), web=False)
    transport = httpx.ASGITransport(adk)
    async with httpx.AsyncClient(transport=transport, base_url=OPEN) as theirs:
        await theirs.post(SESSION, json={"lang": "pt"})
        assert (await theirs.post("/run", json=BODY)).status_code == 200
        served = replace(settings, sessions="", artifacts="", local_storage=True)
        async with talking(create_app(agents, served)) as ours:
            found = (await ours.get(SESSION)).json()
            assert found["state"]["lang"] == "pt"
            assert "Seen." in str(found["events"])
            assert (await ours.post("/run", json=BODY)).status_code == 200
            both = (await ours.get(SESSION)).json()["events"]
        assert len(both) > len(found["events"])
        assert len((await theirs.get(SESSION)).json()["events"]) == len(both)


def test_local_storage_excludes_uris_and_needs_apps(settings: Settings) -> None:
    """As with ADK; the example apps have no folder that could be written."""
    with pytest.raises(UsageError, match="cannot be used with --sessions"):
        replace(settings, local_storage=True)
    with pytest.raises(UsageError, match="needs a folder of apps"):
        create_app(None, replace(settings, sessions="", artifacts="", local_storage=True))


def test_a2a_without_its_sdk_is_refused(settings: Settings) -> None:
    """In one line that says what to install. (`tests/features/a2a` has the SDK.)"""
    with pytest.raises(UsageError, match=r"pip install 'google-adk\[a2a\]'") as refused:
        create_app(AGENTS, replace(settings, a2a=True))
    assert "\n" not in refused.value.detail
