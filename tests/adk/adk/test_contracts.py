"""What adk-prism assumes about internals of the installed google-adk, checked against it."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents.llm_agent import LlmAgent
from google.adk.auth import auth_credential
from google.adk.cli.utils.agent_loader import AgentLoader
from google.adk.events import _internal_metadata
from google.adk.events._rewind_events import _apply_rewinds
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.flows.llm_flows import functions
from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.sessions.database_session_service import DatabaseSessionService
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService

from adk_prism.adk.agents import model_of
from adk_prism.adk.internals import capabilities, log_lines, runner
from adk_prism.adk.internals import (
    log_lines as session_storage,
)
from adk_prism.adk.internals import (
    runner as agents,
)
from adk_prism.adk.internals.capabilities import CAPABILITIES, probe, switched_off
from adk_prism.adk.redaction import redact_credentials
from adk_prism.adk.session_store import apply_rewinds, remove_state_keys
from adk_prism.adk.tools import ToolThreadPool, thread_pool
from adk_prism.facts.adk_event import REQUESTS
from adk_prism.features.long_sessions.session_cache import count_events


def test_every_capability_is_on() -> None:
    results = [probe(each) for each in CAPABILITIES]
    assert {each.capability.name for each in results if not each.is_on} == set()
    assert len({each.name for each in CAPABILITIES}) == len(CAPABILITIES)


MISSING = {
    "workflow nodes": (log_lines, "NODE_LOGGER"),
    "restored events": (session_storage, "RESTORED"),
    "session storage": (SqliteSessionService, "_get_db_connection"),
    "paused tasks": (runner, "_find"),
    "tool threads": (runner, "_POOLS"),
}


@pytest.mark.parametrize("name", MISSING)
def test_a_missing_internal_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The probe says what is missing, and the line for the operator names the capability."""
    owner, attribute = MISSING[name]
    if isinstance(owner, type):
        monkeypatch.delattr(owner, attribute)
    else:
        monkeypatch.setattr(owner, attribute, None)
    capabilities.probe_all.cache_clear()
    try:
        [result] = [probe(each) for each in CAPABILITIES if each.name == name]
        assert result.problem
        assert name in switched_off()
    finally:
        capabilities.probe_all.cache_clear()


# --------------------------------------------------------------------------- events


def _event(invocation: str, rewinds: str = "") -> Event:
    actions = EventActions(rewind_before_invocation_id=rewinds or None)
    return Event(author="a", invocation_id=invocation, actions=actions)


@pytest.mark.parametrize("seed", range(200))
def test_rewinds_are_read_as_by_adk(seed: int) -> None:
    """Also rewinds of rewinds, of unknown invocations, and of later ones."""
    draw = random.Random(seed)
    names = [f"i{number}" for number in range(6)]
    events = [
        _event(draw.choice(names), draw.choice([*names, "unknown"]) if draw.random() < 0.25 else "")
        for _ in range(draw.randrange(20))
    ]
    assert apply_rewinds(events) == _apply_rewinds(events)


def test_the_names_of_adks_requests() -> None:
    """The calls by which ADK asks a person are those that we know."""
    assert {
        functions.REQUEST_CONFIRMATION_FUNCTION_CALL_NAME,
        functions.REQUEST_EUC_FUNCTION_CALL_NAME,
        functions.REQUEST_INPUT_FUNCTION_CALL_NAME,
    } == REQUESTS


@pytest.mark.parametrize(
    "metadata",
    [None, {}, {"a": 1}, {"__adk_internal_x": 1}, {"a": 1, "__adk_internal_restored_event": True}],
)
def test_restored_events_are_marked_as_by_adk(metadata: dict[str, Any] | None) -> None:
    def event() -> Event:
        return Event(id="e", author="a", timestamp=1, custom_metadata=metadata)

    assert session_storage.mark_restored(event()) == _internal_metadata.mark_restored(event())
    assert session_storage.public_event(event()) == _internal_metadata.public_event(event())
    assert session_storage.is_restored(session_storage.mark_restored(event()))


# --------------------------------------------------------------------------- credentials

