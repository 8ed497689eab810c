"""The real client."""

from __future__ import annotations

from tests.conformance.conftest import ag_ui_client as ag_ui_client
