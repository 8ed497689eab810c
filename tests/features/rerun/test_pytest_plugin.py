"""Tests without a key: pytest in an empty project with a bare Runner, which plays and makes recordings."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from google.adk.agents import LlmAgent
from google.adk.runners import InMemoryRunner
from google.genai import types

from adk_prism.errors import PrismError
from adk_prism.testing import recorded_model

AGENT = '''
import os
from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.genai import types

INSTRUCTION = "Be brief."

class Shop(BaseLlm):
    """Stands for a model that costs money: writes down that it was asked."""
    async def generate_content_async(self, llm_request, stream=False):
        with open("asked.txt", "a") as file:
            file.write("asked\\n")
        last = llm_request.contents[-1].parts[0]
        if last.function_response:
            part = types.Part(text="Refunded " + str(last.function_response.response["refunded"]) + ".")
        elif "helper" in (llm_request.config.system_instruction or ""):
            part = types.Part(text="I helped.")
        else:
            part = types.Part(function_call=types.FunctionCall(name="refund", args={"order": 7}))
        if stream and part.text:
            for word in part.text.split():
                yield LlmResponse(content=types.ModelContent(word + " "), partial=True)
        yield LlmResponse(content=types.ModelContent(part), partial=False)

def refund(order: int) -> dict:
    """Refund an order."""
    return {"refunded": order * 10, "by": os.environ.get("SHOP_API_KEY", "")}

agent = LlmAgent(name="shop", model=Shop(model="shop-1"), instruction=INSTRUCTION, tools=[refund])
'''

TEST = """
import asyncio
import pytest
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.runners import InMemoryRunner
from google.genai import types
from agent import agent

runner = InMemoryRunner(agent, app_name="shop")

async def say(*texts):
    said = []
    session = await runner.session_service.create_session(app_name="shop", user_id="u")
    for text in texts:
        async for event in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent(text),
            run_config=RunConfig(streaming_mode=StreamingMode.SSE),
        ):
            said += [(bool(event.partial), part.text) for part in event.content.parts if part.text]
    return said

