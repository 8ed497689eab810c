"""Settings come from one table, in one order, and a wrong one is one clear line."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import pytest

from adk_prism.cli import main
from adk_prism.errors import UsageError
from adk_prism.features.limits import LimitSettings
from adk_prism.features.run_retention import RunRetentionSettings
from adk_prism.options import flag_name, toml_name, variable_name
from adk_prism.server.settings import Settings, feature_settings, options, read_settings


def project(folder: Path, text: str) -> Path:
    (folder / "pyproject.toml").write_text(f"[tool.adk-prism]\n{text}\n")
    return folder


def test_every_setting_is_an_option() -> None:
    """The table describes each field of the settings, and nothing else."""
    kinds = (Settings, *feature_settings().values())
    known = [each.name for kind in kinds for each in fields(kind) if each.name != "features"]
    assert list(options()) == known
    assert all(option.help for option in options().values())


def test_a_name_has_one_spelling_per_source() -> None:
    """A setting's names are derived, so nobody has to remember three."""
    assert flag_name("allow_origin") == "--allow-origin"
    assert variable_name("allow_origin") == "ADK_PRISM_ALLOW_ORIGIN"
    assert toml_name("allow_origin") == "allow-origin"


def test_defaults_hold_without_any_source(tmp_path: Path) -> None:
    """Nothing said: this machine only, a month of runs, chats interrupt, ADK's routes refuse."""
    settings = read_settings({}, {}, tmp_path)
    assert settings == Settings()
    assert (settings.host, settings.port) == ("127.0.0.1", 8000)
    assert settings.log == "sqlite:///.adk-prism/runs.db"
    assert (settings.chat_busy, settings.adk_busy) == ("interrupt", "refuse")
    kept = settings.of(RunRetentionSettings)
    assert (kept.retention_age, kept.retention_size) == (30 * 86400.0, 2 * 1024**3)
    assert settings.body_limit == 8 * 1024 * 1024


def test_the_nearer_source_decides(tmp_path: Path) -> None:
    """Command line before environment before pyproject.toml before default."""
    project(tmp_path, 'port = 1\ngrace = "10s"\nkeep-alive = 5\nlog = "memory:"')
    settings = read_settings(
        {"port": "3"}, {"ADK_PRISM_PORT": "2", "ADK_PRISM_GRACE": "20s"}, tmp_path
    )
    assert (settings.port, settings.grace, settings.keep_alive) == (3, 20.0, 5.0)
    assert settings.log == "memory:"


def test_the_nearest_pyproject_is_read(tmp_path: Path) -> None:
    """A folder inside a project takes the project's settings, and its paths from there."""
    project(tmp_path, 'port = 1\nagents-dir = "agents"')
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    settings = read_settings({}, {}, inner)
    assert settings.port == 1
    assert settings.agents_dir == str(tmp_path / "agents")


def test_an_empty_variable_is_not_set(tmp_path: Path) -> None:
    """Compose files and shells pass variables that are empty."""
    assert read_settings({}, {"ADK_PRISM_PORT": ""}, tmp_path).port == 8000


@dataclass(frozen=True)
class Read:
    id: str
    name: str
    text: str
    toml: str
    value: Any


READS = [
    Read("count", "port", "8080", "8080", 8080),
    Read("size", "body_limit", "2MiB", '"2 MiB"', 2 * 1024**2),
    Read("size in bytes", "body_limit", "100", "100", 100),
    Read("time", "stalled", "2d", '"2d"', 2 * 86400.0),
    Read("time in seconds", "grace", "2.5", "2.5", 2.5),
    Read("flag", "insecure", "yes", "true", True),
    Read("choice", "chat_busy", "wait", '"wait"', "wait"),
    Read("several", "client_state", "user:, app:x", '["user:", "app:x"]', ("user:", "app:x")),
    Read(
        "origin",
        "allow_origin",
        "https://a.example",
        '["https://a.example"]',
        ("https://a.example",),
    ),
]


@pytest.mark.parametrize("case", READS, ids=lambda case: case.id)
def test_each_kind_reads_the_same_from_each_source(case: Read, tmp_path: Path) -> None:
    """The spelling of a value may differ by source; the value may not."""
    from_variable = read_settings({}, {variable_name(case.name): case.text}, tmp_path)
    from_line = read_settings({case.name: case.text}, {}, tmp_path)
    project(tmp_path, f"{toml_name(case.name)} = {case.toml}")
    from_toml = read_settings({}, {}, tmp_path)
    assert getattr(from_variable, case.name) == case.value
    assert from_line == from_variable == from_toml


@dataclass(frozen=True)
class Wrong:
    id: str
    name: str
    text: str
    says: str


