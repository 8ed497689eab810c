"""Recordings and captures: every form and spelling in, one form out."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from adk_prism.errors import SourceError, UsageError
from adk_prism.facts.run_reader import CaptureEnding
from adk_prism.features.captures.events import UNNAMED
from adk_prism.features.captures.recording_file import read_run, write_run
from adk_prism.log.entry import (
    Agent,
    AgentEvent,
    Continues,
    Decision,
    Entry,
    NodeStarted,
    Origin,
    RunEnded,
    RunStarted,
    pack,
    to_raw,
)


class Teller:
    """Tells an end that names what it was fed."""

    def __init__(self) -> None:
        self.fed: list[int] = []

    def feed(self, entry: Entry) -> None:
        self.fed.append(entry.cursor)

    def ended(self) -> RunEnded:
        return RunEnded(outcome="finished", code=f"after {self.fed}")


CAMEL: list[dict[str, Any]] = [
    {
        "author": "root",
        "invocationId": "e-1",
        "id": "1",
        "timestamp": 10.5,
        "partial": True,
        "content": {"role": "model", "parts": [{"text": "Hel\u2028lo"}]},
        "actions": {"stateDelta": {}, "artifactDelta": {}},
    },
    {
        "author": "root",
        "invocationId": "e-1",
        "id": "2",
        "timestamp": 11.0,
        "content": {
            "parts": [
                {"functionCall": {"id": "c1", "name": "find", "args": {"fire_id": 1, "a_b": None}}}
            ]
        },
        "longRunningToolIds": ["c1"],
        "actions": {"stateDelta": {"my_key": {"deep_key": None}}, "transferToAgent": "x"},
        "usageMetadata": {"promptTokenCount": 3},
        "nodeInfo": {"path": "root@1"},
    },
    {
        "author": "root",
        "invocationId": "e-1",
        "id": "3",
        "timestamp": 12.0,
        "content": {
            "parts": [
                {"functionResponse": {"id": "c1", "name": "find", "response": {"big_int": 10**30}}}
            ]
        },
    },
]
SNAKE: list[dict[str, Any]] = [
    {
        "author": "root",
        "invocation_id": "e-1",
        "id": "1",
        "timestamp": 10.5,
        "partial": True,
        "content": {"role": "model", "parts": [{"text": "Hel\u2028lo"}]},
        "actions": {"state_delta": {}, "artifact_delta": {}},
        "error_code": None,
    },
    {
        "author": "root",
        "invocation_id": "e-1",
        "id": "2",
        "timestamp": 11.0,
        "content": {
            "parts": [
                {"function_call": {"id": "c1", "name": "find", "args": {"fire_id": 1, "a_b": None}}}
            ]
        },
        "long_running_tool_ids": ["c1"],
        "actions": {"state_delta": {"my_key": {"deep_key": None}}, "transfer_to_agent": "x"},
        "usage_metadata": {"prompt_token_count": 3},
        "node_info": {"path": "root@1"},
    },
    {
        "author": "root",
        "invocation_id": "e-1",
        "id": "3",
        "timestamp": 12.0,
        "content": {
            "function_responses": {"id": "c1", "name": "find", "response": {"big_int": 10**30}}
        },
    },
]


def _lines(events: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def _sse(events: list[dict[str, Any]]) -> bytes:
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)


def _our_sse(events: list[dict[str, Any]]) -> bytes:
    body = b": hello\r\n\r\nretry: 1000\r\n\r\n"
    for number, event in enumerate(events):
        body += b"id: %d.1\r\ndata: %b\r\n\r\n: keep-alive\r\n\r\n" % (
            number,
            json.dumps(event).encode(),
        )
    return body


def _session(events: list[dict[str, Any]], indent: int | None = None) -> bytes:
    session = {"id": "s-1", "appName": "tour", "userId": "ann", "state": {"events": [1]}}
    return json.dumps({**session, "events": events, "lastUpdateTime": 3}, indent=indent).encode()


FORMS: dict[str, Callable[[list[dict[str, Any]]], bytes]] = {
    "lines": _lines,
    "lines with CRLF": lambda events: _lines(events).replace(b"\n", b"\r\n"),
    "lines with a byte order mark": lambda events: b"\xef\xbb\xbf" + _lines(events),
    "lines and blank lines": lambda events: b"\n\n" + _lines(events).replace(b"\n", b"\n\n"),
    "lines without the last line end": lambda events: _lines(events)[:-1],
    "array": lambda events: json.dumps(events).encode(),
    "pretty array": lambda events: b"\xef\xbb\xbf" + json.dumps(events, indent=2).encode(),
    "pretty values": lambda events: b"\n".join(json.dumps(e, indent=1).encode() for e in events),
    "one after the other": lambda events: b"".join(json.dumps(e).encode() for e in events),
    "run_sse": _sse,
    "run_sse of ours": _our_sse,
    "run_sse without the last blank line": lambda events: _sse(events)[:-2],
    "session": _session,
    "session on a line": lambda events: _session(events) + b"\n",
    "pretty session": lambda events: _session(events, indent=4),
}


def _events(entries: list[Entry]) -> list[Any]:
    return [json.loads(e.record.event) for e in entries if isinstance(e.record, AgentEvent)]


def _pieces(data: bytes, size: int) -> Iterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]


@pytest.mark.parametrize("events", [CAMEL, SNAKE], ids=["camel", "snake"])
@pytest.mark.parametrize("form", FORMS)
def test_every_form_and_spelling_gives_the_same_events(
    form: str, events: list[dict[str, Any]]
) -> None:
    """ADK's own keys are ADK's; users' keys, nulls and numbers are as they were."""
    data = FORMS[form](events)
    entries = list(read_run(data))
    assert _events(entries) == CAMEL
    assert [entry.cursor for entry in entries] == [1, 2, 3, 4]
    assert [entry.time for entry in entries] == [10.5, 10.5, 11.0, 12.0]
    assert all(b"\n" not in e.record.event for e in entries if isinstance(e.record, AgentEvent))


