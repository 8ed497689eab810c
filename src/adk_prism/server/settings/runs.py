"""How runs are executed: processes, tools, busy sessions, live runs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Literal

from adk_prism.runlog.leases import DEFAULT_TTL
from adk_prism.server.settings.network import HIGHEST_PORT
from adk_prism.server.settings.option_kinds import SIZE, SPAN, Option, choice, count, several

Busy = Literal["interrupt", "refuse", "wait"]

InDoubt = Literal["retry", "fail", "ask"]

LiveBusy = Literal["takeover", "refuse"]

LiveSound = Literal["keep", "drop"]

LiveShortcut = Literal["auto", "off"]

_BUSY = choice("interrupt", "refuse", "wait")

_TOOL = re.compile(r"[^\s=]{1,200}")
_TOOL_POLICY = re.compile(r"[^\s=]{1,200}=(retry|fail|ask)")


def read_tool_policy(value: object) -> str:
    """Check TOOL=POLICY; raise `ValueError`."""
    if not isinstance(value, str) or not _TOOL_POLICY.fullmatch(value):
        raise ValueError
    return value


def read_tool_timeout(value: object) -> str:
    """Check TIME or TOOL=TIME; raise `ValueError`."""
    if not isinstance(value, str):
        raise ValueError
    tool, equals, span = value.rpartition("=")
    if equals and not _TOOL.fullmatch(tool):
        raise ValueError
    SPAN.read(span)
    return value


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """How runs are executed: processes, tools, busy sessions, live runs."""

    workers: Annotated[int, Option(count(1, 64), "number of server processes")] = 1
    worker_port: Annotated[
        int,
        Option(
            count(1, HIGHEST_PORT),
            "additional port of the first worker; the others use the following ports. For clients that"
            " must reach each worker, such as Prometheus",
        ),
    ] = 0
    lease: Annotated[
        float, Option(SPAN, "how long a process that does not respond keeps its runs (Redis)")
    ] = DEFAULT_TTL
    in_doubt: Annotated[
        InDoubt,
        Option(
            choice("retry", "fail", "ask"),
            "what to do with a tool call that was running when its process died",
        ),
    ] = "retry"
    in_doubt_tool: Annotated[
        tuple[str, ...],
        Option(
            several("TOOL=POLICY", "tools such as send_letter=ask", read_tool_policy),
            "the same for one tool, instead of the tool's own policy; repeatable",
        ),
    ] = ()
    tool_threads: Annotated[
        int,
        Option(
            count(0, 1024),
            "threads for synchronous (def) tools of all runs of a process; 0 runs them on the event loop,"
            " which blocks every stream meanwhile. A tool of a stopped run keeps its thread until it returns",
        ),
    ] = 32
    tool_timeout: Annotated[
        tuple[str, ...],
        Option(
            several(
                "[TOOL=]TIME", "times such as 30s, or tools such as search=2m", read_tool_timeout
            ),
            "how long a tool call may take before it fails; with TOOL=, of one tool, instead of the tool's"
            " own limit; repeatable. Default: no limit",
        ),
    ] = ()
    chat_busy: Annotated[
        Busy, Option(_BUSY, "what a chat message does while a run of its session is active")
    ] = "interrupt"
    adk_busy: Annotated[
        Busy,
        Option(
            _BUSY,
            "what a request to /run or /run_sse does while a run of its session is active; one whose"
            " client closed the connection is interrupted",
        ),
    ] = "refuse"
    live_busy: Annotated[
        LiveBusy,
        Option(
            choice("takeover", "refuse"),
            "what happens when a second voice client opens the same session",
        ),
    ] = "takeover"
    live_grace: Annotated[
        float,
        Option(SPAN, "how long a voice conversation waits for a client that lost its connection"),
    ] = 15.0
    live_sound: Annotated[
        LiveSound,
        Option(choice("keep", "drop"), "whether runs store the audio of the agent's voice"),
    ] = "keep"
    live_sound_limit: Annotated[
        int,
        Option(
            SIZE,
            "most audio that one voice conversation stores; of the rest only the length is stored",
        ),
    ] = 32 * 1024**2
    live_shortcut: Annotated[
        LiveShortcut,
        Option(
            choice("auto", "off"),
            "audio bypass: with auto, audio skips ADK's flow if no code of the app needs it",
        ),
    ] = "off"
    approval_timeout: Annotated[
        float,
        Option(
            SPAN, "how long a voice conversation waits for an approval before the call is denied"
        ),
    ] = 30.0
    client_tool_timeout: Annotated[
        float, Option(SPAN, "how long a voice conversation waits for the result of a client tool")
    ] = 10.0
    client_state: Annotated[
        tuple[str, ...],
        Option(
            several("PREFIX", "prefixes of state keys such as user:"),
            "prefix of state keys that clients may write although it is reserved; repeatable",
        ),
    ] = ()
