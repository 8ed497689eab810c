"""The real AG-UI client takes every recording, and builds the messages and state that we say it builds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from tests.conformance.ag_ui import READERS, AgUiClient
from tests.recordings.library import CAPTURES, RECORDINGS, continues, ended, first_of, load

from adk_prism.facts.run_reader import Reader
from adk_prism.facts.state import StateFold, repair
from adk_prism.features.captures.replay import replay
from adk_prism.log.entry import Entry, RunStarted, parse_position
from adk_prism.protocols.ag_ui import SPEC
from adk_prism.protocols.ag_ui import frames as frames_of
from adk_prism.protocols.ag_ui.frames import Frame
from adk_prism.protocols.ag_ui.history import ThreadMessages, settled
from adk_prism.protocols.contract import Scope
from adk_prism.protocols.registry import protocol

Json = dict[str, Any]

REPLAYED = Scope(part="1 of 2", replayed=True)
"""For a client that was shown nothing before."""

readers = pytest.mark.parametrize(
    ("client", "dialect"), READERS, ids=lambda value: str(value).removeprefix("ag-ui-client-")
)


@readers
@pytest.mark.parametrize("name", [*RECORDINGS, *CAPTURES])
def test_the_client_takes_each_run(
    name: str, client: str, dialect: str, ag_ui_client: AgUiClient
) -> None:
    """Parser, schema, verifier and reducer object to nothing, and drop nothing."""
    runs = chain(name)
    # A run that goes on is read after the one that it goes on with, by a client that was there.
    held = ag_ui_client([body(run, dialect) for run in runs], client)
    assert held.faults == []
    assert held.state == state_after(runs[-1])
    assert_ended(name, held.ended[-1], dialect)


@readers
@pytest.mark.parametrize("name", RECORDINGS)
def test_the_history_is_what_the_client_holds(
    name: str, client: str, dialect: str, ag_ui_client: AgUiClient
) -> None:
    """Whoever opens the thread later sees what the open page shows."""
    runs = chain(name)
    replayed = [body(run, dialect, REPLAYED) for run in runs]
    held = ag_ui_client(replayed, client)
    assert held.faults == []
    told = [without_error(message) for message in history(runs, dialect)]
    assert told == settled(held.messages)


@readers
@pytest.mark.parametrize("name", RECORDINGS)
def test_a_snapshot_of_the_history_is_taken(
    name: str, client: str, dialect: str, ag_ui_client: AgUiClient
) -> None:
    """As a client gets it that comes back to a thread: as it is, errors of tools included."""
    messages = history(chain(name), dialect)
    frames: tuple[Frame, ...] = (
        frames_of.RunStarted("session", "run"),
        frames_of.MessagesSnapshot(messages),
        frames_of.RunFinished("session", "run", {"type": "success"}),
    )
    sent = b"".join(b"data: %b\n\n" % SPEC.payload(frame).data for frame in frames)
    held = ag_ui_client([sent], client)
    assert held.faults == []
    assert held.messages == messages


@pytest.mark.parametrize("name", ["tool", "reasoning", "agent_tool", "sub_agent_approval"])
def test_cut_after_any_event_and_resumed_it_is_the_whole(
    name: str, ag_ui_client: AgUiClient
) -> None:
    """For a client that goes on with the position that it saw last, in one stream."""
    format, run = protocol("ag-ui").format("1.0"), load(name)
    whole = b"".join(replay(run, format))
    held = ag_ui_client([whole], "ag-ui-client-1")
    frames = whole.removesuffix(b"\n\n").split(b"\n\n")
    for count in range(1, len(frames)):
        seen = b"".join(b"%b\n\n" % frame for frame in frames[:count])
        last = frames[count - 1].partition(b"\n")[0].removeprefix(b"id: ").decode()
        rest = b"".join(replay(run, format, parse_position(last)))
        assert ag_ui_client([seen + rest], "ag-ui-client-1") == held


@pytest.mark.parametrize("name", ["tool", "x_parallel", "reasoning", "help"])
def test_bytes_may_come_in_any_pieces(name: str, ag_ui_client: AgUiClient) -> None:
    """A frame that is cut, in the middle of a character too."""
    whole = ag_ui_client([body(load(name), "1.0")], "ag-ui-client-1")
    for piece in (1, 7):
        assert ag_ui_client([body(load(name), "1.0")], "ag-ui-client-1", piece) == whole


@readers
@pytest.mark.parametrize(
    ("lost", "why"),
    [
        (b"TEXT_MESSAGE_END", "text messages are still active"),
        (b"TOOL_CALL_START", "No active tool call found"),
        (b"RUN_STARTED", "First event must be"),
    ],
)
def test_the_client_does_object(
    lost: bytes, why: str, client: str, dialect: str, ag_ui_client: AgUiClient
) -> None:
    """A client that took anything would prove nothing."""
    frames = body(load("tool"), dialect).split(b"\n\n")
    cut = b"\n\n".join(frame for frame in frames if lost not in frame)
    (fault,) = ag_ui_client([cut], client).faults
    assert why in fault


def test_every_dialect_is_read() -> None:
    """A dialect that no client of these tests reads would prove nothing."""
    assert {dialect for _, dialect in READERS} == set(SPEC.dialects)


# --------------------------------------------------------------------------- pieces


def chain(name: str) -> list[Sequence[Entry]]:
    """Return the runs of a message up to the recording of that name."""
    if name in CAPTURES or not continues(name):
        return [load(name)]
    return [load(first_of(name)), load(name)]


def body(run: Sequence[Entry], dialect: str, scope: Scope | None = None) -> bytes:
    return b"".join(replay(run, protocol("ag-ui").format(dialect, scope=scope or Scope())))


def state_after(run: Sequence[Entry]) -> Json:
    """Return the state as facts have it, repaired for JavaScript."""
    reader, state = Reader(), StateFold()
    for item in (item for entry in run for item in reader.feed(entry)):
        state.feed(item)
    found: Json = msgspec.json.decode(repair(bytes(state.snapshot())))
    return found


def history(runs: list[Sequence[Entry]], dialect: str) -> list[Json]:
    builder = ThreadMessages(protocol("ag-ui").format(dialect).options)
    for run in runs:
        head = run[0].record
        assert isinstance(head, RunStarted)
        builder.user_message(head.message_id or f"{head.run}-user", head, run[0].time)
        builder.begin_run(Scope())
        for entry in run:
            builder.feed(entry)
    return builder.messages()


def without_error(message: Json) -> Json:
    """Leave out what no event can tell."""
    return {key: value for key, value in message.items() if key != "error"}


def assert_ended(name: str, end: Json, dialect: str) -> None:
    """The run ended for the client as it ended."""
    outcome = "captured" if name in CAPTURES else ended(name).outcome
    if outcome == "cancelled" and dialect == "1.0":
        assert end["outcome"] == {"type": "cancelled"}
    elif outcome in ("failed", "incomplete", "cancelled"):
        assert end["error"]["message"]
    elif outcome == "finished":
        assert end["outcome"]["type"] == "success"
    elif outcome == "waiting":
        assert end["outcome"]["type"] in ("interrupt", "success")
