"""`replay`: a file in any form as a protocol, from any position, in bounded memory, with nothing loaded."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from google.adk.events.event import Event
from tests.laws.events import event, text
from tests.recordings.library import HERE, load

from adk_prism.cli import main
from adk_prism.errors import BadPosition
from adk_prism.features.captures.replay import replay
from adk_prism.log.entry import Position
from adk_prism.protocols.registry import protocol

RECORDING = HERE / "tool.jsonl"
CAPTURE = HERE / "raw" / "tool.jsonl"
LINES = CAPTURE.read_text().splitlines()

Said = Callable[..., tuple[int, bytes, str]]


@pytest.fixture
def said(capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Said:
    """`said(*words, stdin=b"") -> (exit code, stdout, stderr)` of `adk-prism replay`."""

    def run(*words: str | Path, stdin: bytes = b"") -> tuple[int, bytes, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = main(["replay", *map(str, words)])
        out, err = capfdbinary.readouterr()
        return code, out, err.decode()

    return run


@pytest.mark.parametrize(
    ("words", "name", "dialect"),
    [
        (["--as", "adk"], "adk", ""),
        (["--as", "ai-sdk"], "ai-sdk", "6"),
        (["--as", "ai-sdk", "--dialect", "6"], "ai-sdk", "6"),
        (["--as", "ai-sdk", "--dialect", "7"], "ai-sdk", "7"),
        (["--as", "ag-ui"], "ag-ui", "0.0.59"),
        (["--as", "ag-ui", "--dialect", "1.0"], "ag-ui", "1.0"),
    ],
    ids=" ".join,
)
def test_a_recording_is_replayed(words: list[str], name: str, dialect: str, said: Said) -> None:
    """The exact bytes, with ids."""
    file = HERE / "approval.jsonl"
    wanted = b"".join(replay(load("approval"), protocol(name).format(dialect)))
    assert said(file, *words) == (0, wanted, "")
    assert b"1.1\n" in wanted or name == "adk"


def test_raw_events_come_on_request(said: Said) -> None:
    """ADK's own, one for each event of the run."""
    code, out, _ = said(CAPTURE, "--as", "ag-ui", "--raw")
    assert (code, out.count(b'"type":"RAW"')) == (0, len(LINES))
    assert b'"source":"google-adk"' in out


def _snake(line: str) -> str:
    return Event.model_validate_json(line).model_dump_json(exclude_none=True)


FORMS = {
    "JSON lines": "".join(f"{line}\n" for line in LINES),
    "JSON lines, snake_case": "".join(f"{_snake(line)}\n" for line in LINES),
    "a body of /run_sse": "".join(f"data: {line}\n\n" for line in LINES),
    "an array": "[" + ",".join(LINES) + "]",
    "blank lines and CRLF": "\r\n\r\n".join(LINES),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("piped", [False, True], ids=["file", "stdin"])
def test_every_form_of_a_capture_is_read(
    form: str, piped: bool, said: Said, tmp_path: Path
) -> None:
    """They all say the same; only the made-up run id differs with the bytes of the first event."""
    file = tmp_path / "capture"
    file.write_text(FORMS[form], newline="")
    code, out, err = said("-" if piped else file, "--as", "ai-sdk", stdin=FORMS[form].encode())
    _, expected, _ = said(CAPTURE, "--as", "ai-sdk")
    assert (code, err) == (0, "")
    assert out.split(b"\n\n")[1:] == expected.split(b"\n\n")[1:]


def test_every_position_goes_on(said: Said) -> None:
    """After each frame and each entry: what was seen and the rest are the whole."""
    spec = protocol("ai-sdk").format()
    whole = b"".join(replay(load("tool"), spec))
    seen = b""
    for block in whole.split(b"\n\n")[:-1]:
        seen += block + b"\n\n"
        position = block.partition(b"\n")[0].removeprefix(b"id: ").decode()
        cursor, part = map(int, position.split("."))
        rest = b"".join(replay(load("tool"), spec, Position(cursor, part)))
        assert seen + rest == whole
    assert said(RECORDING, "--as", "ai-sdk", "--after", "0") == (0, whole, "")
    code, rest, err = said(RECORDING, "--as", "ai-sdk", "--after", "4")
    assert (code, err) == (0, "")
    assert whole.endswith(rest)
    assert rest.startswith(b"id: 5.1\n")


def test_after_the_last_frame_there_is_nothing_more() -> None:
    """The end is a position like any other."""
    run = load("tool")
    assert b"".join(replay(run, protocol("ai-sdk").format(), Position(len(run)))) == b""
    with pytest.raises(BadPosition):
        list(replay(run, protocol("ai-sdk").format(), Position(len(run) + 1)))


@dataclass(frozen=True)
class Mistake:
    id: str
    words: list[str]
    says: str
    code: int = 2


MISTAKES = [
    Mistake("no protocol", [str(RECORDING)], "--as"),
    Mistake("no file", ["--as", "adk"], "FILE"),
    Mistake(
        "unknown protocol", [str(RECORDING), "--as", "x"], "Unknown protocol 'x'; expected 'adk'"
    ),
    Mistake(
        "unknown dialect",
        [str(RECORDING), "--as", "ai-sdk", "--dialect", "4"],
        "Unknown dialect '4'",
    ),
    Mistake("no dialects", [str(RECORDING), "--as", "adk", "--dialect", "6"], "no dialects"),
    Mistake(
        "no position", [str(RECORDING), "--as", "adk", "--after", "x"], "'x' is not a position"
    ),
    Mistake("past the end", [str(RECORDING), "--as", "adk", "--after", "999"], "past the end"),
    Mistake(
        "no such frame",
        [str(RECORDING), "--as", "ai-sdk", "--after", "1.9"],
        "entry 1 has 1 frames",
    ),
    Mistake("no such file", ["nowhere.jsonl", "--as", "adk"], "nowhere.jsonl"),
]


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.id)
def test_a_mistake_is_one_line(mistake: Mistake, said: Said) -> None:
    """What came, what was expected; nothing on stdout; exit 2."""
    code, out, err = said(*mistake.words)
    assert (code, out) == (mistake.code, b"")
    assert err.startswith("adk-prism: ")
    assert mistake.says in err
    assert err.count("\n") == 1


