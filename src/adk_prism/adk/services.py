"""ADK's own services, chosen by ADK's own URIs.

Follows google-adk 2.13 `cli/utils/service_factory.py`: what `adk web --session_service_uri` takes
is taken here, schemes registered by a `services.py` or `services.yaml` in the agents folder too.
Decides only the defaults (files below one data folder) and that a URI that cannot be used is the
caller's error, shown without its password.
"""

from __future__ import annotations

import asyncio
import os
import re
import sqlite3
import warnings
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from google.adk.apps.app import App
from google.adk.artifacts import BaseArtifactService, FileArtifactService
from google.adk.auth.credential_service import in_memory_credential_service as in_memory
from google.adk.auth.credential_service.base_credential_service import BaseCredentialService
from google.adk.cli.service_registry import load_services_module
from google.adk.cli.utils import local_storage, service_factory
from google.adk.memory.base_memory_service import BaseMemoryService
from google.adk.runners import Runner
from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.workflow import BaseNode

from adk_prism.adk.app_folder import AppFolder
from adk_prism.adk.session_store import ChangeStore, SessionStore, store_over
from adk_prism.errors import UsageError
from adk_prism.log.private_files import below, make_file, make_folder, tighten
from adk_prism.log.sqlite.file import damage_of

SESSIONS_FILE, ARTIFACTS_FOLDER = "sessions.db", "artifacts"
"""What the defaults are called in the data folder."""

_Service = TypeVar("_Service")

_EXPECTED = {
    "session": "memory://, sqlite:///FILE, postgresql+asyncpg://USER@HOST/NAME or agentengine://ID",
    "artifact": "memory://, file:///FOLDER or gs://BUCKET",
    "memory": "memory://, sqlite:///FILE, rag://CORPUS or agentengine://ID",
}
_PASSWORD = re.compile(r"(?<=://)([^:/?#@]*):(.*)@")
"""Up to the last `@`: a password that was not escaped may hold anything."""
_QUERY_VALUE = re.compile(r"([?&][^=&#]*)=([^&#]*)")
_SQLITE_FILE = re.compile(r"sqlite(?:\+\w+)?:///([^?#]+).*")
_RELATIVE_FILE = re.compile(r"(sqlite(?:\+\w+)?://)/([^/:?#][^:?#]*)(.*)")
_SQLITE_BEGIN = b"SQLite format 3\0"
_REGISTRATIONS = ("services.py", "services.yaml", "services.yml")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceUris:
    """Which services to use; an empty URI means the default."""

    sessions: str = ""
    """Default: `sqlite:///DATA/sessions.db`."""
    artifacts: str = ""
    """Default: `file:///DATA/artifacts`."""
    memory: str = ""
    """Default: `memory://`."""


IN_MEMORY = ServiceUris(sessions="memory://", artifacts="memory://")


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """What a Runner needs beside its app."""

    sessions: BaseSessionService
    artifacts: BaseArtifactService | None
    memory: BaseMemoryService | None
    credentials: BaseCredentialService | None


def services_of(runner: Runner) -> Services:
    """Return the services of a Runner."""
    return Services(
        sessions=runner.session_service,
        artifacts=runner.artifact_service,
        memory=runner.memory_service,
        credentials=runner.credential_service,
    )


def make_runner(name: str, app: App | BaseNode, services: Services) -> Runner:
    """Return a Runner of an app, or of an agent that becomes one. Raise `UsageError` for anything else."""
    if not isinstance(app, App | BaseNode):
        raise UsageError(
            f"{name!r} is of type {type(app).__name__}; expected an ADK Runner, App or agent."
        )
    return Runner(
        app=app if isinstance(app, App) else App(name=name, root_agent=app),
        app_name=name,
        artifact_service=services.artifacts,
        session_service=services.sessions,
        memory_service=services.memory,
        credential_service=services.credentials,
    )


