"""What enters the log equals what ADK's own server would send, but for the named differences."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable
from typing import Any

import msgspec
import pydantic_core
import pytest
from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.artifacts.in_memory_artifact_service import InMemoryArtifactService
from google.adk.auth.auth_credential import (
    AuthCredential,
    AuthCredentialTypes,
    OAuth2Auth,
    _redact_credential_secrets,
)
from google.adk.auth.auth_schemes import CustomAuthScheme
from google.adk.auth.auth_tool import AuthConfig
from google.adk.auth.credential_service.in_memory_credential_service import (
    InMemoryCredentialService,
)
from google.adk.events._internal_metadata import public_event, public_session
from google.adk.events.event import Event, NodeInfo
from google.adk.events.event_actions import EventActions
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.tool_context import ToolContext
from google.genai import errors, types
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.adk.runs import ORIGIN, Reports, new_runner, say, source
from tests.adk.scripted import Scripted, call

from adk_prism.adk.plain_json import CIRCULAR
from adk_prism.adk.redaction import (
    Serialiser,
    content_json,
    serialise,
    session_json,
    state_json,
)
from adk_prism.apps.tour.agent import tour_app
from adk_prism.apps.tour.scenarios import SCENARIOS
from adk_prism.errors import ignore
from adk_prism.log.entry import AgentEvent
from adk_prism.log.hooks import TOO_DEEP

SECRET = "hunter2"


def adk_json(event: Event) -> bytes:
    """google-adk 2.13, `cli/api_server.py`, `run_agent_sse`."""
    dumped = public_event(event).model_dump(exclude_none=True, by_alias=True, mode="json")
    return pydantic_core.to_json(_redact_credential_secrets(dumped))


def _event(**fields: Any) -> Event:
    return Event(author="root", invocation_id="e-1", id="1", timestamp=1.5, **fields)


def _state(**delta: Any) -> Event:
    return _event(actions=EventActions(state_delta=delta))


def _parts(*parts: types.Part) -> Event:
    return _event(content=types.Content(role="model", parts=list(parts)))


def _auth_config() -> AuthConfig:
    credential = AuthCredential(
        auth_type=AuthCredentialTypes.OAUTH2,
        oauth2=OAuth2Auth(
            client_id="id", client_secret=SECRET, access_token=SECRET, auth_uri="https://x"
        ),
    )
    return AuthConfig(
        auth_scheme=CustomAuthScheme.model_validate({"type": "custom"}),
        raw_auth_credential=credential,
        exchanged_auth_credential=credential,
        credential_key="key",
    )


def _credential_call() -> Event:
    args = {
        "functionCallId": "c1",
        "authConfig": _auth_config().model_dump(mode="json", by_alias=True, exclude_none=True),
    }
    made = types.FunctionCall(id="c2", name="adk_request_credential", args=args)
    return _parts(types.Part(function_call=made))


def _credential_answer() -> types.Part:
    response = {"exchangedAuthCredential": {"oauth2": {"authCode": SECRET, "state": "s"}}}
    return types.Part(
        function_response=types.FunctionResponse(
            id="c2", name="adk_request_credential", response=response
        )
    )


EVENTS: dict[str, Callable[[], Event]] = {
    "text": lambda: _parts(types.Part(text="héllo \u2028 \x00")),
    "thought": lambda: _parts(types.Part(text="t", thought=True, thought_signature=b"\xff\xfe")),
    "media": lambda: _parts(
        types.Part(inline_data=types.Blob(mime_type="image/png", data=b"\x89PNG\xff"))
    ),
    "numbers": lambda: _state(a=10**30, b=1e300, c=-0.0, d=float("nan"), e=[float("inf")]),
    "rich state": lambda: _state(s={1, 2}, b=b"\xff", t=(1, 2), n=None, i={1: 2, None: 3}),
    "function in state": lambda: _state(f=print, plain=1),
    "set of ids": lambda: _event(long_running_tool_ids={"b", "a"}),
    "node": lambda: _event(output={"x": None}, node_info=NodeInfo(path="wf@1/a@2")),
    "finish": lambda: _event(error_code="MAX_TOKENS", error_message="cut"),
    "blocked": lambda: _event(error_code="PROHIBITED_CONTENT", error_message="no"),
    "aborted": lambda: _event(error_code="INVOCATION_ABORTED", error_message="aborted"),
    "auth configs": lambda: _event(
        actions=EventActions(requested_auth_configs={"c1": _auth_config()})
    ),
    "auth configs of another kind": lambda: _event(
        actions=EventActions(requested_auth_configs={"c1": types.FunctionCall(name="token")})
    ),
    "credential call": _credential_call,
    "credential answer": lambda: _parts(_credential_answer()),
    "credential in state": lambda: _state(
        k={"authType": "apiKey", "apiKey": SECRET, "deep": [{"token": SECRET}]}
    ),
    "credential by name": lambda: _state(k={"auth_type": "OAUTH2", "oauth2": {"id_token": SECRET}}),
    "credential in a response": lambda: _parts(
        types.Part(
            function_response=types.FunctionResponse(
                id="c", name="f", response={"raw_auth_credential": {"password": SECRET}}
            )
        )
    ),
    "configs in user data": lambda: _state(k={"requestedAuthConfigs": [{"token": SECRET}]}),
    "configs by name": lambda: _state(k={"requested_auth_configs": {"a": {"token": SECRET}}}),
    "nearly a credential": lambda: _state(k={"authType": "mine", "token": "shown"}),
    "credential object": lambda: _state(
        k=AuthCredential(auth_type=AuthCredentialTypes.API_KEY, api_key=SECRET)
    ),
    "internal metadata": lambda: _event(custom_metadata={"__adk_internal_x": SECRET, "mine": 1}),
    "only internal metadata": lambda: _event(custom_metadata={"__adk_internal_x": SECRET}),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", EVENTS)
def test_an_event_is_written_as_adk_writes_it(name: str) -> None:
    """Byte for byte, secrets stripped."""
    event = EVENTS[name]()
    written = serialise(event, ignore)
    assert written == adk_json(event)
    assert SECRET.encode() not in written
    msgspec.json.decode(written)


_KEYS = st.sampled_from(
    [
        "authType",
        "auth_type",
        "token",
        "apiKey",
        "name",
        "args",
        "authConfig",
        "auth_config",
        "response",
        "requestedAuthConfigs",
        "requested_auth_configs",
        "rawAuthCredential",
        "exchanged_auth_credential",
        "client_secret",
        "__adk_internal_x",
        "x",
    ]
)
_LEAVES = st.sampled_from(["apiKey", "HTTP", "adk_request_credential", "s", 1, None, True, 1.5])
_VALUES = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=400, deadline=None)
@given(st.dictionaries(_KEYS, _VALUES, max_size=4), _VALUES)
def test_the_cheap_check_misses_nothing(delta: dict[str, Any], output: Any) -> None:
    """Whatever ADK's walk would strip, anywhere in an event, is stripped."""
    event = _event(
        actions=EventActions(state_delta=delta), output=output, custom_metadata=delta or None
    )
    assert serialise(event, ignore) == adk_json(event)


