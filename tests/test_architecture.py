"""Internals of third parties are used in one package only: `adk_prism.adk.internals`.

A name with a leading underscore belongs to whoever defines it. This reads the source and fails on
- an import of a private module or name from outside the package;
- `obj._name`, and its string form in `getattr` and the like, unless the same module defines `_name`, or,
  for `self._name`, a module of ours that it imports: a base class may be there;
- an assignment of `__class__`, which turns somebody's object into another.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import TypeGuard

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = (ROOT / "src/adk_prism", ROOT / "apps/adk_prism_apps")
FENCED = "src/adk_prism/adk/internals/"

DOCUMENTED = {"_asdict", "_fields", "_make", "_replace", "os._exit", "sys._current_frames"}
"""Public in spite of their names: Python documents them."""

FILES = sorted(path for package in PACKAGES for path in package.rglob("*.py"))

ACCESSORS = {"getattr", "setattr", "hasattr", "delattr", "attrgetter", "__setattr__"}


def is_private(name: str) -> bool:
    return any(
        part.startswith("_") and not (part.startswith("__") and part.endswith("__"))
        for part in name.split(".")
    )


def defined_in(tree: ast.AST) -> set[str]:
    """Return the names that a module gives to something."""
    names: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case (
                ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
            ):
                names.add(name)
            case ast.Name(id=name, ctx=ast.Store()):
                names.add(name)
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name, ctx=ast.Store()):
                names.add(name)
    return names


def inherited_in(tree: ast.AST, file: Path) -> set[str]:
    """Return the names that modules of ours define which a module imports directly."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            module = (node.module or "").replace(".", "/")
            folders = (
                [file.parents[node.level - 1]] if node.level else [each.parent for each in PACKAGES]
            )
            for path in (folder / f"{module}.py" for folder in folders):
                names |= _defined_by(path) if path.is_file() else set()
    return names


@cache
def _defined_by(path: Path) -> set[str]:
    return defined_in(ast.parse(path.read_text()))


def violations(tree: ast.AST, file: Path = FILES[0]) -> list[str]:
    """Return each use of somebody else's internals, with its line."""
    own, inherited = defined_in(tree), inherited_in(tree, file)
    return [
        f"{node.lineno}: {ast.unparse(node)}"
        for node in ast.walk(tree)
        if _imports(node) or _takes(node, own, inherited) or _swaps_class(node)
    ]


def _imports(node: ast.AST) -> TypeGuard[ast.stmt]:
    if isinstance(node, ast.Import):
        return any(is_private(each.name) for each in node.names if _is_foreign(each.name))
    if not isinstance(node, ast.ImportFrom) or node.level or not _is_foreign(node.module or ""):
        return False
    return any(map(is_private, [node.module or "", *(each.name for each in node.names)]))


def _takes(node: ast.AST, own: set[str], inherited: set[str]) -> TypeGuard[ast.expr]:
    match node:
        case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name):
            return is_private(name) and name not in own | inherited
        case ast.Attribute(attr=name):
            is_documented = bool(DOCUMENTED & {name, ast.unparse(node)})
            return is_private(name) and name not in own and not is_documented
        case ast.Call():
            name = _accessed(node)
            return is_private(name) and name not in own
    return False


def _swaps_class(node: ast.AST) -> TypeGuard[ast.expr]:
    match node:
        case ast.Attribute(attr="__class__", ctx=ast.Store()):
            return True
        case ast.Call():
            return _accessed(node) == "__class__"
    return False


def _is_foreign(module: str) -> bool:
    return module != "__future__" and module.split(".")[0] not in ("adk_prism", "adk_prism_apps")


def _accessed(call: ast.Call) -> str:
    """Return the attribute that a call of `getattr` or the like names."""
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name) if name in ACCESSORS:
            texts = [arg.value for arg in call.args if isinstance(arg, ast.Constant)]
            return next((text for text in texts if isinstance(text, str)), "")
    return ""


