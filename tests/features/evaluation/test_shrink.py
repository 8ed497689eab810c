"""`adk-prism shrink`: what of a conversation is needed for it to fail."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.adk.app_folders import restored, write_app
from tests.features.evaluation.packages import run
from tests.server.conftest import OF_ADK, talking

from adk_prism.cli import main
from adk_prism.features.evaluation.shrinking import Piece, Shrinker, minimise, sentences
from adk_prism.log.from_url import open_log
from adk_prism.server.app import create_app
from adk_prism.server.settings import Settings

pytestmark = [pytest.mark.filterwarnings(rule) for rule in OF_ADK]

APP = "prism_test_counter"
CODE = '''
from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.genai import types

class Clerk(BaseLlm):
    async def generate_content_async(self, llm_request, stream=False):
        """Refuse where three things come together: an instruction, a tool, an earlier message."""
        told = str(llm_request.config.system_instruction)
        asked = [p.text for c in llm_request.contents for p in c.parts if p.text]
        bad = "Never pay." in told and "refund" in llm_request.tools_dict and "I am Bob" in asked
        last = llm_request.contents[-1].parts[-1]
        if last.text == "pay me" and "ledger" in llm_request.tools_dict and not last.function_response:
            call = types.FunctionCall(name="ledger", args={})
            yield LlmResponse(content=types.ModelContent(types.Part(function_call=call)))
            return
        said = types.ModelContent("I refuse." if bad else "Here you are.")
        yield LlmResponse(content=said, model_version="clerk-1")

def refund() -> dict:
    """Pay back."""
    return {}

def ledger() -> dict:
    """Look into the books."""
    return {"balance": 3}

def weather() -> dict:
    """Say how the weather is."""
    return {}

root_agent = LlmAgent(
    name="clerk",
    model=Clerk(model="clerk-1"),
    instruction="Be kind. Be brief.\\nNever pay. Say thanks! Smile.",
    tools=[refund, ledger, weather],
)
'''


TEAM = '''
import itertools
from google.adk.agents import LlmAgent, SequentialAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.tools import AgentTool
from google.genai import types

count = itertools.count()

class Clerk(BaseLlm):
    async def generate_content_async(self, llm_request, stream=False):
        """The one in a tool refuses for its own tool, the boss for what its function says."""
        told = str(llm_request.config.system_instruction)
        last = llm_request.contents[-1].parts[-1]
        if "You check." in told:
            part = types.Part(text="forbidden" if "audit" in llm_request.tools_dict else "fine")
        elif last.text == "pay me" and "checker" in llm_request.tools_dict:
            part = types.Part(function_call=types.FunctionCall(name="checker", args={"request": "?"}))
        elif "Trust the checker." in told and "forbidden" in str(last.function_response):
            seller = "`seller`" if "`seller`" in told else ""
            part = types.Part(text=f"I refuse. {seller}")
        else:
            part = types.Part(text="Here you are.")
        yield LlmResponse(content=types.ModelContent(part), model_version="clerk-1")

def audit() -> dict:
    """Look into the books."""
    return {}

def weather() -> dict:
    """Say how the weather is."""
    return {}

async def duties(context) -> str:
    return f"Run {next(count)}. You are the boss.\\nTrust the checker. Smile."

model = Clerk(model="clerk-1")
checker = LlmAgent(
    name="checker",
    model=model,
    description="Checks.",
    instruction="You check. Be kind.",
    tools=[audit, weather],
)
buyer = LlmAgent(name="buyer", model=model, description="Buys.", static_instruction="Buy.", tools=[weather])
seller = SequentialAgent(
    name="seller",
    description="Sells.",
    sub_agents=[LlmAgent(name="packer", model=model, instruction="Pack.")],
)
root_agent = LlmAgent(
    name="boss",
    model=model,
    instruction=duties,
    tools=[AgentTool(checker), weather],
    sub_agents=[buyer, seller],
)
'''


class Kept(NamedTuple):
    folder: Path
    log: str
    runs: list[str]


@pytest.fixture
async def kept(tmp_path: Path) -> AsyncIterator[Kept]:
    """Record five messages; the last one fails."""
    async with recorded(tmp_path, CODE) as kept:
        yield kept


@asynccontextmanager
async def recorded(tmp_path: Path, code: str) -> AsyncIterator[Kept]:
    agents = tmp_path / "agents"
    agents.mkdir()
    write_app(agents, APP, code)
    log = f"sqlite:///{tmp_path}/runs.db"
    with restored():
        runs = []
        settings = Settings(log=log, data_dir=str(tmp_path / "data"), model_calls="full")
        async with talking(create_app(agents, settings)) as client:
            where = {"appName": APP, "userId": "user", "sessionId": "s"}
            state = {"vip": True, "lang": "en"}
            await client.post(f"/apps/{APP}/users/user/sessions/s", json=state)
            for text in ("hello", "I am Bob", "nice weather", "a question", "pay me"):
                said = {"role": "user", "parts": [{"text": text}]}
                answer = await client.post("/run", json=where | {"newMessage": said})
                runs.append(answer.headers["x-prism-run"])
        yield Kept(agents, log, runs)


async def shrink(kept: Kept, *words: str, run: int = -1) -> int:
    given = ["shrink", kept.runs[run], "--log", kept.log, "--dir", str(kept.folder), *words]
    return await asyncio.to_thread(main, given)


async def test_what_is_needed_is_left(
    kept: Kept, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One of four earlier messages, one of three tools, one of five sentences, no state."""
    out, cases = tmp_path / "out", tmp_path / "cases.evalset.json"
    words = ("--fails", "refuse", "--json", "--out", str(out), "-o", str(cases))
    assert await shrink(kept, *words) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["messages"] == ["I am Bob", "pay me"]
    assert found["instructions"] == {"clerk": "Never pay. "}
    assert found["kept"] == [
        "message 2",
        "part 3 of the instruction of clerk",
        "tool refund of clerk",
    ]
    assert found["sizes"]["state"] == {"left": 0, "of": 2}
    assert (found["failed"], found["isMinimal"]) == (2, True)
    case = found["evalCase"]
    assert [each["userContent"]["parts"] for each in case["conversation"]] == [
        [{"text": "I am Bob"}],
        [{"text": "pay me"}],
    ]
    [written] = json.loads(cases.read_text())["eval_cases"]
    assert written["session_input"].get("state", {}) == {}
    stored = open_log(f"sqlite:///{out}/runs.db")
    await stored.open()
    assert [each.run for each in await stored.list()][-1] == found["run"]
    await stored.close()


