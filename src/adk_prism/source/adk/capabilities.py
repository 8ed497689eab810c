"""Which internals of the installed libraries can be used: probed once per process."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from adk_prism.source.adk import (
    agent_attributes,
    credential_redaction,
    live_call_cancellation,
    live_connect_request,
    live_eager_task,
    live_stock_flow,
    live_support,
    live_tools,
    log_listener,
    request_rewriting,
    restored_events,
    session_storage,
    task_scope,
    telemetry,
    tool_thread_pool,
)
from adk_prism.source.adk.capability import Capability

CAPABILITIES: tuple[Capability, ...] = (
    agent_attributes.CAPABILITY,
    credential_redaction.CAPABILITY,
    log_listener.CAPABILITY,
    request_rewriting.CAPABILITY,
    restored_events.CAPABILITY,
    session_storage.CAPABILITY,
    task_scope.CAPABILITY,
    telemetry.CAPABILITY,
    tool_thread_pool.CAPABILITY,
    Capability(
        name="live agents",
        summary="recognise which agents support live runs",
        without="only LlmAgent and SequentialAgent are offered for live runs",
        probe=live_support.probe,
    ),
    Capability(
        name="live approvals",
        summary="let an agent speak while a tool call waits for a person",
        without="the approval works, but the agent does not speak meanwhile",
        probe=live_tools.probe,
    ),
    Capability(
        name="live cancellations",
        summary="see which tool calls a live model has cancelled",
        without="a cancelled call stays open until it is answered or times out",
        probe=live_call_cancellation.probe,
    ),
    Capability(
        name="live requests",
        summary="see what is sent to a live model when its connection is opened",
        without="model calls of live runs have times and tokens only",
        probe=live_connect_request.probe,
    ),
    Capability(
        name="audio bypass",
        summary="check that --live-shortcut auto skips no code of an app",
        without="--live-shortcut auto is not used: audio goes through ADK's flow",
        probe=live_stock_flow.probe,
    ),
    Capability(
        name="eager sends",
        summary="send a chunk of audio without waiting for another turn of the event loop",
        without="each chunk is sent in the next turn of the event loop",
        probe=live_eager_task.probe,
    ),
)


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
