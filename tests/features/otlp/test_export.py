"""`adk-prism export` sends a run as a trace that a collector can read."""

from __future__ import annotations

import asyncio
import struct
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from adk_prism.cli import main
from adk_prism.features.captures.recording_file import read_run
from adk_prism.log.sqlite.store import SqliteLog

RECORDINGS = Path(__file__).parents[2] / "recordings"
Message = dict[int, list[Any]]


class Collector(HTTPServer):
    """Takes traces on a loopback port; answers with a status that a test may set."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Taker)
        self.requests: list[tuple[str, str, bytes]] = []
        self.status = 200

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Taker(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        collector = self.server
        assert isinstance(collector, Collector)
        body = self.rfile.read(int(self.headers["content-length"]))
        collector.requests.append((self.path, self.headers["content-type"], body))
        self.send_response(collector.status)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as made:
        thread = threading.Thread(target=made.serve_forever)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def read(data: bytes) -> Message:
    """Read a protobuf message as numbers and bytes, by its field numbers."""
    fields: Message = {}
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte, at = data[at], at + 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        key = varint()
        value: Any
        match key & 7:
            case 0:
                value = varint()
            case 1:
                value, at = struct.unpack("<Q", data[at : at + 8])[0], at + 8
            case _:
                size = varint()
                value, at = data[at : at + size], at + size
        fields.setdefault(key >> 3, []).append(value)
    return fields


def spans(body: bytes) -> list[dict[str, Any]]:
    """Return name, ids, times, attributes and status of the spans in a request."""
    (resource,) = read(body)[1]
    (scoped,) = read(resource)[2]
    return [_span(read(span)) for span in read(scoped)[2]]


def _span(span: Message) -> dict[str, Any]:
    attributes = {}
    for pair in map(read, span.get(9, [])):
        kind, (value, *_) = next(iter(read(pair[2][0]).items()))
        attributes[pair[1][0].decode()] = value.decode() if kind == 1 else value
    return {
        "name": span[5][0].decode(),
        "trace": span[1][0],
        "id": span[2][0],
        "parent": span.get(4, [b""])[0],
        "times": (span[7][0], span[8][0]),
        "attributes": attributes,
        "status": read(span[15][0])[3][0] if 15 in span else 0,
    }


@pytest.mark.parametrize(
    "name", ["tool", "agent_tool", "parallel_specialists", "exception", "help"]
)
def test_a_recording_becomes_one_tree(
    name: str, collector: Collector, capsys: pytest.CaptureFixture[str]
) -> None:
    """One root, every parent is there, nobody ends before it begins, and a second export is the same."""
    for _ in range(2):
        path = str(RECORDINGS / f"{name}.jsonl")
        assert main(["export", path, "--otlp", collector.url]) == 0
    (where, kind, body), again = collector.requests
    assert (where, kind) == ("/v1/traces", "application/x-protobuf")
    assert again[2] == body
    sent = spans(body)
    assert capsys.readouterr().out.startswith(f"{len(sent)} spans, trace ")
    assert [span["parent"] for span in sent].count(b"") == 1
    assert len({span["id"] for span in sent}) == len(sent)
    assert {span["parent"] for span in sent[1:]} <= {span["id"] for span in sent}
    assert {(span["trace"], len(span["trace"])) for span in sent} == {(sent[0]["trace"], 16)}
    assert all(start <= end for start, end in (span["times"] for span in sent))
    assert (sent[0]["status"] == 2) is (name == "exception")


def test_messages_can_be_read(collector: Collector) -> None:
    """What the user, the model and the tool said, in both conventions; tokens and model."""
    assert (
        main(["export", str(RECORDINGS / "tool.jsonl"), "--otlp", f"{collector.url}/v1/traces"])
        == 0
    )
    root, *inside = spans(collector.requests[0][2])
    assert root["attributes"]["input.value"] == "tool"
    assert "Lisbon" in root["attributes"]["gen_ai.output.messages"]
    kinds = {span["attributes"]["openinference.span.kind"] for span in inside}
    assert kinds == {"AGENT", "TOOL", "LLM"}
    (tool,) = (span for span in inside if span["name"] == "execute_tool get_weather")
    assert tool["attributes"]["gen_ai.tool.call.arguments"] == '{"city":"Lisbon"}'
    assert "sunny" in tool["attributes"]["output.value"]
    first = next(span for span in inside if span["attributes"]["openinference.span.kind"] == "LLM")
    assert '"tool_call"' in first["attributes"]["gen_ai.output.messages"]
    assert first["attributes"]["gen_ai.usage.input_tokens"] > 0


async def test_a_run_of_a_log_is_exported(tmp_path: Path, collector: Collector) -> None:
    """By its id, from the file of a server that may be running."""
    log = SqliteLog(tmp_path / "runs.db")
    await log.open()
    entries = list(read_run(str(RECORDINGS / "tool.jsonl")))
    run = entries[0].record.run  # type: ignore[union-attr] # the first is the start
    await log.append(run, [e.record for e in entries], times=[e.time for e in entries])
    await log.commit(run)
    await log.close()
    words = ["export", run, "--log", f"sqlite:///{tmp_path}/runs.db", "--otlp", collector.url]
    assert await asyncio.to_thread(main, words) == 0
    assert main(["export", str(RECORDINGS / "tool.jsonl"), "--otlp", collector.url]) == 0
    assert collector.requests[0] == collector.requests[1]
    assert await asyncio.to_thread(main, ["export", "nobody", *words[2:]]) == 2


def test_what_cannot_be_sent_is_one_line(
    collector: Collector, capsys: pytest.CaptureFixture[str]
) -> None:
    """A collector that refuses or is not there; an address or header that is none."""
    file = str(RECORDINGS / "text.jsonl")
    collector.status = 401
    for words, code, said in (
        (["--otlp", collector.url], 1, "HTTP 401"),
        (["--otlp", "http://127.0.0.1:1"], 1, "does not answer"),
        (["--otlp", "127.0.0.1"], 2, "--otlp must be a URL"),
        (["--otlp", collector.url, "--header", "nothing"], 2, "NAME=VALUE"),
    ):
        assert main(["export", file, *words]) == code
        (line,) = capsys.readouterr().err.splitlines()
        assert said in line
