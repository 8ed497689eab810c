"""The JSON Schemas of the grounding shapes in the documentation: `python -m tests.apps.research.schemas`."""

from __future__ import annotations

import json
from pathlib import Path

from adk_prism.grounding import schemas

FOLDER = Path(__file__).parents[3] / "docs" / "protocols" / "grounding"


def files() -> dict[Path, str]:
    """Return what each file has to hold."""
    return {
        FOLDER / f"{name}.schema.json": json.dumps(
            {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}, indent=2
        )
        + "\n"
        for name, schema in schemas().items()
    }


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for path, text in files().items():
        path.write_text(text, encoding="utf-8")
