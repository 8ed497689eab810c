"""The real clients, for golden streams."""

from __future__ import annotations

from tests.conformance.conftest import judge as judge
