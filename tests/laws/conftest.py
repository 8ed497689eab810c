"""The real clients, for streams made at random."""

from __future__ import annotations

from tests.conformance.conftest import judge as judge