async def test_agents_and_instructions_that_functions_make(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those that are not needed go with all they have; what is needed inside a tool stays."""
    async with recorded(tmp_path, TEAM) as kept:
        assert await shrink(kept, "--fails", "refuse.*seller", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["messages"] == ["pay me"]
    assert found["kept"] == [
        "agent seller of boss",
        "part 1 of the instruction of checker",
        "part 2 of the instruction of boss",
        "tool audit of checker",
        "tool checker of boss",
    ]
    assert found["instructions"] == {"boss": "Trust the checker. ", "checker": "You check. "}
    assert {"agent buyer of boss", "agent packer of seller", "tool weather of buyer"} <= {
        *found["dropped"]
    }
    assert found["sizes"]["agent"] == {"left": 1, "of": 3}
    assert found["fixed"] == ["the static instruction of buyer"]
    assert found["isMinimal"]


async def test_a_case_that_fails(kept: Kept, tmp_path: Path) -> None:
    """Messages go with what was expected of them, as long as ADK's evaluators say that it fails."""
    cases = tmp_path / "agents" / APP / "paid.evalset.json"
    made = ["eval-set", kept.runs[-1], "--log", kept.log, "-o", str(cases)]
    assert await asyncio.to_thread(main, made) == 0
    tree = json.loads(cases.read_text())
    for said in tree["eval_cases"][0]["conversation"][-2:]:
        said["final_response"]["parts"] = [{"text": "Take it."}]
    cases.write_text(json.dumps(tree))
    words = ["shrink", kept.runs[-1], "--log", kept.log, "--dir", str(kept.folder), "--json"]
    words += ["--eval", str(cases), "--trials", "1", "--budget", "40"]
    done = await asyncio.to_thread(run, "adk_prism.cli", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["messages"] == ["pay me"]
    [expected] = found["evalCase"]["conversation"]
    assert expected["finalResponse"]["parts"] == [{"text": "Take it."}]


async def test_the_budget_ends_it(kept: Kept, capsys: pytest.CaptureFixture[str]) -> None:
    """With what was found until then, and a word that it may not be all."""
    assert await shrink(kept, "--fails", "refuse", "--budget", "8", "--trials", "1") == 0
    shown = capsys.readouterr().out
    assert "The budget ended: it may be possible to leave out more." in shown
    assert "runs          8" in shown


async def test_a_conversation_that_does_not_fail(
    kept: Kept, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 1, and how it ended instead."""
    assert await shrink(kept, "--fails", "no such words") == 1
    shown = capsys.readouterr().err
    assert "it does not fail as it is: 0 of 2 trials failed; the last run ended: I refuse." in shown


REFUSED = {
    "nothing": ([], "either --fails PATTERN or --eval FILE[:CASE]"),
    "both": (["--fails", "x", "--eval", "a.json"], "either --fails PATTERN or --eval FILE[:CASE]"),
    "a pattern": (["--fails", "("], "is not a regular expression"),
    "trials": (["--fails", "x", "--trials", "0"], "--trials must be above 0 and at most 20."),
    "a budget": (
        ["--fails", "x", "--budget", "9999"],
        "--budget must be above 0 and at most 5000.",
    ),
    "a set": (["--eval", "none.json"], "none.json"),
    "a server": (["--fails", "x", "--url", "http://127.0.0.1:1"], "shrink runs the app here"),
}


@pytest.mark.parametrize(("words", "text"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be(capsys: pytest.CaptureFixture[str], words: list[str], text: str) -> None:
    """Exit code 2, and what is wrong."""
    assert main(["shrink", "run-1", *words]) == 2
    assert text in capsys.readouterr().err


async def test_a_recording_without_model_calls(
    kept: Kept, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It says how to record it."""
    file = tmp_path / "plain.jsonl"
    settings = Settings(log=kept.log, data_dir=str(tmp_path / "data"))
    async with talking(create_app(kept.folder, settings)) as client:
        file.write_bytes((await client.get(f"/api/runs/{kept.runs[0]}/recording")).content)
    words = ["shrink", str(file), "--dir", str(kept.folder), "--fails", "x"]
    assert await asyncio.to_thread(main, words) == 2
    assert "--model-calls full" in capsys.readouterr().err


# ---------------------------------------------------------------------- without an app


def pieces(count: int) -> list[Piece]:
    return [Piece("message", "", str(n)) for n in range(count)]


@given(st.integers(0, 40), st.sets(st.integers(0, 39), max_size=5))
def test_exactly_what_is_needed_is_left(count: int, needed: set[int]) -> None:
    """Whatever has to come together for a failure."""
    every = pieces(count)
    wanted = {every[n] for n in needed if n < count}

    async def fails(kept: Sequence[Piece]) -> bool:
        return wanted <= set(kept)

    assert set(asyncio.run(minimise(every, fails))) == wanted


def test_each_candidate_has_trials_until_it_is_clear() -> None:
    """And is not tried twice."""
    results = iter([True, False, True, *[False] * 50])
    tried: list[Any] = []

    async def try_once(candidate: Any) -> bool:
        tried.append(candidate)
        return next(results)

    shrinker = Shrinker(try_once, trials=3, runs=100, seconds=60)
    best = asyncio.run(shrinker.shrink(pieces(1), lambda: pieces(1), lambda candidate: candidate))
    assert best == frozenset(pieces(1))
    assert [len(each) for each in tried] == [1, 1, 1, 0, 0]
    assert shrinker.rates[best].failed == 2


@given(st.text(max_size=300))
def test_sentences_make_the_text(text: str) -> None:
    """Nothing is lost."""
    assert "".join(sentences(text)) == text


def test_long_instructions_are_cut_into_larger_pieces() -> None:
    """So that the number of pieces is bounded."""
    assert len(sentences("A sentence. " * 5000)) <= 200