@pytest.mark.adk_recording("recordings/refund.jsonl")
def test_refund():
    said = asyncio.run(say("I want a refund", "Once more"))
    assert said == [(True, "Refunded "), (True, "70. "), (False, "Refunded 70.")] * 2
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return an empty project with one agent and one test."""
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "test_refund.py").write_text(TEST)
    return tmp_path


def run(project: Path, *words: str, **variables: str) -> tuple[int, str]:
    """Run pytest in the project; return its exit code and what it printed."""
    hidden = ("PYTEST", "GOOGLE_API_KEY", "GEMINI_API_KEY", "COV_")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(hidden)}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir=.", *words],
        cwd=project,
        env=kept | variables,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.returncode, done.stdout + done.stderr


def asked(project: Path) -> int:
    file = project / "asked.txt"
    return file.read_text().count("asked") if file.exists() else 0


def test_an_empty_project_records_and_plays(project: Path) -> None:
    """Recorded once, then played without the model, pieces included; secrets are not in the file."""
    code, shown = run(project)
    assert code == 1
    assert "refund.jsonl cannot be read: No such file or directory." in shown
    assert "To record it: pytest --adk-record test_refund.py::test_refund" in shown
    assert asked(project) == 0
    code, shown = run(project, "--adk-record", SHOP_API_KEY="sk-proj-1234567890abcdefghij")
    assert code == 0, shown
    assert asked(project) == 4
    file = project / "recordings" / "refund.jsonl"
    assert file.read_text().count('"type":"RunStarted"') == 2
    assert "1234567890abcdefghij" not in file.read_text()
    code, shown = run(project, SHOP_API_KEY="sk-proj-another-key-of-today")
    assert code == 0, shown
    assert asked(project) == 4

    source = (project / "agent.py").read_text()
    (project / "agent.py").write_text(source.replace("Be brief.", "Be long."))
    code, shown = run(project)
    assert code == 1
    assert "refund.jsonl: Call 1 of shop differs from the recording in: instruction." in shown
    assert re.search(r"^ +-Be brief\.$", shown, re.M)
    assert re.search(r"^ +\+Be long\.$", shown, re.M)
    assert "If this is meant: pytest --adk-record test_refund.py::test_refund" in shown
    assert asked(project) == 4
    before = file.read_bytes()
    (project / "test_refund.py").write_text(TEST.replace("Refunded 70", "Refunded 80"))
    assert run(project, "--adk-record")[0] == 1
    assert file.read_bytes() == before, "a test that fails leaves its recording as it was"
    (project / "test_refund.py").write_text(TEST)
    assert run(project, "--adk-record")[0] == 0
    assert run(project)[0] == 0


def test_two_tests_do_not_record_into_one_file(project: Path) -> None:
    """The second one would overwrite what the first one needs."""
    other = TEST[TEST.index("@pytest.mark") :].replace("test_refund", "test_again")
    (project / "test_refund.py").write_text(TEST + other)
    code, shown = run(project, "--adk-record")
    assert code == 1
    assert "1 passed, 1 error" in shown
    assert "refund.jsonl is the recording of test_refund.py::test_refund: give each test" in shown


WRONG = {
    "no file": ("@pytest.mark.adk_recording()", "The mark adk_recording is wrong"),
    "an unknown word": ('@pytest.mark.adk_recording("a", x=1)', "The mark adk_recording is wrong"),
    "no rule": (
        '@pytest.mark.adk_recording("a.jsonl", ignore=["("])',
        "is not a regular expression",
    ),
    "no recording": ('@pytest.mark.adk_recording("agent.py")', "agent.py"),
}


def test_what_cannot_be_played_is_said(project: Path) -> None:
    """In one line for each, and the model is not asked."""
    (project / "a.jsonl").write_text("")
    source = "import pytest\n" + "".join(
        f"\n{mark}\ndef test_{n}():\n    pass\n" for n, (mark, _) in enumerate(WRONG.values())
    )
    (project / "test_refund.py").write_text(source)
    code, shown = run(project)
    assert code == 1
    assert "4 errors" in shown or "4 failed" in shown, shown
    for _, text in WRONG.values():
        assert text in shown
    assert "INTERNALERROR" not in shown


def test_pytest_does_not_load_google_adk_by_itself(project: Path) -> None:
    """Every project with adk-prism installed loads the plugin."""
    (project / "test_refund.py").write_text(
        "import sys\ndef test_it():\n    assert 'google.adk' not in sys.modules\n"
    )
    code, shown = run(project)
    assert code == 0, shown


async def test_a_model_for_an_agent_of_a_test(project: Path) -> None:
    """`recorded_model` answers several agents, whatever their models were."""
    assert run(project, "--adk-record")[0] == 0

    def refund(order: int) -> dict[str, object]:
        """Refund an order."""
        return {"refunded": order * 10, "by": ""}

    async def say(instruction: str) -> str:
        model = recorded_model(project / "recordings" / "refund.jsonl")
        agent = LlmAgent(name="shop", model=model, instruction=instruction, tools=[refund])
        runner = InMemoryRunner(agent, app_name="shop")
        session = await runner.session_service.create_session(app_name="shop", user_id="u")
        text = ""
        async for event in runner.run_async(
            user_id="u", session_id=session.id, new_message=types.UserContent("I want a refund")
        ):
            parts = (event.content.parts if event.content else None) or []
            text += "".join(part.text or "" for part in parts)
        return text

    assert await say("Be brief.") == "Refunded 70."
    with pytest.raises(AssertionError, match=r"(?s)Call 1 of shop differs.*\+Be long\."):
        await say("Be long.")
    with pytest.raises(PrismError, match="cannot be read"):
        recorded_model(project / "none.jsonl")
