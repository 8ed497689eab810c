"""Release notes from the files in changes/."""

from __future__ import annotations

from pathlib import Path

import pytest
from changes.notes import CHANGELOG, CHANGES, BadChange, fragments, notes, release, unreleased

KEPT = """# Changelog

## [Unreleased]

### Added

- One.
  More of it.

## [0.1.0] - 2026-01-01

### Fixed

- Old.
"""


def test_our_changes_can_be_released() -> None:
    """Every file in the folder, with what the changelog has."""
    _, sections, _ = unreleased(CHANGELOG.read_text())
    changes = fragments(CHANGES)
    told = notes(sections, changes)
    for path in changes:
        assert path.read_text().split()[0] in told


def test_a_release(tmp_path: Path) -> None:
    """Its notes stand under its version, by kind; nothing is left for the next one."""
    changelog = tmp_path / "log.txt"
    changelog.write_text(KEPT)
    (tmp_path / "two.added.md").write_text("Two.\nMore of it.\n")
    (tmp_path / "hole.security.md").write_text("- A hole is closed.\n")
    (tmp_path / "README.md").write_text("not a change")
    release(changelog, tmp_path, "0.2.0", "2026-02-03")
    assert changelog.read_text() == KEPT.replace(
        "### Added\n\n- One.\n  More of it.\n",
        "## [0.2.0] - 2026-02-03\n\n### Added\n\n- One.\n  More of it.\n- Two.\n  More of it.\n\n"
        "### Security\n\n- A hole is closed.\n",
    )
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["README.md", "log.txt"]


@pytest.mark.parametrize(
    ("name", "text"), [("x.novel.md", "Yes."), ("x.md", "Yes."), ("x.added.md", " ")]
)
def test_what_is_no_change_is_said(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(BadChange, match=name):
        fragments(tmp_path)
