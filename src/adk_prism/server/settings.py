"""What an operator can set, the rules that a combination must keep, and where the values come from.

`setting_groups` declares each setting. A `Settings` that exists is valid: rules are checked when it is made.
Which log URLs there are is the log's to say, which session URIs is ADK's.

Of the places where a setting can have a value the first decides: the command line, `ADK_PRISM_…`,
`[tool.adk-prism]` of the nearest pyproject.toml, the default.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeVar

from adk_prism import options as kinds
from adk_prism.errors import UsageError
from adk_prism.extension import installed
from adk_prism.log.from_url import is_shared
from adk_prism.options import FeatureSettings, Option
from adk_prism.server import proxies
from adk_prism.server import setting_groups as groups
from adk_prism.server.setting_groups import InDoubt
from adk_prism.version import OLD_SETTINGS, warn_of_old

SHORTEST_LEASE, LONGEST_LEASE = 1.0, 300.0
"""Seconds. Renewals come three times in a lease: a busy process may be late by a second. With a long one,
who waits for a takeover waits long."""


Group = TypeVar("Group", bound=FeatureSettings)


# A dataclass has the fields of its last base first.
@dataclass(frozen=True, kw_only=True, init=False)
class Settings(
    groups.LoggingSettings,
    groups.LimitSettings,
    groups.SecuritySettings,
    groups.VoiceSettings,
    groups.RunSettings,
    groups.ModelSettings,
    groups.StorageSettings,
    groups.ServerSettings,
):
    """Everything that can be set; options of features are taken as well, and `of` returns them."""

    features: Mapping[str, Any] = field(default_factory=dict)
    """Values of options of features, by name."""
    _of_features: ClassVar[Mapping[type[FeatureSettings], FeatureSettings]] = {}

    def __init__(self, **given: Any) -> None:
        """Take values by name, also as text, as on the command line: `retention_age="30d"`.

        What is left out has its default. Raise `UsageError` with one line for a name that is no setting, a
        value that is not of its kind, or a combination that cannot be.
        """
        given = {current_name(name): value for name, value in given.items()}
        own = {each.name: each for each in fields(Settings) if each.metadata}
        features = {**given.pop("features", {})}
        features |= {name: given.pop(name) for name in [*given] if name not in own}
        for name, each in own.items():
            value = _given(each, given[name]) if name in given else each.default
            object.__setattr__(self, name, value)
        if not self.log:
            object.__setattr__(self, "log", self._own_log)
        object.__setattr__(self, "features", self._read_features(features))
        rules = (
            self._network_faults,
            self._proxy_faults,
            self._process_faults,
            self._value_faults,
            self._feature_faults,
        )
        for rule in rules:
            for fault in rule():
                raise UsageError(fault)

    @classmethod
    def from_environment(cls, **given: Any) -> Settings:
        """Return what is given, and for the rest what the environment and pyproject.toml say."""
        return read_settings({}, os.environ, Path.cwd(), given)

    def _read_features(self, left: dict[str, Any]) -> Mapping[str, Any]:
        """Make the settings of features from the values that are not the kernel's; return the values."""
        found: dict[type[FeatureSettings], FeatureSettings] = {}
        values: dict[str, Any] = {}
        for feature, kind in feature_settings().items():
            own = {each.name: each for each in fields(kind) if each.name in left}
            read = {name: _given(each, left.pop(name)) for name, each in own.items()}
            values |= read
            group = kind(**read)
            if broken := group.broken_rule():
                raise UsageError(broken)
            if feature in self.without and group != kind():
                # Whoever asks for an audit log, say, must not believe that there is one.
                raise UsageError(
                    f"--without {feature}: options of this feature are set; remove them, or use it."
                )
            found[kind] = group
        if left:
            raise _unknown(min(left))
        object.__setattr__(self, "_of_features", found)
        return values

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
        features = any(group.authenticates for group in self._of_features.values())
        return bool(self.tokens or self.proxy_user_header or self.authenticate or features)

    @property
    def is_loopback(self) -> bool:
        """Whether `host` is this machine's own."""
        return proxies.is_loopback(self.host.strip("[]").lower())

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
        return is_shared(self.log, self.without)

    @property
    def on_crash_tools(self) -> dict[str, InDoubt]:
        """What becomes of calls in doubt, by the tool's name; the last word on a tool counts."""
        policies: dict[str, InDoubt] = {"retry": "retry", "fail": "fail", "ask": "ask"}
        given = (each.rpartition("=") for each in self.on_crash_tool)
        return {tool: policies[policy] for tool, _, policy in given}

    @property
    def tool_timeouts(self) -> tuple[float, dict[str, float]]:
        """After how many seconds a tool call fails, 0 for never; and the same by the tool's name."""
        given = [each.rpartition("=") for each in self.tool_timeout]
        found = {tool: float(kinds.SPAN.read(span)) for tool, _, span in given}
        return found.pop("", 0.0), found

    def _network_faults(self) -> Iterator[str]:
        if not (self.is_loopback or self.has_identity or self.insecure):
            yield (
                f"Host {self.host!r} is reachable from other machines, but no authentication is set up;"
                " use 127.0.0.1, or --tokens, --oidc-issuer, --proxy-user-header or"
                " --authenticate, or --insecure if something in front of the server protects it."
            )
        if self.dev and (not self.is_loopback or self.public_url):
            where = f"at {self.public_url}" if self.public_url else f"on host {self.host!r}"
            yield (
                f"--dev is for local use, but other machines can reach this server {where};"
                " list the allowed pages with --allow-origin instead."
            )
        for text in self.allow_origin:
            if proxies.parse_origin(text) is None and proxies.parse_pattern(text) is None:
                yield (
                    "--allow-origin must be an origin such as https://app.example.com, or a pattern such as"
                    f" regex:https://.*\\.example\\.com, got {text!r}."
                )
        for text in self.allow_host:
            if proxies.parse_authority(text) is None:
                yield f"--allow-host must be a host name such as agents.example.com, got {text!r}."

    def _proxy_faults(self) -> Iterator[str]:
        if unknown := [text for text in self.trusted_proxy if proxies.parse_network(text) is None]:
            yield f"--trusted-proxy must be an address or network such as 10.0.0.0/8, got {unknown[0]!r}."
        if wide := [text for text in self.trusted_proxy if proxies.is_too_wide(text)]:
            yield (
                f"--trusted-proxy {wide[0]} trusts the headers of nearly everybody, who could then say who"
                " they are; name the addresses of your proxies, such as 10.0.0.0/8."
            )

    def _process_faults(self) -> Iterator[str]:
        if self.workers > 1 and not self.has_shared_log:
            scheme = self.log.partition(":")[0].lower()
            yield (
                f"{self.workers} workers cannot share a {scheme} run log, which one process"
                " uses exclusively; use --workers 1, or --log redis://HOST."
            )
        for name, uri in (("sessions", self.sessions), ("artifacts", self.artifacts)):
            if self.workers > 1 and uri.startswith("memory:"):
                yield (
                    f"{self.workers} workers cannot share {name} that are in the memory of one"
                    f" process; use --workers 1, or another --{name}."
                )
        if self.worker_port + self.workers > groups.HIGHEST_PORT + 1:
            yield (
                f"--worker-port {self.worker_port} is too high for {self.workers} workers;"
                f" the last port is {groups.HIGHEST_PORT}."
            )
        if not SHORTEST_LEASE <= self.lease <= LONGEST_LEASE:
            yield f"--lease must be from {SHORTEST_LEASE:g}s to {LONGEST_LEASE:g}s, got {self.lease:g}s."

    def _value_faults(self) -> Iterator[str]:
        if not self.data_dir or any(sign in self.data_dir for sign in "?#%\0"):
            yield f"--data-dir must not be empty or contain ?, # or %, got {self.data_dir!r}."
        if self.local_storage and (self.sessions or self.artifacts):
            yield "--local-storage cannot be used with --sessions or --artifacts; leave one out."
        if self.root_path and (self.root_path[0] != "/" or self.root_path[-1] == "/"):
            yield f"--root-path must start with / and not end with /, got {self.root_path!r}."
        if self.public_url and proxies.origin_of_url(self.public_url) is None:
            yield f"--public-url must be an http or https URL, got {self.public_url!r}."
        if self.keep_alive > groups.LONGEST_KEEP_ALIVE:
            yield (
                f"--keep-alive must be at most {groups.LONGEST_KEEP_ALIVE:g}s, got {self.keep_alive:g}s."
            )

    def _feature_faults(self) -> Iterator[str]:
        return filter(None, (group.clash(self) for group in self._of_features.values()))