@pytest.mark.parametrize("form", FORMS)
def test_bytes_may_be_cut_anywhere(form: str) -> None:
    """Piece by piece, also one byte at a time, the entries are the same."""
    data = FORMS[form](SNAKE)
    whole = list(read_run(data))
    for size in (1, 2, 7, 64):
        assert list(read_run(_pieces(data, size))) == whole


def test_paths_open_files_and_pipes(tmp_path: Path) -> None:
    """A file may be named, given open, or piped in."""
    data = _lines(CAMEL)
    path = tmp_path / "run.jsonl"
    path.write_bytes(data)
    whole = list(read_run(data))
    assert list(read_run(path)) == whole
    assert list(read_run(str(path))) == whole
    assert list(read_run(io.BytesIO(data))) == whole
    with path.open("rb") as file:
        assert list(read_run(file)) == whole
    with path.open("rb", buffering=0) as file:
        assert list(read_run(file)) == whole
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        list(read_run(tmp_path / "none"))


# ------------------------------------------------------------------------------ made up


def test_a_capture_gets_a_first_record_that_says_it_is_made_up() -> None:
    """The same capture has the same run id, in either spelling and every form."""
    starts = [
        next(read_run(make(events))).record for events in (CAMEL, SNAKE) for make in (_lines, _sse)
    ]
    (start,) = {pack(each)[1] for each in starts}
    assert msgspec.json.decode(start)["derived"] is True
    first = starts[0]
    assert isinstance(first, RunStarted)
    assert (first.origin, first.invocation) == (UNNAMED, "e-1")
    assert first.run.startswith("run-")


def test_a_session_says_where_it_belongs_unless_the_caller_does() -> None:
    """Its app, user and id are the origin."""
    (start, *_) = read_run(_session(CAMEL))
    assert isinstance(start.record, RunStarted)
    assert start.record.origin == Origin(app="tour", user="ann", session="s-1")
    given = Origin(app="a", user="b", session="c")
    (start, *_) = read_run(_session(CAMEL), origin=given)
    assert isinstance(start.record, RunStarted)
    assert start.record.origin == given