@pytest.mark.filterwarnings("ignore::UserWarning")
async def test_the_events_of_a_run_are_written_as_adk_writes_them() -> None:
    """Partials, calls, approvals, state and results of a real run."""

    def save(tool_context: ToolContext) -> dict[str, Any]:
        tool_context.state["saved"] = {"authType": "apiKey", "apiKey": SECRET}
        return {"done": True}

    def pay(amount: int) -> int:
        return amount

    model = Scripted.saying(
        [types.Part(text="thinking aloud", thought=True), call("save", "c1")],
        call("pay", "c2", amount=1),
        "never",
    )
    root = LlmAgent(
        name="root", model=model, tools=[save, FunctionTool(pay, require_confirmation=True)]
    )
    runner = await new_runner(root, state={"a": 1})
    seen: list[bytes] = []
    expected: list[bytes] = []
    keep = Serialiser.record

    class Watching(Serialiser):
        def record(self, event: Event) -> AgentEvent:
            expected.append(adk_json(event))
            return keep(self, event)

    running = source(runner, {"message": say("hi")})
    running._serialiser = Watching(ignore)
    seen = [r.event async for r in running.records() if isinstance(r, AgentEvent)]
    assert seen == expected
    assert len(seen) > 5
    assert SECRET.encode() not in b"".join(seen)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("prompt", [re.sub(r"\d+", "0", s.example) for s in SCENARIOS])
