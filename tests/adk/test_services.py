"""Services are chosen by ADK's URIs; a bad one is told without its secrets."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from google.adk.artifacts.file_artifact_service import FileArtifactService

from adk_prism.adk.services import ServiceUris, close_services, open_services, safe_uri
from adk_prism.adk.session_store import storage_of
from adk_prism.errors import UsageError

SECRET = "s3cret/with@marks"


async def test_the_defaults_are_files_below_the_data_folder(tmp_path: Path) -> None:
    """No server, no configuration; what is written survives."""
    data = tmp_path / "data"
    services = open_services(ServiceUris(), data_dir=data)
    await services.sessions.create_session(app_name="app", user_id="u", session_id="s")
    assert type(storage_of(services.sessions)).__name__ == "SqliteSessionService"
    assert isinstance(services.artifacts, FileArtifactService)
    assert type(services.memory).__name__ == "InMemoryMemoryService"
    assert sorted(path.name for path in data.iterdir()) == ["artifacts", "sessions.db"]
    await close_services(services)
    again = open_services(ServiceUris(), data_dir=data)
    assert await again.sessions.get_session(app_name="app", user_id="u", session_id="s")
    await close_services(again)


async def test_a_program_that_opens_them_is_not_warned(tmp_path: Path) -> None:
    """Of ADK's experimental classes, which it has not chosen."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        services = open_services(ServiceUris(), data_dir=tmp_path / "data")
    await close_services(services)


@pytest.mark.parametrize(
    ("uri", "kind"),
    [
        ("memory:", "InMemorySessionService"),
        ("memory://", "InMemorySessionService"),
        ("sqlite:///{tmp}/a.db", "SqliteSessionService"),
        ("sqlite+aiosqlite:///{tmp}/a.db", "DatabaseSessionService"),
        ("postgresql+asyncpg://u:p@h/d", "DatabaseSessionService"),
    ],
)
async def test_session_uris(tmp_path: Path, uri: str, kind: str) -> None:
    """Each scheme gives ADK's own service; nothing is connected yet."""
    services = open_services(ServiceUris(sessions=uri.format(tmp=tmp_path)), data_dir=tmp_path)
    assert type(storage_of(services.sessions)).__name__ == kind
    await close_services(services)


@pytest.mark.parametrize(
    ("uris", "says"),
    [
        (ServiceUris(sessions=f"redis://u:{SECRET}@h"), "session service 'redis://u:***@h'"),
        (ServiceUris(sessions=f"postgresql://u:{SECRET}@h/d"), "postgresql+asyncpg://"),
        (ServiceUris(sessions=f"mysql+aiomysql://h/d?password={SECRET}"), "password=***"),
        (ServiceUris(sessions=f"postgresql+asyncpg://u:{SECRET}@h:x/d"), "cannot be used"),
        (ServiceUris(sessions="nonsense"), "'nonsense' cannot be used"),
        (ServiceUris(sessions="sqlite:////no/such/folder/a.db"), "a folder that does not exist"),
        (ServiceUris(sessions=f"sqlite:///{__file__}"), "is not a SQLite database"),
        (ServiceUris(sessions=f"sqlite:///{Path(__file__).parent}"), "is a folder"),
        (
            ServiceUris(sessions="memory:", artifacts="s3://bucket"),
            "artifact service 's3://bucket'",
        ),
        (ServiceUris(sessions="memory:", artifacts="file://other/x"), "local filesystem"),
        (ServiceUris(sessions="memory:", memory="nowhere://x"), "memory service 'nowhere://x'"),
    ],
)
def test_a_uri_that_cannot_be_used(tmp_path: Path, uris: ServiceUris, says: str) -> None:
    """The message names the service and what is expected, and no secret."""
    with pytest.raises(UsageError) as raised:
        open_services(uris, data_dir=tmp_path)
    assert says in raised.value.detail
    assert "s3cret" not in str(raised.value)
    assert "marks" not in str(raised.value)
    assert raised.value.__cause__ is None


def test_a_data_folder_that_cannot_be_made(tmp_path: Path) -> None:
    """A file is in its place."""
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError, match="cannot be created"):
        open_services(ServiceUris(), data_dir=tmp_path / "file" / "data")


def test_schemes_registered_in_the_agents_folder(tmp_path: Path) -> None:
    """A `services.yaml` names a service of the user's own, as for `adk web`."""
    (tmp_path / "services.yaml").write_text(
        "services:\n"
        "  - scheme: mine\n"
        "    type: session\n"
        "    class: tests.adk.own_service.OwnSessionService\n"
    )
    services = open_services(
        ServiceUris(sessions="mine://here"), data_dir=tmp_path, agents_dir=tmp_path
    )
    assert type(storage_of(services.sessions)).__name__ == "OwnSessionService"


@pytest.mark.parametrize(
    ("uri", "shown"),
    [
        ("postgresql://u:p@h:5432/d?a=1&b=2", "postgresql://u:***@h:5432/d?a=***&b=***"),
        ("postgresql://u@h/d", "postgresql://u@h/d"),
        ("sqlite:////abs/a.db", "sqlite:////abs/a.db"),
        ("memory:", "memory:"),
    ],
)
def test_a_uri_as_it_may_be_shown(uri: str, shown: str) -> None:
    """Everything but the secrets."""
    assert safe_uri(uri) == shown
