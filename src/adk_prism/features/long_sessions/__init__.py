"""Long conversations: their events are cached, and an app can ask for a constant cost per turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adk_prism.extension import Extension

if TYPE_CHECKING:
    from adk_prism.adk.session_store import SessionStore


def _cache(store: SessionStore) -> SessionStore:
    from adk_prism.features.long_sessions.session_cache import SessionCache

    return SessionCache(store.inner)


EXTENSION = Extension(
    name="long_sessions",
    summary="a cache of long sessions, and constant cost per turn with cache_prefix()",
    session_store=_cache,
)
