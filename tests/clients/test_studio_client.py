"""The TypeScript client, in Node, on streams of the projection and against a real server."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from tests.conformance.worker import Worker, running
from tests.end_to_end.server import Server, serving
from tests.patience import PATIENCE
from tests.protocols.studio.logs import begins, ended, ends, event, log, started
from tests.protocols.studio.test_schema_example import RECORDS

from adk_prism.features.captures.replay import replay
from adk_prism.log.entry import Record
from adk_prism.protocols.registry import protocol

if TYPE_CHECKING:
    from tests.conftest import Node

Json = dict[str, Any]
CLIENT = Path(__file__).parents[2] / "packages" / "client" / "src" / "studio-client.ts"


@pytest.fixture(scope="module")
def studio(node: Node) -> Iterator[Worker]:
    """The client, waiting for something to do."""
    with running(node.binary, node.folder / "studio.mjs") as worker:
        yield worker


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A real server of the bundled apps."""
    with serving(tmp_path_factory.mktemp("served"), agents=None) as found:
        yield found


def stream(*records: Record | tuple[float, Record]) -> bytes:
    return b"".join(replay(log(*records), protocol("studio").format()))


def reduced(worker: Worker, data: bytes, **more: Any) -> Json:
    return worker.ask({"op": "reduce", "stream": base64.b64encode(data).decode(), **more})


def test_the_client_is_strict_typescript(node: Node) -> None:
    """It compiles as it is in anybody's project, and Node can strip its types."""
    options = """--noEmit --strict --noUncheckedIndexedAccess --noUnusedLocals --noUnusedParameters
        --erasableSyntaxOnly --verbatimModuleSyntax --target es2022 --lib es2022,dom,dom.iterable
        --module esnext --moduleResolution bundler""".split()
    compiler = node.folder / "node_modules" / "typescript" / "bin" / "tsc"
    done = subprocess.run([node.binary, compiler, *options, CLIENT], capture_output=True, text=True)
    assert done.stdout == ""


# --------------------------------------------------------------------------- the reducer


def test_the_example_stream_as_a_state(studio: Worker) -> None:
    """What the schema's hook promises: snapshots, an index, keys by edge, text, calls."""
    graph = {
        "nodes": [{"id": "researcher", "name": "researcher"}, {"id": "END", "name": "END"}],
        "edges": [
            {"id": "e1", "from": "researcher", "to": "END", "kind": "sequence"},
            {"id": "e2", "from": "researcher", "to": "search", "kind": "tool"},
        ],
    }
    state = reduced(studio, stream(*RECORDS), options=graph)["state"]
    assert state["sessionId"] == "abc123"
    assert state["runId"] == "run-1"
    assert state["text"] == "Based on my research..."
    assert (state["status"], state["error"]) == ("done", None)
    assert state["stateKeys"] == {"e1": ["query", "results", "response"], "e2": ["query", "result"]}
    assert state["flows"] == {"e2": {"args": ["query"], "results": ["result"]}}
    assert state["sessionState"] == {"query": "test", "results": "...", "response": "..."}
    assert state["currentSnapshotIndex"] == 0
    assert state["snapshots"] == [
        {
            "nodeId": "researcher",
            "nodeLabel": "researcher",
            "executionId": "run-1/1",
            "timestamp": 0,
            "inputState": {"query": "test"},
            "outputState": {
                "query": "test",
                "results": "...",
                "response": "Based on my research...",
            },
            "duration": 1500,
            "status": "success",
            "step": 1,
            "iteration": 1,
            "overlay": {"output": ["response"]},
            "result": "Based on my research...",
        }
    ]
    [call] = state["toolCalls"]
    assert (call["name"], call["args"], call["result"], call["status"]) == (
        "search",
        {"query": "test"},
        "...",
        "success",
    )


def test_a_stream_is_read_wherever_it_is_cut(studio: Worker) -> None:
    """At every byte, inside letters and line ends as well."""
    data = stream(started(), event({"text": "Ünï\n\ncode 😀\r\n"}, partial=True), ended())
    whole = reduced(studio, data)
    assert whole["state"]["text"] == "Ünï\n\ncode 😀\n"
    for cut in range(1, len(data)):
        assert reduced(studio, data, cuts=[cut])["events"] == whole["events"], cut
    crlf = data.replace(b"\n", b"\r\n")
    for cut in range(1, len(crlf), 7):
        assert reduced(studio, crlf, cuts=[cut])["events"] == whole["events"], cut


def test_text_after_a_tool_begins_a_paragraph(studio: Worker) -> None:
    call = {"functionCall": {"id": "c1", "name": "look", "args": {}}}
    answer = {"functionResponse": {"id": "c1", "name": "look", "response": {"result": 1}}}
    said = (event({"text": "I look."}, call), event(answer), event({"text": "It is one."}))
    assert (
        reduced(studio, stream(started(), *said, ended()))["state"]["text"]
        == "I look.\n\nIt is one."
    )


