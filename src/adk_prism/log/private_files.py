"""Files that only this user can read: a server stores other people's conversations.

Folders are 0700 and files 0600, whatever the umask is. SQLite gives its journals the mode of their database.
Files with a wider mode, from an earlier version or another umask, are tightened; files of another user cannot
be, and are reported. Windows has no such modes: there the permissions of the folder apply.
"""

from __future__ import annotations

import asyncio
import os
import socket
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")

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


# --------------------------------------------------------------------------- forked child

# What a child that agent code forks must not keep: the port, the connections and the lock of the server.
#
# A descriptor stays open as long as any process has it. A child of `os.fork` or `multiprocessing` would
# keep the port and the log of a server that was killed from the next one, and its clients waiting. So each
# child closes them at once. (A child that executes another program has never had them: Python marks
# descriptors so.)

_descriptors: set[int] = set()
_ports: set[int] = set()
_is_registered = False


def close_in_children(descriptor: int) -> None:
    """Have forked children close a descriptor."""
    _register()
    _descriptors.add(descriptor)


def keep_open_no_longer(descriptor: int) -> None:
    """Note that a descriptor was closed: its number may be another's next."""
    _descriptors.discard(descriptor)


def close_port_in_children(port: int) -> None:
    """Have forked children close everything that is open on a TCP port: listeners and connections."""
    _register()
    _ports.add(port)


def _register() -> None:
    global _is_registered
    if not _is_registered and hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_close_all)
        _is_registered = True


def _close_all() -> None:
    for descriptor in _descriptors:
        with suppress(OSError):
            os.close(descriptor)
    if _ports:
        for descriptor in _open_descriptors():
            if _port_of(descriptor) in _ports:
                with suppress(OSError):
                    os.close(descriptor)
    _descriptors.clear()
    _ports.clear()


def _open_descriptors() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/dev/fd")]
    except OSError:
        return []


def _port_of(descriptor: int) -> int:
    """Return the local port of a TCP socket; 0 for any other descriptor."""
    try:
        found = socket.socket(fileno=descriptor)
    except OSError:
        return 0
    try:
        if found.family not in (socket.AF_INET, socket.AF_INET6):
            return 0
        return int(found.getsockname()[1])
    except OSError:
        return 0
    finally:
        found.detach()


# ---------------------------------------------------------------------------
# Wakes tasks of the event loop that wait for a change.


class Notifier:
    """Wakes every waiting task. Each waits on its own future, so cancelling one leaves the rest."""

    __slots__ = ("_waiters",)

    def __init__(self) -> None:
        self._waiters: set[asyncio.Future[None]] = set()

    @property
    def is_awaited(self) -> bool:
        """Whether a task waits."""
        return bool(self._waiters)

    def notify(self) -> None:
        """Wake every waiting task."""
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def wait(self) -> None:
        """Wait for the next `notify`."""
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.add(waiter)
        try:
            await waiter
        finally:
            self._waiters.discard(waiter)


# --------------------------------------------------------------------------- cancel task

# Cancels a task and waits for its end.
#
# One cancellation may not be enough: `asyncio.wait_for` of Python 3.11, which redis-py uses, swallows one
# that arrives at the moment when its result does.

_PATIENCE = 0.2
"""Seconds until a task is cancelled again."""


async def cancel_task(task: asyncio.Task[None]) -> None:
    """Cancel a task until it has ended."""
    while not task.done():
        task.cancel()
        await asyncio.wait([task], timeout=_PATIENCE)


# --------------------------------------------------------------------------- what came last


class Recent(dict[_Key, _Value]):
    """The last keys that were set, the newest last: of more than `most`, the oldest goes."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def __setitem__(self, key: _Key, value: _Value) -> None:
        self.pop(key, None)
        super().__setitem__(key, value)
        if len(self) > self._most:
            del self[next(iter(self))]
