"""What an exception says without its stack: the fields of a wrong model, the line of a broken app."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from google.adk.agents import Agent
from google.adk.cli.utils.agent_loader import AgentLoader
from pydantic import BaseModel, ConfigDict

from adk_prism.adk.errors import load_failure, message_of

pytestmark = pytest.mark.filterwarnings(r"ignore:\[EXPERIMENTAL\]")


class Order(BaseModel):
    model_config = ConfigDict(extra="forbid")
    city: str
    guests: int


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


def raised(act: Callable[[], object]) -> BaseException:
    with pytest.raises(BaseException) as found:  # noqa: PT011 - what it is, the test looks at
        act()
    return found.value


def wrapped() -> None:
    try:
        Order.model_validate({"guests": "four", "city": "Rome"})
    except ValueError as error:
        raise RuntimeError(f"The order is wrong: {error}") from error


def many() -> None:
    Order.model_validate({"guests": 1, "city": "Rome", **{f"x{n}": n for n in range(20)}})


@dataclass(frozen=True)
class Case:
    id: str
    act: Callable[[], object]
    says: str
    hides: str = "pydantic.dev"


def throw(error: BaseException) -> Callable[[], object]:
    def act() -> object:
        raise error

    return act


CASES = [
    Case(
        "plain",
        throw(ValueError("No API key was provided.")),
        "ValueError: No API key was provided.",
    ),
    Case("useless without its class", lambda: {}["city"], "KeyError: 'city'"),
    Case("says nothing", throw(AssertionError()), "AssertionError"),
    Case("cannot be written", throw(Mute()), "Mute"),
    Case(
        "a misspelt field",
        lambda: Agent(name="a", modle="gemini"),  # type: ignore[call-arg]
        "LlmAgent: modle: Extra inputs are not permitted",
    ),
    Case(
        "a wrong value, which may be secret",
        lambda: Order.model_validate({"guests": "hunter2", "city": "Rome"}),
        "Order: guests: Input should be a valid integer, unable to parse string as an integer",
        hides="hunter2",
    ),
    Case(
        "wrapped, with its text", wrapped, "RuntimeError: The order is wrong: Order: guests: Input"
    ),
    Case("more than can be read", many, "; and 15 more"),
    Case(
        "several at once",
        throw(ExceptionGroup("tasks", [ValueError("one"), KeyError("two")])),
        "ValueError: one; KeyError: 'two'",
        hides="sub-exception",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_what_an_exception_says(case: Case) -> None:
    """The class, and what a person can act on; no link to pydantic's site, no input, no stack."""
    told = message_of(raised(case.act))
    assert case.says in told
    assert case.hides not in told
    assert "Traceback" not in told


MODULES = {
    "misspelt field": (
        "from google.adk.agents import Agent\n\nroot_agent = Agent(name='a', modle='gemini')\n",
        "LlmAgent: modle: Extra inputs are not permitted",
        3,
    ),
    "syntax": ("x = 1\ndef broken(:\n    pass\n", "SyntaxError", 2),
    "raises": ("import os\n\nos.environ['NOT_SET_ANYWHERE']\n", "NOT_SET_ANYWHERE", 3),
    "explains itself": (
        "try:\n    {}['KEY']\nexcept KeyError as error:\n"
        "    raise RuntimeError('Set KEY first.') from error\n",
        "Set KEY first.",
        4,
    ),
    "missing module": ("import not_installed_anywhere\n", "not_installed_anywhere", 1),
    "inside a library": ("import json\n\njson.loads('{')\n", "JSONDecodeError", 3),
}


@pytest.mark.parametrize("name", MODULES)
def test_an_app_that_does_not_load(name: str, tmp_path: Path) -> None:
    """As ADK's own loader wraps it: the app's error, with its file and line, and not the library's."""
    text, says, line = MODULES[name]
    app = f"broken_{name.replace(' ', '_')}"
    (tmp_path / app).mkdir()
    file = tmp_path / app / "agent.py"
    file.write_text(text)
    told = load_failure(raised(lambda: AgentLoader(str(tmp_path)).load_agent(app)))
    assert says in told
    assert told.endswith(f"({file}, line {line})")
    assert "pydantic.dev" not in told


def test_a_place_below_the_working_folder_is_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As an editor's terminal can open it."""
    (tmp_path / "near").mkdir()
    (tmp_path / "near" / "agent.py").write_text("1 / 0\n")
    monkeypatch.chdir(tmp_path)
    told = load_failure(raised(lambda: AgentLoader(str(tmp_path)).load_agent("near")))
    assert told.endswith("(near/agent.py, line 1)")
