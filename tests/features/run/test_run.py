"""`run`: one run of an app on stdout, for a person or as a protocol's bytes."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.conformance.conftest import judge as judge
from tests.conformance.judge import Judge
from tests.recordings.library import load

from adk_prism.cli import main
from adk_prism.facts.run_reader import Reader
from adk_prism.features.run.command import Readable

Said = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """An offline model without pauses, an empty folder to work in, and the log levels put back."""
    monkeypatch.setenv("ADK_PRISM_MODEL", "offline")
    monkeypatch.setenv("ADK_PRISM_OFFLINE_DELAY", "0")
    monkeypatch.chdir(tmp_path)
    level = logging.getLogger("google_adk").level
    yield
    logging.getLogger("google_adk").setLevel(level)


@pytest.fixture
def said(capfdbinary: pytest.CaptureFixture[bytes]) -> Said:
    """`said(*words) -> (exit code, stdout, stderr)` of `adk-prism run`."""

    def run(*words: str) -> tuple[int, str, str]:
        code = main(["run", *words])
        out, err = capfdbinary.readouterr()
        return code, out.decode(), err.decode()

    return run


def test_the_tour_lists_itself(said: Said) -> None:
    """The first thing to try, and plain text in a pipe."""
    code, out, err = said("tour", "help")
    assert (code, err) == (0, "")
    assert "- `approval`: a call that a person has to approve" in out
    assert "\x1b" not in out
    assert not Path(".adk-prism").exists(), "without a session nothing is kept"


TOLD = {
    "tool": ['-> get_weather {"city":"Lisbon"}', '<- get_weather {"city":"Lisbon","sky":"sunny"'],
    "tool error": ["<- ", " failed: "],
    "approval": [
        "?? send_invoice needs approval",
        "The run is waiting for approval of send_invoice.",
        "To answer, run this command on a terminal",
    ],
    "client tool": ["The run is waiting for the result of get_location."],
    "input request": ["The run is waiting for input."],
    "reasoning": ["(thinking) "],
    "parallel specialists": ["[food_specialist]\nTry the small places by the river"],
    "image": ["[file "],
    "sources": ["[source-1: "],
    "recovered error": ["!! "],
    "transfer": ["[transfer to "],
    "artifact": ["[saved "],
    "state": ["[state {"],
}


@pytest.mark.parametrize("prompt", TOLD)
def test_what_a_person_reads(prompt: str, said: Said) -> None:
    """Text as it is, everything else in short lines; a run that waits is told with what to do."""
    code, out, _ = said("tour", prompt)
    assert code == 0
    for words in TOLD[prompt]:
        assert words in out


def test_a_failed_run_is_a_failure(said: Said) -> None:
    """Exit 1; the person at the terminal is the operator, and is told the cause."""
    code, out, err = said("tour", "exception")
    assert code == 1
    assert out.rstrip().splitlines()[-1].startswith("The run failed (RuntimeError). Reference: ")
    assert "always fails" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("name", ["adk", "ai-sdk"])
def test_exact_bytes(name: str, said: Said, judge: Judge) -> None:
    """The stream of the protocol and nothing else."""
    code, out, err = said("tour", "tool", "--as", name)
    assert (code, err) == (0, "")
    if name == "ai-sdk":
        verdict = judge(out, "ai-6")
        assert verdict.ok, verdict.why
    else:
        events = [json.loads(line[6:]) for line in out.splitlines() if line.startswith("data: ")]
        assert events[-1]["author"] == "tour"


def test_a_session_goes_on(said: Said) -> None:
    """Kept where `serve` keeps it by default, so that the next command knows the last one."""
    said("tour", "state", "--session", "s1")
    assert Path(".adk-prism/sessions.db").is_file()
    _, out, _ = said("tour", "text", "--session", "s1", "--as", "adk")
    assert out


def test_state_is_set_first(said: Said, tmp_path: Path) -> None:
    """Any JSON value; the agent's first step sees it."""
    app = tmp_path / "agents" / "echo"
    app.mkdir(parents=True)
    (app / "agent.py").write_text(
        "from google.adk.workflow import FunctionNode, Workflow\n"
        "def tell(city: dict) -> str:\n"
        "    return f'{city}'\n"
        "root_agent = Workflow(name='echo', edges=[('START', FunctionNode(func=tell))])\n"
    )
    code, out, err = said("echo", "hi", "--dir", "agents", "--state", 'city={"name":"Rome"}')
    assert (code, err) == (0, "")
    assert "{'name': 'Rome'}" in out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["tour"], "MESSAGE"),
        (["nowhere", "hi"], "no app 'nowhere'. Available apps:"),
        (["tour", "hi", "--as", "x"], "Unknown protocol 'x'"),
        (["tour", "hi", "--state", "city"], "must be KEY=JSON"),
        (["tour", "hi", "--state", "city=Rome"], "must be KEY=JSON"),
        (["tour", "hi", "--dir", "nowhere"], "nowhere"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_a_mistake_is_one_line(words: list[str], says: str, said: Said) -> None:
    """What came, what was expected; exit 2; nothing on stdout."""
    code, out, err = said(*words)
    assert (code, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1


def test_an_app_that_does_not_load_is_a_failure(said: Said, tmp_path: Path) -> None:
    """Exit 1, and the cause for who typed the command."""
    app = tmp_path / "agents" / "broken"
    app.mkdir(parents=True)
    (app / "agent.py").write_text("raise RuntimeError('not today')\n")
    code, out, err = said("broken", "hi", "--dir", "agents")
    assert (code, out) == (1, "")
    assert "not today" in err


def test_what_is_wrong_is_said_in_one_line(said: Said, tmp_path: Path) -> None:
    """The wrong field, and where; what a model's client says. On stdout, which may be kept, a reference."""
    for name, field in (("misspelt", "modle"), ("keyless", "model")):
        app = tmp_path / "agents" / name
        app.mkdir(parents=True)
        code = f"Agent(name={name!r}, {field}='gemini-2.5-flash')"
        (app / "agent.py").write_text(f"from google.adk.agents import Agent\nroot_agent = {code}\n")
    code, out, err = said("misspelt", "hi", "--dir", "agents")
    assert (code, out) == (1, "")
    why = "LlmAgent: modle: Extra inputs are not permitted (agents/misspelt/agent.py, line 2)"
    assert why in err
    assert "pydantic.dev" not in err
    code, out, err = said("keyless", "hi", "--dir", "agents", "--as", "ai-sdk")
    assert code == 1
    assert "No API key was provided" in err
    assert "No API key was provided" not in out
    assert "Reference: " in out


def test_an_impatient_person_may_stop_it(tmp_path: Path) -> None:
    """Ctrl+C ends the run, with the exit code that shells give."""
    # Whatever started the tests may have told its children to take no notice of Ctrl+C.
    listening = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    main = "from adk_prism.cli import main; raise SystemExit(main())"
    command = [sys.executable, "-c", f"{listening}; {main}", "run", "tour", "slow 60"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path, env=os.environ
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        while b"->" not in process.stdout.readline():
            pass
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130
        assert b"Traceback" not in process.stderr.read()


class TestReadable:
    """The words themselves, without a run."""

    @staticmethod
    def of(name: str, *, colour: bool = False) -> str:
        reader, readable = Reader(), Readable(colour=colour)
        return "".join(readable.show(item) for e in load(name) for item in reader.feed(e))

    def test_agents_that_speak_at_once_are_read_one_by_one(self) -> None:
        """Whoever began first is heard out; the others are held, and named when it is their turn."""
        shown = self.of("x_parallel")
        assert "One two three four five.\n[right]\nUno dos tres cuatro cinco.\n" in shown

    def test_a_terminal_gets_colours(self) -> None:
        """Dim for what is beside the talk; the words themselves stay as they are."""
        plain, bright = self.of("tool"), self.of("tool", colour=True)
        assert "\x1b[2m-> get_weather" in bright
        assert bright.replace("\x1b[2m", "").replace("\x1b[0m", "") == plain

    def test_control_characters_do_not_reach_the_terminal(self) -> None:
        """A model may say anything; it moves no cursor."""
        from tests.laws.events import call, entries, event, text

        readable, reader = Readable(colour=False), Reader()
        run = entries(
            [event(text("a\x1b[2Jb\r\n"), call("f\x07", "c1", {"\x9b": 1}), partial=False)]
        )
        shown = "".join(readable.show(item) for entry in run for item in reader.feed(entry))
        assert shown.splitlines()[:2] == ["a\ufffd[2Jb\ufffd", '-> f\ufffd {"\ufffd":1}']


def test_secrets_are_hidden_as_a_server_hides_them(
    said: Said, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By key, by value, and by the operator's own pattern; in every form, and on stderr."""
    canary = "canary-5d1e77b2c90f4a38"
    monkeypatch.setenv("SERVICE_API_KEY", canary)
    (tmp_path / "pyproject.toml").write_text('[tool.adk-prism]\nredact = ["*_pin"]\n')
    app = tmp_path / "agents" / "leaky"
    app.mkdir(parents=True)
    (app / "agent.py").write_text(LEAKY)
    for form in ("adk", "ai-sdk", "studio", "ag-ui", ""):
        form_words = ("--as", form) if form else ()
        code, out, err = said("leaky", "hello", "--dir", str(app.parent), *form_words)
        assert code == 1
        assert "shown" in out
        for secret in (canary, "key-secret", "1234-pin"):
            assert secret not in out + err, (form, secret)


LEAKY = """
import os
from google.adk.agents import BaseAgent
from google.adk.events import Event, EventActions
from google.genai import types

class Leaky(BaseAgent):
    async def _run_async_impl(self, context):
        state = {"user_token": "key-secret", "card_pin": "1234-pin", "plain": "shown"}
        said = types.Content(role="model", parts=[types.Part(text="shown " + os.environ["SERVICE_API_KEY"])])
        yield Event(author=self.name, content=said, actions=EventActions(state_delta=state))
        raise RuntimeError("refused: " + os.environ["SERVICE_API_KEY"])

root_agent = Leaky(name="leaky")
"""


BROKEN = """
from google.adk.agents import LlmAgent
from adk_prism.models import ScriptedModel
def script(request):
    raise ValueError("no luck")
root_agent = LlmAgent(name="broken_run", model=ScriptedModel(model="offline", script=script))
"""


def test_full_errors_have_a_traceback_and_the_line(said: Said, tmp_path: Path) -> None:
    """Of an agent's exception and of an app that does not load; without `--errors` it stays one line."""
    for name, code in (("broken_run", BROKEN), ("broken_load", "\nraise ValueError('no luck')\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "agent.py").write_text(code)
        short = said(name, "hello", "--dir", str(tmp_path))[2]
        assert "Traceback" not in short
        failed, _, full = said(name, "hello", "--dir", str(tmp_path), "--errors", "full")
        assert failed == 1
        assert "Traceback (most recent call last)" in full
        line = 5 if name == "broken_run" else 2
        assert f"adk-prism: {name}/agent.py, line {line}: raise ValueError(" in full