def test_the_end_of_a_capture_is_told_by_the_caller() -> None:
    """Once, after the last event; without a teller there is none."""
    *_, last = read_run(_lines(CAMEL), end=Teller())
    assert last == Entry(5, 12.0, RunEnded(outcome="finished", code="after [1, 2, 3, 4]"))
    assert all(not isinstance(entry.record, RunEnded) for entry in read_run(_lines(CAMEL)))


def test_messages_of_the_user_stay_events() -> None:
    """One file is one run, whoever speaks in it."""
    user = {"author": "user", "content": {"role": "user", "parts": [{"text": "hi"}]}}
    entries = list(read_run(_lines([user, CAMEL[0], user, CAMEL[1]])))
    assert [type(e.record) for e in entries] == [RunStarted] + [AgentEvent] * 4
    assert _events(entries)[0] == user


# ------------------------------------------------------------------------------ spellings


@dataclass(frozen=True)
class Spelling:
    id: str
    written: dict[str, Any]
    read: dict[str, Any]


_CALL = {"id": "c1", "name": "f", "args": {"x_y": 1}}

SPELLINGS = [
    Spelling("plain string", {"content": "Hi"}, {"content": {"parts": [{"text": "Hi"}]}}),
    Spelling("no content", {"content": None}, {}),
    Spelling(
        "list of parts",
        {"content": [{"inline_data": {"mime_type": "a/b", "data": "eA=="}}, "and text"]},
        {
            "content": {
                "parts": [{"inlineData": {"mimeType": "a/b", "data": "eA=="}}, {"text": "and text"}]
            }
        },
    ),
    Spelling(
        "one part",
        {"content": {"parts": {"text": "x", "thought_signature": "eA=="}}},
        {"content": {"parts": [{"text": "x", "thoughtSignature": "eA=="}]}},
    ),
    Spelling(
        "calls instead of parts",
        {"content": {"function_calls": [_CALL, {**_CALL, "will_continue": True}]}},
        {
            "content": {
                "parts": [
                    {"functionCall": _CALL},
                    {"functionCall": {**_CALL, "willContinue": True}},
                ]
            }
        },
    ),
    Spelling(
        "calls beside parts",
        {"content": {"role": "model", "parts": [{"text": "x"}], "functionCalls": _CALL}},
        {"content": {"role": "model", "parts": [{"text": "x"}, {"functionCall": _CALL}]}},
    ),
    Spelling(
        "partial arguments",
        {
            "content": {
                "parts": [
                    {"function_call": {"partial_args": [{"json_path": "$.a", "string_value": "b"}]}}
                ]
            }
        },
        {
            "content": {
                "parts": [
                    {"functionCall": {"partialArgs": [{"jsonPath": "$.a", "stringValue": "b"}]}}
                ]
            }
        },
    ),
    Spelling(
        "media in a response",
        {
            "content": {
                "function_responses": [
                    {"name": "f", "response": {}, "parts": [{"file_data": {"file_uri": "gs://x"}}]}
                ]
            }
        },
        {
            "content": {
                "parts": [
                    {
                        "functionResponse": {
                            "name": "f",
                            "response": {},
                            "parts": [{"fileData": {"fileUri": "gs://x"}}],
                        }
                    }
                ]
            }
        },
    ),
    Spelling(
        "actions",
        {
            "actions": {
                "state_delta": {"grounding:papers_found": 34, "gone": None},
                "artifact_delta": {"my_file.txt": 0},
                "requested_tool_confirmations": {"call_1": {"hint": "h", "payload": {"a_b": 1}}},
                "requested_auth_configs": {
                    "call_1": {
                        "auth_scheme": {"scopes": {"read_all": "x"}},
                        "exchanged_auth_credential": {
                            "auth_type": "oauth2",
                            "oauth2": {"auth_uri": "u"},
                        },
                    }
                },
                "end_of_agent": True,
                "agent_state": {"a_b": 1},
                "escalate": None,
            }
        },
        {
            "actions": {
                "stateDelta": {"grounding:papers_found": 34, "gone": None},
                "artifactDelta": {"my_file.txt": 0},
                "requestedToolConfirmations": {"call_1": {"hint": "h", "payload": {"a_b": 1}}},
                "requestedAuthConfigs": {
                    "call_1": {
                        "authScheme": {"scopes": {"read_all": "x"}},
                        "exchangedAuthCredential": {
                            "authType": "oauth2",
                            "oauth2": {"authUri": "u"},
                        },
                    }
                },
                "endOfAgent": True,
                "agentState": {"a_b": 1},
            }
        },
    ),
    Spelling(
        "metadata",
        {
            "custom_metadata": {"my_tag": None},
            "grounding_metadata": {"grounding_chunks": [{"web": {"uri": "u", "title": None}}]},
            "output": {"a_b": None},
            "node_info": {"path": "p", "message_as_output": True},
        },
        {
            "customMetadata": {"my_tag": None},
            "groundingMetadata": {"groundingChunks": [{"web": {"uri": "u"}}]},
            "output": {"a_b": None},
            "nodeInfo": {"path": "p", "messageAsOutput": True},
        },
    ),
    Spelling(
        "written-out time", {"timestamp": "2024-12-30T00:00:00Z"}, {"timestamp": 1735516800.0}
    ),
    Spelling("time as text", {"timestamp": "12.5"}, {"timestamp": 12.5}),
    Spelling("no time", {"timestamp": "14:23"}, {}),
    Spelling("milliseconds", {"timestamp": 1735516800123}, {"timestamp": 1735516800.123}),
    Spelling("milliseconds as text", {"timestamp": "1735516800123"}, {"timestamp": 1735516800.123}),
    Spelling("milliseconds, as a float", {"timestamp": 1.5e12}, {"timestamp": 1.5e9}),
    Spelling("a time that cannot be", {"timestamp": 10**30}, {}),
    Spelling("a time before all events", {"timestamp": -5.0}, {}),
    Spelling("a time that is no number", {"timestamp": float("nan")}, {}),
    Spelling("an endless time", {"timestamp": "9" * 400}, {}),
    Spelling(
        "times of a compaction",
        {
            "timestamp": 1735516800123,
            "actions": {"compaction": {"start_timestamp": 1735516800000, "endTimestamp": 3}},
        },
        {
            "timestamp": 1735516800.123,
            "actions": {"compaction": {"startTimestamp": 1735516800.0, "endTimestamp": 3}},
        },
    ),
    Spelling(
        "both spellings",
        {"errorCode": "A", "error_code": "B"},
        {"errorCode": "A", "error_code": "B"},
    ),
    Spelling("unknown keys", {"some_new_field": {"a_b": 1}}, {"some_new_field": {"a_b": 1}}),
    Spelling(
        "error of another's",
        {"error": {"code": "429", "message": "slow"}},
        {"errorCode": "429", "errorMessage": "slow"},
    ),
]


