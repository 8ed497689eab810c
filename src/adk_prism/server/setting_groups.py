"""The settings of the kernel, in the groups under whose headings `serve --help` shows them.

Each is declared once: name, type, default, kind and help. The command line, the environment and the reader of
pyproject.toml are derived from that. Settings of features are declared there.
"""

# ruff: noqa: RUF009 # the calls in the dataclasses make their fields

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from adk_prism import options as kinds
from adk_prism.log.coordination import DEFAULT_TTL

MIB = 1024**2

HIGHEST_PORT = 65535

DATA_DIR = Path(".adk-prism")
"""Where the defaults keep their files: beside the project that is served, out of its way."""

LONGEST_KEEP_ALIVE = 15.0
"""Proxies and load balancers commonly cut a silent connection at 30 or 60 seconds."""

Busy = Literal["interrupt", "refuse", "wait"]
InDoubt = Literal["retry", "fail", "ask"]
LiveBusy = Literal["takeover", "refuse"]
LiveSound = Literal["keep", "drop"]
LogFormat = Literal["text", "json"]
LogLevel = Literal["debug", "info", "warning", "error"]
ModelCallDetail = Literal["", "off", "summary", "full"]
Errors = Literal["", "full", "reference"]

_TOOL = re.compile(r"[^\s=]{1,200}")
_TOOL_POLICY = re.compile(r"[^\s=]{1,200}=(retry|fail|ask)")


def read_tool_policy(value: object) -> str:
    """Check TOOL=POLICY; raise `ValueError`."""
    if not isinstance(value, str) or not _TOOL_POLICY.fullmatch(value):
        raise ValueError
    return value


def read_tool_timeout(value: object) -> str:
    """Check TIME or TOOL=TIME; raise `ValueError`."""
    tool, equals, span = value.rpartition("=") if isinstance(value, str) else ("", "", value)
    if equals and not _TOOL.fullmatch(tool):
        raise ValueError
    kinds.SPAN.read(span)
    return str(value)


@dataclass(frozen=True, kw_only=True)
class ServerSettings(kinds.SettingGroup):
    """What is served, and where the server listens."""

    title: ClassVar[str] = "Server"
    agents_dir: str = kinds.FOLDER.option(
        "folder of ADK apps, as for `adk web` (default: the example apps)", positional=True
    )
    host: str = kinds.TEXT.option("address to listen on", "127.0.0.1")
    port: int = kinds.count(0, HIGHEST_PORT).option(
        "port to listen on; 0 means any free port", 8000
    )
    root_path: str = kinds.TEXT.option(
        "path prefix under which a proxy serves this server", adk="--url_prefix"
    )
    public_url: str = kinds.URL.option(
        "URL at which clients reach the server, if it differs from its address"
    )
    workers: int = kinds.count(1, 64).option("number of server processes", 1)
    worker_port: int = kinds.count(1, HIGHEST_PORT).option(
        "additional port of the first worker; the others use the following ports. For clients that"
        " must reach each worker, such as Prometheus"
    )
    reload: bool | None = kinds.SWITCH.option(
        "load an app again when its files have changed; runs in progress keep the old code (default: on"
        " if the server is only used locally)",
        adk="--reload_agents",
    )
    without: tuple[str, ...] = kinds.several("FEATURE", "names of features such as share").option(
        "feature to leave out; `adk-prism doctor` lists them; repeatable"
    )
    auto_create_session: bool = kinds.FLAG.option(
        "let /run and /run_sse create a session that does not exist, as chats always do",
        adk="--auto_create_session",
    )
    keep_alive: float = kinds.SPAN.option(
        "how long a stream may be silent before the server sends a keep-alive comment",
        LONGEST_KEEP_ALIVE,
    )
    stalled: float = kinds.SPAN.option(
        "how long a client may read nothing before its stream is closed", 2 * LONGEST_KEEP_ALIVE
    )
    grace: float = kinds.SPAN.option(
        "how long active runs may continue when the server is stopped", 30.0
    )