@runtime_checkable
class _Closes(Protocol):
    async def close(self) -> None: ...


def open_services(
    uris: ServiceUris,
    *,
    data_dir: Path,
    agents_dir: Path | None = None,
    is_local: bool = False,
    change_store: ChangeStore | None = None,
) -> Services:
    """Build the services; nothing is connected yet.

    `data_dir` is made if a default needs it. `is_local`: sessions and artifacts are those of `adk web`, in
    the `.adk` folder of each app. `change_store` is given the store of sessions. Raise `UsageError` for a URI
    that cannot be used.
    """
    if agents_dir is not None and any((agents_dir / name).is_file() for name in _REGISTRATIONS):
        load_services_module(str(agents_dir))
    base = str((agents_dir or data_dir).absolute())
    data = data_dir.absolute()
    uris = ServiceUris(
        sessions=_absolute(uris.sessions),
        artifacts=_absolute(uris.artifacts),
        memory=_absolute(uris.memory),
    )
    if is_local:
        sessions, artifacts = _local_services(agents_dir)
    else:
        sessions = _sessions(uris.sessions, data, base)
        artifacts = _built("artifact", uris.artifacts, lambda uri: _artifacts(uri, data, base))
    return Services(
        sessions=store_over(sessions, change_store),
        artifacts=artifacts,
        memory=_built(
            "memory",
            uris.memory or "memory://",
            lambda uri: service_factory.create_memory_service_from_options(
                base_dir=base, memory_service_uri=uri
            ),
        ),
        credentials=_credentials(),
    )


def _credentials() -> in_memory.InMemoryCredentialService:
    with warnings.catch_warnings():
        # ADK calls the class experimental, which a program that embeds this cannot change.
        warnings.simplefilter("ignore", UserWarning)
        return in_memory.InMemoryCredentialService()


def _absolute(uri: str) -> str:
    """Return the URI of a SQLite file with its whole path: agent code may change the working directory."""
    found = _RELATIVE_FILE.fullmatch(uri)
    return f"{found[1]}/{Path(unquote(found[2])).absolute()}{found[3]}" if found else uri


async def check_services(services: Services) -> None:
    """Check the session store at start, not at the first message. Raise `NoSessions`."""
    if isinstance(services.sessions, SessionStore):
        await services.sessions.check()


async def close_services(services: Services) -> None:
    """Close database connections, where a service has any."""
    parts: Sequence[object] = (services.sessions, services.artifacts, services.memory)
    for service in parts:
        if isinstance(service, _Closes):
            await service.close()


def safe_uri(uri: str) -> str:
    """Return a URI as it may be shown: without its password and the values of its query."""
    return _QUERY_VALUE.sub(r"\1=***", _PASSWORD.sub(r"\1:***@", uri))


def _built(kind: str, uri: str, build: Callable[[str], _Service]) -> _Service:
    try:
        return build(uri)
    except (ValueError, ImportError, OSError, RuntimeError) as error:
        raise UsageError(
            f"The {kind} service {safe_uri(uri)!r} cannot be used: {_reason(error, uri)} "
            f"Expected {_EXPECTED[kind]}."
        ) from None


def _reason(error: Exception, uri: str) -> str:
    """Return the first line of an error's text, or its class alone where the URI holds secrets.

    ADK redacts URLs in its own texts, but misses part of a password that was not escaped.
    """
    if safe_uri(uri) != uri:
        return f"{type(error).__name__}."
    return str(error).partition("\n")[0].rstrip(".") + "."


def _sessions(uri: str, data: Path, base: str) -> BaseSessionService:
    chosen = uri or f"sqlite:///{data / SESSIONS_FILE}"
    if not uri:
        _make_folder(data)
    _check_sqlite(chosen)
    if not uri:
        prepare_session_file(data / SESSIONS_FILE)
    return _built(
        "session",
        chosen,
        lambda uri: service_factory.create_session_service_from_options(
            base_dir=base, session_service_uri=uri
        ),
    )


