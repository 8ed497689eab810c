"""Which internals of the installed libraries can be used: probed once per process."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from adk_prism.adk.internals import Capability, log_lines, runner

CAPABILITIES: tuple[Capability, ...] = (
    log_lines.NODES,
    log_lines.CANCELLATIONS,
    log_lines.STORAGE,
    log_lines.RESTORED_EVENTS,
    runner.WORKERS,
    runner.LIVE_AGENTS,
    runner.LIVE_TOOLS,
    runner.PAUSED_TASKS,
    runner.TOOL_THREADS,
)

PLACES: dict[str, str] = {
    "ADK's DEBUG lines": "no callback tells of workflow nodes, or of calls that a live model cancels",
    "ADK's session storage": "its API neither counts events nor removes keys of state",
    "ADK's agents": "nobody is shown a worker's node, an agent's folder, or the tools of a live agent",
    "ADK's Runner": "it does not continue a paused task, nor tell a recorder how a run was cancelled",
    "ADK's tool threads": "a thread that goes on after its run was stopped has to be known",
    "the class of a model": "cache_prefix() expands prefixes inside of it",
    "ADK's A2A bridge": "it joins the two versions of the A2A SDK; only with --a2a",
}
"""Where internals of other packages are used, and why. The docstring of this package names them."""


class ProbeResult(NamedTuple):
    """Whether a capability can be used."""

    capability: Capability
    problem: str
    """Why not; empty if it can."""

    @property
    def is_on(self) -> bool:
        """Return whether the capability can be used."""
        return not self.problem


def probe(capability: Capability) -> ProbeResult:
    """Find out whether a capability can be used."""
    try:
        problem = capability.probe() or ""
    except Exception as error:  # Whatever a changed internal raises, it cannot be used.
        problem = str(error) or type(error).__name__
    return ProbeResult(capability, problem)


@cache
def probe_all() -> tuple[ProbeResult, ...]:
    """Probe every capability, once per process."""
    return tuple(map(probe, CAPABILITIES))


def switched_off() -> str:
    """Return one line that names the capabilities that are off; empty if all are on."""
    names = ", ".join(result.capability.name for result in probe_all() if not result.is_on)
    return f"Off with the installed versions: {names}. Run: adk-prism doctor" if names else ""
