"""The reference of the Python API: signatures and docstrings of the names that `adk_prism` exports."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from types import ModuleType
from typing import Any, get_origin

import adk_prism
from website.markdown import code, plain, table

EMPTY = inspect.Parameter.empty
KEYWORD, VARIABLE = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_POSITIONAL
LONGEST = 90
"""Characters of a signature in one line."""


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
    """Return how something is called; a class with fields has a table of them instead."""
    if not callable(thing) or _has_fields(thing) or get_origin(thing) is not None:
        return ""
    try:
        return f"```python\n{_call(name, inspect.signature(thing))}\n```"
    except (TypeError, ValueError):
        return ""


def _call(name: str, found: inspect.Signature, longest: int = LONGEST) -> str:
    """Return a signature without quotes and modules, one parameter a line where it is long."""
    given = [each for each in found.parameters.values() if each.name != "self"]
    words = [str(_shown(each)) for each in given]
    kinds = [each.kind for each in given]
    if KEYWORD in kinds and VARIABLE not in kinds:
        words.insert(kinds.index(KEYWORD), "*")
    answer = "" if found.return_annotation is EMPTY else f" -> {_bare(found.return_annotation)}"
    line = f"{name}({', '.join(words)}){answer}"
    if len(line) <= longest:
        return line
    return f"{name}(\n    " + ",\n    ".join(words) + f",\n){answer}"


def _bare(annotation: Any) -> str:
    """Return a type as it is written, without the modules of its names."""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return re.sub(r"\b[a-z_]\w*(?:\.[a-z_]\w*)*\.(?=[A-Z])", "", text)


def _shown(parameter: inspect.Parameter) -> inspect.Parameter:
    """Return a parameter whose type and default are written as text, and not as text in quotes."""
    if parameter.annotation is not EMPTY:
        parameter = parameter.replace(annotation=_Written(_bare(parameter.annotation)))
    if " at 0x" in repr(parameter.default):  # a function, whose address says nothing
        parameter = parameter.replace(default=_Written("..."))
    return parameter


@dataclass(frozen=True)
class _Written:
    text: str

    def __repr__(self) -> str:
        return self.text


def _doc(thing: Any) -> str:
    if get_origin(thing) is not None:
        return f"Type: {code(_bare(str(thing)))}."
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
    if not _has_fields(thing):
        return ""
    rows = [[code(name), code(_bare(kind))] for name, kind in _types(thing).items()]
    return table(["field", "type"], rows) if rows else ""


def _has_fields(thing: Any) -> bool:
    return is_dataclass(thing) or hasattr(thing, "__struct_fields__")


def _types(thing: type) -> dict[str, Any]:
    """Return the types of the fields, inherited ones first."""
    struct = getattr(thing, "__struct_fields__", None)
    names = [each.name for each in fields(thing)] if struct is None else struct  # type: ignore[arg-type]
    written: dict[str, Any] = {}
    for base in reversed(thing.__mro__):
        written |= getattr(base, "__annotations__", {})
    return {name: written.get(name, "") for name in names}


def _methods(thing: type) -> Iterator[str]:
    for name, each in vars(thing).items():
        if name.startswith("_") or not (callable(each) or isinstance(each, property)):
            continue
        text = inspect.getdoc(each)
        if text and not isinstance(each, type):
            shown = _call(name, inspect.signature(each), longest=10_000) if callable(each) else name
            yield f"- `{shown}`: {plain(' '.join(text.split()))}"
