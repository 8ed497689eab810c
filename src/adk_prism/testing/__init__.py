"""Helpers for the tests of apps and of packages that extend adk-prism."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adk_prism.testing.recordings import recorded_model as recorded_model

__all__ = ["recorded_model"]


def __getattr__(name: str) -> Any:
    """Import what needs google-adk when it is used: pytest loads our plugin in every run."""
    if name == "recorded_model":
        from adk_prism.testing.recordings import recorded_model

        return recorded_model
    raise AttributeError(f"module 'adk_prism.testing' has no attribute {name!r}")
