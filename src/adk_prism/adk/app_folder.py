"""A folder of ADK apps: which apps are in it, found without importing any of them.

Follows google-adk 2.13 `cli/utils/agent_loader.py`: an app is a subfolder with an agent.py, a
root_agent.yaml or an __init__.py, or the folder itself is one app. Differences:
- a module `name.py`, which ADK can load but does not list, is listed if it defines a root agent or
  an App; which of the two it does is read from its source, because any other module may be there;
- a subfolder that looks like an app and has a name that no app can have is listed with the reason;
- ADK's built-in agents are not there.

Also detects whether the files of an app have changed, so that an app is imported again.
"""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import NamedTuple

LONGEST_NAME = 128
"""Characters: ADK's database columns for app names hold as many (sessions/schemas/shared.py)."""

LARGEST_MODULE = 1024 * 1024
"""Bytes of a module that is read to see whether it defines an agent. Hand-written code is smaller."""

MOST_FILES = 2000
"""Files of an app that are checked for changes. More is data or a dependency, not the app's code."""

_RESERVED = frozenset({"user", "constructor", "prototype"})
"""ADK keeps `user` for events of the person; the others are names of every JavaScript object."""

_NOT_CODE = frozenset({"__pycache__", "node_modules", "venv", "site-packages"})
"""Folders whose files are not the app's own."""

DEEPEST, MOST_FOLDERS = 4, 2000
"""Levels below a folder without apps, and folders, in which apps are looked for, to say where they are."""

Stamp = Mapping[str, tuple[int, int]]
"""Time of change and size of each file of an app, by its path."""

_CODE = (".py", ".yaml", ".yml", ".env")
"""Suffixes of files that an app does not write while it is imported."""


class Found(NamedTuple):
    """An app of the folder, or something that looks like one."""

    name: str
    path: Path | None
    """Its folder, or its module; None for an app that is not of a folder."""
    problem: str = ""
    """Why it cannot be served; empty if it can, as far as is known."""


class AppFolder:
    """The apps of one folder, as they are on disk now."""

    def __init__(self, path: Path, aliases: Mapping[str, str] | None = None) -> None:
        """`path` is a folder of apps, or the folder of one app.

        `aliases` are further names of apps; they are found, and not listed.
        """
        self._aliases = aliases or {}
        path = path.resolve()
        self._only = path.name if is_agent_folder(path) else ""
        self.path = path.parent if self._only else path

    def scan(self) -> list[Found]:
        """Return everything that is an app or looks like one, sorted by name."""
        if self._only:
            return [_found(self._only, self.path / self._only)]
        return sorted(self._each())

    def elsewhere(self) -> list[Path]:
        """Return the folders below this one that hold apps; for a folder that holds none itself."""
        found: dict[Path, None] = {}
        for parent, folders, _ in islice(os.walk(self.path), MOST_FOLDERS):
            depth = len(Path(parent).relative_to(self.path).parts)
            folders[:] = sorted(f for f in folders if f not in _NOT_CODE and not f.startswith("."))
            if depth and is_agent_folder(Path(parent)):
                found[Path(parent).parent] = None
            if depth >= DEEPEST or is_agent_folder(Path(parent)):
                folders.clear()
        return list(found)

    def find(self, name: str) -> Found | None:
        """Return the app of this name, if it is there and can be served."""
        if problem_of_name(name) or _taken(name) or (self._only and name != self._only):
            return None
        for module in (name, self._aliases.get(name, "")):
            for path in (self.path / module, self.path / f"{module}.py"):
                if module and _is_app(path):
                    return Found(name, path)
        return None

    def module_of(self, name: str) -> str:
        """Return the name of the module that an app is imported by."""
        found = self.find(name)
        return found.path.stem if found is not None and found.path is not None else name

    def stamp(self, name: str) -> Stamp:
        """Return a value that changes when a file of the app changes."""
        found = self.find(name)
        return dict(_stamps(found.path, self.path)) if found is not None and found.path else {}

    def _each(self) -> Iterator[Found]:
        seen: set[str] = set()
        with os.scandir(self.path) as entries:
            # Folders first: where there is a folder and a module of one name, Python takes the folder.
            for entry in sorted(entries, key=lambda entry: (not entry.is_dir(), entry.name)):
                path = Path(entry.path)
                name = path.stem if path.suffix == ".py" and not entry.is_dir() else entry.name
                if name not in seen and not name.startswith(".") and _is_app(path):
                    seen.add(name)
                    yield _found(name, path)


def problem_of_name(name: str) -> str:
    """Return why a folder of this name cannot be an app; empty if it can."""
    if name.startswith("__"):
        return "Names that begin with two underscores are reserved for ADK. Rename the folder."
    if not (name.isascii() and name.isidentifier()):
        return (
            f"{name[:60]!r} is not a Python module name: use letters, digits and underscores, and do not"
            f" begin with a digit. Rename the folder, e.g. to {_suggested(name)!r}."
        )
    if name in _RESERVED:
        return f"The name {name!r} is reserved. Rename the folder."
    if len(name) > LONGEST_NAME:
        return f"The name has {len(name)} characters; at most {LONGEST_NAME}. Rename the folder."
    return ""


def _suggested(name: str) -> str:
    plain = re.sub(r"[^A-Za-z0-9]+", "_", name[:60]).strip("_").lower()
    return plain if plain and not plain[0].isdigit() else f"app_{plain}".rstrip("_")


def _found(name: str, path: Path) -> Found:
    return Found(name, path, problem_of_name(name) or _taken(name))


