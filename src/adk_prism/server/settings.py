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
_AUTOMATIC = "without: {} where callers have to be known, else any number"


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """Everything that can be set. Raise `UsageError` for a combination that cannot be."""

    agents_dir: Annotated[
        str,
        Option(
            FOLDER, "folder of ADK apps, as `adk web` takes it; without: the bundled apps", True
        ),
    ] = ""
    host: Annotated[str, Option(TEXT, "address to listen on")] = "127.0.0.1"
    port: Annotated[int, Option(count(0, HIGHEST_PORT), "port to listen on; 0: any free one")] = (
        8000
    )
    root_path: Annotated[str, Option(TEXT, "path prefix that a proxy takes off")] = ""
    public_url: Annotated[str, Option(URL, "where clients reach the server, if not there")] = ""
    data_dir: Annotated[
        str,
        Option(
            FOLDER,
            "folder of the run log, sessions, artifacts and share links that are not named"
            " otherwise; closed to other users",
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
        Option(FLAG, "let pages of this machine call, from any port; on a loopback address only"),
    ] = False
    allow_host: Annotated[
        tuple[str, ...],
        Option(
            several("HOST", "host names such as agents.example.com"),
            "host name that the server answers to, besides this machine's own; repeatable",
        ),
    ] = ()
    insecure: Annotated[
        bool, Option(FLAG, "listen on a non-loopback address although nobody has to say who it is")
    ] = False
    tokens: Annotated[
        str, Option(FILE, 'callers are known by a token: JSON, {"TOKEN": "USER", …}')
    ] = ""
    oidc_issuer: Annotated[
        str, Option(URL, "callers are known by a JWT of this OpenID provider")
    ] = ""
    oidc_audience: Annotated[
        tuple[str, ...],
        Option(several("AUDIENCE", "names"), "audience that a JWT must be for; repeatable"),
    ] = ()
    oidc_jwks: Annotated[
        str, Option(URL, "where the provider's keys are; without: as its discovery document says")
    ] = ""
    oidc_user_claim: Annotated[str, Option(TEXT, "claim of a JWT that names the user")] = "sub"
    oidc_algorithm: Annotated[
        tuple[str, ...],
        Option(several("ALGORITHM", "names such as RS256"), "signature of a JWT; repeatable"),
    ] = ("RS256", "ES256")
    proxy_user_header: Annotated[
        str, Option(TEXT, "callers are known by this header, which a trusted proxy sets")
    ] = ""
    trusted_proxy: Annotated[
        tuple[str, ...],
        Option(
            several("ADDRESS", "addresses or networks such as 10.0.0.0/8"),
            "address of a proxy whose user header, X-Forwarded-Host, -Proto and -For are believed;"
            " repeatable; without: of this machine, the user header alone",
        ),
    ] = ()
    authenticate: Annotated[
        str, Option(TEXT, "callers are known by a Python function: MODULE:FUNCTION")
    ] = ""
    admin: Annotated[
        tuple[str, ...],
        Option(several("USER", "users"), "user who may see and do what any may; repeatable"),
    ] = ()
    workers: Annotated[int, Option(count(1, 64), "server processes")] = 1
    worker_port: Annotated[
        int,
        Option(
            count(1, HIGHEST_PORT),
            "port on which the first worker listens as well, the next one on the next, and so on: for"
            " whoever has to meet each of them, as a Prometheus does",
        ),
    ] = 0
    lease: Annotated[
        float, Option(SPAN, "how long a process that is not heard of keeps its runs (Redis)")
    ] = DEFAULT_TTL
    in_doubt: Annotated[
        InDoubt,
        Option(
            choice("retry", "fail", "ask"),
            "what becomes of a tool call that was under way when its process died",
        ),
    ] = "retry"
    in_doubt_tool: Annotated[
        tuple[str, ...],
        Option(
            several("TOOL=POLICY", "tools such as send_letter=ask", read_tool_policy),
            "the same for calls of one tool, before what the tool itself says; repeatable",
        ),
    ] = ()
    tool_threads: Annotated[
        int,
        Option(
            count(0, 1024),
            "threads for synchronous (def) tools, shared by the runs of a process; 0: they run on the"
            " event loop, and stop every stream for as long. A tool of a run that is stopped keeps its"
            " thread until it returns",
        ),
    ] = 32
    body_limit: Annotated[int, Option(SIZE, "largest request body")] = 8 * 1024**2
    history_limit: Annotated[
        int,
        Option(SIZE, "largest body of a chat request, with the history that clients send along"),
    ] = 64 * 1024**2
    upload_limit: Annotated[int, Option(SIZE, "largest recording that may be uploaded")] = (
        64 * 1024**2
    )
    limit_runs: Annotated[
        int, Option(_MOST, f"runs of one user at a time; {_AUTOMATIC.format(USUAL.runs)}")
    ] = 0
    limit_requests: Annotated[
        int,
        Option(
            _MOST,
            "requests of one caller that may be open at a time, streams among them;"
            f" {_AUTOMATIC.format(USUAL.requests)}",
        ),
    ] = 0
    limit_sockets: Annotated[
        int,
        Option(_MOST, f"sockets of one caller at a time; {_AUTOMATIC.format(USUAL.sockets)}"),
    ] = 0
    limit_rate: Annotated[
        int,
        Option(_MOST, f"requests of one caller a second; {_AUTOMATIC.format(USUAL.rate)}"),
    ] = 0
    limit_bytes: Annotated[
        int,
        Option(
            SIZE,
            "bytes that one caller may send and be sent a second;"
            f" {_AUTOMATIC.format(SIZE.show(USUAL.bytes))}",
        ),
    ] = 0
    limit_run_time: Annotated[
        float,
        Option(
            SPAN,
            f"how long a run may take; {_AUTOMATIC.format(SPAN.show(USUAL.run_time))}",
        ),
    ] = 0.0
    limit_unwatched: Annotated[
        float,
        Option(
            SPAN,
            "how long a run may go on while nobody watches it;"
            f" {_AUTOMATIC.format(SPAN.show(USUAL.unwatched))}",
        ),
    ] = 0.0
    chat_busy: Annotated[Busy, Option(_BUSY, "what a chat message does while its session runs")] = (
        "interrupt"
    )
    adk_busy: Annotated[
        Busy, Option(_BUSY, "what a call of ADK's run routes does while its session runs")
    ] = "refuse"
    live_busy: Annotated[
        LiveBusy,
        Option(choice("takeover", "refuse"), "what a second live client of a session does"),
    ] = "takeover"
    live_grace: Annotated[
        float, Option(SPAN, "how long a live run waits for a client that left to come back")
    ] = 15.0
    live_sound: Annotated[
        LiveSound, Option(choice("keep", "drop"), "whether runs keep the agent's audio")
    ] = "keep"
    live_sound_limit: Annotated[
        int, Option(SIZE, "how much audio one live run keeps; beyond that, only its amount")
    ] = 32 * 1024**2
    live_shortcut: Annotated[
        LiveShortcut,
        Option(
            choice("auto", "off"),
            "`auto` sends live audio past ADK's flow where no code of the app sees it",
        ),
    ] = "off"
    approval_timeout: Annotated[
        float, Option(SPAN, "how long a live run waits for an approval before it is denied")
    ] = 30.0
    client_tool_timeout: Annotated[
        float, Option(SPAN, "how long a live run waits for the result of a client's tool")
    ] = 10.0
    client_state: Annotated[
        tuple[str, ...],
        Option(
            several("PREFIX", "prefixes of state keys such as user:"),
            "prefix of reserved state keys that clients may write all the same; repeatable",
        ),
    ] = ()
    files_from: Annotated[
        tuple[str, ...],
        Option(
            several("PLACE", "places such as gs://BUCKET/FOLDER"),
            "folder of Cloud Storage from which files that a run refers to are fetched; {app}, {user} and"
            " {session} in it are the run's; repeatable",
        ),
    ] = ()
    files_limit: Annotated[int, Option(SIZE, "largest such file")] = 64 * 1024**2
    files_emulator: Annotated[
        str, Option(URL, "loopback address of an emulator of Cloud Storage, for tests")
    ] = ""
    redact: Annotated[
        tuple[str, ...],
        Option(
            several("PATTERN", "patterns of keys such as *_pin"),
            "key whose value never enters the log, besides those that say so themselves; repeatable",
        ),
    ] = ()
    reveal: Annotated[
        tuple[str, ...],
        Option(
            several("KEY", "keys such as invite_token"),
            "key that is no secret although it sounds like one; repeatable",
        ),
    ] = ()
    retention_age: Annotated[float, Option(SPAN, "how long an ended run is kept")] = (
        Retention().max_age
    )
    retention_size: Annotated[
        int, Option(SIZE, "how much the log keeps, oldest ended runs go first")
    ] = Retention().max_bytes
    retention_sessions: Annotated[
        float,
        Option(
            SPAN,
            "how long a session that nobody uses is kept, with its artifacts and runs; without: until it"
            " is deleted",
        ),
    ] = 0.0
    keep_alive: Annotated[
        float, Option(SPAN, "longest silence on a stream before a keep-alive comment")
    ] = LONGEST_KEEP_ALIVE
    stalled: Annotated[
        float, Option(SPAN, "how long a reader may take nothing before its stream is cut")
    ] = 2 * LONGEST_KEEP_ALIVE
    """Such a reader is gone or stopped, and what it misses is in the log."""
    grace: Annotated[
        float, Option(SPAN, "how long running work may go on when the server is told to stop")
    ] = 30.0
    errors: Annotated[
        Errors,
        Option(
            choice("full", "reference"),
            "whether callers on this machine are shown what an exception says, or a reference to it;"
            " without: full where nothing says that others call",
        ),
    ] = ""
    log_format: Annotated[
        LogFormat, Option(choice("text", "json"), "form of the lines on stderr")
    ] = "text"
    log_level: Annotated[
        LogLevel,
        Option(
            choice("debug", "info", "warning", "error"),
            "from which level on log records of the apps are written to stderr; libraries from"
            " warnings, with debug ADK from there",
        ),
    ] = "info"
    access_log: Annotated[bool, Option(FLAG, "a line on stderr for every request")] = False
    audit: Annotated[
        str, Option(FILE, "file of who approved, cancelled, deleted and shared what; without: none")
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
                f"Host {self.host!r} is reachable from other machines, and nobody would have to say"
                " who it is; use 127.0.0.1, or --tokens, --oidc-issuer, --proxy-user-header or"
                " --authenticate, or --insecure if something in front of the server protects it."
            )
        if self.dev and (not self.is_loopback or self.public_url):
            where = f"at {self.public_url}" if self.public_url else f"on host {self.host!r}"
            return (
                f"--dev is for one machine, and others can reach this server {where};"
                " name the pages that may call with --allow-origin instead."
            )
        for text in self.allow_origin:
            if parse_origin(text) is None:
                return f"Origin {text!r} is not one; expected e.g. https://app.example.com."
        for text in self.allow_host:
            if parse_authority(text) is None:
                return f"Host {text!r} is not a host name; expected e.g. agents.example.com."
        return ""

    def _identity_rule(self) -> str:
        if self.oidc_issuer and not self.oidc_audience:
            return "An OpenID provider's tokens are for many; say with --oidc-audience which are yours."
        if not self.oidc_issuer and (self.oidc_audience or self.oidc_jwks):
            return "--oidc-audience and --oidc-jwks mean nothing without --oidc-issuer."
        for url in filter(None, (self.oidc_issuer, self.oidc_jwks)):
            origin = origin_of_url(url)
            if origin is None or (origin.scheme != "https" and not is_loopback(origin.host)):
                return f"{url!r} is not an https URL, which an OpenID provider's has to be."
        if unknown := [name for name in self.oidc_algorithm if name not in ALGORITHMS]:
            return f"Algorithm {unknown[0]!r} is not one of {', '.join(ALGORITHMS)}."
        if unknown := [text for text in self.trusted_proxy if parse_network(text) is None]:
            return f"Trusted proxy {unknown[0]!r} is no address or network, such as 10.0.0.0/8."
        return ""

    def _process_rule(self) -> str:
        scheme = self.log.partition(":")[0].lower()
        if self.workers > 1 and scheme not in SHARED_LOGS:
            return (
                f"{self.workers} workers cannot share a {scheme} run log, which belongs to one"
                " process; use --workers 1, or --log redis://HOST."
            )
        for name, uri in (("sessions", self.sessions), ("artifacts", self.artifacts)):
            if self.workers > 1 and uri.startswith("memory:"):
                return (
                    f"{self.workers} workers cannot share {name} that are in the memory of one"
                    f" process; use --workers 1, or another --{name}."
                )
        if self.worker_port + self.workers > HIGHEST_PORT + 1:
            return f"From --worker-port {self.worker_port} on there are no {self.workers} ports."
        if not SHORTEST_LEASE <= self.lease <= LONGEST_LEASE:
            return (
                f"A lease of {self.lease:g}s is not possible; expected {SHORTEST_LEASE:g}s to"
                f" {LONGEST_LEASE:g}s."
            )
        return ""

    def _data_rule(self) -> str:
        if not self.data_dir or any(sign in self.data_dir for sign in "?#%\0"):
            return f"Data folder {self.data_dir!r} cannot be part of a database's URL: it has ?, # or %."
        return ""

    def _value_rule(self) -> str:
        if self.root_path and (self.root_path[0] != "/" or self.root_path[-1] == "/"):
            return f"Root path {self.root_path!r} should begin with / and not end with it."
        if self.public_url and origin_of_url(self.public_url) is None:
            return f"Public URL {self.public_url!r} is not an http or https URL."
        AllowedLocations(self.files_from)
        emulator = origin_of_url(self.files_emulator)
        if self.files_emulator and (emulator is None or not is_loopback(emulator.host)):
            return (
                f"An emulator at {self.files_emulator!r} is not on this machine, as it has to be."
            )
        if self.limit_unwatched and self.has_shared_log:
            return "--limit-unwatched cannot be kept with a shared run log: others may watch elsewhere."
        if self.keep_alive > LONGEST_KEEP_ALIVE:
            return f"Keep-alive {self.keep_alive:g}s is too long; at most {LONGEST_KEEP_ALIVE:g}s."
        return ""


def options() -> dict[str, Option]:
    """Return what each setting is, by name, in the order of the table."""
    hints = get_type_hints(Settings, include_extras=True)
    return {
        name: hint.__metadata__[0]
        for name, hint in hints.items()
        if isinstance(getattr(hint, "__metadata__", (None,))[0], Option)
    }