@dataclass(frozen=True, kw_only=True)
class StorageSettings(kinds.SettingGroup):
    """What is stored where."""

    title: ClassVar[str] = "Storage"
    data_dir: str = kinds.FOLDER.option(
        "folder for the run log, sessions, artifacts and share links that are not set otherwise;"
        " other users of the machine cannot read it",
        str(DATA_DIR),
    )
    log: str = kinds.URL.option(
        "where runs are recorded: memory:, sqlite:///FILE or redis://HOST (default: SQLite in the"
        " data folder)"
    )
    sessions: str = kinds.URL.option(
        "where sessions are stored, as a URI of ADK (default: SQLite in the data folder)",
        adk="--session_service_uri",
    )
    artifacts: str = kinds.URL.option(
        "where artifacts are stored, as a URI of ADK (default: files in the data folder)",
        adk="--artifact_service_uri",
    )
    memory: str = kinds.URL.option(
        "where ADK keeps its long-term memory, as a URI of ADK (default: in this process)",
        adk="--memory_service_uri",
    )
    local_storage: bool = kinds.FLAG.option(
        "use the sessions and artifacts of `adk web`, in the `.adk` folder of each app",
        adk="--use_local_storage",
    )
    files_limit: int = kinds.SIZE.option(
        "largest file that is fetched from Cloud Storage", 64 * MIB
    )


@dataclass(frozen=True, kw_only=True)
class ModelSettings(kinds.SettingGroup):
    """How models are called, and what is recorded of that."""

    title: ClassVar[str] = "Models"
    default_llm_model: str = kinds.TEXT.option(
        "model for agents that name none", adk="--default_llm_model"
    )
    max_llm_calls: int | None = kinds.WHOLE_NUMBER.option(
        "most model calls of one run; 0 or less means no limit (default: ADK's limit)",
        adk="--max_llm_calls",
    )
    model_calls: ModelCallDetail = kinds.choice(ModelCallDetail).option(
        "what is recorded of model calls: nothing, times and tokens, or also requests and responses"
        " (default: full if the server is only used locally, else summary)"
    )


@dataclass(frozen=True, kw_only=True)
class RunSettings(kinds.SettingGroup):
    """How runs are executed: tools, busy sessions, takeovers."""

    title: ClassVar[str] = "Running agents"
    chat_busy: Busy = kinds.choice(Busy).option(
        "what a chat message does while a run of its session is active", "interrupt"
    )
    adk_busy: Busy = kinds.choice(Busy).option(
        "what a request to /run or /run_sse does while a run of its session is active; one whose"
        " client closed the connection is interrupted",
        "refuse",
    )
    tool_threads: int = kinds.count(0, 1024).option(
        "threads for synchronous (def) tools of all runs of a process; 0 runs them on the event loop,"
        " which blocks every stream meanwhile. A tool of a stopped run keeps its thread until it returns",
        32,
    )
    tool_timeout: tuple[str, ...] = kinds.several(
        "[TOOL=]TIME", "times such as 30s, or tools such as search=2m", read_tool_timeout
    ).option(
        "how long a tool call may take before it fails; with TOOL=, of one tool, instead of the tool's"
        " own limit; repeatable. Default: no limit"
    )
    on_crash: InDoubt = kinds.choice(InDoubt).option(
        "what to do with a tool call that was running when its process died", "retry"
    )
    on_crash_tool: tuple[str, ...] = kinds.several(
        "TOOL=POLICY", "tools such as send_letter=ask", read_tool_policy
    ).option("the same for one tool, instead of the tool's own policy; repeatable")
    lease: float = kinds.SPAN.option(
        "how long a process that does not respond keeps its runs (Redis)", DEFAULT_TTL
    )
    client_state: tuple[str, ...] = kinds.several(
        "PREFIX", "prefixes of state keys such as user:"
    ).option("prefix of state keys that clients may write although it is reserved; repeatable")
    extra_plugins: tuple[str, ...] = kinds.several(
        "CLASS", "names such as my_package.MyPlugin"
    ).option(
        "add an ADK plugin to every app: MODULE.NAME of a class or an object; repeatable",
        adk="--extra_plugins",
    )
    enable_features: tuple[str, ...] = kinds.several("FEATURE", "names of ADK's features").option(
        "experimental feature of ADK to switch on; repeatable", adk="--enable_features"
    )
    disable_features: tuple[str, ...] = kinds.several("FEATURE", "names of ADK's features").option(
        "feature of ADK to switch off; repeatable", adk="--disable_features"
    )