BROKEN = {
    "no JSON": (b"oops\n", "line 3 is not an ADK event"),
    "no event": (b'{"hello":"world"}\n', "line 3 is not an ADK event"),
    "not UTF-8": (b'{"author":"\xff\xfe"}\n', "line 3 is not an ADK event"),
    "not UTF-8, where nobody reads": (
        b'{"author":"a","actions":{"stateDelta":{"x":"\xff"}}}\n',
        "line 3 is not an ADK event",
    ),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_what_can_be_read_comes_first(broken: str, said: Said, tmp_path: Path) -> None:
    """Then one line that names the place, what is there and what was expected; exit 1; no end."""
    bad, says = BROKEN[broken]
    good = "".join(f"{line}\n" for line in LINES[:2]).encode()
    file = tmp_path / "broken.jsonl"
    file.write_bytes(good + bad)
    code, out, err = said(file, "--as", "ai-sdk")
    assert b'"text-delta"' in out
    assert code == 1
    assert b"[DONE]" not in out
    assert says.lower() in err.lower()
    assert err.count("\n") == 1


def test_a_file_that_is_cut_off_is_incomplete(said: Said, tmp_path: Path) -> None:
    """Whoever saved it lost the connection: what came is replayed, and the end says so."""
    file = tmp_path / "cut.jsonl"
    file.write_text("\n".join(LINES[:2]) + '\n{"author":"agent","content":{"par')
    code, out, err = said(file, "--as", "ai-sdk")
    assert (code, err) == (0, "")
    assert b'"text-delta"' in out
    assert b"The recording ends before the run did." in out


def test_nothing_heavy_is_loaded() -> None:
    """No agent framework, no web server: a replay starts at once."""
    program = (
        "import sys\n"
        "from adk_prism.cli import main\n"
        f"code = main(['replay', {str(RECORDING)!r}, '--as', 'ai-sdk'])\n"
        "heavy = ('google', 'fastapi', 'starlette', 'uvicorn', 'sqlalchemy', 'httpx', 'pydantic')\n"
        "sys.exit(code or ', '.join(name for name in heavy if name in sys.modules) or 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


MEASURED = """
import resource, sys
from adk_prism.cli import main
code = main(["replay", "-", "--as", "ai-sdk"])
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(peak // (1024 if sys.platform == "darwin" else 1), file=sys.stderr)
sys.exit(code)
"""


def _peak(turns: int, deltas: int, tmp_path: Path) -> int:
    """Return the memory, in KiB, that a replay of so many deltas takes at most."""
    piece = json.dumps(event(text("some words "), partial=True)).encode() + b"\n"
    whole = json.dumps(event(text("some words " * deltas), partial=False)).encode() + b"\n"
    file = tmp_path / "long.jsonl"
    with file.open("wb") as out:
        for _ in range(turns):
            out.write(piece * deltas)
            out.write(whole)
    with file.open("rb") as source:
        done = subprocess.run(
            [sys.executable, "-c", MEASURED],
            stdin=source,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            check=True,
        )
    return int(done.stderr)


def test_a_run_of_a_hundred_thousand_deltas_is_never_held(tmp_path: Path) -> None:
    """A hundred model calls of a thousand words each take what one of them takes, and a little."""
    one, hundred = _peak(1, 1_000, tmp_path), _peak(100, 1_000, tmp_path)
    assert hundred - one < 8 * 1024


def test_a_reader_that_leaves_is_no_crash() -> None:
    """`| head` ends the command quietly."""
    command = [
        sys.executable,
        "-m",
        "adk_prism.cli",
        "replay",
        str(HERE / "help.jsonl"),
        "--as",
        "adk",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