def _given(setting: Field[Any], value: Any) -> Any:
    """Return the value of a setting that a program gives: read as from the command line, or its default."""
    if value == setting.default:  # may be what no text stands for, such as no limit
        return setting.default
    value = os.fspath(value) if isinstance(value, os.PathLike) else value
    return kinds.read_option(setting.metadata["option"], value, setting.name)


def _unknown(name: str) -> UsageError:
    near = get_close_matches(name, options(), 1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return UsageError(
        f"There is no setting {name[:60]!r}.{hint} docs/reference/settings.md has all."
    )


def feature_settings() -> dict[str, type[FeatureSettings]]:
    """Return the settings that features declare, by the name of the feature."""
    declared = ((name, each.settings) for name, each in installed().used.items())
    return {name: load() for name, load in declared if load is not None}


def options() -> dict[str, Option]:
    """Return what each setting is, by name, in the order of the groups; those of features last."""
    every: list[type[Any]] = [Settings, *feature_settings().values()]
    return {name: option for group in every for name, option in kinds.options_of(group).items()}


# --------------------------------------------------------------------------- where values come from

REMOVED = {"live_shortcut": "was removed: audio always goes through ADK's flow; leave it out"}
"""Settings of earlier versions, and what to do. Refused, so that none is ignored in silence."""


def current_name(name: str, spelled: Callable[[str], str] = str) -> str:
    """Return what a setting is called now; warn of an earlier name, as it is `spelled` where it stands."""
    current = OLD_SETTINGS.get(name, name)
    if current != name:
        warn_of_old(spelled(name), spelled(current))
    return current


def read_settings(
    command_line: Mapping[str, object],
    environ: Mapping[str, str],
    start: Path,
    given: Mapping[str, Any] = {},
) -> Settings:
    """Return the settings of a process started in folder `start`.

    `command_line` holds only what was typed, by setting name; `given` decides over all. Raise `UsageError`
    with one line for a value that is not of its kind, a removed setting, an unknown key in `[tool.adk-prism]`
    or a broken rule.
    """
    table = options()
    values: dict[str, Any] = {}
    for name in REMOVED:
        if environ.get(kinds.variable_name(name)):
            raise removed_setting(name, kinds.variable_name(name))
    values.update(_from_pyproject(table, start))
    values.update(_from_environment(table, environ))
    for name, value in command_line.items():
        typed = name.upper() if table[name].positional else kinds.flag_name(name)
        values[name] = kinds.read_option(table[name], value, typed)
    return Settings(**values | {current_name(name): value for name, value in given.items()})


def removed_setting(name: str, given_as: str) -> UsageError:
    """Return the error for a setting that was removed."""
    return UsageError(f"{given_as} {REMOVED[name]}.")


def _from_environment(table: Mapping[str, Option], environ: Mapping[str, str]) -> dict[str, Any]:
    values = {}
    for name in (*OLD_SETTINGS, *table):
        variable = kinds.variable_name(name)
        # An empty variable is how shells and compose files say "not set".
        if environ.get(variable):
            current = current_name(name, kinds.variable_name)
            values[current] = kinds.read_option(table[current], environ[variable], variable)
    return values


def _from_pyproject(table: Mapping[str, Option], start: Path) -> dict[str, Any]:
    files = (folder / "pyproject.toml" for folder in (start, *start.parents))
    file = next((each for each in files if each.is_file()), None)
    if file is None:
        return {}
    section = _read_section(file)
    names = {kinds.toml_name(name): name for name in (*OLD_SETTINGS, *table)}
    for name in REMOVED:
        if kinds.toml_name(name) in section:
            raise removed_setting(name, f"[tool.adk-prism] {kinds.toml_name(name)}")
    if unknown := [key for key in section if key not in names]:
        known = ", ".join(sorted(map(kinds.toml_name, table)))
        raise UsageError(f"Unknown key {unknown[0]!r} in [tool.adk-prism]; known keys: {known}.")
    values = {}
    for key, value in section.items():
        name = current_name(names[key], kinds.toml_name)
        values[name] = kinds.read_option(table[name], value, f"[tool.adk-prism] {key}")
    for name in values.keys() & {"agents_dir", "data_dir", "tokens", "audit", "rules"}:
        # A path in a file is relative to that file, not to the working folder.
        values[name] = str(file.parent / values[name])
    return values


def _read_section(file: Path) -> Mapping[str, Any]:
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{file} cannot be read as TOML: {error}.") from error
    section = document.get("tool", {}).get("adk-prism", {})
    if not isinstance(section, dict):
        raise UsageError(f"[tool.adk-prism] in {file} must be a table.")
    return section
