"""The data folder: holds the default files, readable for this user only.

Decides which files in it are ours. The mode of a folder that also contains other files is not changed,
because those may be shared: only our own files in it are tightened, and the operator gets a report.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from adk_prism.adk.secrets import Secrets, secret_values
from adk_prism.adk.stream_redaction import RunRedaction
from adk_prism.errors import Diagnostic, Report, UsageError
from adk_prism.facts.usage import Prices, read_prices
from adk_prism.log.private_files import below, make_folder, tighten
from adk_prism.server.setting_groups import DATA_DIR
from adk_prism.server.settings import Settings

_OURS = ("runs.db", "runs-links.db", "links.db", "sessions.db", "artifacts")
"""How the names of our files begin; SQLite's journals and the lock have the name of their database."""
_ANYONES = frozenset(("lost+found",))
"""What a file system puts into the root of a volume."""
_SHOWN = 5
"""Files that a diagnostic names."""


def open_data_folder(settings: Settings, report: Report) -> Path:
    """Make the folder if a default needs it, close it to others, and return it. Raise `UsageError`."""
    folder = Path(settings.data_dir)
    if settings.keeps_files:
        try:
            make_folder(folder)
        except OSError as error:
            raise UsageError(
                f"The data folder {str(folder)!r} cannot be created ({error.strerror}). Choose a writable "
                "folder with --data-dir, or a log, sessions and artifacts elsewhere."
            ) from None
    close_data_folder(folder, report)
    return folder


def close_data_folder(folder: Path, report: Report) -> None:
    """Close a data folder to others, if it is there; say what had been open or stays so."""
    if not folder.is_dir():
        return
    is_ours = folder.name == DATA_DIR.name or all(map(_is_ours, _entries(folder)))
    changed, failed = tighten([*([folder] if is_ours else []), *_our_files(folder)])
    if changed:
        _tell(report, "file modes tightened", changed, "had been readable by others")
    if failed:
        _tell(
            report,
            "file modes too wide",
            failed,
            "can be read by others, and belong to another user",
        )
    if not is_ours and folder.stat().st_mode & 0o077:
        _tell(
            report,
            "file modes too wide",
            [folder],
            "holds other things, and is left open as it is: name a folder of its own with --data-dir",
        )


def _entries(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def _is_ours(name: str) -> bool:
    return name.startswith(_OURS) or name in _ANYONES


def _our_files(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.name.startswith(_OURS):
            yield from below(path)


def _tell(report: Report, kind: str, paths: list[Path], what: str) -> None:
    named = ", ".join(str(path) for path in paths[:_SHOWN])
    more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
    report(Diagnostic(kind=kind, detail=f"{named}{more} {what}."))


# ---------------------------------------------------------------------------
# The secrets that the settings name: the same for a server and for `adk-prism run`.


def secrets_of(settings: Settings) -> Secrets:
    """Return what is secret in this process."""
    urls = (settings.log, settings.sessions, settings.artifacts, settings.memory)
    given = secret_values(os.environ, urls)
    return Secrets({*given, *settings.secrets}, settings.redact, settings.reveal)


def redaction_of_a_run(secrets: Secrets) -> RunRedaction:
    """Return what redacts the records of a run, with what the environment has become since the start."""
    secrets.learn_variables(os.environ)
    return RunRedaction(secrets)


# ---------------------------------------------------------------------------
# The price list that the settings name.


def prices_of(settings: Settings) -> Prices:
    """Return the prices of models; none without a file. Raise `UsageError` for one that cannot be read."""
    if not settings.prices:
        return Prices()
    try:
        text = Path(settings.prices).read_bytes()
    except OSError as error:
        reason = error.strerror or str(error)
        raise UsageError(
            f"The price list {settings.prices} cannot be read: {reason}. Name another file with --prices."
        ) from None
    return read_prices(text, settings.prices)