def _local_services(agents_dir: Path | None) -> tuple[BaseSessionService, BaseArtifactService]:
    """Return the services that `adk web` uses without a URI.

    ADK itself falls back to memory in a folder that cannot be written; here that would lose what was asked
    for, and is an error.
    """
    if agents_dir is None:
        raise UsageError("--local-storage needs a folder of apps; the example apps have none.")
    apps = AppFolder(agents_dir).path
    if not os.access(apps, os.W_OK | os.X_OK):
        raise UsageError(
            f"The folder of apps {str(apps)!r} cannot be written, so it cannot hold `.adk` folders;"
            " leave --local-storage out."
        )
    return (
        local_storage.create_local_session_service(base_dir=apps, per_agent=True),
        local_storage.create_local_artifact_service(base_dir=apps, per_agent=True),
    )


def _artifacts(uri: str, data: Path, base: str) -> BaseArtifactService:
    if not uri:
        return PrivateArtifacts(data / ARTIFACTS_FOLDER)
    return service_factory.create_artifact_service_from_options(
        base_dir=base, artifact_service_uri=uri, strict_uri=True
    )


def _make_folder(folder: Path) -> None:
    try:
        make_folder(folder)
    except OSError as error:
        raise UsageError(
            f"The data folder {str(folder)!r} cannot be created ({error.strerror}). "
            "Choose a writable folder, or other session storage, e.g. memory://."
        ) from None


def _check_sqlite(uri: str) -> None:
    """Check the file at start: SQLite would fail at the first message, without a reason."""
    match = _SQLITE_FILE.fullmatch(uri)
    problem = _sqlite_problem(Path(unquote(match[1]))) if match is not None else ""
    if problem:
        raise UsageError(
            f"The session database {safe_uri(uri)!r} {problem}. Name a file in a writable folder; a path"
            " after three slashes is relative, after four absolute."
        )


def _sqlite_problem(file: Path) -> str:
    if not file.parent.is_dir():
        return "is in a folder that does not exist"
    if not os.access(file if file.exists() else file.parent, os.R_OK | os.W_OK):
        return "cannot be read and written"
    if file.is_dir():
        return "is a folder"
    if not file.exists():
        return ""
    with file.open("rb") as opened:
        begin = opened.read(len(_SQLITE_BEGIN))
    if begin not in (b"", _SQLITE_BEGIN):
        return "is not a SQLite database"
    damage = damage_of(file)
    return f"is damaged ({damage}); restore a copy of it, or move it away" if damage else ""


# ---------------------------------------------------------------------- default storage


class PrivateArtifacts(FileArtifactService):
    """ADK's artifacts in files that only this user can read: ADK leaves their modes to the umask."""

    def __init__(self, root_dir: Path) -> None:
        make_folder(root_dir)
        super().__init__(root_dir)

    async def save_artifact(self, **about: Any) -> int:
        """Save an artifact as ADK does, and close what was made for it to others."""
        version = await super().save_artifact(**about)
        where = {key: about.get(key) for key in ("app_name", "user_id", "filename", "session_id")}
        saved = await self.get_artifact_version(version=version, **where)  # type: ignore[arg-type] # as given
        if saved is not None:
            file = Path(url2pathname(urlsplit(saved.canonical_uri).path))
            await asyncio.to_thread(self._close, file)
        return version

    def _close(self, file: Path) -> None:
        above = [folder for folder in file.parents if folder.is_relative_to(self.root_dir)]
        tighten([*above, *below(file.parent)])


def prepare_session_file(file: Path) -> None:
    """Create the file, readable for this user only, and able to shrink, if there is none.

    SQLite can shrink a file only if that was set before its first table; ADK creates the tables. Raise
    `OSError` or `sqlite3.Error`.
    """
    if file.exists():
        return
    make_file(file)
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.execute("VACUUM")  # Writes the first page, which holds the setting.
