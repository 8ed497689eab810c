"""A file of lines: what was appended is there after anything that can happen to it."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from adk_prism.features.audit.audit_file import RotatingFile

EACH = 100


def lines_file(folder: Path, largest: int = 10**6, kept: int = 3) -> RotatingFile:
    return RotatingFile(folder / "audit.jsonl", largest=largest, kept=kept)


def lines(file: RotatingFile) -> list[bytes]:
    """Return the lines, the oldest first."""
    return [line for line in file.newest_first() if line][::-1]


def write(folder: Path, name: str) -> None:
    """Append lines, as a process of its own."""
    file = lines_file(folder, largest=2000, kept=99)
    for number in range(EACH):
        file.append(f"{name} {number}".encode())


def test_lines_are_kept_for_the_next_process(tmp_path: Path) -> None:
    """Only the server's user can read them."""
    lines_file(tmp_path).append(b"one")
    lines_file(tmp_path).append(b"two")
    assert lines(lines_file(tmp_path)) == [b"one", b"two"]
    assert stat.S_IMODE((tmp_path / "audit.jsonl").stat().st_mode) == 0o600


def test_a_full_file_is_put_aside(tmp_path: Path) -> None:
    """So many are kept, and the oldest lines go with their file."""
    file = lines_file(tmp_path, largest=100, kept=2)
    for number in range(100):
        file.append(b"line %03d" % number)
    kept = lines(file)
    assert kept == [b"line %03d" % n for n in range(100 - len(kept), 100)]
    assert 20 < len(kept) < 40
    files = sorted(path.name for path in tmp_path.glob("audit.jsonl*"))
    assert files == ["audit.jsonl", "audit.jsonl.1", "audit.jsonl.2", "audit.jsonl.lock"]
    assert all(path.stat().st_size <= 100 for path in tmp_path.iterdir())


def test_a_line_that_was_not_finished_takes_no_other_with_it(tmp_path: Path) -> None:
    """The process died in the middle of a write."""
    file = lines_file(tmp_path)
    file.append(b"one")
    with (tmp_path / "audit.jsonl").open("ab") as opened:
        opened.write(b"tw")
    file.append(b"three")
    assert lines(file) == [b"one", b"tw", b"three"]


def test_several_processes_share_a_file(tmp_path: Path) -> None:
    """Each line whole, none lost, also while it is put aside; threads of one process, too."""
    children = [get_context("spawn").Process(target=write, args=(tmp_path, n)) for n in "ab"]
    for child in children:
        child.start()
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(lambda name: write(tmp_path, name), "cd"))
    for child in children:
        child.join()
        assert child.exitcode == 0
    found = lines(lines_file(tmp_path, kept=99))
    assert sorted(found) == sorted(f"{n} {i}".encode() for n in "abcd" for i in range(EACH))
    for name in (b"a", b"b", b"c", b"d"):
        own = [line for line in found if line.startswith(name)]
        assert own == [b"%s %d" % (name, number) for number in range(EACH)]