WRONG = [
    Wrong("port text", "port", "x", "must be a whole number from 0 to 65535, got 'x'"),
    Wrong("port high", "port", "65536", "from 0 to 65535"),
    Wrong("port unicode digit", "port", "²", "from 0 to 65535"),
    Wrong("size zero", "body_limit", "0", "a size such as 8MiB"),
    Wrong("size unit", "body_limit", "8MB", "a size such as 8MiB"),
    Wrong("time", "grace", "soon", "a time such as 15s"),
    Wrong("time negative", "grace", "-1", "a time such as 15s"),
    Wrong("choice", "adk_busy", "queue", "one of interrupt, refuse, wait"),
    Wrong("flag", "insecure", "maybe", "true or false"),
    Wrong("control character", "host", "a\nb", "must be text"),
    Wrong("keep-alive too long", "keep_alive", "16", "at most 15s"),
    Wrong("every proxy", "trusted_proxy", "0.0.0.0/0", "trusts the headers of nearly everybody"),
    Wrong("every proxy v6", "trusted_proxy", "::/0", "trusts the headers of nearly everybody"),
    Wrong(
        "half of all proxies",
        "trusted_proxy",
        "128.0.0.0/1",
        "trusts the headers of nearly everybody",
    ),
    Wrong("other machines", "host", "0.0.0.0", "--insecure"),
    Wrong("other machines v6", "host", "::", "--insecure"),
    Wrong("workers", "workers", "2", "--workers 1"),
    Wrong("worker port", "worker_port", "65536", "from 1 to 65535"),
    Wrong("origin with path", "allow_origin", "https://a.example/x", "must be an origin"),
    Wrong("origin any", "allow_origin", "*", "must be an origin"),
    Wrong("host with scheme", "allow_host", "http://a.example", "must be a host name"),
    Wrong("root path", "root_path", "agents", "start with /"),
    Wrong("public url", "public_url", "agents.example", "http or https"),
    Wrong("public url broken", "public_url", "http://[::1", "http or https"),
]


@pytest.mark.parametrize("case", WRONG, ids=lambda case: case.id)
def test_a_wrong_value_is_one_line(case: Wrong, tmp_path: Path) -> None:
    """What came, what was expected; nothing else, and no second line."""
    with pytest.raises(UsageError) as caught:
        read_settings({}, {variable_name(case.name): case.text}, tmp_path)
    assert case.says in caught.value.detail
    assert "\n" not in caught.value.detail


@pytest.mark.parametrize("workers_log", ["memory:", "sqlite:///x.db"])
def test_several_workers_need_a_log_that_they_can_share(workers_log: str) -> None:
    """No log of this version can be written by two processes."""
    with pytest.raises(UsageError, match="workers"):
        Settings(workers=2, log=workers_log)


def test_loopback_needs_no_permission() -> None:
    """Addresses of this machine are safe by default; others need a deliberate word."""
    for host in ("127.0.0.1", "127.1.2.3", "::1", "[::1]", "localhost", "LOCALHOST"):
        assert Settings(host=host).host == host
    assert Settings(host="0.0.0.0", insecure=True).insecure


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("prot = 1", "Unknown key 'prot'"),
        ("allow_origin = []", "Unknown key 'allow_origin'"),
        ('port = "x"', "[tool.adk-prism] port must be"),
        ("port = 1.5", "must be a whole number"),
        ("port = true", "must be a whole number"),
        ("allow-origin = 1", "must be origins"),
        ("port = ", "cannot be read as TOML"),
    ],
)
def test_a_wrong_pyproject_is_refused(text: str, says: str, tmp_path: Path) -> None:
    """A typing mistake in a file that nobody looks at must not pass silently."""
    with pytest.raises(UsageError) as caught:
        read_settings({}, {}, project(tmp_path, text))
    assert says in caught.value.detail


def test_a_section_that_is_no_table_is_refused(tmp_path: Path) -> None:
    """`tool.adk-prism = 1` is not a section."""
    (tmp_path / "pyproject.toml").write_text("[tool]\nadk-prism = 1\n")
    with pytest.raises(UsageError, match="must be a table"):
        read_settings({}, {}, tmp_path)


@pytest.mark.parametrize("case", READS, ids=lambda case: case.id)
def test_a_program_may_write_values_as_text(case: Read) -> None:
    """The constructor reads like the command line; a value that was read is taken as it is."""
    assert getattr(Settings(**{case.name: case.text}), case.name) == case.value
    assert getattr(Settings(**{case.name: case.value}), case.name) == case.value


