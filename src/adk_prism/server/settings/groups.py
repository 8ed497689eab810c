"""What is served, where the server listens, and which pages and hosts it accepts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from adk_prism.log.contract import Retention
from adk_prism.log.leases import DEFAULT_TTL
from adk_prism.server.limits.caller_limits import USUAL
from adk_prism.server.settings.reading import (
    FILE,
    FLAG,
    FOLDER,
    SIZE,
    SPAN,
    SWITCH,
    TEXT,
    URL,
    WHOLE_NUMBER,
    Option,
    choice,
    count,
    several,
)

HIGHEST_PORT = 65535


@dataclass(frozen=True, kw_only=True)
class FeatureSettings:
    """Base of the settings that a feature declares: a field for each, as in the groups below."""

    title: ClassVar[str]
    """Its heading in `serve --help`."""

    @property
    def secrets(self) -> list[str]:
        """Values that must not be stored or reported."""
        return []

    def broken_rule(self) -> str:
        """Return what is wrong with the combination; empty if nothing is."""
        return ""


@dataclass(frozen=True, kw_only=True)
class NetworkSettings:
    """What is served, where the server listens, and which pages and hosts it accepts."""

    agents_dir: Annotated[
        str,
        Option(FOLDER, "folder of ADK apps, as for `adk web` (default: the example apps)", True),
    ] = ""
    host: Annotated[str, Option(TEXT, "address to listen on")] = "127.0.0.1"
    port: Annotated[
        int, Option(count(0, HIGHEST_PORT), "port to listen on; 0 means any free port")
    ] = 8000
    without: Annotated[
        tuple[str, ...],
        Option(
            several("FEATURE", "names of features such as share"),
            "feature to leave out; `adk-prism doctor` lists them; repeatable",
        ),
    ] = ()
    root_path: Annotated[
        str, Option(TEXT, "path prefix under which a proxy serves this server", adk="--url_prefix")
    ] = ""
    public_url: Annotated[
        str, Option(URL, "URL at which clients reach the server, if it differs from its address")
    ] = ""
    allow_origin: Annotated[
        tuple[str, ...],
        Option(
            several("ORIGIN", "origins such as https://app.example.com"),
            "origin of a web page that may call the server, besides the server's own; regex:PATTERN for"
            " several; repeatable",
            adk="--allow_origins",
        ),
    ] = ()
    dev: Annotated[
        bool,
        Option(
            FLAG, "let web pages on localhost, on any port, call the server; for local use only"
        ),
    ] = False
    allow_host: Annotated[
        tuple[str, ...],
        Option(
            several("HOST", "host names such as agents.example.com"),
            "host name under which the server may be called, besides this machine's own; repeatable",
        ),
    ] = ()
    insecure: Annotated[
        bool,
        Option(FLAG, "listen on an address that other machines can reach, without authentication"),
    ] = False


# ---------------------------------------------------------------------------
# What is stored where, for how long, and without which secrets.

DATA_DIR = Path(".adk-prism")
"""Where the defaults keep their files: beside the project that is served, out of its way."""


@dataclass(frozen=True, kw_only=True)
class StorageSettings:
    """What is stored where, for how long, and without which secrets."""

    data_dir: Annotated[
        str,
        Option(
            FOLDER,
            "folder for the run log, sessions, artifacts and share links that are not set otherwise;"
            " other users of the machine cannot read it",
        ),
    ] = str(DATA_DIR)
    log: Annotated[
        str,
        Option(
            URL,
            "where runs are recorded: memory:, sqlite:///FILE or redis://HOST (default: SQLite in the"
            " data folder)",
        ),
    ] = ""
    sessions: Annotated[
        str,
        Option(
            URL,
            "where sessions are stored, as a URI of ADK (default: SQLite in the data folder)",
            adk="--session_service_uri",
        ),
    ] = ""
    artifacts: Annotated[
        str,
        Option(
            URL,
            "where artifacts are stored, as a URI of ADK (default: files in the data folder)",
            adk="--artifact_service_uri",
        ),
    ] = ""
    memory: Annotated[
        str,
        Option(
            URL,
            "where ADK keeps its long-term memory, as a URI of ADK (default: in this process)",
            adk="--memory_service_uri",
        ),
    ] = ""
    retention_age: Annotated[float, Option(SPAN, "how long a run is kept after its end")] = (
        Retention().max_age
    )
    retention_size: Annotated[
        int,
        Option(
            SIZE,
            "largest size of the run log; above it the oldest ended runs of whoever has most are deleted",
        ),
    ] = Retention().max_bytes
    retention_sessions: Annotated[
        float,
        Option(
            SPAN,
            "how long an unused session is kept, with its artifacts and runs (default: until someone"
            " deletes it)",
        ),
    ] = 0.0
    files_from: Annotated[
        tuple[str, ...],
        Option(
            several("PLACE", "places such as gs://BUCKET/FOLDER"),
            "Cloud Storage folder from which files of a run may be fetched; {app}, {user} and {session}"
            " are replaced with those of the run; repeatable",
        ),
    ] = ()
    files_limit: Annotated[int, Option(SIZE, "largest file that is fetched from Cloud Storage")] = (
        64 * 1024**2
    )
    files_emulator: Annotated[
        str, Option(URL, "loopback URL of a Cloud Storage emulator, for tests")
    ] = ""
    redact: Annotated[
        tuple[str, ...],
        Option(
            several("PATTERN", "patterns of keys such as *_pin"),
            "name of a key whose value is never stored, besides the built-in ones; repeatable",
        ),
    ] = ()
    reveal: Annotated[
        tuple[str, ...],
        Option(
            several("KEY", "keys such as invite_token"),
            "key that is not secret although its name looks like it; repeatable",
        ),
    ] = ()


# ---------------------------------------------------------------------------
# How runs are executed: processes, tools, busy sessions, live runs.

Busy = Literal["interrupt", "refuse", "wait"]

InDoubt = Literal["retry", "fail", "ask"]

LiveBusy = Literal["takeover", "refuse"]

LiveSound = Literal["keep", "drop"]


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


# ---------------------------------------------------------------------------
# How much callers may send, have and use, and how long streams wait.

LONGEST_KEEP_ALIVE = 15.0
"""Proxies and load balancers commonly cut a silent connection at 30 or 60 seconds."""

_MOST = count(1, 1_000_000)

_AUTOMATIC = "(default: {} with authentication, else no limit)"


@dataclass(frozen=True, kw_only=True)
class LimitSettings:
    """How much callers may send, have and use, and how long streams wait."""

    body_limit: Annotated[int, Option(SIZE, "largest request body that is accepted")] = 8 * 1024**2
    history_limit: Annotated[
        int,
        Option(SIZE, "largest body of a chat request, including the history that clients send"),
    ] = 64 * 1024**2
    upload_limit: Annotated[int, Option(SIZE, "largest recording that can be uploaded")] = (
        64 * 1024**2
    )
    limit_runs: Annotated[
        int,
        Option(
            _MOST, f"runs that one user may have at the same time {_AUTOMATIC.format(USUAL.runs)}"
        ),
    ] = 0
    limit_requests: Annotated[
        int,
        Option(
            _MOST,
            "requests, streams included, that one caller may have at the same time"
            f" {_AUTOMATIC.format(USUAL.requests)}",
        ),
    ] = 0
    limit_sockets: Annotated[
        int,
        Option(
            _MOST,
            f"WebSockets that one caller may have at the same time {_AUTOMATIC.format(USUAL.sockets)}",
        ),
    ] = 0
    limit_rate: Annotated[
        int,
        Option(
            _MOST, f"requests that one caller may send per second {_AUTOMATIC.format(USUAL.rate)}"
        ),
    ] = 0
    limit_bytes: Annotated[
        int,
        Option(
            SIZE,
            f"bytes per second to and from one caller {_AUTOMATIC.format(SIZE.show(USUAL.bytes))}",
        ),
    ] = 0
    limit_run_time: Annotated[
        float,
        Option(
            SPAN,
            f"longest time that a run may take {_AUTOMATIC.format(SPAN.show(USUAL.run_time))}",
        ),
    ] = 0.0
    limit_unwatched: Annotated[
        float,
        Option(
            SPAN,
            "how long a run may continue when no client watches it"
            f" {_AUTOMATIC.format(SPAN.show(USUAL.unwatched))}",
        ),
    ] = 0.0
    keep_alive: Annotated[
        float,
        Option(
            SPAN, "how long a stream may be silent before the server sends a keep-alive comment"
        ),
    ] = LONGEST_KEEP_ALIVE
    stalled: Annotated[
        float, Option(SPAN, "how long a client may read nothing before its stream is closed")
    ] = 2 * LONGEST_KEEP_ALIVE
    """Such a reader is gone or stopped, and what it misses is in the log."""
    grace: Annotated[
        float, Option(SPAN, "how long active runs may continue when the server is stopped")
    ] = 30.0


# ---------------------------------------------------------------------------
# How callers authenticate.


@dataclass(frozen=True, kw_only=True)
class IdentitySettings:
    """How callers authenticate."""

    tokens: Annotated[
        str,
        Option(
            FILE, 'authenticate callers by access token, from a JSON file: {"TOKEN": "USER", …}'
        ),
    ] = ""
    oidc_issuer: Annotated[
        str, Option(URL, "authenticate callers by JSON Web Tokens (JWT) of this OpenID provider")
    ] = ""
    oidc_audience: Annotated[
        tuple[str, ...],
        Option(several("AUDIENCE", "names"), "audience that a JWT must name; repeatable"),
    ] = ()
    oidc_jwks: Annotated[
        str, Option(URL, "URL of the provider's keys (default: from its discovery document)")
    ] = ""
    oidc_user_claim: Annotated[str, Option(TEXT, "claim of a JWT that has the user name")] = "sub"
    oidc_algorithm: Annotated[
        tuple[str, ...],
        Option(
            several("ALGORITHM", "names such as RS256"),
            "signature algorithm that a JWT may use; repeatable",
        ),
    ] = ("RS256", "ES256")
    proxy_user_header: Annotated[
        str, Option(TEXT, "authenticate callers by this header, which a trusted proxy sets")
    ] = ""
    trusted_proxy: Annotated[
        tuple[str, ...],
        Option(
            several("ADDRESS", "addresses or networks such as 10.0.0.0/8"),
            "address of a proxy whose user header, X-Forwarded-Host, -Proto and -For are trusted;"
            " repeatable (default: only the user header, and only from this machine)",
        ),
    ] = ()
    authenticate: Annotated[
        str, Option(TEXT, "authenticate callers by a Python function: MODULE:FUNCTION")
    ] = ""
    admin: Annotated[
        tuple[str, ...],
        Option(several("USER", "users"), "user who may see the data of all users; repeatable"),
    ] = ()


# ---------------------------------------------------------------------------
# What the operator and callers are shown: errors, logs, the audit log.

LogFormat = Literal["text", "json"]

LogLevel = Literal["debug", "info", "warning", "error"]

ModelCallDetail = Literal["", "off", "summary", "full"]

Errors = Literal["", "full", "reference"]


@dataclass(frozen=True, kw_only=True)
class OutputSettings:
    """What the operator and callers are shown: errors, logs, the audit log."""

    errors: Annotated[
        Errors,
        Option(
            choice("full", "reference"),
            "what clients on this machine see of an exception: its text, or a reference to the server's log"
            " (default: full if the server is only used locally)",
        ),
    ] = ""
    model_calls: Annotated[
        ModelCallDetail,
        Option(
            choice("off", "summary", "full"),
            "what is recorded of model calls: nothing, times and tokens, or also requests and responses"
            " (default: full if the server is only used locally, else summary)",
        ),
    ] = ""
    prices: Annotated[
        str,
        Option(
            FILE, "JSON file with prices of models per million tokens (default: no cost is shown)"
        ),
    ] = ""
    otlp: Annotated[
        str,
        Option(
            URL,
            "send every run that has ended as a trace to this OpenTelemetry collector, over HTTP",
        ),
    ] = ""
    log_format: Annotated[
        LogFormat, Option(choice("text", "json"), "format of log lines on stderr")
    ] = "text"
    log_level: Annotated[
        LogLevel,
        Option(
            choice("debug", "info", "warning", "error"),
            "least important log records of your apps that are printed on stderr; libraries print only"
            " warnings; with debug ADK prints everything",
            adk="--log_level",
        ),
    ] = "info"
    access_log: Annotated[bool, Option(FLAG, "log every request to stderr")] = False
    audit: Annotated[
        str,
        Option(
            FILE,
            "file that records who approved, cancelled, deleted and shared what (default: none)",
        ),
    ] = ""


# ---------------------------------------------------------------------------
# What `adk web` and `adk api_server` can be told and other settings do not cover.


@dataclass(frozen=True, kw_only=True)
class AdkSettings:
    """How ADK runs apps: its storage, plugins, limits, default model and features."""

    reload: Annotated[
        bool | None,
        Option(
            SWITCH,
            "load an app again when its files have changed; runs in progress keep the old code (default: on"
            " if the server is only used locally)",
            adk="--reload_agents",
        ),
    ] = None
    local_storage: Annotated[
        bool,
        Option(
            FLAG,
            "use the sessions and artifacts of `adk web`, in the `.adk` folder of each app",
            adk="--use_local_storage",
        ),
    ] = False
    auto_create_session: Annotated[
        bool,
        Option(
            FLAG,
            "let /run and /run_sse create a session that does not exist, as chats always do",
            adk="--auto_create_session",
        ),
    ] = False
    a2a: Annotated[
        bool,
        Option(
            FLAG,
            "serve the apps that have an agent card (`agent.json`) over A2A, at /a2a/APP;"
            " needs google-adk[a2a]",
        ),
    ] = False
    extra_plugins: Annotated[
        tuple[str, ...],
        Option(
            several("CLASS", "names such as my_package.MyPlugin"),
            "add an ADK plugin to every app: MODULE.NAME of a class or an object; repeatable",
            adk="--extra_plugins",
        ),
    ] = ()
    max_llm_calls: Annotated[
        int | None,
        Option(
            WHOLE_NUMBER,
            "most model calls of one run; 0 or less means no limit (default: ADK's limit)",
            adk="--max_llm_calls",
        ),
    ] = None
    default_llm_model: Annotated[
        str, Option(TEXT, "model for agents that name none", adk="--default_llm_model")
    ] = ""
    enable_features: Annotated[
        tuple[str, ...],
        Option(
            several("FEATURE", "names of ADK's features"),
            "experimental feature of ADK to switch on; repeatable",
            adk="--enable_features",
        ),
    ] = ()
    disable_features: Annotated[
        tuple[str, ...],
        Option(
            several("FEATURE", "names of ADK's features"),
            "feature of ADK to switch off; repeatable",
            adk="--disable_features",
        ),
    ] = ()
