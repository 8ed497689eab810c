"""The shape of the code in numbers: `python -m tests.shape` prints them beside their limits.

`LIMITS` may only shrink: `tests/test_shape.py` fails when a number is above its limit, and when it is so far
below that the limit should follow. Raising one is a line in the diff that a reviewer sees.

A line of code is one with a token on it that is no comment and no docstring; a string below a field, which
describes it, is a docstring too. The kernel is the package
without `features/`, without what programs import and nothing else of the package does (`PUBLIC`), and
without what stands beside the stack: the tour, the offline models and the helpers for tests.
"""

from __future__ import annotations

import ast
import io
import re
import statistics
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, TypeGuard

PACKAGE = Path(__file__).parent.parent / "src" / "adk_prism"
BESIDE = ("apps", "models", "testing")
PUBLIC = (
    "__init__.py",
    "extend.py",
    "grounding.py",
    "prism.py",
    "progress.py",
    "proof.py",
    "run_logs.py",
)
"""What programs import and the kernel does not: names, also of features; `Prism`; progress of tools."""

SLACK = 0.02
"""How far below its limit a count of lines or files may be before the limit has to follow."""

LIMITS: dict[str, float] = {
    "package: files": 388,
    "package: lines of code": 70_000,
    "package: median lines of a file (at least)": 186,
    "package: share of import lines (%)": 8.0,
    "package: types for answers": 9,
    "kernel: files": 134,
    "kernel: lines of code": 28_000,
    "kernel: imports of features": 0,
    "methods of RunLog": 12,
    "fields of RunStarted": 15,
    "parts of Context": 14,
    "ASGI layers": 5,
}


class Module(NamedTuple):
    """One file of the package."""

    path: str
    """Below the package."""
    tree: ast.Module
    lines: int
    import_lines: int

    @property
    def is_kernel(self) -> bool:
        """Whether the file is part of the kernel."""
        return self.path.split("/")[0] not in (*PUBLIC, "features", *BESIDE)


def modules() -> list[Module]:
    """Return every module of the package."""
    return [_read(path) for path in sorted(PACKAGE.rglob("*.py"))]


def counts() -> dict[str, float]:
    """Return the numbers, by the names of `LIMITS`."""
    found = modules()
    kernel = [each for each in found if each.is_kernel]
    lines = sum(each.lines for each in found)
    return {
        "package: files": len(found),
        "package: lines of code": lines,
        "package: median lines of a file (at least)": statistics.median(
            each.lines for each in found
        ),
        "package: share of import lines (%)": round(
            100 * sum(each.import_lines for each in found) / lines, 1
        ),
        "package: types for answers": len(list(_answer_types(found))),
        "kernel: files": len(kernel),
        "kernel: lines of code": sum(each.lines for each in kernel),
        "kernel: imports of features": len(list(_feature_imports(kernel))),
        "methods of RunLog": _members(found, "RunLog", ast.FunctionDef, ast.AsyncFunctionDef),
        "fields of RunStarted": _members(found, "RunStarted", ast.AnnAssign),
        "parts of Context": _members(found, "Context", ast.AnnAssign),
        "ASGI layers": sum(
            _source(each).count("app.add_middleware(") for each in found if each.is_kernel
        ),
    }


def _read(path: Path) -> Module:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    docs: set[int] = set()
    imports: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports |= _span(node)
        elif _is_text(node):
            docs |= _span(node)
    code = set(_code_lines(text)) - docs
    return Module(str(path.relative_to(PACKAGE)), tree, len(code), len(imports & code))


def _is_text(node: ast.AST) -> TypeGuard[ast.Expr]:
    value = node.value if isinstance(node, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def _span(node: ast.stmt) -> set[int]:
    return set(range(node.lineno, (node.end_lineno or node.lineno) + 1))


_NO_CODE = (
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
)


def _code_lines(text: str) -> Iterator[int]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NO_CODE:
            yield from range(token.start[0], token.end[0] + 1)


def _source(module: Module) -> str:
    return (PACKAGE / module.path).read_text(encoding="utf-8")


def _classes(found: list[Module]) -> Iterator[tuple[Module, ast.ClassDef]]:
    for each in found:
        for node in ast.walk(each.tree):
            if isinstance(node, ast.ClassDef):
                yield each, node


def _members(found: list[Module], name: str, *kinds: type[ast.stmt]) -> int:
    """Count the members of a class of the kernel, inherited ones too."""
    return len(set(_member_names(found, name, *kinds)))


def _member_names(found: list[Module], name: str, *kinds: type[ast.stmt]) -> Iterator[str]:
    # A protocol may have its own word of that name.
    for each, node in _classes(found):
        if node.name == name and each.is_kernel and "ag_ui" not in each.path:
            for member in node.body:
                if isinstance(member, kinds) and not _is_property(member):
                    yield str(getattr(member, "name", "") or ast.unparse(member).partition(":")[0])
            for base in node.bases:
                yield from _member_names(found, ast.unparse(base), *kinds)


def _is_property(member: ast.stmt) -> bool:
    decorators = getattr(member, "decorator_list", ())
    return any(isinstance(each, ast.Name) and each.id == "property" for each in decorators)


def _answer_types(found: list[Module]) -> Iterator[str]:
    for each, node in _classes(found):
        if re.search(r"Answer", node.name):
            yield f"{each.path}: {node.name}"


def _feature_imports(kernel: list[Module]) -> Iterator[str]:
    for each in kernel:
        for node in ast.walk(each.tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
                "adk_prism.features"
            ):
                yield f"{each.path}: {node.module}"


def main() -> None:
    """Print the numbers beside their limits."""
    found = counts()
    width = max(map(len, found))
    for name, number in found.items():
        print(f"{name:{width}}  {number:>8g}  limit {LIMITS[name]:g}")
    kernel = [each for each in modules() if each.is_kernel]
    for line in sorted(_feature_imports(kernel)):
        print(f"  {line}")


if __name__ == "__main__":
    main()
