"""The real clients, for golden streams."""

from __future__ import annotations

from tests.conformance.conftest import ag_ui_client as ag_ui_client
from tests.conformance.conftest import judge as judge
