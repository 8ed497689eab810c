"""An app as ADK's page draws it: agents, nodes and tools, with the app's README.

Follows google-adk 2.13 `cli/dev_server.py` (`build_graph`), whose serialiser is used. Differences: plugins of
this server are left out, values that are not JSON are shown by their type, and credentials are redacted.
"""

from __future__ import annotations

import json
from pathlib import Path

from google.adk.cli.utils.graph_serialization import serialize_app_info
from google.adk.runners import Runner

from adk_prism.source.redaction import foreign_json

LONGEST_README = 256 * 1024
"""Bytes of a README that are sent: more is a book."""

_OURS = "adk_prism"
"""How the names of this server's own plugins begin."""


def describe_graph(runner: Runner, folder: Path | None) -> bytes:
    """Return what an app consists of, as JSON. Reads the app's README; call it in a thread."""
    about = serialize_app_info(runner.app, _readme(folder))
    plugins = [each for each in about.pop("plugins", ()) if not each["name"].startswith(_OURS)]
    if plugins:
        about["plugins"] = plugins
    return foreign_json(json.dumps(about, default=_type_of, allow_nan=False).encode())


def _type_of(value: object) -> str:
    return f"<{type(value).__name__}>"


def _readme(folder: Path | None) -> str | None:
    if folder is None:
        return None
    try:
        with (folder / "README.md").open("rb") as file:
            return file.read(LONGEST_README).decode(errors="replace")
    except OSError:
        return None
