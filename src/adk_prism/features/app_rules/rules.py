"""The rules of an operator's file: who may use an app, and which of its tools need an approval.

    [groups]
    fire = ["ann@example.org", "*@fire.example.org"]

    [apps.recovery]
    users = ["bob@example.org"]     # these callers, and those of the groups; without both: everybody
    groups = ["fire"]
    approve = ["delete_*"]          # tools that a person has to approve

    [apps."*"]                      # every app without a section of its own
    users = ["*@example.org"]

Names are compared with `*`, `?` and `[…]` as in file names, upper and lower case apart. Administrators may
use every app. An app that is served under a second name has the rules of its first, unless it has a section.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec
from msgspec import Struct

from adk_prism.adk.apps import Apps
from adk_prism.errors import UsageError
from adk_prism.server.identity.caller import Anyone, Caller, Guest, Principal

REST = "*"
"""The section of apps without one."""


class Rule(Struct, frozen=True, forbid_unknown_fields=True):
    """What holds for an app."""

    users: list[str] | None = None
    groups: list[str] | None = None
    approve: list[str] = []

    @property
    def restricts(self) -> bool:
        """Whether not everybody may use the app."""
        return self.users is not None or self.groups is not None


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    groups: dict[str, list[str]] = {}
    apps: dict[str, Rule] = {}


NOTHING = Rule()


class Rules:
    """The rules of one server."""

    def __init__(
        self, groups: Mapping[str, list[str]], rules: Mapping[str, Rule], apps: Apps
    ) -> None:
        self._groups = groups
        self._rules = rules
        self._apps = apps

    @property
    def restrict(self) -> bool:
        """Whether an app is not for everybody."""
        return any(rule.restricts for rule in self._rules.values())

    def of(self, app: str) -> Rule:
        """Return what holds for an app."""
        if (own := self._rules.get(app)) is not None:
            return own
        names = (self._apps.module_of(app), REST)
        return next((self._rules[name] for name in names if name in self._rules), NOTHING)

    def hides(self, caller: Caller, app: str) -> bool:
        """Return whether an app is not there for a caller.

        A guest sees the one run that was shared, whatever its app.
        """
        rule = self.of(app)
        if not rule.restricts or isinstance(caller, Guest):
            return False
        match caller:
            case Principal():
                return not (caller.admin or self._is_allowed(rule, caller.user))
            case Anyone():
                return True

    def _is_allowed(self, rule: Rule, user: str) -> bool:
        patterns = [*(rule.users or ())]
        for group in rule.groups or ():
            patterns += self._groups[group]
        return _matches(user, patterns)

    def needs_approval(self, app: str, tool: str) -> bool:
        """Return whether a person has to approve each call of a tool."""
        return _matches(tool, self.of(app).approve)


def read_rules(name: str, apps: Apps) -> Rules:
    """Read a file of rules. Raise `UsageError`, which says in one line what is wrong in it."""

    def wrong(what: str) -> UsageError:
        return UsageError(f"--rules {name}: {what}.")

    try:
        text = Path(name).read_text(encoding="utf-8")
        file = msgspec.convert(tomllib.loads(text), _File)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise wrong(f"it cannot be read as TOML ({' '.join(reason.split())[:200]})") from None
    except msgspec.ValidationError as error:
        raise wrong(
            f"{error}; expected [groups] with lists of users, and [apps.NAME] with users, groups, approve"
        ) from None
    for app, rule in file.apps.items():
        if app != REST and apps.find(app) is None:
            there = ", ".join(apps.names()[:20]) or "none"
            raise wrong(f"there is no app {app[:60]!r}; the apps are: {there}")
        if unknown := [each for each in rule.groups or () if each not in file.groups]:
            raise wrong(
                f"[apps.{app[:60]}] names the group {unknown[0][:60]!r}, which is not in [groups]"
            )
        if rule.approve and not apps.keeps_sessions(app):
            raise wrong(
                f"the tools of the app {app[:60]!r} run on another server: it has to ask itself"
            )
    return Rules(file.groups, file.apps, apps)


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