@pytest.mark.parametrize("case", SPELLINGS, ids=lambda case: case.id)
def test_spellings(case: Spelling) -> None:
    """Each is read as ADK would have written it."""
    entries = list(read_run(_lines([{"author": "a", **case.written}])))
    assert _events(entries) == [{"author": "a", **case.read}]


def test_what_python_writes_and_json_does_not_know() -> None:
    """ADK's own server writes NaN for some numbers."""
    line = b'{"author":"a","avgLogprobs":NaN,"output":["\\ud800",Infinity]}\n'
    (event,) = _events(list(read_run(line)))
    assert event["output"] == ["\ufffd", None]


def test_adks_second_error_frame_is_read_once() -> None:
    """After an error event it repeats it; alone it is the error."""
    event = {"author": "root", "errorCode": "ValueError", "errorMessage": "bad"}
    frame = {
        "error": "ValueError: bad",
        "error_details": {"error_type": "ValueError", "error_message": "bad"},
    }
    assert _events(list(read_run(_sse([CAMEL[0], event, frame])))) == [CAMEL[0], event]
    assert _events(list(read_run(_sse([event, CAMEL[0], frame])))) == [event, CAMEL[0]]
    status = {**event, "errorCode": "RESOURCE_EXHAUSTED"}
    assert _events(list(read_run(_sse([status, frame])))) == [status]
    assert _events(list(read_run(_sse([CAMEL[0], frame])))) == [
        CAMEL[0],
        {"errorCode": "ValueError", "errorMessage": "bad"},
    ]