@dataclass(frozen=True, kw_only=True)
class VoiceSettings(kinds.SettingGroup):
    """How live runs are served."""

    title: ClassVar[str] = "Voice"
    live_busy: LiveBusy = kinds.choice(LiveBusy).option(
        "what happens when a second voice client opens the same session", "takeover"
    )
    live_grace: float = kinds.SPAN.option(
        "how long a voice conversation waits for a client that lost its connection", 15.0
    )
    live_sound: LiveSound = kinds.choice(LiveSound).option(
        "whether runs store the audio of the agent's voice", "keep"
    )
    live_sound_limit: int = kinds.SIZE.option(
        "most audio that one voice conversation stores; of the rest only the length is stored",
        32 * MIB,
    )
    approval_timeout: float = kinds.SPAN.option(
        "how long a voice conversation waits for an approval before the call is denied", 30.0
    )
    client_tool_timeout: float = kinds.SPAN.option(
        "how long a voice conversation waits for the result of a client tool", 10.0
    )


@dataclass(frozen=True, kw_only=True)
class SecuritySettings(kinds.SettingGroup):
    """How callers authenticate, which pages and hosts may call, and what is secret."""

    title: ClassVar[str] = "Security"
    tokens: str = kinds.FILE.option(
        'authenticate callers by access token, from a JSON file: {"TOKEN": "USER", …}'
    )
    proxy_user_header: str = kinds.TEXT.option(
        "authenticate callers by this header, which a trusted proxy sets"
    )
    trusted_proxy: tuple[str, ...] = kinds.several(
        "ADDRESS", "addresses or networks such as 10.0.0.0/8"
    ).option(
        "address of a proxy whose user header, X-Forwarded-Host, -Proto and -For are trusted;"
        " repeatable (default: only the user header, and only from this machine)"
    )
    authenticate: str = kinds.TEXT.option(
        "authenticate callers by a Python function: MODULE:FUNCTION"
    )
    admin: tuple[str, ...] = kinds.several("USER", "users").option(
        "user who may see the data of all users; repeatable"
    )
    allow_origin: tuple[str, ...] = kinds.several(
        "ORIGIN", "origins such as https://app.example.com"
    ).option(
        "origin of a web page that may call the server, besides the server's own; regex:PATTERN for"
        " several; repeatable",
        adk="--allow_origins",
    )
    allow_host: tuple[str, ...] = kinds.several(
        "HOST", "host names such as agents.example.com"
    ).option(
        "host name under which the server may be called, besides this machine's own; repeatable"
    )
    dev: bool = kinds.FLAG.option(
        "let web pages on localhost, on any port, call the server; for local use only"
    )
    insecure: bool = kinds.FLAG.option(
        "listen on an address that other machines can reach, without authentication"
    )
    redact: tuple[str, ...] = kinds.several("PATTERN", "patterns of keys such as *_pin").option(
        "name of a key whose value is never stored, besides the built-in ones; repeatable"
    )
    reveal: tuple[str, ...] = kinds.several("KEY", "keys such as invite_token").option(
        "key that is not secret although its name looks like it; repeatable"
    )


@dataclass(frozen=True, kw_only=True)
class LimitSettings(kinds.SettingGroup):
    """How much callers may send."""

    title: ClassVar[str] = "Limits"
    body_limit: int = kinds.SIZE.option("largest request body that is accepted", 8 * MIB)
    history_limit: int = kinds.SIZE.option(
        "largest body of a chat request, including the history that clients send", 64 * MIB
    )
    upload_limit: int = kinds.SIZE.option("largest recording that can be uploaded", 64 * MIB)


@dataclass(frozen=True, kw_only=True)
class LoggingSettings(kinds.SettingGroup):
    """What the operator and callers are shown: errors, logs, the audit log."""

    title: ClassVar[str] = "Logging"
    log_level: LogLevel = kinds.choice(LogLevel).option(
        "least important log records of your apps that are printed on stderr; libraries print only"
        " warnings; with debug ADK prints everything",
        "info",
        adk="--log_level",
    )
    log_format: LogFormat = kinds.choice(LogFormat).option("format of log lines on stderr", "text")
    errors: Errors = kinds.choice(Errors).option(
        "what clients on this machine see of an exception: its text, or a reference to the server's log"
        " (default: full if the server is only used locally)"
    )


GROUPS: tuple[type[kinds.SettingGroup], ...] = (
    ServerSettings, StorageSettings, ModelSettings, RunSettings, VoiceSettings, SecuritySettings,
    LimitSettings, LoggingSettings,
)  # fmt: skip
"""In the order in which someone who sets up a server needs them."""
