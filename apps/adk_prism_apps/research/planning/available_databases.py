"""Which databases are enabled, and which of them fits a question.

The environment decides. `ADK_PRISM_DATABASES` names them (`arxiv, crossref`, or `all`);
`ADK_PRISM_OFFLINE` turns every service off. Without either, a key of some service says that the
network is wanted: then those with a key and those that need none are asked. With nothing set there is
the sample library alone, which is always there.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from ..databases.database import AnyDatabase, Database, LocalDatabase

OFFLINE = "ADK_PRISM_OFFLINE"
CHOSEN = "ADK_PRISM_DATABASES"
_OFF = {"", "0", "false", "no"}
_NEEDS_KEY = frozenset({"openalex"})
"""Services that refuse strangers."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A database for a plan, and what has to be said if it is not the one that was asked for."""

    database: AnyDatabase
    note: str = ""


class AvailableDatabases:
    """The databases that can be asked, in the order of preference."""

    def __init__(
        self, databases: Mapping[str, AnyDatabase], environment: Mapping[str, str] | None = None
    ) -> None:
        self._all = databases
        self._settings = os.environ if environment is None else environment

    def enabled(self) -> list[AnyDatabase]:
        """Return the enabled ones: services first. The environment is read each time."""
        local: list[AnyDatabase] = [
            each for each in self._all.values() if isinstance(each, LocalDatabase)
        ]
        if self._value(OFFLINE).casefold() not in _OFF:
            return local
        services = [each for each in self._all.values() if isinstance(each, Database)]
        named = self._value(CHOSEN)
        if named:
            wanted = {name.strip().casefold() for name in named.split(",")}
            return [each for each in services if "all" in wanted or each.key in wanted] + local
        if not any(self._has_key(each) for each in services):
            return local
        open_to_all = (each for each in services if each.key not in _NEEDS_KEY)
        keyed = (each for each in services if each.key in _NEEDS_KEY and self._has_key(each))
        return [*open_to_all, *keyed, *local]

    def words(self) -> Mapping[str, int]:
        """Return the words of the titles in the library on this machine; empty if there is none."""
        local = [each for each in self._all.values() if isinstance(each, LocalDatabase)]
        return getattr(local[0], "words", {}) if local else {}

    def choose(self, wanted: str, searched: list[str], field: str = "") -> Choice:
        """Return the database for a plan; `wanted` is a key or empty, `searched` labels so far.

        Of those that are left, one that is made for the field comes first.
        """
        enabled = self.enabled()
        asked = self._all.get(wanted)
        if asked is not None and any(each.key == wanted for each in enabled):
            return Choice(asked)
        fresh = [each for each in enabled if each.label not in searched]
        left = fresh or enabled
        special = [each for each in left if field and field in each.profile.fields]
        chosen = (special or left)[0]
        return Choice(chosen, "" if asked is None else self.why_not(asked, chosen))

    def why_not(self, asked: AnyDatabase, chosen: AnyDatabase | None = None) -> str:
        """Say why a database cannot be asked, and how it could."""
        name = f"set {CHOSEN}={asked.key}"
        if isinstance(asked, Database) and asked.key_variable and not self._has_key(asked):
            name = f"set {asked.key_variable}, or {name}"
        text = f"{asked.label} is not asked from here ({name})."
        if chosen is not None:
            text += f" A result from the {chosen.label} is not a result from {asked.label}."
        return text

    def is_enabled(self, key: str) -> bool:
        """Return whether a database can be asked."""
        return any(each.key == key for each in self.enabled())

    def labelled(self, label: str) -> AnyDatabase | None:
        """Return the database with that label, key or tool; None if there is none."""
        found = [
            e for e in self._all.values() if label.casefold() in (e.label.casefold(), e.key, e.tool)
        ]
        return found[0] if found else None

    def _has_key(self, database: Database) -> bool:
        return bool(database.key_variable and self._value(database.key_variable))

    def _value(self, variable: str) -> str:
        return self._settings.get(variable, "").strip()
