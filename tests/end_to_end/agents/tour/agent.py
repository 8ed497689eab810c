"""The bundled tour, beside the apps of these tests."""

from adk_prism.apps.tour.agent import app

__all__ = ["app"]
