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


def refused_keys(
    apps: Apps, allowed: tuple[str, ...], app: str, keys: Iterable[str]
) -> Sequence[str]:
    """Return the state keys that a client of a loaded app may not write.

    `allowed` are the prefixes that are exempt.
    """
    rest = [key for key in keys if not key.startswith(allowed)]
    declared = apps.client_keys(app)
    if declared is None:
        return apps.sessions(app).refused_keys(app, rest)
    return [key for key in rest if key not in declared]


async def check_state(
    apps: Apps, allowed: tuple[str, ...], app: str, delta: Mapping[str, Any]
) -> None:
    """Raise `Forbidden` if a client's state has a key that it may not write.

    What the app declares is known when it is loaded: a state that says something loads it.
    """
    if not delta:
        return
    await apps.load(app)
    rest = {key: value for key, value in delta.items() if not key.startswith(allowed)}
    declared = apps.client_keys(app)
    if declared is None:
        apps.sessions(app).check_keys(app, rest)
        return
    refused = refused_keys(apps, allowed, app, rest)
    if refused:
        raise Forbidden(
            f"A client may not write the state key {refused[0][:60]!r}: the app {app!r} lets clients "
            f"write {', '.join(sorted(declared)) or 'none'}."
        )
