"""The bundled tour, beside the app of these tests."""

from adk_prism.apps.tour.agent import app

__all__ = ["app"]