async def test_the_tour_is_written_as_adk_writes_it(
    prompt: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every shape of event that the tour can show; but an exception's text is not written."""
    monkeypatch.setenv("ADK_PRISM_MODEL", "offline")
    service = InMemorySessionService()
    runner = Runner(
        app=tour_app(0.0),
        session_service=service,
        artifact_service=InMemoryArtifactService(),
        credential_service=InMemoryCredentialService(),
    )
    await service.create_session(app_name="tour", user_id="u", session_id="s")
    written: list[dict[str, Any]] = []
    expected: list[dict[str, Any]] = []
    with contextlib.suppress(Exception):
        async for event in runner.run_async(
            user_id="u",
            session_id="s",
            new_message=say(prompt),
            run_config=RunConfig(streaming_mode=StreamingMode.SSE),
        ):
            written.append(json.loads(serialise(event, ignore)))
            expected.append(json.loads(adk_json(event)))
    for ours, adks in zip(written, expected, strict=True):
        if ours.get("errorMessage") != adks.get("errorMessage"):  # an exception's: see below
            del ours["errorMessage"], adks["errorMessage"]
    assert written
    assert written == expected


# ------------------------------------------------------------------------- the differences


def test_nan_is_null() -> None:
    """ADK writes `NaN` for a float field of its own, which is not JSON."""
    written = serialise(_event(avg_logprobs=float("nan")), ignore)
    assert b'"avgLogprobs":null' in written
    assert b"NaN" in adk_json(_event(avg_logprobs=float("nan")))


def test_temporary_state_does_not_enter() -> None:
    """Partial events alias the final event's actions, before ADK has trimmed them."""
    event = _state(**{"temp:token": SECRET, "kept": "temp:fine"})
    event.partial = True
    assert json.loads(serialise(event, ignore))["actions"]["stateDelta"] == {"kept": "temp:fine"}


def _circle() -> dict[str, Any]:
    circle: dict[str, Any] = {"a": 1}
    circle["again"] = circle
    return circle


def _deep(levels: int) -> Any:
    value: Any = "bottom"
    for _ in range(levels):
        value = [value]
    return value


class _Mute:
    def __repr__(self) -> str:
        raise ValueError("no words")


REPAIRS: dict[str, tuple[Callable[[], Event], Callable[[Any], object], object]] = {
    "surrogate in text": (
        lambda: _parts(types.Part(text="a\ud800b")),
        lambda e: e["content"]["parts"][0]["text"],
        "a\ufffdb",
    ),
    "surrogate pair": (
        lambda: _parts(types.Part(text="\ud83d\ude00 \udfff")),
        lambda e: e["content"]["parts"][0]["text"],
        "😀 \ufffd",
    ),
    "surrogate in a key": (
        lambda: _event(output={"k\ud800": 1}),
        lambda e: [key.rstrip("\ufffd") for key in e["output"]],
        ["k"],
    ),
    "unknown type": (
        lambda: _event(output=types),
        lambda e: e["output"].startswith("<module"),
        True,
    ),
    "unknown type without words": (
        lambda: _event(output=_Mute()),
        lambda e: e["output"],
        "<_Mute>",
    ),
    "circle": (
        lambda: _event(output=_circle()),
        lambda e: e["output"],
        {"a": 1, "again": CIRCULAR},
    ),
    "circle in state": (
        lambda: _state(c=_circle(), fine=2),
        lambda e: e["actions"]["stateDelta"],
        {"c": {"a": 1, "again": CIRCULAR}, "fine": 2},
    ),
    "too deep": (
        lambda: _event(output=_deep(5000)),
        lambda e: TOO_DEEP in json.dumps(e["output"]),
        True,
    ),
    "secret in a broken event": (
        lambda: _state(c=_circle(), k={"authType": "apiKey", "apiKey": SECRET, "b": b"\xff"}),
        lambda e: e["actions"]["stateDelta"]["k"],
        {"authType": "apiKey", "b": "_w=="},
    ),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", REPAIRS)
def test_an_event_that_adk_cannot_write_is_repaired(name: str) -> None:
    """No event is lost; the operator is told once a run."""
    make, look, expected = REPAIRS[name]
    with pytest.raises(ValueError, match=r"(?s)."):
        adk_json(make())
    reports = Reports()
    serialiser = Serialiser(reports, run="run-1", app="app")
    for _ in range(2):
        written = serialiser.event(make())
        value = msgspec.json.decode(written)
        assert look(value) == expected
        assert value["id"] == "1"
        assert SECRET.encode() not in written
    assert [told.kind for told in reports] == ["event repaired"]


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("RuntimeError", "RuntimeError"),
        ("PERMISSION_DENIED", "PERMISSION_DENIED"),
        ("500 /srv/app.py line 3", "ERROR"),
        ("UNKNOWN_ERROR", "UNKNOWN_ERROR"),
    ],
)
def test_the_text_of_an_exception_is_replaced(code: str, shown: str) -> None:
    """The client gets a reference, the operator the text."""
    reports = Reports()
    event = _event(error_code=code, error_message=f"Traceback: {SECRET}")
    written = json.loads(Serialiser(reports).event(event))
    (told,) = reports
    assert written["errorCode"] == shown
    assert written["errorMessage"] == f"The agent failed ({shown}). Reference: {told.correlation}."
    assert SECRET in told.cause
    assert event.error_message == f"Traceback: {SECRET}", "ADK's own event stays as it is"


def _api_error(status: str, message: str, advice: str = "") -> Event:
    """Return the event that ADK makes of an error of Google's API."""
    details = {"error": {"code": 429, "message": message, "status": status, "details": [SECRET]}}
    error = errors.ClientError(429, details)
    return _event(error_code=error.status, error_message=f"{advice}{error}")