SECRET = "a-secret"
_CREDENTIAL = {
    "authType": "oauth2",
    "oauth2": {"clientId": "id", "clientSecret": SECRET, "authUri": "https://x", "token": SECRET},
    "http": {"scheme": "bearer", "credentials": {"password": SECRET, "username": "me"}},
    "apiKey": SECRET,
}
PAYLOADS = {
    "a credential": _CREDENTIAL,
    "snake case": {"auth_type": "apiKey", "api_key": SECRET},
    "a request": {
        "name": "adk_request_credential",
        "args": {"functionCallId": "c", "authConfig": {"exchangedAuthCredential": _CREDENTIAL}},
    },
    "its answer": {"name": "adk_request_credential", "response": {"oauth2": {"authCode": SECRET}}},
    "actions": {"requestedAuthConfigs": {"c": {"rawAuthCredential": _CREDENTIAL}}},
    "state": {"stateDelta": {"mine": [{"raw_auth_credential": {"private_key": SECRET}}]}},
    "none": {"token": "kept", "args": {"password": "kept"}, "name": "login"},
}


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS)
def test_secrets_of_credentials_are_removed(payload: dict[str, Any]) -> None:
    """As by ADK's own rule, on what ADK itself writes."""
    redacted = redact_credentials({"event": payload})
    assert SECRET not in str(redacted)
    assert redacted == auth_credential._redact_credential_secrets({"event": payload})


# --------------------------------------------------------------------------- sessions


@pytest.mark.parametrize("kind", ["memory", "sqlite", "database"])
async def test_the_storage_of_sessions(kind: str, tmp_path: Path) -> None:
    """Events are counted, keys removed, and each write changes the revision."""
    path = tmp_path / "sessions.db"
    services: dict[str, Any] = {
        "memory": InMemorySessionService,
        "sqlite": lambda: SqliteSessionService(str(path)),
        "database": lambda: DatabaseSessionService(f"sqlite+aiosqlite:///{path}"),
    }
    service: BaseSessionService = services[kind]()
    try:
        where = {"app_name": "a", "user_id": "u", "session_id": "s"}
        session = await service.create_session(**where)
        before = session_storage.session_revision(session)
        delta = EventActions(state_delta={"kept": 1, "gone": 2})
        await service.append_event(session, Event(author="user", actions=delta))
        assert session_storage.session_revision(session) != before
        assert await count_events(service, ("a", "u", "s")) == 1
        assert await remove_state_keys(service, ("a", "u", "s"), ["gone"])
        found = await service.get_session(**where)
        assert found is not None
        assert found.state == {"kept": 1}
        assert session_storage.session_revision(found) == session_storage.session_revision(session)
        file = session_storage.sqlite_file(service)
        assert file == (path if kind == "sqlite" else None)
    finally:
        close = getattr(service, "close", None)
        if close is not None:
            await close()


# --------------------------------------------------------------------------- agents and models


def test_the_default_model() -> None:
    """What `set_default_model` has set is what an agent without a model asks."""
    agent = LlmAgent(name="agent")
    assert model_of(agent) == LlmAgent.DEFAULT_MODEL
    LlmAgent.set_default_model("gemini-another")
    try:
        assert model_of(agent) == "gemini-another"
    finally:
        LlmAgent.set_default_model(LlmAgent.DEFAULT_MODEL)


def test_the_folder_of_an_agent(tmp_path: Path) -> None:
    """ADK's loader notes where it read an agent."""
    folder = tmp_path / "contract_agent"
    folder.mkdir()
    (folder / "agent.py").write_text(
        "from google.adk.agents import LlmAgent\nroot_agent = LlmAgent(name='contract_agent')\n"
    )
    root = AgentLoader(str(tmp_path)).load_agent("contract_agent")
    assert isinstance(root, LlmAgent)
    found = agents.origin_folder(root)
    assert found is not None
    assert found.resolve() == folder.resolve()


async def test_adk_runs_tools_in_our_pool() -> None:
    """Where threads are wanted, ADK finds the pool that tracks them."""
    assert thread_pool(2) is not None
    assert isinstance(runner.adk_pool(2), ToolThreadPool)