def test_a_failed_node_and_a_failed_run_are_errors(studio: Worker) -> None:
    records = (
        begins("1", "a"),
        ends("1", "failed", error="ValueError"),
        ended("failed", code="ValueError"),
    )
    state = reduced(studio, stream(started(), *records))["state"]
    assert (state["status"], state["error"]) == ("error", "The run failed (ValueError).")
    [snapshot] = state["snapshots"]
    assert (snapshot["status"], snapshot["error"]) == ("error", "ValueError")


def many(count: int) -> list[Record]:
    return [record for n in range(count) for record in (begins(str(n), f"n{n}"), ends(str(n)))]


@pytest.mark.parametrize(("options", "kept"), [({}, 100), ({"maxSnapshots": 3}, 3)])
def test_old_snapshots_are_dropped_and_the_index_stays_inside(
    studio: Worker, options: Json, kept: int
) -> None:
    """A hundred, unless told otherwise; a follower of the newest goes on following it."""
    state = reduced(studio, stream(started(), *many(130), ended()), options=options)["state"]
    assert [one["nodeLabel"] for one in state["snapshots"]] == [
        f"n{n}" for n in range(130 - kept, 130)
    ]
    assert state["currentSnapshotIndex"] == kept - 1


def test_nodes_are_found_by_their_path(studio: Worker) -> None:
    """Two workflows may have a step of one name: the path without the numbers of runs tells them apart."""
    graph = {
        "nodes": [{"id": "root/a/step", "name": "step"}, {"id": "root/b/step", "name": "step"}],
        "edges": [
            {"id": "of a", "from": "root/a/step", "to": "x"},
            {"id": "of b", "from": "root/b/step", "to": "x"},
        ],
    }
    records = (begins("1", "step", "function", path="root@1/b@2/step@1"), ends("1", state={"k": 1}))
    state = reduced(studio, stream(started(), *records, ended()), options=graph)["state"]
    assert state["stateKeys"] == {"of b": ["k"]}
    assert state["snapshots"][0]["nodeId"] == "root/b/step"


GRAPH = {
    "nodes": [
        {"id": "root", "name": "root"},
        {"id": "root/a", "name": "a"},
        {"id": "root/a/step", "name": "step"},
        {"id": "root/b/step", "name": "step"},
        {"id": "root/shared", "name": "shared"},
    ]
}
PLACES = (
    ("step", "root@1/b@1/step@3", "root/b/step"),
    ("a", "root@1/a@1.2", "root/a"),
    ("shared", "root@1/a@1/shared@1", "root/shared"),
    ("helper", "root@1/a@1/helper@2", "root/a"),
    ("step", "root@1/a@1/x@1/step@1", "root/a"),
    ("step", None, "root/a/step"),
    ("elsewhere", None, "elsewhere"),
)


@pytest.mark.parametrize(("name", "path", "place"), PLACES, ids=str)
def test_where_a_node_is_in_the_graph(
    studio: Worker, name: str, path: str | None, place: str
) -> None:
    """By its path; as the only one of its name; at the node that started it; by its name."""
    records = (begins("1", name, path=path or "", parent="none"), ends("1"))
    state = reduced(studio, stream(started(), *records, ended()), options=GRAPH)["state"]
    assert state["snapshots"][0]["nodeId"] == place


def test_what_is_laid_over_is_no_state_of_the_session(studio: Worker) -> None:
    said = event({"text": "Hi."}, author="a", delta={"k": 1})
    state = reduced(studio, stream(started(), begins("1", "a"), said, ends("1"), ended()))["state"]
    assert state["snapshots"][0]["outputState"] == {"k": 1, "response": "Hi."}
    assert state["sessionState"] == {"k": 1}


VERSION_1 = b"""event: session
data: s

event: trace
data: {"type":"node_start","node":"a","step":1}

event: tool_call
data: {"name":"look","args":{}}

event: tool_result
data: {"name":"look","result":"plain"}

event: trace
data: {"type":"node_end","node":"a","step":1,"duration_ms":5}

event: something_new
data: not json

event: trace
data: {"type":"done"}

event: end
data:

"""


def test_a_stream_of_another_server_is_read(studio: Worker) -> None:
    """Every field that the schema calls optional may be missing, and unknown events are passed over."""
    state = reduced(studio, VERSION_1)["state"]
    assert state["status"] == "done"
    assert state["snapshots"][0]["duration"] == 5
    assert [(call["name"], call["result"]) for call in state["toolCalls"]] == [("look", "plain")]


# --------------------------------------------------------------------------- a real server


def play(studio: Worker, server: Server, *steps: Json, **more: Any) -> Json:
    base = f"{server.url}/api/studio/tour"
    return studio.ask({"op": "play", "base": base, "steps": steps, **more})


def test_a_conversation_keeps_its_session(studio: Worker, server: Server) -> None:
    """What is said second goes into the session that was made for the first."""
    played = play(studio, server, {"send": "state"}, {"send": "tool"})
    assert played["state"]["status"] == "done"
    assert set(played["state"]["sessionState"]) == {"trip", "user:last_destination"}
    assert [call["name"] for call in played["state"]["toolCalls"]] == ["get_weather"]
    session = played["state"]["sessionId"]
    runs = httpx.get(f"{server.url}/api/runs", params={"session": session}, timeout=PATIENCE).json()
    assert len(runs) == 2