def test_only_one_package_uses_internals_of_others() -> None:
    """Put what you need into a module of adk/internals/, with a probe and a way without it."""
    found = [
        f"{path.relative_to(ROOT)}:{text}"
        for path in FILES
        if not path.relative_to(ROOT).as_posix().startswith(FENCED)
        for text in violations(ast.parse(path.read_text()), path)
    ]
    assert not found, "\n".join(found)


KNOWS_ADK = {
    "adk": "what knows google-adk",
    "voice": "live runs of google-adk",
    "models": "offline models are ADK models",
    "apps": "the tour is an ADK app",
    "protocols/adk": "ADK's own routes take and return its types",
    "prism.py": "takes Runners, apps and messages of a program",
    "progress.py": "is called by tools, with ADK's context",
    "server/run_files.py": "reads artifacts",
    "features/a2a": "bridges to ADK's A2A executor",
    "features/app_graph": "reads an app's agents, tools and workflows",
    "features/artifacts": "ADK's routes of artifacts and memory",
    "features/uploads/references.py": "saves artifacts",
    "features/cloud_files": "Google Cloud Storage",
    "features/conform/adk.py": "checks events with ADK's class",
    "features/conversations/listing.py": "lists sessions of ADK's services",
    "features/evaluation": "runs ADK's evaluators",
    "features/fields/report.py": "lists the fields of ADK's types",
    "features/follow_ups": "asks an app's model",
    "features/forks/past.py": "writes sessions as of a moment",
    "features/long_sessions": "caches ADK's sessions",
    "features/model_calls": "observes ADK's model requests",
    "features/openai/matching.py": "writes a client's history into a session",
    "features/page/catalogue.py": "describes ADK's agents",
    "features/recorder": "an ADK plugin",
    "features/remote": "stands in for an app of another ADK server",
    "features/rerun": "runs ADK's agents again",
    "features/run_live": "ADK's own live requests",
    "features/session_retention": "removes ADK's sessions",
    "features/session_runs": "reads ADK's sessions",
    "features/types/tool_schemas.py": "describes ADK's tools",
    "testing/client.py": "sends messages of ADK's type",
    "testing/recordings.py": "plays recordings in tests of ADK's agents",
}
"""The folders and files that may import `google`, and why: an entry more is a line in the diff."""


def test_google_adk_is_imported_where_it_is_known() -> None:
    """Everything else works on the log and its facts. An entry that nothing uses any more is removed."""
    package = PACKAGES[0]
    importing = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if re.search(r"^\s*(?:from|import) google\b", path.read_text(), re.MULTILINE)
    }
    allowed = {
        path: name
        for path in importing
        for name in KNOWS_ADK
        if path == name or path.startswith(f"{name}/")
    }
    assert importing - allowed.keys() == set()
    assert KNOWS_ADK.keys() - set(allowed.values()) == set()


CASES = {
    "private import": ("from google.adk.runners import _find", True),
    "private module": ("from google.adk.events._rewind_events import apply", True),
    "plain private module": ("import asyncio.tasks, google._auth", True),
    "our own private name": ("from adk_prism.adk.agents import _walk", False),
    "future": ("from __future__ import annotations", False),
    "attribute": ("service._db_path", True),
    "attribute of self": ("self._inner._session", True),
    "own attribute": (
        "class A:\n def __init__(self): self._x = 1\n def f(self, o): return o._x",
        False,
    ),
    "inherited attribute": ("class A(B):\n def f(self): return self._x", True),
    "string": ("getattr(node, '_node', None)", True),
    "public string": ("getattr(node, 'node', None)", False),
    "dunder": ("type(node).__name__", False),
    "class swap": ("model.__class__ = Other", True),
    "class swap in words": ("object.__setattr__(model, '__class__', Other)", True),
    "namedtuple": ("scope._replace(node=1)", False),
    "documented": ("os._exit(1)", False),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_counts_as_an_internal(case: tuple[str, bool]) -> None:
    code, is_refused = case
    assert bool(violations(ast.parse(code))) == is_refused
