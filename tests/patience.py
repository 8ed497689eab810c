"""How long a test waits before it gives up."""

from __future__ import annotations

PATIENCE = 180.0
"""Seconds that anything may take. Never part of what is tested: a machine may be slow, or busy."""
