"""The reference of the Python API: signatures and docstrings of the names that `adk_prism` exports."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from types import ModuleType
from typing import Any

import adk_prism
from website.markdown import code, plain, table

INHERITED = (Exception, object)


def python_api() -> str:
    """Return a section for each public name, modules with the names that they export."""
    names = [name for name in adk_prism.__all__ if not name.startswith("_")]
    things = {name: getattr(adk_prism, name) for name in sorted(names, key=str.lower)}
    plain_names = [_section(name, each) for name, each in things.items() if not _is_module(each)]
    modules = [_module(name, each) for name, each in things.items() if _is_module(each)]
    return "\n\n".join([*plain_names, *modules])


def _is_module(thing: object) -> bool:
    return isinstance(thing, ModuleType)


def _module(name: str, module: ModuleType) -> str:
    exported = getattr(module, "__all__", None) or _own_names(module)
    things = [(each, getattr(module, each)) for each in exported]
    parts = [f"## `adk_prism.{name}`", _doc(module)]
    parts += [_section(f"{name}.{each}", thing, "###") for each, thing in things]
    return "\n\n".join(filter(None, parts))


def _own_names(module: ModuleType) -> list[str]:
    own = (
        (name, thing)
        for name, thing in vars(module).items()
        if getattr(thing, "__module__", None) == module.__name__
    )
    return sorted(name for name, _ in own if not name.startswith("_"))


def _section(name: str, thing: Any, level: str = "##") -> str:
    head = f"{level} `{name}`"
    if isinstance(thing, ModuleType):
        return f"{head}\n\n{_doc(thing)}"
    parts = [head, _signature(name.rpartition(".")[2], thing), _doc(thing)]
    if inspect.isclass(thing):
        parts += [_fields(thing), *_methods(thing)]
    return "\n\n".join(filter(None, parts))


def _signature(name: str, thing: Any) -> str:
    if not callable(thing) or name == "Settings":
        return ""
    try:
        return f"```python\n{name}{inspect.signature(thing)}\n```"
    except (TypeError, ValueError):
        return ""


def _doc(thing: Any) -> str:
    if isinstance(thing, str | int | tuple | frozenset | dict):
        return f"Value: {code(repr(thing)[:80])}."
    return plain(inspect.getdoc(thing) or "") if not _borrowed(thing) else ""


def _borrowed(thing: Any) -> bool:
    """Whether a class's text is that of its base, or Python's own."""
    text = getattr(thing, "__doc__", "") or ""
    return inspect.isclass(thing) and text.startswith(f"{thing.__name__}(")


def _fields(thing: type) -> str:
    if thing.__name__ == "Settings":
        return "Its fields are [the settings](settings.md)."
    if not is_dataclass(thing):
        return ""
    rows = [[code(each.name), code(str(each.type))] for each in fields(thing)]
    return table(["field", "type"], rows)


def _methods(thing: type) -> Iterator[str]:
    for name, each in vars(thing).items():
        if name.startswith("_") or not (callable(each) or isinstance(each, property)):
            continue
        text = inspect.getdoc(each)
        if text and not isinstance(each, type):
            shown = f"{name}{inspect.signature(each)}" if callable(each) else name
            yield f"- `{shown}`: {plain(' '.join(text.split()))}"