def _taken(name: str) -> str:
    """Return that an imported module of Python or of an installed package has the name; empty if none has."""
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None) or ""
    is_installed = name in sys.stdlib_module_names or "site-packages" in Path(file).parts
    if module is None or not is_installed:
        return ""
    return (
        f"{name!r} is also a module that is imported already ({file or 'part of Python'}), so the folder"
        f" cannot be imported by that name. Rename the folder, e.g. to '{name}_agent'."
    )


# ------------------------------------------------------------------------------ what is an app


def _is_app(path: Path) -> bool:
    if path.suffix == ".py" and path.is_file():
        return _is_agent_module(path)
    return path.name != "__pycache__" and (
        is_agent_folder(path) or (path / "__init__.py").is_file()
    )


def is_agent_folder(path: Path) -> bool:
    """Return whether a folder is an app, and not a folder of apps."""
    return (path / "agent.py").is_file() or (path / "root_agent.yaml").is_file()


def _is_agent_module(path: Path) -> bool:
    try:
        status = path.stat()
        if path.stem.startswith("__") or status.st_size > LARGEST_MODULE:
            return False
        return _defines_agent(path, status.st_mtime_ns, status.st_size)
    except OSError:
        return False


@lru_cache(maxsize=1024)
def _defines_agent(path: Path, changed: int, size: int) -> bool:
    """Return whether a module binds `root_agent`, or `app` to an App, at its top level."""
    del changed, size  # part of the cache's key
    source = path.read_bytes()
    if b"root_agent" not in source and b"App" not in source:
        return False
    try:
        statements = ast.parse(source).body
    except (SyntaxError, ValueError):
        return b"root_agent" in source  # listed, so that its error can be seen
    return any(map(_binds_agent, statements))


def _binds_agent(statement: ast.stmt) -> bool:
    match statement:
        case ast.Assign(targets=targets, value=value):
            return any(_is_agent_name(target, value) for target in targets)
        case ast.AnnAssign(target=target, value=value):
            return _is_agent_name(target, value)
        case ast.ImportFrom(names=names):
            return any((alias.asname or alias.name) == "root_agent" for alias in names)
        case ast.If(body=body, orelse=other) | ast.Try(body=body, orelse=other):
            return any(map(_binds_agent, [*body, *other]))
        case _:
            return False


def _is_agent_name(target: ast.expr, value: ast.expr | None) -> bool:
    if not isinstance(target, ast.Name) or value is None:
        return False
    # Many a main.py has an `app` that is a web server.
    made_by = value.func if isinstance(value, ast.Call) else None
    is_adk_app = (isinstance(made_by, ast.Name) and made_by.id == "App") or (
        isinstance(made_by, ast.Attribute) and made_by.attr == "App"
    )
    return target.id == "root_agent" or (target.id == "app" and is_adk_app)


# ------------------------------------------------------------------------------ changes


def code_of(stamp: Stamp) -> Stamp:
    """Return the part of a stamp that is code: an app may write other files while it runs."""
    return {path: known for path, known in stamp.items() if path.endswith(_CODE)}


def stamp_of_import(before: Stamp, after: Stamp) -> Stamp:
    """Return the stamp of the files that an import has seen.

    For code, the stamp from before the import: code that is corrected meanwhile is imported again. Other
    files, such as a log, may have been written by the import itself.
    """
    written = {path: known for path, known in after.items() if not path.endswith(_CODE)}
    return {**written, **code_of(before)}


def _stamps(path: Path, home: Path) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield what is known of each file: those of the app, and the `.env` files that it may use."""
    files = [home / ".env", *(_files(path) if path.is_dir() else [path])]
    for file in files:
        try:
            status = file.stat()
        except OSError:
            continue
        yield str(file), (status.st_mtime_ns, status.st_size)


def _files(folder: Path) -> list[Path]:
    found: list[Path] = []
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(f for f in folders if f not in _NOT_CODE and not f.startswith("."))
        found += (Path(parent, name) for name in sorted(names) if not name.endswith(".pyc"))
        if len(found) >= MOST_FILES:
            break
    return found[:MOST_FILES]


# ---------------------------------------------------------------------------
# Which apps are served when no folder is named: the tour, and those of `adk-prism-apps`.
#
# `adk-prism-apps` is a distribution of its own (`pip install "adk-prism[apps]"`). Its import package,
# `adk_prism_apps`, is a folder of ADK apps. It is located, and never imported from here: an app is
# imported by the loader, as any app of a folder is.

TOUR_FOLDER = Path(__file__).parent.parent / "apps"
"""The folder of the apps that are part of this package."""

APPS_PACKAGE = "adk_prism_apps"
"""The import package of the distribution `adk-prism-apps`."""

BUNDLED_ALIASES: Mapping[str, str] = {"research_agent": "research"}
"""Further names that a bundled app is served under: the names that its panel's contract uses.

An alias is not listed. It has the same code and its own sessions, as if the folder had that name.
"""

_INSTALLED_WITH_APPS = frozenset({"recovery", "research", *BUNDLED_ALIASES})
"""Names of the apps of `adk-prism-apps`, for a message where it is not installed."""


@cache
def bundled_folders() -> Sequence[Path]:
    """Return the folders of the bundled apps: this package's, and that of `adk-prism-apps` if installed."""
    spec = find_spec(APPS_PACKAGE)
    installed = (spec and spec.submodule_search_locations) or ()
    return (TOUR_FOLDER.resolve(), *(Path(each).resolve() for each in installed))


def install_hint(app: str) -> str:
    """Return how to install a bundled app that is not there; empty for any other name."""
    if app not in _INSTALLED_WITH_APPS or len(bundled_folders()) > 1:
        return ""
    return ' Install it with: pip install "adk-prism[apps]".'


def is_bundled(path: Path) -> bool:
    """Return whether a file or folder belongs to a bundled app."""
    return any(path.is_relative_to(folder) for folder in bundled_folders())
