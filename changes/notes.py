"""Release notes from the files in this folder: see README.md. Needs nothing but Python."""

from __future__ import annotations

import argparse
import datetime
import re
import sys
from pathlib import Path

KINDS = ("added", "changed", "deprecated", "removed", "fixed", "security")
CHANGES = Path(__file__).parent
CHANGELOG = CHANGES.parent / "CHANGELOG.md"
UNRELEASED = "## [Unreleased]\n"
_NAME = re.compile(r"[a-z0-9][a-z0-9-]*\.(?P<kind>[a-z]+)\.md")

Sections = dict[str, list[str]]


class BadChange(Exception):
    """A file that is no change: its name or what it holds."""


def fragments(folder: Path) -> dict[Path, str]:
    """Return the kind of each change, in the order of their names. Raise `BadChange`."""
    found = {}
    for path in sorted(folder.glob("*.md")):
        if path.name == "README.md":
            continue
        name = _NAME.fullmatch(path.name)
        if name is None or name["kind"] not in KINDS:
            raise BadChange(
                f"{path.name}: a change is named NAME.KIND.md, with one of: {', '.join(KINDS)}"
            )
        if not path.read_text().strip():
            raise BadChange(f"{path.name} is empty.")
        found[path] = name["kind"]
    return found


def unreleased(changelog: str) -> tuple[str, Sections, str]:
    """Split a changelog into what is before its unreleased part, that part, and what is after it."""
    before, found, rest = changelog.partition(UNRELEASED)
    if not found:
        raise BadChange(f"The changelog has no line {UNRELEASED.strip()!r}.")
    at = re.search(r"^(?:## |\[[^\]]+\]: )", rest, re.MULTILINE)
    body, after = (rest[: at.start()], rest[at.start() :]) if at else (rest, "")
    sections: Sections = {}
    for part in re.split(r"^### ", body, flags=re.MULTILINE)[1:]:
        title, _, items = part.partition("\n")
        sections[title.strip().lower()] = [items.strip()]
    return before + found, sections, after


def notes(sections: Sections, changes: dict[Path, str]) -> str:
    """Return the notes of a release, by kind."""
    merged = {kind: list(items) for kind, items in sections.items()}
    for path, kind in changes.items():
        lines = path.read_text().strip().removeprefix("- ").splitlines()
        merged.setdefault(kind, []).append("- " + "\n  ".join(line.strip() for line in lines))
    order = [*KINDS, *(kind for kind in merged if kind not in KINDS)]
    written = (
        f"### {kind.capitalize()}\n\n" + "\n".join(merged[kind]) for kind in order if kind in merged
    )
    return "\n\n".join(written) + "\n"


def release(changelog: Path, folder: Path, version: str, day: str) -> None:
    """Write the notes under a version, and remove the changes that they are made of."""
    before, sections, after = unreleased(changelog.read_text())
    changes = fragments(folder)
    told = notes(sections, changes)
    changelog.write_text(f"{before}\n## [{version}] - {day}\n\n{told}{after and chr(10) + after}")
    for path in changes:
        path.unlink()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--release", metavar="VERSION", help="write them into CHANGELOG.md")
    version = parser.parse_args().release
    try:
        if version:
            release(CHANGELOG, CHANGES, version, datetime.date.today().isoformat())
        else:
            _, sections, _ = unreleased(CHANGELOG.read_text())
            sys.stdout.write(notes(sections, fragments(CHANGES)))
    except BadChange as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
