"""The command line: quick to help, one line for a mistake, 2 for usage and 1 for a failure."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from adk_prism.cli import main
from adk_prism.extension import KERNEL_COMMANDS, installed
from adk_prism.options import options_of
from adk_prism.server.setting_groups import GROUPS
from adk_prism.server.settings import feature_settings, options

HEAVY = ("google", "fastapi", "starlette", "uvicorn", "sqlalchemy", "httpx", "pydantic")


@pytest.mark.parametrize(
    "words", [["--help"], ["--version"], ["replay", "--help"], ["bogus"], []], ids=" ".join
)
def test_light_commands_import_nothing_heavy(words: list[str]) -> None:
    """Help is instant, and replaying a file needs no agent framework and no web server."""
    program = (
        "import sys\n"
        "from adk_prism.cli import main\n"
        f"code = main({words!r})\n"
        f"loaded = [name for name in {HEAVY!r} if name in sys.modules]\n"
        "sys.exit(f'loaded {loaded}' if loaded else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    """What there is, on stdout, and a success."""
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in KERNEL_COMMANDS | installed().commands())


def test_every_setting_is_explained_in_one_group(capsys: pytest.CaptureFixture[str]) -> None:
    """`serve --help` has no option without a heading, and none without a sentence."""
    known = options()
    groups = [*GROUPS, *feature_settings().values()]
    grouped = [name for group in groups for name in options_of(group)]
    assert sorted(grouped) == sorted(known)
    assert main(["serve", "--help"]) == 0
    shown = capsys.readouterr().out
    assert all(shown.count(f"\n{group.title}:\n") == 1 for group in groups)
    assert [name for name in known if len(known[name].help.split()) < 3] == []


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "a command is required: serve,"),
        (["bogus"], "invalid choice: 'bogus'"),
        (["serve", "--bogus"], "unrecognized arguments: --bogus"),
        (["serve", "--port"], "--port"),
        (["serve", "--port", "x"], "--port must be a whole number from 0 to 65535, got 'x'"),
        (["serve", "--host", "0.0.0.0"], "--insecure"),
        (["serve", "--workers", "2"], "--workers 1"),
        (["serve", "--log", "redis://localhost/nonsense", "--port", "0"], "Redis"),
        (["serve", "--log", "nonsense", "--port", "0"], "expected memory:"),
        (["serve", "no-such-folder", "--port", "0", "--log", "memory:"], "no-such-folder"),
        (["serve", "--allow-origin", "*"], "--allow-origin must be an origin"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_a_usage_mistake_is_one_line(
    words: list[str],
    says: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What came, what was expected; exit 2; no stack, no usage text."""
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("adk-prism: ")
    assert says in err
    assert err.count("\n") == 1


def test_a_port_in_use_is_a_failure_in_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Said before anything slow is loaded; exit 1, since the command itself was right."""
    monkeypatch.chdir(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["serve", "--port", str(port)]) == 1
    err = capsys.readouterr().err
    assert err == (
        f"adk-prism: 127.0.0.1:{port} is already in use; stop the other server,"
        " or choose another --port.\n"
    )


def test_an_address_of_nobody_is_a_failure_in_one_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Also what the system says in its own words."""
    assert main(["serve", "--host", "203.0.113.1", "--insecure", "--port", "0"]) == 1
    assert "cannot listen on 203.0.113.1:0" in capsys.readouterr().err
