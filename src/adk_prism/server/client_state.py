"""Which state a client may write: its session's own, unless the operator allows more.

ADK shares `app:` keys among all users and `user:` keys among a user's sessions, so a client that
writes them reaches into conversations that are not its own. What is reserved is said by
`Sessions.check_keys`; the setting `client_state` exempts prefixes from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adk_prism.server.context import Context


def check_state(context: Context, app: str, delta: Mapping[str, Any]) -> None:
    """Raise `Forbidden` if a client's state has a key that it may not write."""
    allowed = context.settings.client_state
    rest = {key: value for key, value in delta.items() if not key.startswith(allowed)}
    context.apps.sessions(app).check_keys(app, rest)
