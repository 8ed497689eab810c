"""What the operating system says of this process, under the names that every exporter uses."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path

from adk_prism.server.observability.metrics.family import Family, Gauge, Labels, Reading

_STATM = Path("/proc/self/statm")
_DESCRIPTORS = Path("/proc/self/fd")
_BEGAN = time.time() - time.process_time()
"""About when the process began: it has done little else but import since."""


def families() -> list[Family]:
    """Return the families of a process."""
    return [
        Gauge("process_resident_memory_bytes", "Resident memory size in bytes.", _memory),
        Reading("process_cpu_seconds_total", "User and system CPU time in seconds.", _cpu),
        Gauge("process_open_fds", "Number of open file descriptors.", _descriptors),
        Gauge("process_start_time_seconds", "Start time in seconds since 1970.", _start),
    ]


def _memory() -> Mapping[Labels, float]:
    try:
        pages = int(_STATM.read_text().split()[1])
    except OSError:
        return {}  # Not Linux: better none than another meaning of the word.
    return {(): pages * os.sysconf("SC_PAGE_SIZE")}


def _cpu() -> Mapping[Labels, float]:
    return {(): time.process_time()}


def _descriptors() -> Mapping[Labels, float]:
    try:
        return {(): len(os.listdir(_DESCRIPTORS))}
    except OSError:
        return {}


def _start() -> Mapping[Labels, float]:
    return {(): _BEGAN}
