"""What `make test` leaves to `make test-all`, and why. Nothing else decides this.

`make test` has to tell a contributor within five minutes whether a change is sound. `make test-all`, and CI,
also run what is below (`pytest --all`). A path that is named on the command line always runs:
`pytest tests/fuzz`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent

SLOW_PATHS: dict[str, str] = {
    "tests/features/a2a": "a server with the A2A SDK, which only `make test-all` installs",
    "tests/features/mcp/test_mcp.py": "the MCP SDK, which only `make test-all` installs",
    "tests/apps/test_tour_again.py": "every scenario of the tour, twice",
    "tests/chaos": "kills, stops and pauses of replicas",
    "tests/clients": "the TypeScript client, compiled, in Node",
    "tests/cluster": "replicas with Redis and PostgreSQL, several processes for each test",
    "tests/features/doctor/test_doctor_url.py": "a real server behind proxies that misbehave",
    "tests/features/conform/test_servers.py": "our server and ADK's, a protocol at a time",
    "tests/features/console/test_command.py": "a process for each test",
    "tests/features/console/test_lost.py": "servers that stop and come back",
    "tests/features/console/test_screen.py": "a screen that is drawn after every key",
    "tests/features/rerun/test_pytest_plugin.py": "pytest in a process of its own for each test",
    "tests/features/watch/test_command.py": "a process for each table",
    "tests/documentation/test_python_types.py": "mypy and pyright, with google-adk",
    "tests/documentation/test_script_blocks.py": "the TypeScript compiler",
    "tests/documentation/test_shell_blocks.py": "a server, and every command of the pages",
    "tests/documentation/test_site.py": "the documentation site, with what only `make test-all` installs",
    "tests/end_to_end/test_adk_clients.py": "every call on our server and on ADK's",
    "tests/end_to_end/test_client_package.py": "the npm package with every release of the AI SDK, in Node",
    "tests/end_to_end/test_kill.py": "a server that is killed in each test",
    "tests/end_to_end/test_recorder.py": "ADK's server, and ours, which is killed and started again",
    "tests/end_to_end/test_remote.py": "servers of ADK as remotes, a scenario at a time",
    "tests/end_to_end/test_stalled.py": "a reader that takes nothing for as long as it may",
    "tests/end_to_end/test_use_chat_history.py": "histories of every scenario, in Node",
    "tests/features/evaluation/test_eval_command.py": "ADK's evaluators, which only `make test-all` installs",
    "tests/features/evaluation/test_evals_route.py": "a server with them",
    "tests/extend": "a package that is installed and served",
    "tests/fuzz": "a minute of fuzzing for each group of decoders",
    "tests/laws/test_live_laws.py": "live runs made at random",
    "tests/voice/test_bad_clients.py": "a server for each client that misbehaves",
    "tests/voice/test_chat_socket.py": "whole chats over a WebSocket, with the AI SDK's transport",
    "tests/voice/test_cycles.py": "a hundred connections, counted for leaks",
    "tests/voice/test_gemini.py": "whole conversations with ADK's Gemini client, over TLS",
    "tests/features/run_live/test_run_live.py": "every call on our socket and on ADK's",
    "tests/outside": "62 apps of other people, each on a server of its own",
    "tests/features/recorder/test_hostile_agents.py": "agents that misbehave, with and without the recorder",
    "tests/features/recorder/test_sender.py": "destinations that stall, and processes that end",
    "tests/features/redis/test_leases.py": "leases that run out",
    "tests/features/redis/test_redis.py": "a Redis that is slow, full, or goes away",
    "tests/security/files/test_outbound.py": "a server for each store, whose connections are counted",
    "tests/security/test_connections.py": "deadlines of ten seconds, over real sockets",
    "tests/security/test_file_modes.py": "a server for each umask",
    "tests/security/test_hostile_agents.py": "a server for each agent that misbehaves",
    "tests/security/test_schema.py": "Schemathesis over every route, with identity",
    "tests/security/test_untrusted_history.py": "forks at every cursor of every forgery",
    "tests/server/test_odd_bodies.py": "ten thousand bodies in which one value is wrong",
    "tests/features/limits/test_ended_runs.py": "runs that end by a limit of time",
    "tests/features/limits/test_limits.py": "limits that are reached and run out",
    "tests/features/remote/test_bad_remotes.py": "remotes that misbehave, over TLS too",
    "tests/server/test_died_while_changing.py": "processes that die",
    "tests/server/test_odd_values.py": "every odd value on every session service, and Hypothesis",
    "tests/server/test_process_faults.py": "servers that are killed, damaged and started again",
    "tests/server/test_unwritable_output.py": "a server process for each stream",
    "tests/server/test_results_cut_off.py": "processes that die",
    "tests/server/test_process.py": "signals and grace periods of real processes",
    "tests/server/test_proxies.py": "a real server behind a real proxy",
    "tests/server/test_ready.py": "stores that stop, fill up and come back",
    "tests/server/test_schema.py": "Schemathesis over every route",
    "tests/test_adk_version.py": "a process for each version",
    "tests/web": "the page in a browser",
}
"""Folders and files."""

SLOW_VALUES: dict[str, frozenset[str]] = {
    "sdk": frozenset({"ai-5.0.0", "ai-6.0.0"}),
    "client": frozenset({"ai-6.0.0-dialect-6", "ai-6-dialect-6"}),
}
"""Parameters of which a quick run tries only the other values: the newest release of each dialect."""

SAMPLED: dict[str, int] = {
    "tests/apps": 4,
    "tests/cli": 2,
    "tests/features/console": 2,
    "tests/features/rerun": 2,
    "tests/features/search": 2,
    "tests/features/share": 2,
    "tests/end_to_end": 4,
    "tests/voice": 4,
    "tests/runs": 2,
    "tests/features/recorder": 4,
    "tests/log": 2,
    "tests/security": 4,
    "tests/server": 6,
    "tests/adk": 2,
    "tests/apps/recovery/test_briefing_run.py": 6,
    "tests/apps/research/test_answers.py": 6,
    "tests/apps/research/test_bad_input.py": 6,
    "tests/apps/research/test_remedies.py": 8,
    "tests/apps/research/test_turns.py": 8,
    "tests/features/conform/test_planted_faults.py": 8,
    "tests/features/console/test_grounding.py": 6,
    "tests/end_to_end/test_http_agent.py": 6,
    "tests/end_to_end/test_resume.py": 6,
    "tests/end_to_end/test_use_chat.py": 6,
    "tests/end_to_end/test_use_chat_streams.py": 6,
    "tests/golden/test_ag_ui_clients.py": 6,
    "tests/golden/test_clients.py": 6,
    "tests/laws/test_laws.py": 12,
    "tests/voice/test_socket.py": 8,
    "tests/runs/test_every_run_ends.py": 20,
    "tests/features/recorder/test_plugin.py": 8,
    "tests/security/test_attacks.py": 6,
    "tests/security/test_decoders.py": 6,
    "tests/features/remote/test_agent_engine.py": 8,
    "tests/features/remote/test_dialects.py": 8,
    "tests/server/test_studio_routes.py": 8,
}
"""Files and folders with products of cases: a quick run takes every so many of each test, the first included.
A file's own number counts before its folder's."""


EXAMPLES = 3
"""A quick run tries one of so many generated examples."""

_is_thorough = False


def be_thorough() -> None:
    """Try every generated example from now on."""
    global _is_thorough
    _is_thorough = True


def examples(count: int) -> int:
    """Return how many examples to generate, of as many as a thorough run tries."""
    return count if _is_thorough else count // EXAMPLES


def is_left_out(path: Path, named: Sequence[Path]) -> bool:
    """Say whether a quick run leaves a file or folder out, given the paths on the command line."""
    for slow in SLOW_PATHS:
        place = ROOT / slow
        if path == place or place in path.parents:
            return not any(each == place or place in each.parents for each in named)
    return False


def step_of(path: Path) -> int:
    """Return how many cases of a test a quick run goes on by, in a file."""
    name = path.relative_to(ROOT)
    places = (str(place) for place in (name, *name.parents))
    return next((SAMPLED[place] for place in places if place in SAMPLED), 1)


def is_repetition(parameters: dict[str, object]) -> bool:
    """Say whether a test repeats another one for an older client."""
    return any(
        str(parameters[name]) in values
        for name, values in SLOW_VALUES.items()
        if name in parameters
    )
