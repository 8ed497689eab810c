"""What an operator can set, and the rules that a combination must keep.

Each setting is declared once, in the module of its group: name, type, default, kind and help. The command
line, the environment and the pyproject reader are derived from that (`sources.py`).

A `Settings` that exists is valid: rules are checked when it is made. Which log URLs there are is
the log's to say, which session URIs are is ADK's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeVar, get_type_hints

from adk_prism.errors import UsageError
from adk_prism.extension import installed
from adk_prism.log.contract import Retention
from adk_prism.log.from_url import SHARED_LOGS
from adk_prism.server.cloud_storage import AllowedLocations
from adk_prism.server.limits.caller_limits import NONE, USUAL, CallerLimits
from adk_prism.server.proxies import (
    is_loopback,
    is_too_wide,
    origin_of_url,
    parse_authority,
    parse_network,
    parse_origin,
    parse_pattern,
)
from adk_prism.server.settings.groups import (
    HIGHEST_PORT,
    LONGEST_KEEP_ALIVE,
    AdkSettings,
    FeatureSettings,
    IdentitySettings,
    InDoubt,
    LimitSettings,
    NetworkSettings,
    OutputSettings,
    RunSettings,
    StorageSettings,
)
from adk_prism.server.settings.reading import SPAN, Option

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512")
"""Signatures that a JWT may have. None is symmetric: a public key must not pass for a secret."""

SHORTEST_LEASE, LONGEST_LEASE = 1.0, 300.0
"""Seconds. Renewals come three times in a lease: a busy process may be late by a second. With a long one,
who waits for a takeover waits long."""


Group = TypeVar("Group", bound=FeatureSettings)


# A dataclass has the fields of its last base first.
@dataclass(frozen=True, kw_only=True)
class Settings(
    AdkSettings,
    OutputSettings,
    LimitSettings,
    RunSettings,
    StorageSettings,
    IdentitySettings,
    NetworkSettings,
):
    """Everything that can be set. Raise `UsageError` for a combination that cannot be.

    Options of features are taken as well; `of` returns them.
    """

    features: Mapping[str, Any] = field(default_factory=dict)
    """Values of options of features, by name."""
    _of_features: ClassVar[Mapping[type[FeatureSettings], FeatureSettings]] = {}

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
        self._read_features()

    def _read_features(self) -> None:
        """Make the settings of features from the values that are not the kernel's."""
        left, found = dict(self.features), {}
        for kind in feature_settings():
            names = {each.name for each in fields(kind)}
            group = kind(**{name: left.pop(name) for name in names & left.keys()})
            if broken := group.broken_rule():
                raise UsageError(broken)
            found[kind] = group
        if left:
            raise TypeError(f"Settings got an unexpected keyword argument {min(left)!r}")
        object.__setattr__(self, "_of_features", found)

    def of(self, kind: type[Group]) -> Group:
        """Return the settings of a feature."""
        found = self._of_features.get(kind, kind())
        assert isinstance(found, kind)
        return found

    @property
    def secrets(self) -> list[str]:
        """Values of features that must not be stored or reported."""
        return [secret for group in self._of_features.values() for secret in group.secrets]

    @property
    def _own_log(self) -> str:
        return f"sqlite:///{Path(self.data_dir)}/runs.db"

    @property
    def keeps_files(self) -> bool:
        """Whether something is kept in the data folder."""
        has_services = self.local_storage or (self.sessions and self.artifacts)
        return self.log == self._own_log or not has_services

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

    def reloads(self, *, listens: bool) -> bool:
        """Return whether apps are imported again when they change; `listens`: our own server serves them."""
        if self.reload is not None:
            return self.reload
        return listens and self.is_loopback and not self.public_url

    def detail_of_model_calls(
        self, *, known: bool, listens: bool
    ) -> Literal["off", "summary", "full"]:
        """Return what is recorded of model calls: as set, else all of it where only this machine's user
        can see it. `known`: callers have to be; `listens`: our own server serves them."""
        if self.model_calls:
            return self.model_calls
        others = known or self.public_url or self.allow_host or self.trusted_proxy
        return "full" if listens and self.is_loopback and not others else "summary"

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
    def tool_timeouts(self) -> tuple[float, dict[str, float]]:
        """After how many seconds a tool call fails, 0 for never; and the same by the tool's name."""
        said = [each.rpartition("=") for each in self.tool_timeout]
        found = {tool: float(SPAN.read(span)) for tool, _, span in said}
        return found.pop("", 0.0), found

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
            if parse_origin(text) is None and parse_pattern(text) is None:
                return (
                    "--allow-origin must be an origin such as https://app.example.com, or a pattern such as"
                    f" regex:https://.*\\.example\\.com, got {text!r}."
                )
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
        if wide := [text for text in self.trusted_proxy if is_too_wide(text)]:
            return (
                f"--trusted-proxy {wide[0]} trusts the headers of nearly everybody, who could then say who"
                " they are; name the addresses of your proxies, such as 10.0.0.0/8."
            )
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
        if self.local_storage and (self.sessions or self.artifacts):
            return "--local-storage cannot be used with --sessions or --artifacts; leave one out."
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


def _take_options_of_features(init: Callable[..., None]) -> Callable[..., None]:
    """Let a constructor take the options of features beside those of the kernel."""
    own = {each.name for each in fields(Settings)}

    def taking(self: Settings, **given: Any) -> None:
        more = {name: given.pop(name) for name in [*given] if name not in own}
        init(self, **given | {"features": {**given.pop("features", {}), **more}})

    return taking


Settings.__init__ = _take_options_of_features(Settings.__init__)  # type: ignore[method-assign]


def feature_settings() -> list[type[FeatureSettings]]:
    """Return the settings that features declare."""
    declared = (each.settings for each in installed().used.values())
    return [load() for load in declared if load is not None]


def options() -> dict[str, Option]:
    """Return what each setting is, by name, in the order of the table; those of features last."""
    return {name: option for kind in _kinds() for name, option in options_of(kind).items()}


def _kinds() -> list[type[Settings] | type[FeatureSettings]]:
    return [Settings, *feature_settings()]


def options_of(kind: type) -> dict[str, Option]:
    """Return the options that a class of settings declares."""
    hints = get_type_hints(kind, include_extras=True)
    return {
        name: hint.__metadata__[0]
        for name, hint in hints.items()
        if isinstance(getattr(hint, "__metadata__", (None,))[0], Option)
    }


def default_of(name: str) -> Any:
    """Return the default of a setting."""
    return next(each.default for kind in _kinds() for each in fields(kind) if each.name == name)
