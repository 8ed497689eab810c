"""Apps of a folder: found without importing any, those that cannot be one with the reason."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from google.adk.cli.utils.agent_loader import AgentLoader
from tests.adk.app_folders import AGENT, NOTED, PREFIX, restored, write_app

from adk_prism.adk.app_folder import MOST_FILES, AppFolder, stamp_of_import

APP = "from google.adk.apps import App\napp = App(name='x', root_agent=None)\n"

MODULES = {
    "root_agent = make()": True,
    "root_agent: Agent = make()": True,
    "from .other import root_agent": True,
    "from .other import thing as root_agent": True,
    "try:\n    root_agent = 1\nexcept E:\n    pass": True,
    "if x:\n    pass\nelse:\n    root_agent = 1": True,
    APP: True,
    "import google.adk.apps as a\napp = a.App(name='x')": True,
    "root_agent = (": True,
    "app = FastAPI()": False,
    "app: FastAPI = get_fast_api_app(agents_dir='.')": False,
    "def make():\n    root_agent = 1": False,
    "print('root_agent')": False,
    "": False,
    "\0": False,
}


@pytest.mark.parametrize(("code", "is_app"), MODULES.items(), ids=range(len(MODULES)))
def test_a_module_is_an_app_if_it_defines_an_agent(tmp_path: Path, code: str, is_app: bool) -> None:
    """Any other module may lie beside the apps, a web server among them."""
    (tmp_path / "prism_test_module.py").write_text(code)
    folder = AppFolder(tmp_path)
    assert [found.name for found in folder.scan()] == ["prism_test_module"] * is_app
    assert (folder.find("prism_test_module") is not None) == is_app


def test_folders_are_found_as_adk_finds_them(tmp_path: Path) -> None:
    """What ADK lists is listed; names that cannot be apps come with the reason."""
    for name in ("a_package", "b_agent", "my-agent", "2nd", "user", "__own", "größe", "x" * 130):
        write_app(tmp_path, name)
    (tmp_path / "a_package" / "agent.py").unlink()
    (tmp_path / "c_yaml").mkdir()
    (tmp_path / "c_yaml" / "root_agent.yaml").touch()
    for name in (".hidden", "__pycache__"):
        write_app(tmp_path, name)
    (tmp_path / "notes").mkdir()
    (tmp_path / "agent_notes.txt").touch()
    found = {each.name: each.problem for each in AppFolder(tmp_path).scan()}
    assert sorted(found) == AgentLoader(str(tmp_path)).list_agents()
    assert [name for name, problem in found.items() if not problem] == [
        "a_package",
        "b_agent",
        "c_yaml",
    ]
    assert "e.g. to 'my_agent'" in found["my-agent"]
    assert "e.g. to 'app_2nd'" in found["2nd"]
    assert "reserved" in found["user"]
    for name in found.keys() - {"a_package", "b_agent", "c_yaml"}:
        assert AppFolder(tmp_path).find(name) is None


def test_a_folder_that_is_one_app_has_no_other(tmp_path: Path) -> None:
    """As `adk web` does; its neighbours are not served."""
    one, other = write_app(tmp_path, "one"), write_app(tmp_path, "other")
    folder = AppFolder(one)
    assert [each.name for each in folder.scan()] == ["one"]
    assert folder.find(other.name) is None
    (bad,) = AppFolder(write_app(tmp_path, "my-agent")).scan()
    assert bad.problem


def test_many_apps_are_listed_without_importing_one(tmp_path: Path) -> None:
    """Neither their modules nor what they leave behind is there."""
    names = [f"{PREFIX}{number:03}" for number in range(100)]
    with restored():
        for name in names:
            write_app(tmp_path, name, NOTED + AGENT)
        before = set(sys.modules)
        assert [each.name for each in AppFolder(tmp_path).scan()] == names
        assert set(sys.modules) == before
    assert list(tmp_path.rglob("*.imported")) == []


def test_a_stamp_changes_with_the_files(tmp_path: Path) -> None:
    """With the app's code and its .env files, not with caches; and what is looked at is bounded."""
    app, folder = write_app(tmp_path, "one"), AppFolder(tmp_path)
    stamps = [folder.stamp("one")]
    (app / "__pycache__").mkdir()
    (app / "__pycache__" / "x.pyc").touch()
    assert folder.stamp("one") == stamps[0]
    for change in (app / "tools.py", app / ".env", tmp_path / ".env"):
        change.write_text("x=1")
        stamps.append(folder.stamp("one"))
    (app / "tools.py").unlink()
    stamps.append(folder.stamp("one"))
    assert all(stamps.count(stamp) == 1 for stamp in stamps)
    for number in range(MOST_FILES + 10):
        (app / f"{number}.txt").touch()
    assert len(folder.stamp("one")) <= MOST_FILES + 1
    assert folder.stamp("nobody") == {}


def test_what_an_import_writes_is_no_change_of_the_app(tmp_path: Path) -> None:
    """Code that is corrected while it is imported is one."""
    app, folder = write_app(tmp_path, "one"), AppFolder(tmp_path)
    before = folder.stamp("one")
    (app / "app.log").write_text("begun")
    seen = stamp_of_import(before, folder.stamp("one"))
    assert seen == folder.stamp("one")
    (app / "agent.py").write_text("corrected = True")
    assert stamp_of_import(before, folder.stamp("one")) != folder.stamp("one")
