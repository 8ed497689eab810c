"""Which internals of the installed libraries can be used: probed once per process."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from adk_prism.source.adk import (
    agent_attributes,
    credentials,
    log_listener,
    model_class,
    restored_events,
    session_storage,
    task_scope,
    telemetry,
    tool_thread_pool,
)
from adk_prism.source.adk.capability import Capability

CAPABILITIES: tuple[Capability, ...] = (
    agent_attributes.CAPABILITY,
    credentials.CAPABILITY,
    log_listener.CAPABILITY,
    model_class.CAPABILITY,
    restored_events.CAPABILITY,
    session_storage.CAPABILITY,
    task_scope.CAPABILITY,
    telemetry.CAPABILITY,
    tool_thread_pool.CAPABILITY,
)


class ProbeResult(NamedTuple):
    """Whether a capability can be used."""

    capability: Capability
    problem: str
    """Why not; empty if it can."""

    @property
    def is_on(self) -> bool:
        """Tell whether the capability can be used."""
        return not self.problem


def probe(capability: Capability) -> ProbeResult:
    """Find out whether a capability can be used."""
    try:
        capability.probe()
    except Exception as error:  # Whatever a changed internal raises, it cannot be used.
        return ProbeResult(capability, str(error) or type(error).__name__)
    return ProbeResult(capability, "")


@cache
def probe_all() -> tuple[ProbeResult, ...]:
    """Probe every capability, once per process."""
    return tuple(map(probe, CAPABILITIES))


def switched_off() -> str:
    """Return one line that names the capabilities that are off; empty if all are on."""
    names = ", ".join(result.capability.name for result in probe_all() if not result.is_on)
    return f"Off with the installed versions: {names}. Run: adk-prism doctor" if names else ""