CUTS = ([1], [200], [700, 60, 300], [0], [0, 500, 0, 80], [10_000_000])


@pytest.mark.parametrize("cuts", CUTS, ids=str)
def test_a_lost_connection_is_gone_on_with(studio: Worker, server: Server, cuts: list[int]) -> None:
    """Wherever it breaks, also before the first byte: nothing is missing, doubled, or run twice."""
    whole = play(studio, server, {"send": "tool"})["state"]
    played = play(studio, server, {"send": "tool"}, cuts=cuts)
    state = played["state"]
    assert state["text"] == whole["text"]
    assert state["status"] == "done"
    assert [call["name"] for call in state["toolCalls"]] == ["get_weather"]
    assert len(state["snapshots"]) == len(whole["snapshots"])
    runs = httpx.get(
        f"{server.url}/api/runs", params={"session": state["sessionId"]}, timeout=PATIENCE
    ).json()
    assert len(runs) == 1
    assert all(request["last"] for request in played["requests"] if request["method"] == "GET")


def test_a_connection_that_never_comes_is_given_up(studio: Worker, server: Server) -> None:
    played = play(studio, server, {"send": "tool"}, cuts=[0, 0, 0, 0], options={"retries": 2})
    assert (played["state"]["status"], played["state"]["error"]) == (
        "error",
        "The connection was lost.",
    )
    assert len(played["requests"]) == 3


def test_a_refusal_is_told(studio: Worker, server: Server) -> None:
    """With the server's own words, and it is not tried again."""
    base = f"{server.url}/api/studio/nowhere"
    played = studio.ask({"op": "play", "base": base, "steps": [{"send": "x"}]})
    assert played["state"]["status"] == "error"
    assert "There is no app 'nowhere'" in played["state"]["error"]
    assert len(played["requests"]) == 1


def test_an_approval_is_given(studio: Worker, server: Server) -> None:
    """The run waits; after the answer it goes on in the same state."""
    waiting = play(studio, server, {"send": "approval"})["state"]
    assert waiting["status"] == "waiting"
    assert [asked["type"] for asked in waiting["interrupts"]] == ["approval"]
    state = play(studio, server, {"send": "approval"}, {"approve": True})["state"]
    assert state["status"] == "done"
    assert state["interrupts"] == []
    [call] = state["toolCalls"]
    assert (call["name"], call["status"]) == ("send_invoice", "success")
    assert state["text"].endswith("The invoice was sent.")


def test_an_event_source_hears_the_same_and_is_closed(studio: Worker, server: Server) -> None:
    """A browser's own client, which sends a GET and comes back by itself."""
    url = f"{server.url}/api/studio/tour/stream?input=tool&session_id=heard"
    heard = studio.ask({"op": "listen", "url": url})
    assert heard["closed"]
    text = "".join(event["data"] for event in heard["events"] if event["event"] == "chunk")
    assert text == "I look at the weather.It is sunny in Lisbon, 21 degrees (synthetic)."
    assert json.loads(heard["events"][-2]["data"])["type"] == "done"
    assert (
        len(
            httpx.get(
                f"{server.url}/api/runs", params={"session": "heard"}, timeout=PATIENCE
            ).json()
        )
        == 1
    )


def test_the_graph_route_gives_the_edges(studio: Worker, server: Server) -> None:
    """Nodes and edges can be handed to the client as they come."""
    graph = httpx.get(f"{server.url}/api/studio/tour/graph", timeout=PATIENCE).json()
    state = play(studio, server, {"send": "workflow"}, options=graph)["state"]
    known = {node["id"] for node in graph["nodes"]}
    assert {one["nodeId"] for one in state["snapshots"]} <= known


FLOWS = (
    (
        "parallel specialists",
        {
            f"tour->tour/{name}_specialist": {"args": ["request"], "results": ["result"]}
            for name in ("weather", "food", "budget")
        }
        | {
            "tour/weather_specialist->tour/weather_specialist/get_weather": {
                "args": ["city"],
                "results": ["city", "sky", "celsius", "synthetic"],
            }
        },
    ),
    ("agent tool", {"tour->tour/translator": {"args": ["request"], "results": ["result"]}}),
)


@pytest.mark.parametrize(("prompt", "flows"), FLOWS, ids=lambda each: str(each)[:20])
def test_what_flowed_along_the_edges_of_calls(
    studio: Worker, server: Server, prompt: str, flows: Json
) -> None:
    """The keys of arguments to tools and called agents, and of their results back."""
    graph = httpx.get(f"{server.url}/api/studio/tour/graph", timeout=PATIENCE).json()
    state = play(studio, server, {"send": prompt}, options=graph)["state"]
    assert state["flows"] == flows
    for edge, flow in flows.items():
        keys = list(dict.fromkeys([*flow["args"], *flow["results"]]))
        assert state["stateKeys"][edge] == keys
