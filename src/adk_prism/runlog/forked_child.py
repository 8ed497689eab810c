"""What a child that agent code forks must not keep: the port, the connections and the lock of the server.

A descriptor stays open as long as any process has it. A child of `os.fork` or `multiprocessing` would keep
the port and the log of a server that was killed from the next one, and its clients waiting. So each child
closes them at once. (A child that executes another program has never had them: Python marks descriptors so.)
"""

from __future__ import annotations

import os
import socket
from contextlib import suppress

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