@pytest.mark.parametrize("case", WRONG, ids=lambda case: case.id)
def test_a_wrong_value_of_a_program_is_one_line(case: Wrong) -> None:
    """The same texts as from the environment, when the settings are made."""
    with pytest.raises(UsageError) as caught:
        Settings(**{case.name: case.text})
    assert case.says in caught.value.detail
    assert "\n" not in caught.value.detail


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        (
            "retention_age",
            "soon",
            "retention_age must be a time such as 15s, 10m or 30d, above 0, got",
        ),
        ("retention_age", -1.0, "retention_age must be a time"),
        ("retention_age", True, "retention_age must be a time"),
        ("allow_host", 7, "allow_host must be host names"),
        ("limit_runs", 0.5, "limit_runs must be a whole number from 1 to 1000000, got 0.5"),
        ("a2a", "maybe", "a2a must be true or false, got 'maybe'"),
        ("retention", "30d", "There is no setting 'retention'. Did you mean 'retention_age'?"),
        ("x" * 200, "1", "There is no setting 'xxx"),
        ("on_crash_tool", "work", "on_crash_tool must be tools such as send_letter=ask"),
    ],
)
def test_what_a_program_gives_is_checked_by_name(name: str, value: Any, says: str) -> None:
    """The line begins with the field; options of features are read in the same way."""
    with pytest.raises(UsageError) as caught:
        Settings(**{name: value})
    assert caught.value.detail.startswith(says)
    assert len(caught.value.detail) < 250


def test_a_path_and_what_is_no_text_are_taken(tmp_path: Path) -> None:
    """A folder may be a `Path`; the default of a limit means none, though no text says so."""
    assert Settings(limit_runs=0).of(LimitSettings) == LimitSettings()
    settings = Settings(data_dir=tmp_path, max_llm_calls=None, reload=None)
    assert settings.data_dir == str(tmp_path)
    assert replace(settings, port=1) == Settings(data_dir=tmp_path, port=1)
    assert replace(Settings(a2a="yes"), port=1) == Settings(a2a=True, port="1")


def test_a_program_decides_over_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`from_environment` reads what `serve` reads; what is given comes first, and is checked."""
    monkeypatch.chdir(project(tmp_path, 'grace = "10s"\nport = 1'))
    monkeypatch.setenv("ADK_PRISM_PORT", "2")
    monkeypatch.setenv("ADK_PRISM_LOG", "memory:")
    settings = Settings.from_environment(port="3", retention_age="30d")
    assert (settings.port, settings.grace, settings.log) == (3, 10.0, "memory:")
    assert settings.of(RunRetentionSettings).retention_age == 30 * 86400
    with pytest.raises(UsageError, match=r"^port must be"):
        Settings.from_environment(port="x")


def test_an_earlier_name_of_a_setting_works_and_warns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """From each source, for one release; both names at once: the new one decides."""
    with pytest.warns(DeprecationWarning, match="^in_doubt is now called on_crash"):
        assert Settings(in_doubt="ask").on_crash == "ask"
    with pytest.warns(DeprecationWarning, match="ADK_PRISM_IN_DOUBT is now called"):
        found = read_settings({}, {"ADK_PRISM_IN_DOUBT": "fail"}, tmp_path)
    assert found.on_crash == "fail"
    both = {"ADK_PRISM_ON_CRASH": "ask", "ADK_PRISM_IN_DOUBT": "fail"}
    with pytest.warns(DeprecationWarning, match="ADK_PRISM_IN_DOUBT is now called"):
        assert read_settings({}, both, tmp_path).on_crash == "ask"
    project(tmp_path, 'in-doubt-tool = ["work=ask"]')
    with pytest.warns(DeprecationWarning, match="in-doubt-tool is now called on-crash-tool"):
        assert read_settings({}, {}, tmp_path).on_crash_tools == {"work": "ask"}
    (tmp_path / "pyproject.toml").unlink()
    monkeypatch.chdir(tmp_path)
    assert main(["serve", "--in-doubt", "maybe"]) == 2
    said = capsys.readouterr().err
    assert "--in-doubt is now called --on-crash." in said
    assert "--on-crash must be one of retry, fail, ask, got 'maybe'." in said


def test_a_removed_setting_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """From each source: none is ignored in silence."""
    said = "was removed: audio always goes through ADK's flow; leave it out."
    with pytest.raises(UsageError, match=f"^ADK_PRISM_LIVE_SHORTCUT {said}$"):
        read_settings({}, {"ADK_PRISM_LIVE_SHORTCUT": "auto"}, tmp_path)
    monkeypatch.chdir(tmp_path)
    for words in (["--live-shortcut"], ["--live-shortcut", "off"], ["--live-shortcut=auto"]):
        assert main(["serve", *words]) == 2
        assert capsys.readouterr().err == f"adk-prism: --live-shortcut {said}\n"
    project(tmp_path, 'live-shortcut = "off"')
    with pytest.raises(UsageError, match=r"^\[tool.adk-prism\] live-shortcut was removed: "):
        read_settings({}, {}, tmp_path)
