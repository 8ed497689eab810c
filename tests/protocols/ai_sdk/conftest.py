"""The real clients, for frames."""

from __future__ import annotations

from tests.conformance.conftest import judge as judge
