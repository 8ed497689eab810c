"""Files that only this user can read: a server stores other people's conversations.

Folders are 0700 and files 0600, whatever the umask is. SQLite gives its journals the mode of their database.
Files with a wider mode, from an earlier version or another umask, are tightened; files of another user cannot
be, and are reported. Windows has no such modes: there the permissions of the folder apply.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

FOLDER_MODE, FILE_MODE = 0o700, 0o600
_OTHERS = 0o077


def make_folder(folder: Path) -> None:
    """Make a folder, and those above it that are missing, for this user alone. Raise `OSError`."""
    for each in reversed([folder, *folder.parents]):
        if not each.is_dir():
            each.mkdir(mode=FOLDER_MODE, exist_ok=True)


def make_file(file: Path) -> None:
    """Make an empty file for this user alone, if there is none. Raise `OSError`."""
    os.close(os.open(file, os.O_RDWR | os.O_CREAT, FILE_MODE))


def tighten(paths: Iterable[Path]) -> tuple[list[Path], list[Path]]:
    """Take other users' access away; return what was changed, and what could not be.

    Links are not followed: their targets are elsewhere.
    """
    changed: list[Path] = []
    failed: list[Path] = []
    for path in paths if os.name == "posix" else ():
        try:
            status = path.lstat()
            if not stat.S_IMODE(status.st_mode) & _OTHERS or stat.S_ISLNK(status.st_mode):
                continue
            path.chmod(FOLDER_MODE if stat.S_ISDIR(status.st_mode) else FILE_MODE)
            changed.append(path)
        except FileNotFoundError:
            continue  # A journal that SQLite has removed meanwhile.
        except OSError:
            failed.append(path)
    return changed, failed


def below(folder: Path) -> Iterator[Path]:
    """Yield a folder and everything in it."""
    yield folder
    for above, folders, files in os.walk(folder):
        yield from (Path(above, name) for name in (*folders, *files))
