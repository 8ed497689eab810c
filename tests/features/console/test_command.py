"""`adk-prism console`, as a process: on a real terminal, in a pipe, and where it cannot open."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.end_to_end.server import Server
from tests.features.console.real_terminal import on_terminal
from tests.patience import PATIENCE

COMMAND = ("-m", "adk_prism.cli", "console")
QUICK = {"ADK_PRISM_MODEL": "offline", "ADK_PRISM_OFFLINE_DELAY": "0"}


def piped(
    folder: Path, words: Sequence[str], lines: str = "", **env: str
) -> subprocess.CompletedProcess[str]:
    """Run the command with lines as its input."""
    return subprocess.run(
        [sys.executable, *COMMAND, *words],
        input=lines,
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, **QUICK, **env},
        timeout=PATIENCE,
        check=False,
    )


# ------------------------------------------------------------------ a terminal


@pytest.mark.parametrize("env", [{}, {"NO_COLOR": "1"}], ids=["colour", "no colour"])
def test_on_a_real_terminal(env: dict[str, str], console_server: Server, tmp_path: Path) -> None:
    """Typed on, answered by key, left with a key; the terminal is as it was."""
    words = (*COMMAND, "tour", "--url", console_server.url)
    with on_terminal(*words, folder=tmp_path, env=env) as terminal:
        terminal.sees("Type a message, or /help")
        terminal.type("tool\r")
        terminal.sees("It is sunny in Lisbon")
        terminal.sees("t: timeline")
        terminal.type("approval\r")
        terminal.sees("[y] approve")
        terminal.type("y")
        terminal.sees("The invoice was sent.")
        terminal.type("\x1b[Z")  # back tab leaves the line
        terminal.type("\x03")
        assert terminal.ends() == 0
        assert "\x1b[?1049l" in terminal.raw, "the screen that was there before is back"
        assert "Traceback" not in terminal.text
        if env:
            assert "\x1b[38;2;" not in terminal.raw.replace("\x1b[38;2;0;0;0m", ""), (
                "black and white"
            )


def test_an_app_of_ones_own_machine(tmp_path: Path) -> None:
    """Without a server it brings its own, for as long as it is open."""
    with on_terminal(*COMMAND, "tour", folder=tmp_path, env=QUICK) as terminal:
        terminal.sees("t: timeline")
        terminal.type("exception\r")
        terminal.sees("t: timeline")
        terminal.shows("The run failed (RuntimeError)")
        terminal.shows("operator: ")
        terminal.type("\x03")
        assert terminal.ends() == 0
    assert not (tmp_path / ".adk-prism").exists(), "nothing is kept without a session's name"


def test_without_textual(tmp_path: Path) -> None:
    """One line that says how to get it."""
    program = (
        "import sys; sys.modules['textual'] = None\n"
        "from adk_prism.cli import main; sys.exit(main(['console', 'tour']))"
    )
    with on_terminal("-c", program, folder=tmp_path) as terminal:
        assert terminal.ends() == 1
        assert terminal.text.count("\n") == 1
        assert 'pip install "adk-prism[console]"' in terminal.text


# ------------------------------------------------------------------ a pipe


def test_lines_in_lines_out(console_server: Server, tmp_path: Path) -> None:
    """Messages, answers and panels, as plain text; exit 0 when the input ends."""
    lines = "tool\napproval\n/approve\n/timeline\n\nstate\n/state\nclient tool\nTurin\n"
    done = piped(tmp_path, ["tour", "--url", console_server.url], lines)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    at = [
        done.stdout.index(words)
        for words in (
            '-> get_weather {"city":"Lisbon"}',
            "It is sunny in Lisbon",
            "?? send_invoice needs approval",
            "Answer with /approve or /deny",
            "The invoice was sent.",
            "TIMELINE\ntour",
            "STATE\nsession (1)",
            "Turin",
        )
    ]
    assert at == sorted(at)


def test_the_pipe_needs_no_textual(console_server: Server, tmp_path: Path) -> None:
    """What only a screen needs is not loaded."""
    program = (
        "import sys; sys.modules['textual'] = sys.modules['rich'] = None\n"
        "from adk_prism.cli import main\n"
        f"sys.exit(main(['console', 'tour', '--url', {console_server.url!r}]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        input="tool\n/help\n",
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "/unassume NUMBER" in done.stdout


def test_a_denied_call_and_a_failed_run(console_server: Server, tmp_path: Path) -> None:
    """A denial is an answer; a failure makes the command fail, and the next line is still taken."""
    words = ["tour", "--url", console_server.url]
    done = piped(tmp_path, words, "approval\n/deny\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert "send_invoice was denied" in done.stdout
    done = piped(tmp_path, words, "exception\ntext\n/quit\ntool\n")
    assert done.returncode == 1
    assert "\nRuntimeError: This tool always fails (synthetic). Reference: " in done.stdout
    assert "get_weather" not in done.stdout, "nothing is read after /quit"


def test_a_line_that_cannot_be_taken(console_server: Server, tmp_path: Path) -> None:
    """Said on stderr, and the command fails at its end."""
    done = piped(tmp_path, ["tour", "--url", console_server.url], "/ok\n/nope\n//text\n")
    assert done.returncode == 1
    assert "There is no search plan" in done.stderr
    assert "Unknown command /nope" in done.stderr


def test_grounding_in_a_pipe(console_server: Server, tmp_path: Path) -> None:
    """The same commands that the keys type."""
    lines = "Why?\n/assume Since 2020\n/grounding\n/ok\n/history\n/remedy 1\n/export out.md\n"
    done = piped(tmp_path, ["grounded", "--url", console_server.url], lines)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Δ 2. Since 2020" in done.stdout
    assert "Searched, decision ok." in done.stdout
    assert "Remedy primary." in done.stdout
    assert "**Question:** Why?" in (tmp_path / "out.md").read_text()


def test_a_session_of_ones_own_is_kept(tmp_path: Path) -> None:
    """With a name it is there again, in another process."""
    piped(tmp_path, ["tour", "--session", "mine"], "state\n")
    done = piped(tmp_path, ["tour", "--session", "mine"], "/state\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Δ trip =" in done.stdout


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["tour", "--url", "nonsense"], 2, "must be a URL such as"),
        (["tour", "--url", "ftp://x"], 2, "must be a URL such as"),
        (["tour", "--url", "http://127.0.0.1:9"], 1, "cannot connect to http://127.0.0.1:9"),
        (["tour", "--url", "http://x", "--dir", "y"], 2, "cannot be used together"),
        (["nowhere"], 2, "There is no app 'nowhere'. Available apps:"),
        ([], 2, "an app is required: "),
        (["tour", "--dir", "nowhere"], 2, "nowhere"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_what_cannot_be_opened(words: list[str], code: int, says: str, tmp_path: Path) -> None:
    """One line: what came, what was expected; 2 for what was typed, 1 for what is not there."""
    done = piped(tmp_path, words)
    assert (done.returncode, done.stdout) == (code, "")
    assert says in done.stderr
    assert done.stderr.count("\n") == 1


def test_an_app_under_a_name_that_is_not_listed(tmp_path: Path) -> None:
    """The research app answers to the name that its panel's contract uses."""
    done = piped(tmp_path, ["research_agent"], "hello\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert "I search the literature with you" in done.stdout


def test_an_unknown_app_of_a_server(console_server: Server, tmp_path: Path) -> None:
    """The server's apps are named."""
    done = piped(tmp_path, ["nowhere", "--url", console_server.url])
    assert (done.returncode, done.stdout) == (2, "")
    assert "There is no app 'nowhere'. Available apps: grounded, research, tour." in done.stderr


def test_something_else_at_the_address(loopback_page: str, tmp_path: Path) -> None:
    """Another server than ours is said to be one."""
    done = piped(tmp_path, ["tour", "--url", loopback_page])
    assert (done.returncode, done.stdout) == (1, "")
    assert "Is it an adk-prism server?" in done.stderr
    assert done.stderr.count("\n") == 1
