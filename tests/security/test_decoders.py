"""Everything that reads what strangers send, given anything: only the errors that it declares.

Bounded, and the same examples every time.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st
from starlette.requests import HTTPConnection

from adk_prism.adk.secrets import Secrets
from adk_prism.errors import PrismError, Unauthorized, UsageError
from adk_prism.features.captures.streams import SseDecoder
from adk_prism.features.chat_socket import connection as chat_frames
from adk_prism.log.entry import parse_position, run_of_position
from adk_prism.protocols.ai_sdk.requests import read_request as read_chat
from adk_prism.protocols.studio.requests import read_request as read_studio
from adk_prism.server.identity.methods import bearer, place_of, place_of_url
from adk_prism.server.proxies import origin_of_url, parse_authority, parse_network, parse_origin
from adk_prism.server.request_bodies import (
    check_app,
    check_artifact,
    check_session,
    check_user,
    parse_body,
)
from adk_prism.voice import socket as live_frames

EXAMPLES = 150

bounded = hypothesis.settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(hypothesis.HealthCheck),
)

_leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
_keys = st.text(max_size=8) | st.sampled_from(
    "id userId messages role parts type text trigger messageId state toolCallId input output approval"
    " approved reason input session_id user_id answers call result requestId body headers action".split()
    + "send resume abort message tool_result audio_chunk audio_control interrupt ping __proto__".split()
)
values = st.recursive(
    _leaves,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_keys, inner, max_size=6),
    max_leaves=25,
)
objects = st.dictionaries(_keys, values, max_size=8)
_types = st.sampled_from(["send", "resume", "abort", "message", "approval", "audio_chunk", "ping"])
framed = st.builds(lambda kind, rest: {**rest, "type": kind}, _types, objects)


def as_text(value: Any) -> str:
    return json.dumps(value)


TEXTS: dict[str, Callable[[str], object]] = {
    "position": parse_position,
    "position of a run": run_of_position,
    "app": check_app,
    "user": check_user,
    "session": check_session,
    "artifact": check_artifact,
    "authority": parse_authority,
    "origin": parse_origin,
    "url": origin_of_url,
    "network": parse_network,
    "ticket's url": lambda text: place_of_url(text, "/p"),
    "query": lambda text: place_of("/", text),
    "chat frame": chat_frames.read_frame,
    "chat frame's name": chat_frames.request_of,
    "live frame": live_frames.read_frame,
    "secrets": Secrets(["a value that is long"]).text,
}


@pytest.mark.parametrize("name", TEXTS)
@bounded
@hypothesis.given(text=st.text(max_size=200))
def test_any_text_is_read_or_refused(name: str, text: str) -> None:
    """Nothing but our own errors comes out."""
    with suppress(UsageError):
        TEXTS[name](text)


OBJECTS: dict[str, Callable[[Any], object]] = {
    "chat request": read_chat,
    "studio request": read_studio,
}


@pytest.mark.parametrize("name", OBJECTS)
@bounded
@hypothesis.given(value=objects)
def test_any_object_is_read_or_refused(name: str, value: dict[str, Any]) -> None:
    """Requests that are JSON of any shape."""
    with suppress(UsageError):
        OBJECTS[name](value)


@pytest.mark.parametrize("read", [chat_frames.read_frame, live_frames.read_frame])
@bounded
@hypothesis.given(value=framed)
def test_any_frame_is_read_or_refused(read: Callable[[str], object], value: Any) -> None:
    """Frames of a known kind with anything in them."""
    with suppress(UsageError):
        read(as_text(value))


@bounded
@hypothesis.given(data=st.binary(max_size=300))
def test_any_body_is_read_or_refused(data: bytes) -> None:
    """Bytes that say that they are JSON."""
    with suppress(UsageError):
        parse_body(data)


@bounded
@hypothesis.given(data=st.binary(max_size=300))
def test_any_header_is_read_or_refused(data: bytes) -> None:
    """What stands after `Authorization:`."""
    headers = [(b"authorization", data)]
    with suppress(Unauthorized):
        bearer(HTTPConnection({"type": "http", "headers": headers}))


@bounded
@hypothesis.given(value=values)
def test_redaction_gives_json_of_the_same_shape(value: Any) -> None:
    """Whatever is in it, what comes out can be read, and numbers stay numbers."""
    document = json.dumps({"state": value}, allow_nan=False, default=str) if _plain(value) else "{}"
    found = json.loads(Secrets(["x" * 20]).json(document.encode()))
    assert isinstance(found, dict)


def _plain(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False).encode()
        return True
    except ValueError:
        return False


@bounded
@hypothesis.given(data=st.binary(max_size=400), cuts=st.lists(st.integers(0, 400), max_size=5))
def test_a_streams_frames_do_not_depend_on_how_it_is_cut(data: bytes, cuts: list[int]) -> None:
    """A remote server's bytes, whole or in pieces."""
    whole = _decoded([data])
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    pieces = [data[a:b] for a, b in pairwise(places)]
    assert _decoded(pieces) == whole


def _decoded(pieces: list[bytes]) -> object:
    decoder = SseDecoder()
    found: list[object] = []
    try:
        for piece in pieces:
            found += decoder.feed(piece)
    except PrismError as error:
        return [*found, error.kind]
    return found


TROUBLE = {
    "NUL": '"a\\u0000b"',
    "an integer of more than 64 bits": "1" + "0" * 30,
    "too deep": "[" * 120 + "]" * 120,
}


@pytest.mark.parametrize("value", TROUBLE.values(), ids=TROUBLE)
def test_a_frame_is_read_as_strictly_as_a_body(value: str) -> None:
    """What no session database can hold comes in by no socket, either."""
    chat = f'{{"type":"send","requestId":"r","id":"c","messages":[{{"x":{value}}}]}}'
    live = f'{{"type":"tool_result","toolCallId":"c","result":{{"x":{value}}}}}'
    for read, frame in ((chat_frames.read_frame, chat), (live_frames.read_frame, live)):
        with pytest.raises(UsageError):
            read(frame)
        assert read(frame.replace(value, "1"))
