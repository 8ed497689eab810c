"""`adk-prism share`: one HTML file that holds the page and the run, and lets nothing else in."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.features.page.entries import Log
from tests.recordings.library import HERE, load

from adk_prism.cli import main
from adk_prism.errors import NotBuilt
from adk_prism.features.captures.recording_file import read_run, write_run
from adk_prism.features.page.film import encode, fold
from adk_prism.features.share import page_file as share
from adk_prism.features.share.page_file import Page, read_page, shared_file
from adk_prism.version import VERSION

PAGE = Page("run()", "body { margin: 0 }")
Json = dict[str, Any]


def data_in(text: str) -> Json:
    """Return the run in a file, as the page reads it."""
    [block] = re.findall(r'<script type="application/json" id="prism-film">(.*?)</script>', text)
    found: Json = json.loads(block)
    return found


def test_a_file_holds_the_page_and_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The built page, the whole film, every entry, and who wrote it; the command says what it wrote."""
    target = tmp_path / "run.html"
    assert main(["share", str(HERE / "state.jsonl"), "-o", str(target)]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"Wrote {target}: {target.stat().st_size / 1e6:.1f} MB, 1 run with 30")
    text = target.read_text(encoding="utf-8")
    page = read_page()
    assert page.script in text
    assert page.style in text
    assert f'content="adk-prism {VERSION}"' in text
    data = data_in(text)
    assert data["writer"] == VERSION
    assert data["film"] == json.loads(encode(fold(load("state"))))
    assert list(data["entries"]) == [str(entry.cursor) for entry in load("state")]
    assert [path.name for path in tmp_path.iterdir()] == ["run.html"]


def test_only_the_page_may_run() -> None:
    """The policy names the script and the style by their hashes, and allows no connection at all."""
    text = shared_file(load("text"), PAGE)
    [policy] = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert policy.startswith("default-src 'none'; ")
    for kind, inlined in (("script", PAGE.script), ("style", PAGE.style)):
        digest = base64.b64encode(hashlib.sha256(inlined.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}';" in policy
    assert "unsafe" not in policy
    assert "http" not in policy


ATTACKS = [
    "</script><script>alert(1)</script>",
    "<!-- <script>",
    "</SCRIPT >",
    "\u2028\u2029",
    "<img src=x onerror=alert(1)>",
]


@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_that_was_said_is_markup(attack: str) -> None:
    """Whatever an agent says stays data."""
    log = Log(attack, topic=attack)
    log.event(attack, text=attack, delta={attack: {attack: attack}})
    log.over()
    text = shared_file(log.entries, PAGE)
    assert text.count("<script") == 2
    assert text.lower().count("</script") == 2
    assert "<!--" not in text
    assert "\u2028" not in text
    assert data_in(text)["film"]["items"]["said"][0]["is"]["text"] == attack


def test_the_title_is_text() -> None:
    """An app may be called anything."""
    log = Log()
    entries = [
        line.replace(b'"app":"app"', b'"app":"</title><b>"') for line in write_run(log.entries)
    ]
    text = shared_file(read_run(entries), PAGE)
    assert "<title>&lt;/title&gt;&lt;b&gt;" in text


def test_the_built_page_is_made_safe_to_inline(tmp_path: Path) -> None:
    """What would end the script, or begin a comment, is written otherwise."""
    (tmp_path / "page.js").write_text('a="</script><!--\u2028"', encoding="utf-8")
    (tmp_path / "page.css").write_text("a::after { content: '</style>' }", encoding="utf-8")
    page = read_page(tmp_path)
    assert page.script == 'a="<\\/script>\\x3c!--\\u2028"'
    assert page.style == "a::after { content: '<\\/style>' }"


def test_a_long_run_keeps_its_film_and_some_of_its_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    """The file stays small; the page says what is left out."""
    monkeypatch.setattr(share, "CLOSEUPS", 10_000)
    data = data_in(shared_file(load("long"), PAGE))
    assert 0 < len(data["entries"]) < data["film"]["last"] == len(load("long"))


def test_the_files_of_a_run_are_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """As data, under the place that the film names; one for which there is no room is left out."""
    data = data_in(shared_file(load("image"), PAGE))
    [shown] = [item for item in data["film"]["items"]["said"] if item["is"]["kind"] == "file"]
    place = f"{shown['since']}/{shown['is']['part']}"
    assert data["files"][place].startswith(f"data:{shown['is']['mediaType']};base64,")
    base64.b64decode(data["files"][place].partition(",")[2], validate=True)
    monkeypatch.setattr(share, "FILES", 10)
    assert data_in(shared_file(load("image"), PAGE))["files"] == {}


def test_a_page_that_is_not_built_says_how(tmp_path: Path) -> None:
    """In a checkout without Node."""
    with pytest.raises(NotBuilt, match="make serve"):
        read_page(tmp_path)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("hello\n", "expected"),
        ("", "empty"),
        ('{"cursor":1,"time":1,"type":"Nonsense"}\n', "not an entry"),
    ],
)
def test_a_file_that_is_none(
    content: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line on stderr, and nothing is written."""
    source, target = tmp_path / "run.jsonl", tmp_path / "run.html"
    source.write_text(content)
    assert main(["share", str(source), "-o", str(target)]) == 1
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert why in told
    assert not target.exists()


def test_a_recording_of_a_newer_version_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With both versions, and what to do; one of the same release is read."""
    lines = (HERE / "text.jsonl").read_text().splitlines(keepends=True)
    first = json.loads(lines[0])
    for version, code in (("99.0.0", 1), ("0.99.1", 1), (f"{VERSION}.dev1", 0), ("", 0)):
        source = tmp_path / "run.jsonl"
        source.write_text(json.dumps(first | {"version": version}) + "\n" + "".join(lines[1:]))
        assert main(["share", str(source), "-o", str(tmp_path / "run.html")]) == code
        told = capsys.readouterr().err
        assert (version in told and "Update adk-prism" in told) == bool(code)


def test_a_place_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Says so, in one line."""
    target = tmp_path / "missing" / "run.html"
    assert main(["share", str(HERE / "text.jsonl"), "-o", str(target)]) == 1
    assert "cannot be written" in capsys.readouterr().err


def test_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    """`-o -` is for pipes."""
    assert main(["share", str(HERE / "text.jsonl"), "-o", "-"]) == 0
    assert data_in(capsys.readouterr().out)["film"]["run"] == "run-1"
