"""Which state a client may write: what its app declares, else its session's own keys.

An app that declares keys (`adk_prism.client_state`) lets clients write these and no others. For any
other app the scopes decide: ADK shares `app:` keys among all users and `user:` keys among a user's
sessions, so a client that writes them reaches into conversations that are not its own; what is reserved
is said by `Sessions.check_keys`. The setting `client_state` exempts prefixes from both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from adk_prism.errors import Forbidden
from adk_prism.source.apps import Apps


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
            return self._apps.sessions(app).refused_keys(app, rest)
        return [key for key in rest if key not in declared]

    async def check(self, app: str, delta: Mapping[str, Any]) -> None:
        """Raise `Forbidden` if a client's state has a key that it may not write.

        What the app declares is known once it is loaded, so a state that is not empty loads it.
        """
        if not delta:
            return
        await self._apps.load(app)
        declared = self._apps.client_keys(app)
        if declared is None:
            rest = {k: value for k, value in delta.items() if not k.startswith(self._allowed)}
            self._apps.sessions(app).check_keys(app, rest)
        elif refused := self.refused_keys(app, delta):
            raise Forbidden(
                f"A client may not write the state key {refused[0][:60]!r}: the app {app!r} lets clients "
                f"write {', '.join(sorted(declared)) or 'none'}."
            )
