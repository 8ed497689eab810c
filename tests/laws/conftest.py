"""The real clients, for streams made at random."""

from __future__ import annotations

from tests.conformance.conftest import ag_ui_client as ag_ui_client
from tests.conformance.conftest import judge as judge
