"""What `adk-prism run` asks on a terminal: approvals, forms, sign-ins and results, until the answer fits."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.patience import PATIENCE

from adk_prism.features.run.questions import Question, SignIn, Terminal, ask

FORM: dict[str, Any] = {
    "type": "OBJECT",
    "properties": {
        "guests": {"type": "INTEGER", "description": "How many come"},
        "seat": {"type": "STRING", "enum": ["inside", "terrace"]},
        "late": {"type": "BOOLEAN", "default": False},
        "note": {"$ref": "#/$defs/note"},
    },
    "required": ["guests", "seat"],
    "$defs": {"note": {"type": "STRING"}},
}


class Asked(NamedTuple):
    """A question, what is typed, and the answer with what was said meanwhile."""

    question: Question
    typed: Sequence[str]
    response: Any
    said: str = ""


APPROVAL = Question("approval", "a", "send", given='{"to":"Ada"}')
PAID = Question(
    "approval", "a", "pay", {"properties": {"days": {"type": "number"}}, "required": ["days"]}
)
CASES = {
    "yes": Asked(APPROVAL, ["y"], {"confirmed": True}),
    "no, with its reason": Asked(
        APPROVAL, ["n too dear"], {"confirmed": False, "payload": {"reason": "too dear"}}
    ),
    "no, asked for the reason": Asked(
        APPROVAL, ["No", "later"], {"confirmed": False, "payload": {"reason": "later"}}
    ),
    "no, for no reason": Asked(APPROVAL, ["n", ""], {"confirmed": False}),
    "neither": Asked(APPROVAL, ["", "perhaps", "yes"], {"confirmed": True}, "Type y or n"),
    "a payload": Asked(
        PAID, ["y", "soon", "3"], {"confirmed": True, "payload": {"days": 3}}, "not of type"
    ),
    "a form": Asked(
        Question("input", "i", "A table?", FORM),
        ["many", "4", "roof", "terrace", "", ""],
        {"result": {"guests": 4, "seat": "terrace", "late": False}},
        "'roof' is not one of",
    ),
    "one value": Asked(
        Question("input", "i", "How many?", {"type": "integer"}), ["", "7"], {"result": 7}
    ),
    "any text": Asked(Question("input", "i", "Why?"), ["{not json"], {"result": "{not json"}),
    "a schema that is none": Asked(
        Question("input", "i", "Why?", {"properties": {"a": 5}, "required": ["a"]}),
        ["x"],
        {"result": {"a": "x"}},
    ),
    "a result": Asked(Question("result", "r", "look"), ["", '{"x": 1}'], {"x": 1}),
    "a key": Asked(
        Question(
            "credential",
            "c",
            "sign-in",
            sign_in=SignIn({"rawAuthCredential": {"authType": "apiKey"}}),
        ),
        ["secret"],
        {
            "rawAuthCredential": {"authType": "apiKey"},
            "exchangedAuthCredential": {"authType": "apiKey", "apiKey": "secret"},
        },
        "A tool needs you to sign in.",
    ),
}


def _terminal(typed: Sequence[str], said: list[str]) -> Terminal:
    lines = iter(typed)

    def read(prompt: str) -> str:
        said.append(prompt)
        for line in lines:
            return line
        raise EOFError

    return Terminal(read, read, said.append)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_an_answer_is_asked_for_until_it_fits(case: Asked) -> None:
    """What does not fit is explained, and asked again."""
    said: list[str] = []
    part = ask(case.question, _terminal(case.typed, said))
    assert part["functionResponse"]["response"] == case.response
    assert case.said in "\n".join(said)


def test_who_types_nothing_more_answers_nothing() -> None:
    """Ctrl+D, in the middle of a form as well."""
    with pytest.raises(EOFError):
        ask(Question("input", "i", "A table?", FORM), _terminal(["4"], []))


def test_no_control_character_reaches_the_terminal() -> None:
    """Names, descriptions and defaults come from an app."""
    evil = "\x1b[2Jx"
    schema = {"properties": {evil: {"description": evil, "default": evil}}}
    said: list[str] = []
    ask(Question("input", "i", evil, schema), _terminal([""], said))
    assert "\x1b" not in "".join(said)


# --------------------------------------------------------------------------- on a real terminal

Talk = Callable[[str, Sequence[tuple[str, str]]], tuple[int, str]]


@pytest.fixture
def talk(tmp_path: Path) -> Talk:
    """`talk(message, [(shown, typed)]) -> (exit code, screen)` of `run tour` on a pseudo terminal."""

    def run(message: str, script: Sequence[tuple[str, str]]) -> tuple[int, str]:
        ours, theirs = pty.openpty()
        quick = {"ADK_PRISM_MODEL": "offline", "ADK_PRISM_OFFLINE_DELAY": "0", "TERM": "xterm"}
        process = subprocess.Popen(
            [sys.executable, "-m", "adk_prism.cli", "run", "tour", message],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=tmp_path,
            env=os.environ | quick,
            start_new_session=True,
            preexec_fn=_own_terminal,
        )
        os.close(theirs)
        try:
            return _play(process, ours, list(script))
        finally:
            process.kill()
            process.wait()
            os.close(ours)

    return run


def _own_terminal() -> None:
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # so that Ctrl+C is a signal


def _play(
    process: subprocess.Popen[bytes], terminal: int, script: list[tuple[str, str]]
) -> tuple[int, str]:
    screen, seen = "", 0
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if select.select([terminal], [], [], 0.2)[0]:
            try:
                screen += os.read(terminal, 4096).decode(errors="replace")
            except OSError:  # nobody writes to it any more
                break
        if script and (found := re.search(script[0][0], screen[seen:])):
            seen += found.end()
            time.sleep(
                0.3
            )  # A signal between a prompt and its reading is noted by Python only later.
            os.write(terminal, script.pop(0)[1].encode())
    assert not script, f"never shown: {script[0][0]!r} in {screen!r}"
    return process.wait(PATIENCE), screen


def test_an_approval_is_given_on_the_terminal(talk: Talk) -> None:
    """The call and its arguments are in the question; the run goes on with the answer."""
    code, screen = talk("approval", [(r"Allow send_invoice .*120\.5.* to run\? \[y/n\] ", "y\n")])
    assert code == 0
    assert "The invoice was sent." in screen
    assert "waiting" not in screen


def test_a_form_is_filled_on_the_terminal(talk: Talk) -> None:
    """Field by field; a wrong value is asked for again."""
    fields = [
        (r"guests \(integer\): ", "x\n"),
        (r"guests \(integer\): ", "4\n"),
        ("terrace .*: ", "y\n"),
    ]
    code, screen = talk("input request", fields)
    assert code == 0
    assert "'guests': 4, 'terrace': True" in screen


def test_control_c_and_control_d_leave_the_question(talk: Talk) -> None:
    """Without a traceback: 130 as shells say it, and 0 with a word on what is still open."""
    code, screen = talk("approval", [(r"\[y/n\] ", "\x03")])
    assert (code, "Traceback" in screen) == (130, False)
    code, screen = talk("approval", [(r"\[y/n\] ", "\x04")])
    assert (code, "the run still waits" in screen) == (0, True)
