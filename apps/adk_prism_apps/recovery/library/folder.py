"""Which folder the data is read from: the user's own, if the environment names one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

DATA_VARIABLE = "ADK_PRISM_RECOVERY_DATA"
BUNDLED = Path(__file__).parent.parent / "data"
REFERENCE = "reference"


def data_folder(environment: Mapping[str, str] | None = None) -> Path:
    """Return the folder of fires: `ADK_PRISM_RECOVERY_DATA`, or the bundled one."""
    settings = os.environ if environment is None else environment
    named = settings.get(DATA_VARIABLE, "").strip()
    return Path(named).expanduser() if named else BUNDLED