API_KEY = "AIzaSyA-0123456789abcdefghijklmnopqrstu"


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("quota exceeded", "quota exceeded"),
        ("  Quota   exceeded.\n* limit: 0, project 1234\nRetry in 3 s.", "Quota exceeded."),
        ("See https://ai.google.dev/limits?key=hush#x now", "See https://ai.google.dev/limits now"),
        (f"No quota for {API_KEY}", "No quota for …"),
        (f"api_key={API_KEY} is spent", "api_key=… is spent"),
        ("Token: abcdef123456 is spent", "Token: … is spent"),
        ("for consumer 'project_number:1234567'", "for consumer '…'"),
        ("projects/my-project-1/models/x is gone", "projects/…/models/x is gone"),
        ("robot@my-project.iam.example.com has none", "… has none"),
        ("models/gemini-2.5-flash-preview-native-audio-dialog is not found", None),
        ("x" * 400, "x" * 299 + "…"),
        ('It\'s "over" \\ done', None),
    ],
)
@pytest.mark.parametrize(
    "advice", ["", "\nOn how to mitigate this issue, see: https://example.org\n\n"]
)
def test_what_the_provider_says_of_its_service_is_told(
    message: str, shown: str | None, advice: str
) -> None:
    """The first line, without what only an operator may read; the operator has all of it."""
    reports = Reports()
    event = _api_error("RESOURCE_EXHAUSTED", message, advice)
    written = json.loads(Serialiser(reports).event(event))
    assert written["errorMessage"] == (message if shown is None else shown)
    assert SECRET not in json.dumps(written)
    assert SECRET in reports[0].cause


@pytest.mark.parametrize(
    "event",
    [
        _api_error("INVALID_ARGUMENT", "Invalid value: the prompt"),
        _api_error("PERMISSION_DENIED", "no"),
        _api_error("RESOURCE_EXHAUSTED", ""),
        _event(error_code="RESOURCE_EXHAUSTED", error_message="plain words of an exception"),
        _event(error_code="RESOURCE_EXHAUSTED", error_message="429 UNAVAILABLE. {'message': 'a'}"),
        _event(
            error_code="RESOURCE_EXHAUSTED",
            error_message="429 RESOURCE_EXHAUSTED. {'message': f()}",
        ),
        _event(
            error_code="RESOURCE_EXHAUSTED", error_message="429 RESOURCE_EXHAUSTED. " + "{" * 9999
        ),
        _event(error_code="ValueError", error_message="429 ValueError. {'message': 'a'}"),
    ],
    ids=lambda event: f"{event.error_code} {event.error_message[:40]}",
)
def test_anything_else_is_an_exceptions_text(event: Event) -> None:
    """Whatever it looks like."""
    written = json.loads(Serialiser(Reports()).event(event))
    assert written["errorMessage"].startswith("The agent failed (")


def test_a_message_without_a_code_is_replaced_too() -> None:
    """Nothing says that it is fit to be shown."""
    reports = Reports()
    written = json.loads(Serialiser(reports).event(_event(error_message=SECRET)))
    assert "errorCode" not in written
    assert written["errorMessage"] == f"The agent failed. Reference: {reports[0].correlation}."


# ------------------------------------------------------------------- state, messages, sessions


def test_state_is_redacted() -> None:
    """The state in a run's first record follows the same rules."""
    state = state_json({"k": {"authType": "apiKey", "apiKey": SECRET}, "n": float("nan"), "f": len})
    assert {key: msgspec.json.decode(raw) for key, raw in state.items()} == {
        "k": {"authType": "apiKey"},
        "n": None,
        "f": "<built-in function len>",
    }


def test_a_credential_answer_is_redacted() -> None:
    """A message may hold what a person typed into a sign-in."""
    written = bytes(content_json(types.Content(role="user", parts=[_credential_answer()])))
    assert SECRET.encode() not in written
    assert b'"state":"s"' in written


async def test_a_session_is_shown_as_adk_shows_it() -> None:
    """Except for exception texts in its history, which ADK shows in full."""
    service = InMemorySessionService()
    session = await service.create_session(
        app_name=ORIGIN.app, user_id="u", session_id="s", state={"a": 1, "user:b": 2}
    )
    for event in (_state(k={"authType": "apiKey", "apiKey": SECRET}), _parts(types.Part(text="x"))):
        await service.append_event(session, event)
    dumped = public_session(session).model_dump(exclude_none=True, by_alias=True, mode="json")
    assert json.loads(session_json(session)) == _redact_credential_secrets(dumped)
    await service.append_event(session, _event(error_code="KeyError", error_message=SECRET))
    shown = json.loads(session_json(session))
    assert shown["events"][-1]["errorMessage"] == "The agent failed (KeyError)."
    assert SECRET not in json.dumps(shown)