def test_the_keys_are_adks() -> None:
    """The table of an event's, an action's and a part's keys is google-adk's."""
    code = """
from google.adk.events.event import Event, NodeInfo
from google.adk.events.event_actions import EventActions
from google.genai.types import Part, FunctionCall, FunctionResponse, Blob, FileData
from adk_prism.features.captures import events as key_case
import json
tables = {
    "event": (Event, key_case._EVENT), "actions": (EventActions, key_case._ACTIONS),
    "part": (Part, key_case._PART_SHAPE),
}
print(json.dumps({
    name: sorted({f.alias for f in model.model_fields.values()} ^ set(table))
    for name, (model, table) in tables.items()
}))
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(out.stdout) == {"event": [], "actions": [], "part": []}


# ------------------------------------------------------------------------------ recordings


def _recording() -> list[Entry]:
    return [
        Entry(
            1,
            1.25,
            RunStarted(
                run="run-1",
                origin=Origin(app="tour", user="u", session="s"),
                invocation="e-1",
                message=to_raw({"role": "user", "parts": [{"text": "hi"}]}),
                agents=[Agent(name="root", model="m", tools=2)],
                state={"a_b": to_raw({"c_d": None})},
                continues=Continues(
                    message="run-0",
                    open_calls={"c": "f"},
                    decisions={"c": Decision(approval="a", approved=False, reason="no")},
                ),
            ),
        ),
        Entry(2, 1.5, AgentEvent(json.dumps(CAMEL[0], separators=(",", ":")).encode())),
        Entry(3, 2.0, NodeStarted(node="n", name="root", kind="agent")),
        Entry(4, 2.5, AgentEvent(b'{"author":"a","content":{"parts":[{"text":"x"}]}}')),
        Entry(5, 3.0, RunEnded(outcome="failed", code="X", correlation="abc")),
    ]


def test_a_recording_comes_back_as_it_was() -> None:
    """Every entry, byte for byte, and no second end."""
    entries = _recording()
    lines = list(write_run(entries))
    assert all(line.endswith(b"\n") and line.count(b"\n") == 1 for line in lines)
    assert json.loads(lines[1])["event"] == CAMEL[0]
    data = b"".join(lines)
    for read in (read_run(data), read_run(_pieces(data, 3)), read_run(data, end=Teller())):
        assert list(read) == entries
    assert b"".join(write_run(read_run(data))) == data


def test_a_pretty_event_is_written_on_one_line() -> None:
    """Whoever made the entry."""
    entry = Entry(2, 0.0, AgentEvent(b'{\n "author": "a"\n}'))
    (line,) = write_run([entry])
    assert line == b'{"cursor":2,"time":0.0,"type":"AgentEvent","event":{"author":"a"}}\n'


def test_a_recording_without_an_end_is_incomplete() -> None:
    """It was cut, or taken while the run was live: whatever its last event says, nobody knows the end."""
    data = b"".join(write_run(_recording()[:-1]))
    *_, last = read_run(data, end=Teller())
    assert last == Entry(5, 2.5, RunEnded(outcome="incomplete"))


# ------------------------------------------------------------------------------ bad input


def _read_until_error(data: bytes) -> tuple[list[Entry], str]:
    entries: list[Entry] = []

    def read() -> None:
        for entry in read_run(data, end=Teller()):
            entries.append(entry)  # noqa: PERF402 - what comes before the error is wanted

    with pytest.raises(SourceError) as raised:
        read()
    assert "\n" not in raised.value.detail
    return entries, raised.value.detail


RECORDED = b"".join(write_run(_recording()))

BAD: dict[str, tuple[bytes, int, str]] = {
    "empty": (b"", 0, "The file is empty; expected a recording"),
    "blank": (b" \n\n ", 0, "The file is empty"),
    "text": (b"hello world\n", 0, "starts with b'hello world"),
    "html": (b"<!doctype html>", 0, "starts with b'<!doctype html>'"),
    "no event": (b'{"foo": 1}\n', 0, "Line 1 is not an ADK event: it starts with '{\"foo\": 1}'"),
    "empty array": (b"[]", 0, "contains no events"),
    "array of numbers": (b"[1, 2]", 0, "Line 1 has b'1, 2]'; expected an ADK event"),
    "empty session": (b'{"id":"s","events":[]}', 0, "contains no events"),
    "a broken line": (
        _lines(CAMEL[:2]) + b"{oops}\n" + _lines(CAMEL),
        3,
        "Line 3 is not an ADK event",
    ),
    "a wrong type": (_lines([{"author": "a"}, {"author": 5}]), 2, "Expected `str`, got `int`"),
    "a cut first line": (_lines(CAMEL[:1])[:-20], 0, "The file is truncated"),
    "a cut array": (
        json.dumps(CAMEL).encode()[:-9],
        3,
        "truncated: the value that starts on line 1 has no end",
    ),
    "an array without its end": (json.dumps(CAMEL).encode()[:-1], 4, "The file is truncated"),
    "a cut session": (_session(CAMEL, 1)[:-8], 4, "The file is truncated"),
    "a cut first frame": (_sse(CAMEL[:1])[:-30], 0, "The file is truncated: event 1 has no end"),
    "a broken last line": (_lines(CAMEL[:1]) + b"{oops}", 2, "The file is truncated: line 2"),
    "a broken stream": (_sse(CAMEL[:1]) + b"data: {]\n\n", 2, "Event 2 is not an ADK event"),
    "a deep line": (
        b'{"author":"a","output":' + b"[" * 10**6 + b"\n",
        0,
        "truncated|nested|recursion",
    ),
    "a deep line in the middle": (
        _lines(CAMEL[:1]) + b'{"author":"a","output":' + b"[" * 10**6 + b"]" * 10**6 + b"}\n",
        2,
        "Line 2 is not an ADK event .*recursion",
    ),
    "a deep array": (b'[{"author":"a","output":' + b"[" * 10**6, 0, "nested deeper than 512"),
    "a long line": (_lines(CAMEL[:1]) + b'{"x":"' + b"a" * 2**25, 2, "Line 2 is longer than"),
    "a long value": (b'[{"x":"' + b"a" * 2**25, 0, "line 1 is longer than"),
    "a long frame": (b"data: " + b"a" * 2**25, 0, "larger than"),
    "a recording cut off": (RECORDED[:-10], 4, "truncated: line 5 has no end"),
    "a recording with a gap": (
        RECORDED.replace(b'{"cursor":3,', b'{"cursor":4,'),
        2,
        "on line 3 has cursor 4; expected 3",
    ),
    "a recording without its beginning": (
        RECORDED.split(b"\n", 1)[1].replace(b'{"cursor":2,', b'{"cursor":1,'),
        0,
        "starts with RunStarted",
    ),
    "a recording that begins twice": (
        RECORDED.split(b"\n")[0]
        + b"\n"
        + RECORDED.split(b"\n")[0].replace(b'"cursor":1', b'"cursor":2')
        + b"\n",
        1,
        "has only one",
    ),
    "a recording that goes on": (
        RECORDED + RECORDED.split(b"\n")[1] + b"\n",
        5,
        "on line 6 comes after the end of the run",
    ),
    "an unknown record": (
        RECORDED.replace(b'"NodeStarted"', b'"Nonsense"'),
        2,
        "Line 3 is not an entry of a recording",
    ),
    "an event that is none": (
        b'{"cursor":1,"time":1,"type":"RunStarted","run":"r","origin":{"app":"a","user":"u","session":'
        b'"s"}}\n{"cursor":2,"time":1,"type":"AgentEvent","event":[1]}\n',
        1,
        "Line 2 is not an entry",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_named_and_what_came_before_is_given(name: str) -> None:
    """The message says where, what came and what was expected."""
    data, given, says = BAD[name]
    entries, detail = _read_until_error(data)
    assert len(entries) == given, detail
    assert re.search(says.replace("[", r"\["), detail), detail


@pytest.mark.parametrize("data", [_lines(CAMEL)[:-20], _sse(CAMEL)[:-30]], ids=["lines", "stream"])
def test_a_capture_that_breaks_off_inside_an_event_is_incomplete(data: bytes) -> None:
    """A lost connection ends like this. What came before is read; who asks for no end is told."""
    *read, ended = read_run(data, end=Teller())
    assert [entry.cursor for entry in read] == [1, 2, 3]
    assert ended.record == RunEnded(outcome="incomplete")
    with pytest.raises(SourceError, match=r"The file is truncated: (line|event) 3 has no end"):
        list(read_run(data))


def _answered(**more: Any) -> list[dict[str, Any]]:
    """A call, and an answer to which nothing is said."""
    call = {"functionCall": {"id": "c1", "name": "find"}}
    answer = {"functionResponse": {"id": "c1", "name": "find", "response": {}}}
    return [
        {"author": "root", "content": {"parts": [call]}, **more.pop("call", {})},
        {"author": "root", "content": {"parts": [answer]}, **more},
    ]


LAST_ANSWERS: dict[str, tuple[bytes, str]] = {
    "a connection": (_sse(_answered()), "incomplete"),
    "events that may be an excerpt": (_lines(_answered()), "finished"),
    "a tool that needs no reply": (
        _sse(_answered(actions={"skipSummarization": True})),
        "finished",
    ),
    "a tool that ends a loop": (_sse(_answered(actions={"escalate": True})), "finished"),
    "a long-running tool": (_sse(_answered(call={"longRunningToolIds": ["c1"]})), "finished"),
    "an answer of the user": (_sse(_answered(author="user")), "finished"),
}


@pytest.mark.parametrize("name", LAST_ANSWERS)
def test_a_connection_that_ends_before_the_model_replied_was_lost(name: str) -> None:
    """Servers that report no errors, such as Java's, end the connection where a model call failed."""
    data, outcome = LAST_ANSWERS[name]
    *_, ended = read_run(data, end=CaptureEnding())
    assert isinstance(ended.record, RunEnded)
    assert ended.record.outcome == outcome


