"""What is stored where, for how long, and without which secrets."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from adk_prism.runlog.contract import Retention
from adk_prism.server.settings.option_kinds import FOLDER, SIZE, SPAN, URL, Option, several

DATA_DIR = Path(".adk-prism")
"""Where the defaults keep their files: beside the project that is served, out of its way."""


@dataclass(frozen=True, kw_only=True)
class StorageSettings:
    """What is stored where, for how long, and without which secrets."""

    data_dir: Annotated[
        str,
        Option(
            FOLDER,
            "folder for the run log, sessions, artifacts and share links that are not set otherwise;"
            " other users of the machine cannot read it",
        ),
    ] = str(DATA_DIR)
    log: Annotated[
        str,
        Option(
            URL,
            "where runs are recorded: memory:, sqlite:///FILE or redis://HOST (default: SQLite in the"
            " data folder)",
        ),
    ] = ""
    sessions: Annotated[
        str,
        Option(
            URL,
            "where sessions are stored, as a URI of ADK (default: SQLite in the data folder)",
            adk="--session_service_uri",
        ),
    ] = ""
    artifacts: Annotated[
        str,
        Option(
            URL,
            "where artifacts are stored, as a URI of ADK (default: files in the data folder)",
            adk="--artifact_service_uri",
        ),
    ] = ""
    memory: Annotated[
        str,
        Option(
            URL,
            "where ADK keeps its long-term memory, as a URI of ADK (default: in this process)",
            adk="--memory_service_uri",
        ),
    ] = ""
    retention_age: Annotated[float, Option(SPAN, "how long a run is kept after its end")] = (
        Retention().max_age
    )
    retention_size: Annotated[
        int,
        Option(
            SIZE,
            "largest size of the run log; above it the oldest ended runs of whoever has most are deleted",
        ),
    ] = Retention().max_bytes
    retention_sessions: Annotated[
        float,
        Option(
            SPAN,
            "how long an unused session is kept, with its artifacts and runs (default: until someone"
            " deletes it)",
        ),
    ] = 0.0
    files_from: Annotated[
        tuple[str, ...],
        Option(
            several("PLACE", "places such as gs://BUCKET/FOLDER"),
            "Cloud Storage folder from which files of a run may be fetched; {app}, {user} and {session}"
            " are replaced with those of the run; repeatable",
        ),
    ] = ()
    files_limit: Annotated[int, Option(SIZE, "largest file that is fetched from Cloud Storage")] = (
        64 * 1024**2
    )
    files_emulator: Annotated[
        str, Option(URL, "loopback URL of a Cloud Storage emulator, for tests")
    ] = ""
    redact: Annotated[
        tuple[str, ...],
        Option(
            several("PATTERN", "patterns of keys such as *_pin"),
            "name of a key whose value is never stored, besides the built-in ones; repeatable",
        ),
    ] = ()
    reveal: Annotated[
        tuple[str, ...],
        Option(
            several("KEY", "keys such as invite_token"),
            "key that is not secret although its name looks like it; repeatable",
        ),
    ] = ()
