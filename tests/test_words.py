"""What a person reads on the command line and in the console is in a catalogue, and used as it is written.

Decision 0038 says what belongs to it. The page has the same test beside its own catalogue.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from string import Formatter
from typing import get_args

import pytest

from adk_prism.cli import words as cli_words
from adk_prism.console import words as console_words
from adk_prism.console.rows import Style
from adk_prism.console.transcript import NoteKind

SOURCE = Path(cli_words.__file__).parent.parent
SURFACES = {"cli": cli_words, "console": console_words}

NOT_WORDS = {
    "awaiting approval",  # a status in the data of a view
    "bold magenta",  # styles
    "bold cyan",
    "Bearer ",  # a header
    "/remedy ",  # a command
    "short run",  # what the model is told
    "adk-prism ",  # the program's name
}
"""Text with letters and blanks that is not a sentence of ours. Grows only with a reason."""

_PHRASE = re.compile(r"[A-Za-z]{2,}[,;:.!?)\]]* +(a +)?[(\[`]?[A-Za-z]{2,}")
_WORD = re.compile(r"[A-Za-z]{3,}")
_SAID_BY = {"Row", "Static", "fail", "note", "print", "_say", "NoteItem"}
"""Calls whose texts are shown, whatever they are: a single word too."""
_SAID_AS = {"help", "title", "placeholder", "description", "epilog", "usage", "label"}
_NAMES = {*get_args(Style), *get_args(NoteKind)}
"""What these calls take beside a text: the name of its style or kind."""
_UNSEEN = {"Diagnostic", "Thread", "create_task"}
"""Calls whose texts are for the server's log, or for nobody."""


def files(surface: str) -> list[Path]:
    """Return the modules of a surface, without its catalogue."""
    found = sorted((SOURCE / surface).rglob("*.py"))
    assert found
    return [path for path in found if path.name != "words.py"]


def uncatalogued(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the line and text of what a person would read."""
    unseen = {id(each) for node in _unread(tree) for each in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            for text in _said(node):
                if id(text) not in unseen:
                    unseen |= {id(each) for each in ast.walk(text)}
                    yield text.lineno, _literal(text)
    for node in ast.walk(tree):
        if id(node) in unseen:
            continue
        if isinstance(node, ast.JoinedStr):
            unseen |= {id(part) for part in node.values}
            literal = _literal(node)
            if _WORD.search(literal) and " " in literal and literal not in NOT_WORDS:
                yield node.lineno, literal
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and _PHRASE.search(node.value)
            and node.value not in NOT_WORDS
        ):
            yield node.lineno, node.value


def _unread(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield what no person reads: docstrings, assertions, style sheets, and texts for the server's log."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node
        elif isinstance(node, ast.Assert) and node.msg is not None:
            yield node.msg
        elif (isinstance(node, ast.Call) and _name(node.func) in _UNSEEN) or (
            isinstance(node, ast.Assign) and _name(node.targets[0]) == "CSS"
        ):
            yield node


def _said(call: ast.Call) -> Iterator[ast.Constant | ast.JoinedStr]:
    given = [each.value for each in call.keywords if each.arg in _SAID_AS]
    for value in [*call.args, *given] if _name(call.func) in _SAID_BY else given:
        if not isinstance(value, ast.Constant | ast.JoinedStr):
            continue
        text = _literal(value)
        if _WORD.search(text) and text not in NOT_WORDS | _NAMES:
            yield value


def _literal(node: ast.Constant | ast.JoinedStr) -> str:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    return "".join(part.value for part in node.values if isinstance(part, ast.Constant))


def _name(node: ast.AST) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


@pytest.mark.parametrize("surface", SURFACES)
def test_no_sentence_is_outside_its_catalogue(surface: str) -> None:
    """Put it into `words.py` of the package, with a name that says what it is for."""
    found = [
        f"{path.relative_to(SOURCE)}:{line}: {text!r}"
        for path in files(surface)
        for line, text in uncatalogued(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("surface", SURFACES)
def test_every_sentence_is_used_with_its_values(surface: str) -> None:
    """Each template gets its fields, by name; what has none is shown as it is; and none is left over."""
    known = {name: text for name, text in vars(SURFACES[surface]).items() if name.isupper()}
    used: set[str] = set()
    for path in files(surface):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        filled = {id(call.func.value): call for call in _formats(tree)}
        for node in ast.walk(tree):
            match node:
                case ast.Attribute(value=ast.Name(id="words"), attr=name) if name in known:
                    used.add(name)
                    call = filled.get(id(node))
                    given = {each.arg for each in call.keywords} if call is not None else set()
                    assert given == _fields(known[name]), f"{path.name}: {name}"
    assert used == set(known), sorted(set(known) - used)


def _formats(tree: ast.Module) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="format")):
                yield node


def _fields(text: object) -> set[str | None]:
    if not isinstance(text, str):
        return set()
    return {field for _, field, _, _ in Formatter().parse(text) if field is not None}


def test_the_finder_finds() -> None:
    """A sentence, a template, a label of one word; not a docstring, a key or a format."""
    code = '''
def shown(name):
    """Say it aloud."""
    print("Hello")
    Row(f"{name} is late", "dim")
    add("--x", help="which one")
    key, form = "some_key", f"{name:<4} {name}"
    text = "This is a sentence."
    Diagnostic(kind="app failed", detail="It could not be loaded.")
'''
    found = [text for _, text in uncatalogued(ast.parse(code))]
    assert len(found) == 4
    assert set(found) == {"Hello", " is late", "which one", "This is a sentence."}
