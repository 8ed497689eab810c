"""The bundled research app, beside the app of these tests."""

from adk_prism_apps.research.agent import app

__all__ = ["app"]