def test_nothing_is_read_ahead_of_what_is_asked_for() -> None:
    """A hundred thousand deltas go through, and never more than a piece of the file is held."""
    line = json.dumps(CAMEL[0]).encode() + b"\n"
    given = 0

    def chunks() -> Iterator[bytes]:
        nonlocal given
        for _ in range(1000):
            given += 100
            yield line * 100

    for taken, _entry in enumerate(read_run(chunks())):
        assert given - taken <= 100
    assert taken == 100_000


def test_a_long_session_is_not_held_whole() -> None:
    """Its events come while it is read, and what it says after them is let go."""
    event = json.dumps(CAMEL[0]).encode()

    def chunks() -> Iterator[bytes]:
        yield b'{"id":"s","events":[' + event
        for _ in range(40):
            yield (b"," + event) * 50
        yield b'],"state":{"x\\'
        for _ in range(64):
            yield b'"' + b"y" * 2**15 + b"\\"
        yield b'\\"}}'

    tracemalloc.start()
    count = sum(1 for _ in read_run(chunks()))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 2_002
    assert peak < 1024 * 1024


def test_reading_imports_neither_adk_nor_pydantic() -> None:
    """A replay starts at once."""
    code = (
        "import sys, adk_prism.features.captures.recording_file as r; "
        'list(r.read_run(b\'{"author":"a"}\\n\')); '
        "print([m for m in sys.modules if m.split('.')[0] in ('google', 'pydantic', 'fastapi')])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
