"""What an operator can set, and the rules that a combination must keep.

`Settings` is the one table: each field's name, type, default, kind and help; the command line, the
environment and the pyproject reader are derived from it (`setting_sources.py`).

A `Settings` that exists is valid: rules are checked when it is made. Which log URLs there are is
the log's to say, which session URIs are is ADK's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, get_type_hints

from adk_prism.errors import UsageError
from adk_prism.runlog.contract import Retention
from adk_prism.runlog.from_url import SHARED_LOGS
from adk_prism.runlog.leases import DEFAULT_TTL
from adk_prism.server.files.gcs_locations import AllowedLocations
from adk_prism.server.guards.host_parsing import (
    is_loopback,
    origin_of_url,
    parse_authority,
    parse_network,
    parse_origin,
)
from adk_prism.server.limits.caller_limits import NONE, USUAL, CallerLimits
from adk_prism.server.options import (
    FILE,
    FLAG,
    FOLDER,
    SIZE,
    SPAN,
    TEXT,
    URL,
    Option,
    choice,
    count,
    several,
)

Busy = Literal["interrupt", "refuse", "wait"]
InDoubt = Literal["retry", "fail", "ask"]
LogFormat = Literal["text", "json"]
LogLevel = Literal["debug", "info", "warning", "error"]
Errors = Literal["", "full", "reference"]
LiveBusy = Literal["takeover", "refuse"]
LiveSound = Literal["keep", "drop"]
LiveShortcut = Literal["auto", "off"]

DATA_DIR = Path(".adk-prism")
"""Where the defaults keep their files: beside the project that is served, out of its way."""

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512")
"""Signatures that a JWT may have. None is symmetric: a public key must not pass for a secret."""

SHORTEST_LEASE, LONGEST_LEASE = 1.0, 300.0
"""Seconds. Renewals come three times in a lease: a busy process may be late by a second. With a long one,
who waits for a takeover waits long."""

HIGHEST_PORT = 65535

LONGEST_KEEP_ALIVE = 15.0
"""Proxies and load balancers commonly cut a silent connection at 30 or 60 seconds."""

_BUSY = choice("interrupt", "refuse", "wait")

_TOOL_POLICY = re.compile(r"[^\s=]{1,200}=(retry|fail|ask)")


def read_tool_policy(value: object) -> str:
    """Check TOOL=POLICY; raise `ValueError`."""
    if not isinstance(value, str) or not _TOOL_POLICY.fullmatch(value):
        raise ValueError
    return value


_MOST = count(1, 1_000_000)
_AUTOMATIC = "without: {} with authentication, else unlimited"


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """Everything that can be set. Raise `UsageError` for a combination that cannot be."""

    agents_dir: Annotated[
        str,
        Option(FOLDER, "folder of ADK apps, as for `adk web`; without: the example apps", True),
    ] = ""
    host: Annotated[str, Option(TEXT, "address to listen on")] = "127.0.0.1"
    port: Annotated[int, Option(count(0, HIGHEST_PORT), "port to listen on; 0: any free port")] = (
        8000
    )
    root_path: Annotated[str, Option(TEXT, "path prefix that a proxy removes")] = ""
    public_url: Annotated[
        str, Option(URL, "URL at which clients reach the server, if it is another one")
    ] = ""
    data_dir: Annotated[
        str,
        Option(
            FOLDER,
            "folder of the run log, sessions, artifacts and share links, unless set otherwise;"
            " not readable by other users",
        ),
    ] = str(DATA_DIR)
    log: Annotated[
        str,
        Option(
            URL,
            "run log: memory:, sqlite:///FILE or redis://HOST; without: SQLite in the data folder",
        ),
    ] = ""
    sessions: Annotated[
        str, Option(URL, "ADK session service URI; without: SQLite in the data folder")
    ] = ""
    artifacts: Annotated[
        str, Option(URL, "ADK artifact service URI; without: files in the data folder")
    ] = ""
    memory: Annotated[str, Option(URL, "ADK memory service URI; without: in memory")] = ""
    allow_origin: Annotated[
        tuple[str, ...],
        Option(
            several("ORIGIN", "origins such as https://app.example.com"),
            "web origin that may call from a browser, besides the server's own; repeatable",
        ),
    ] = ()
    dev: Annotated[
        bool,
        Option(
            FLAG, "allow pages on localhost, on any port, to call; only with a loopback address"
        ),
    ] = False
    allow_host: Annotated[
        tuple[str, ...],
        Option(
            several("HOST", "host names such as agents.example.com"),
            "host name that the server accepts, besides this machine's own; repeatable",
        ),
    ] = ()
    insecure: Annotated[
        bool, Option(FLAG, "allow a non-loopback address without authentication")
    ] = False
    tokens: Annotated[
        str, Option(FILE, 'authenticate by access token; JSON file: {"TOKEN": "USER", …}')
    ] = ""
    oidc_issuer: Annotated[str, Option(URL, "authenticate by JWT of this OpenID provider")] = ""
    oidc_audience: Annotated[
        tuple[str, ...],
        Option(several("AUDIENCE", "names"), "required audience of a JWT; repeatable"),
    ] = ()
    oidc_jwks: Annotated[
        str, Option(URL, "URL of the provider's keys; without: from its discovery document")
    ] = ""
    oidc_user_claim: Annotated[str, Option(TEXT, "JWT claim with the user name")] = "sub"
    oidc_algorithm: Annotated[
        tuple[str, ...],
        Option(
            several("ALGORITHM", "names such as RS256"),
            "accepted JWT signature algorithm; repeatable",
        ),
    ] = ("RS256", "ES256")
    proxy_user_header: Annotated[
        str, Option(TEXT, "authenticate by this header, which a trusted proxy sets")
    ] = ""
    trusted_proxy: Annotated[
        tuple[str, ...],
        Option(
            several("ADDRESS", "addresses or networks such as 10.0.0.0/8"),
            "address of a proxy whose user header, X-Forwarded-Host, -Proto and -For are trusted;"
            " repeatable; without: only the user header, and only from this machine",
        ),
    ] = ()
    authenticate: Annotated[
        str, Option(TEXT, "authenticate by a Python function: MODULE:FUNCTION")
    ] = ""
    admin: Annotated[
        tuple[str, ...],
        Option(several("USER", "users"), "user with access to the data of all users; repeatable"),
    ] = ()
    workers: Annotated[int, Option(count(1, 64), "server processes")] = 1
    worker_port: Annotated[
        int,
        Option(
            count(1, HIGHEST_PORT),
            "additional port of the first worker; the others use the following ports. For clients that"
            " must reach each worker, such as Prometheus",
        ),
    ] = 0
    lease: Annotated[
        float, Option(SPAN, "how long an unresponsive process keeps its runs (Redis)")
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
            "the same for one tool; overrides the tool's own policy; repeatable",
        ),
    ] = ()
    tool_threads: Annotated[
        int,
        Option(
            count(0, 1024),
            "threads for synchronous (def) tools, shared by the runs of a process; 0: run them on the"
            " event loop, which blocks every stream meanwhile. A tool of a stopped run keeps its"
            " thread until it returns",
        ),
    ] = 32
    body_limit: Annotated[int, Option(SIZE, "largest request body")] = 8 * 1024**2
    history_limit: Annotated[
        int,
        Option(SIZE, "largest body of a chat request, including the history that clients send"),
    ] = 64 * 1024**2
    upload_limit: Annotated[int, Option(SIZE, "largest recording that can be uploaded")] = (
        64 * 1024**2
    )
    limit_runs: Annotated[
        int, Option(_MOST, f"concurrent runs of one user; {_AUTOMATIC.format(USUAL.runs)}")
    ] = 0
    limit_requests: Annotated[
        int,
        Option(
            _MOST,
            "concurrent requests of one caller, including streams;"
            f" {_AUTOMATIC.format(USUAL.requests)}",
        ),
    ] = 0
    limit_sockets: Annotated[
        int,
        Option(_MOST, f"concurrent WebSockets of one caller; {_AUTOMATIC.format(USUAL.sockets)}"),
    ] = 0
    limit_rate: Annotated[
        int,
        Option(_MOST, f"requests per second of one caller; {_AUTOMATIC.format(USUAL.rate)}"),
    ] = 0
    limit_bytes: Annotated[
        int,
        Option(
            SIZE,
            f"bytes per second to and from one caller; {_AUTOMATIC.format(SIZE.show(USUAL.bytes))}",
        ),
    ] = 0
    limit_run_time: Annotated[
        float,
        Option(
            SPAN,
            f"longest duration of a run; {_AUTOMATIC.format(SPAN.show(USUAL.run_time))}",
        ),
    ] = 0.0
    limit_unwatched: Annotated[
        float,
        Option(
            SPAN,
            "how long a run may continue without a client;"
            f" {_AUTOMATIC.format(SPAN.show(USUAL.unwatched))}",
        ),
    ] = 0.0
    chat_busy: Annotated[
        Busy, Option(_BUSY, "what a chat message does while its session is running")
    ] = "interrupt"
    adk_busy: Annotated[
        Busy, Option(_BUSY, "what a request to ADK's run routes does while its session is running")
    ] = "refuse"
    live_busy: Annotated[
        LiveBusy,
        Option(choice("takeover", "refuse"), "what a second live client of a session does"),
    ] = "takeover"
    live_grace: Annotated[
        float, Option(SPAN, "how long a live run waits for a disconnected client")
    ] = 15.0
    live_sound: Annotated[
        LiveSound, Option(choice("keep", "drop"), "whether runs store the agent's audio")
    ] = "keep"
    live_sound_limit: Annotated[
        int, Option(SIZE, "most audio that one live run stores; beyond it, only its length")
    ] = 32 * 1024**2
    live_shortcut: Annotated[
        LiveShortcut,
        Option(
            choice("auto", "off"),
            "audio bypass: `auto` sends live audio past ADK's flow if no code of the app needs it",
        ),
    ] = "off"
    approval_timeout: Annotated[
        float, Option(SPAN, "how long a live run waits for an approval before the call is denied")
    ] = 30.0
    client_tool_timeout: Annotated[
        float, Option(SPAN, "how long a live run waits for the result of a client tool")
    ] = 10.0
    client_state: Annotated[
        tuple[str, ...],
        Option(
            several("PREFIX", "prefixes of state keys such as user:"),
            "prefix of reserved state keys that clients may write; repeatable",
        ),
    ] = ()
    files_from: Annotated[
        tuple[str, ...],
        Option(
            several("PLACE", "places such as gs://BUCKET/FOLDER"),
            "Cloud Storage folder from which files of a run may be fetched; {app}, {user} and {session}"
            " are replaced with those of the run; repeatable",
        ),
    ] = ()
    files_limit: Annotated[int, Option(SIZE, "largest such file")] = 64 * 1024**2
    files_emulator: Annotated[
        str, Option(URL, "loopback URL of a Cloud Storage emulator, for tests")
    ] = ""
    redact: Annotated[
        tuple[str, ...],
        Option(
            several("PATTERN", "patterns of keys such as *_pin"),
            "key whose value is never logged, besides the built-in patterns; repeatable",
        ),
    ] = ()
    reveal: Annotated[
        tuple[str, ...],
        Option(
            several("KEY", "keys such as invite_token"),
            "key that is not secret although its name looks like it; repeatable",
        ),
    ] = ()
    retention_age: Annotated[float, Option(SPAN, "how long an ended run is kept")] = (
        Retention().max_age
    )
    retention_size: Annotated[
        int, Option(SIZE, "largest size of the log; the oldest ended runs are deleted first")
    ] = Retention().max_bytes
    retention_sessions: Annotated[
        float,
        Option(
            SPAN,
            "how long an unused session is kept, with its artifacts and runs; without: until it is"
            " deleted",
        ),
    ] = 0.0
    keep_alive: Annotated[
        float, Option(SPAN, "longest silence on a stream before a keep-alive comment")
    ] = LONGEST_KEEP_ALIVE
    stalled: Annotated[
        float, Option(SPAN, "how long a client may read nothing before its stream is closed")
    ] = 2 * LONGEST_KEEP_ALIVE
    """Such a reader is gone or stopped, and what it misses is in the log."""
    grace: Annotated[
        float, Option(SPAN, "how long active runs may continue when the server is stopped")
    ] = 30.0
    errors: Annotated[
        Errors,
        Option(
            choice("full", "reference"),
            "whether clients on this machine see exception texts, or only a reference; without: full if"
            " the server is only used locally",
        ),
    ] = ""
    log_format: Annotated[
        LogFormat, Option(choice("text", "json"), "format of log lines on stderr")
    ] = "text"
    log_level: Annotated[
        LogLevel,
        Option(
            choice("debug", "info", "warning", "error"),
            "lowest level of the apps' log records on stderr; libraries log warnings, and ADK everything"
            " with debug",
        ),
    ] = "info"
    access_log: Annotated[bool, Option(FLAG, "log every request to stderr")] = False
    audit: Annotated[
        str,
        Option(
            FILE, "audit log file: who approved, cancelled, deleted and shared what; without: none"
        ),
    ] = ""

    def __post_init__(self) -> None:
        if not self.log:
            object.__setattr__(self, "log", self._own_log)
        rules = (
            self._network_rule,
            self._identity_rule,
            self._process_rule,
            self._data_rule,
            self._value_rule,
        )
        for rule in rules:
            broken = rule()
            if broken:
                raise UsageError(broken)

    @property
    def _own_log(self) -> str:
        return f"sqlite:///{Path(self.data_dir)}/runs.db"

    @property
    def keeps_files(self) -> bool:
        """Whether something is kept in the data folder."""
        return self.log == self._own_log or not (self.sessions and self.artifacts)

    @property
    def has_identity(self) -> bool:
        """Whether callers have to say who they are."""
        return bool(self.tokens or self.oidc_issuer or self.proxy_user_header or self.authenticate)

    @property
    def is_loopback(self) -> bool:
        """Whether `host` is this machine's own."""
        return is_loopback(self.host.strip("[]").lower())

    def limits(self, *, known: bool) -> CallerLimits:
        """Return what one caller may have: as set, else as is usual where callers have to be `known`."""
        usual = USUAL if known else NONE
        if self.has_shared_log:
            usual = usual._replace(unwatched=0.0)  # who watches elsewhere is not known here
        given = {name: getattr(self, f"limit_{name}") for name in usual._fields}
        return usual._replace(**{name: value for name, value in given.items() if value})

    @property
    def has_shared_log(self) -> bool:
        """Whether other processes may write to the run log."""
        return self.log.partition(":")[0].lower() in SHARED_LOGS

    @property
    def in_doubt_tools(self) -> dict[str, InDoubt]:
        """What becomes of calls in doubt, by the tool's name; the last word on a tool counts."""
        policies: dict[str, InDoubt] = {"retry": "retry", "fail": "fail", "ask": "ask"}
        said = (each.rpartition("=") for each in self.in_doubt_tool)
        return {tool: policies[policy] for tool, _, policy in said}

    @property
    def retention(self) -> Retention:
        """How long the log keeps ended runs."""
        return Retention(max_age=self.retention_age, max_bytes=self.retention_size)

    def _network_rule(self) -> str:
        if not (self.is_loopback or self.has_identity or self.insecure):
            return (
                f"Host {self.host!r} is reachable from other machines, but no authentication is set up;"
                " use 127.0.0.1, or --tokens, --oidc-issuer, --proxy-user-header or"
                " --authenticate, or --insecure if something in front of the server protects it."
            )
        if self.dev and (not self.is_loopback or self.public_url):
            where = f"at {self.public_url}" if self.public_url else f"on host {self.host!r}"
            return (
                f"--dev is for local use, but other machines can reach this server {where};"
                " list the allowed pages with --allow-origin instead."
            )
        for text in self.allow_origin:
            if parse_origin(text) is None:
                return f"--allow-origin must be an origin such as https://app.example.com, got {text!r}."
        for text in self.allow_host:
            if parse_authority(text) is None:
                return f"--allow-host must be a host name such as agents.example.com, got {text!r}."
        return ""

    def _identity_rule(self) -> str:
        if self.oidc_issuer and not self.oidc_audience:
            return "--oidc-issuer needs --oidc-audience: the audience of tokens for this server."
        if not self.oidc_issuer and (self.oidc_audience or self.oidc_jwks):
            return "--oidc-audience and --oidc-jwks need --oidc-issuer."
        for url in filter(None, (self.oidc_issuer, self.oidc_jwks)):
            origin = origin_of_url(url)
            if origin is None or (origin.scheme != "https" and not is_loopback(origin.host)):
                return f"The URL of an OpenID provider must use https, got {url!r}."
        if unknown := [name for name in self.oidc_algorithm if name not in ALGORITHMS]:
            return f"--oidc-algorithm must be one of {', '.join(ALGORITHMS)}, got {unknown[0]!r}."
        if unknown := [text for text in self.trusted_proxy if parse_network(text) is None]:
            return f"--trusted-proxy must be an address or network such as 10.0.0.0/8, got {unknown[0]!r}."
        return ""

    def _process_rule(self) -> str:
        scheme = self.log.partition(":")[0].lower()
        if self.workers > 1 and scheme not in SHARED_LOGS:
            return (
                f"{self.workers} workers cannot share a {scheme} run log, which one process"
                " uses exclusively; use --workers 1, or --log redis://HOST."
            )
        for name, uri in (("sessions", self.sessions), ("artifacts", self.artifacts)):
            if self.workers > 1 and uri.startswith("memory:"):
                return (
                    f"{self.workers} workers cannot share {name} that are in the memory of one"
                    f" process; use --workers 1, or another --{name}."
                )
        if self.worker_port + self.workers > HIGHEST_PORT + 1:
            return (
                f"--worker-port {self.worker_port} is too high for {self.workers} workers;"
                f" the last port is {HIGHEST_PORT}."
            )
        if not SHORTEST_LEASE <= self.lease <= LONGEST_LEASE:
            return f"--lease must be from {SHORTEST_LEASE:g}s to {LONGEST_LEASE:g}s, got {self.lease:g}s."
        return ""

    def _data_rule(self) -> str:
        if not self.data_dir or any(sign in self.data_dir for sign in "?#%\0"):
            return f"--data-dir must not be empty or contain ?, # or %, got {self.data_dir!r}."
        return ""

    def _value_rule(self) -> str:
        if self.root_path and (self.root_path[0] != "/" or self.root_path[-1] == "/"):
            return f"--root-path must start with / and not end with /, got {self.root_path!r}."
        if self.public_url and origin_of_url(self.public_url) is None:
            return f"--public-url must be an http or https URL, got {self.public_url!r}."
        AllowedLocations(self.files_from)
        emulator = origin_of_url(self.files_emulator)
        if self.files_emulator and (emulator is None or not is_loopback(emulator.host)):
            return f"--files-emulator must be a loopback URL, got {self.files_emulator!r}."
        if self.limit_unwatched and self.has_shared_log:
            return (
                "--limit-unwatched cannot be used with a shared run log: clients may be connected to"
                " another process."
            )
        if self.keep_alive > LONGEST_KEEP_ALIVE:
            return (
                f"--keep-alive must be at most {LONGEST_KEEP_ALIVE:g}s, got {self.keep_alive:g}s."
            )
        return ""


def options() -> dict[str, Option]:
    """Return what each setting is, by name, in the order of the table."""
    hints = get_type_hints(Settings, include_extras=True)
    return {
        name: hint.__metadata__[0]
        for name, hint in hints.items()
        if isinstance(getattr(hint, "__metadata__", (None,))[0], Option)
    }
