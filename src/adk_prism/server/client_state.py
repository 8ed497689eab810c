"""Which state a client may write: what its app declares, else its session's own keys.

An app that declares keys (`adk_prism.client_state`) lets clients write these and no others. For any
other app the scopes decide: ADK shares `app:` keys among all users and `user:` keys among a user's
sessions, so a client that writes them reaches into conversations that are not its own; `temp:` keys live
inside a run, `_adk` ones are ADK's own. The setting `client_state` exempts prefixes from both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw

from adk_prism.adk.apps import Apps
from adk_prism.adk.redaction import state_json
from adk_prism.adk.sessions import SHARED
from adk_prism.errors import Forbidden, NotFound
from adk_prism.facts.state import same_json
from adk_prism.log.entry import Origin, Warned, to_raw

_RESERVED = (*SHARED, "_adk")
SHOWN = 5
"""Keys in a warning."""


class ClientState:
    """Which state keys the clients of each app may write."""

    def __init__(self, apps: Apps, allowed: tuple[str, ...]) -> None:
        """`allowed` are prefixes of reserved keys that clients may write all the same."""
        self._apps = apps
        self._allowed = allowed

    def refused_keys(self, app: str, keys: Iterable[str]) -> Sequence[str]:
        """Return the keys that a client of a loaded app may not write."""
        rest = [key for key in keys if not key.startswith(self._allowed)]
        declared = self._apps.client_keys(app)
        if declared is None:
            return [key for key in rest if key.startswith(_RESERVED)]
        return [key for key in rest if key not in declared]

    async def check(self, app: str, delta: Mapping[str, Any]) -> None:
        """Raise `Forbidden` if a client's state has a key that it may not write.

        What the app declares is known once it is loaded, so a state that is not empty loads it.
        """
        if not delta:
            return
        await self._apps.open(app)
        if refused := self.refused_keys(app, delta):
            declared = self._apps.client_keys(app)
            why = (
                "the prefixes app:, user:, temp: and _adk are reserved. Use another key, or have it allowed."
                if declared is None
                else f"the app {app!r} lets clients write {', '.join(sorted(declared)) or 'none'}."
            )
            raise Forbidden(f"A client may not write the state key {refused[0][:60]!r}: {why}")

    async def changes(
        self, origin: Origin, copy: Mapping[str, Any]
    ) -> tuple[dict[str, Any], list[Warned]]:
        """Return what a client changed in its copy of the state, and a warning about what it may not write.

        A client sends the whole copy with every request, and most of it is what it was sent: a key whose
        value is as clients see it did not change. One that is not there was not taken away, since pages
        keep only what they use.
        """
        if not copy:
            return {}, []
        shown = state_json(await self._current(origin))
        changed = {
            key: value
            for key, value in copy.items()
            if key not in shown or not _is_same(shown[key], to_raw(value))
        }
        refused = set(self.refused_keys(origin.app, changed))
        kept = {key: value for key, value in changed.items() if key not in refused}
        return kept, [_state_ignored(refused)] if refused else []

    async def _current(self, origin: Origin) -> Mapping[str, Any]:
        try:
            return await self._apps.sessions(origin.app).state(origin)
        except NotFound:  # the session is made with its first message
            return {}

    def declared(self, app: str, state: Mapping[str, Any]) -> dict[str, Any]:
        """Return what of some state the app declares for clients."""
        declared = self._apps.client_keys(app) or ()
        return {key: value for key, value in state.items() if key in declared}


def _is_same(shown: Raw, value: Raw) -> bool:
    try:
        return same_json(shown, value)
    except (msgspec.MsgspecError, OverflowError, RecursionError):
        return True  # what cannot be compared a client cannot have changed


def _state_ignored(keys: Iterable[str]) -> Warned:
    names = sorted(key[:40] for key in keys)
    shown = ", ".join(names[:SHOWN]) + (", …" if len(names) > SHOWN else "")
    return Warned(
        code="state-ignored",
        text=f"The state of the request was not written for {shown}: clients may not write these keys.",
    )
