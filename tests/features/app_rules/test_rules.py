"""The file of rules: what is read, what is refused at the start, and whom an app is there for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from google.adk.runners import InMemoryRunner
from tests.adk.scripted import Scripted
from tests.security.people import token_file
from tests.server.local_server import agent

from adk_prism import Prism, Settings
from adk_prism.adk.apps import Apps
from adk_prism.errors import UsageError
from adk_prism.features.app_rules.rules import Rules, read_rules
from adk_prism.server.identity.caller import Anyone, Caller, Guest, Principal


def apps(*names: str) -> Apps:
    return Apps.of_runners(
        {name: InMemoryRunner(agent(Scripted()), app_name=name) for name in names}
    )


def rules(folder: Path, text: str) -> Rules:
    file = folder / "rules.toml"
    file.write_text(text)
    return read_rules(str(file), apps("one", "two", "three"))


TEXT = """
[groups]
fire = ["ann", "*@fire.example.org"]
nobody = []

[apps.one]
users = ["bob", "[ce]*"]
groups = ["fire"]
approve = ["delete_*", "send"]

[apps.two]
groups = ["nobody"]

[apps."*"]
users = ["*@example.org"]
approve = ["pay"]
"""

SEEN: dict[str, tuple[Caller, set[str]]] = {
    "by name": (Principal("bob"), {"one"}),
    "by pattern": (Principal("eve"), {"one"}),
    "in a group": (Principal("ann"), {"one"}),
    "in a group, by pattern": (Principal("x@fire.example.org"), {"one"}),
    "upper case is another name": (Principal("Bob"), set()),
    "an app without a section": (Principal("x@example.org"), {"three"}),
    "nobody": (Principal("mallory"), set()),
    "an empty name": (Principal(""), set()),
    "an administrator": (Principal("root", admin=True), {"one", "two", "three"}),
    "not known": (Anyone(), set()),
    "with a link": (Guest(run="run-1", link="l", expires=0.0), {"one", "two", "three"}),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("who", SEEN)
def test_whom_an_app_is_there_for(who: str, tmp_path: Path) -> None:
    caller, expected = SEEN[who]
    found = rules(tmp_path, TEXT)
    assert {app for app in ("one", "two", "three") if not found.hides(caller, app)} == expected


def test_which_tools_need_an_approval(tmp_path: Path) -> None:
    found = rules(tmp_path, TEXT)
    asked = {
        (app, tool)
        for app in ("one", "two", "three")
        for tool in ("delete_all", "send", "send_now", "pay")
        if found.needs_approval(app, tool)
    }
    assert asked == {("one", "delete_all"), ("one", "send"), ("three", "pay")}
    open_to_all = rules(tmp_path, '[apps.one]\napprove = ["x"]')
    assert not open_to_all.restrict
    assert not open_to_all.hides(Anyone(), "one")


WRONG = {
    "[apps": "it cannot be read as TOML",
    "[apps.four]": "there is no app 'four'; the apps are: one, three, two",
    "[apps.one]\nuser = ['x']": "unknown field `user`",
    "[apps.one]\nusers = 'x'": "Expected `array",
    "[apps.one]\nusers = [1]": "Expected `str`",
    "[apps.one]\ngroups = ['g']": "[apps.one] names the group 'g', which is not in [groups]",
    "[groups]\ng = 'x'": "Expected `array`",
    "[app.one]\nusers = []": "unknown field `app`",
    "\0": "it cannot be read as TOML",
}


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_file_is_refused_in_one_line(text: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refused:
        rules(tmp_path, text)
    assert refused.value.detail.startswith("--rules ")
    assert WRONG[text] in refused.value.detail
    assert "\n" not in refused.value.detail


def _prism(folder: Path, **settings: Any) -> Prism:
    runner = InMemoryRunner(agent(Scripted()), app_name="one")
    return Prism({"one": runner}, Settings(log="memory:", data_dir=str(folder), **settings))


def test_a_server_refuses_what_it_cannot_keep(tmp_path: Path) -> None:
    """A file that is missing, and callers that nobody knows; approvals need no callers."""
    file = tmp_path / "rules.toml"
    with pytest.raises(
        UsageError, match=r"--rules .*rules.toml: it cannot be read as TOML \(No such"
    ):
        _prism(tmp_path, rules=str(file))
    file.write_text('[apps.one]\nusers = ["ann"]\n')
    with pytest.raises(UsageError, match="callers who authenticate"):
        _prism(tmp_path, rules=str(file))
    _prism(tmp_path, rules=str(file), tokens=token_file(tmp_path))
    with pytest.raises(UsageError, match="--without app_rules"):
        _prism(tmp_path, rules=str(file), without=("app_rules",))
    file.write_text('[apps.one]\napprove = ["x"]\n')
    _prism(tmp_path, rules=str(file))
