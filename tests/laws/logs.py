"""Random runs, as ADK could have had them: for laws that hold for every run, not for those we have.

A run is made of lanes; a lane is a row of scenes (a model call, a batch of calls with their answers, an
error, …), each of some events; the lanes' events are shuffled into one another. `plausible_runs` holds
only what ADK 2.13 does; `wild_runs` adds what no agent should do, but a file may hold.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from msgspec import Raw
from tests.laws.events import (
    Json,
    answer,
    call,
    confirmation,
    decision,
    entries,
    event,
    placeholder,
    progress,
    text,
    thought,
)

from adk_prism.log.entry import (
    ApprovalAsked,
    ApprovalGiven,
    CallPieces,
    ChildEvent,
    Continues,
    Decision,
    Entry,
    ModelCalled,
    NodeEnded,
    NodeStarted,
    Outcome,
    RunTakenOver,
    to_raw,
)

Draw = st.DrawFn

LANES: tuple[Json, ...] = (
    {"author": "root", "path": "root@1"},
    {"author": "left", "path": "root@1/left@1", "branch": "left@1"},
    {"author": "right", "path": "root@1/right@2", "branch": "right@2"},
    {"author": "legacy", "branch": "par.legacy"},
)
TOOLS = ("search", "delete", "draw")

words = st.text(
    st.sampled_from('ab \n\t"\\é”\u2028\u0085\U0001f600{}[]:,<>&'), min_size=1, max_size=6
)
leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | words
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(words | st.sampled_from(["__proto__", "constructor"]), values, max_size=3)
finish_reasons = st.sampled_from(["STOP", "MAX_TOKENS", "SAFETY", "NEW_REASON", None])
usages = st.none() | st.fixed_dictionaries(
    {"promptTokenCount": st.integers(0, 9), "totalTokenCount": st.integers(0, 99)}
)


class _Ids:
    """Ids that no other call of the run has."""

    def __init__(self) -> None:
        self._count = 0

    def next(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}{self._count}"


# --------------------------------------------------------------------------- what is said


@st.composite
def speeches(draw: Draw, lane: Json) -> list[Json]:
    """A model call that speaks: pieces, then the whole, which may add to them or contradict them."""
    said = draw(st.lists(st.tuples(st.booleans(), words), min_size=1, max_size=4))
    parts = [thought(piece) if is_thought else text(piece) for is_thought, piece in said]
    if draw(st.booleans()):
        parts[-1]["thoughtSignature"] = "c2ln"
    streamed = [event(part, partial=True, **lane) for part in parts if draw(st.booleans()) or True]
    closing = draw(
        st.sampled_from(["equal", "longer", "other", "trimmed", "unary", "silent", "cut"])
    )
    if closing == "cut":
        return streamed
    whole = _joined(said)
    if closing == "longer":
        whole.append(text(draw(words)))
    elif closing == "other":
        whole = [*(whole[:1] if draw(st.booleans()) else ()), text(draw(words))]
    elif closing == "trimmed":
        whole[-1]["text"] = whole[-1]["text"].rstrip()
    elif closing == "silent":
        whole = []
    fields = {"finishReason": draw(finish_reasons), "usageMetadata": draw(usages)}
    final = event(*whole, partial=False, **lane, **fields)
    final.setdefault("content", {"role": "model", "parts": []})
    return [final] if closing == "unary" else [*streamed, final]


def _joined(said: list[tuple[bool, str]]) -> list[Json]:
    """Merge neighbours of a kind, as ADK's aggregator does."""
    parts: list[Json] = []
    for is_thought, piece in said:
        if parts and bool(parts[-1].get("thought")) == is_thought:
            parts[-1]["text"] += piece
        else:
            parts.append(thought(piece) if is_thought else text(piece))
    return parts


@st.composite
def media(draw: Draw, lane: Json) -> list[Json]:
    """Pictures, files, sound and code; perhaps shown by a partial event first."""
    part = draw(
        st.sampled_from(
            [
                {"inlineData": {"mimeType": "image/png", "data": "iVBORw0K"}},
                {"inlineData": {"mimeType": "audio/pcm;rate=16000", "data": "AAAA"}},
                {"inlineData": {"data": ""}},
                {"fileData": {"mimeType": "image/png", "fileUri": "https://example.com/a.png"}},
                {"fileData": {"mimeType": "text/plain", "fileUri": "gs://bucket/a"}},
                {"executableCode": {"language": "PYTHON", "code": "print(1)"}},
                {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
            ]
        )
    )
    final = event(part, text(draw(words)), partial=False, **lane)
    return [event(part, partial=True, **lane), final] if draw(st.booleans()) else [final]


@st.composite
def voices(draw: Draw, lane: Json) -> list[Json]:
    """Live speech: a transcript beside its sound, perhaps interrupted."""
    pieces = draw(st.lists(words, min_size=1, max_size=3))
    sound = event({"inlineData": {"mimeType": "audio/pcm;rate=24000", "data": "AAAA"}}, **lane)
    said: list[Json] = []
    for piece in pieces:
        heard = {"text": piece, "finished": False}
        said.append(event(partial=True, outputTranscription=heard, **lane))
        if draw(st.booleans()):
            said.append(sound)
    closing = draw(st.sampled_from(["whole", "other", "interrupted", "turn", "cut"]))
    if closing in ("whole", "other"):
        whole = "".join(pieces) if closing == "whole" else draw(words)
        said.append(
            event(partial=False, outputTranscription={"text": whole, "finished": True}, **lane)
        )
    elif closing == "interrupted":
        said.append(event(interrupted=True, **lane))
    elif closing == "turn":
        said.append(event(turnComplete=True, **lane))
    return said


@st.composite
def user_events(draw: Draw) -> list[Json]:
    """What the user said, typed or heard."""
    said = draw(words)
    finished = draw(st.sampled_from([True, False, None]))
    heard = {"text": said} | ({} if finished is None else {"finished": finished})
    return draw(
        st.sampled_from(
            [
                [event(text(said), author="user")],
                [event(author="user", inputTranscription=heard, partial=True)],
                [event(author="user", inputTranscription=heard, partial=False)],
                [event(inputTranscription=heard), event(turnComplete=True)],
                [event(inputTranscription=heard, outputTranscription=heard)],
                [event(text(said), inputTranscription=heard, partial=True)],
            ]
        )
    )


# --------------------------------------------------------------------------- calls


@st.composite
def batches(draw: Draw, lane: Json, ids: _Ids) -> list[Json]:
    """Some calls in one turn of the model, and their answers: in any order, some missing."""
    calls = []
    long_running = []
    streamed: list[Json] = []
    for _ in range(draw(st.integers(1, 3))):
        call_id = ids.next("c") if draw(st.booleans()) else None
        made = call(draw(st.sampled_from(TOOLS)), call_id, draw(objects))
        whole = [event(made, partial=True, **lane)]
        streamed += draw(st.sampled_from([[], whole]) | _streamed_arguments(made, lane))
        if draw(st.booleans()):
            streamed.append(event(text(draw(words)), partial=True, **lane))
        if call_id and draw(st.integers(0, 4)) == 0:
            long_running.append(call_id)
        calls.append(made)
    calls = calls[draw(st.sampled_from([0, 0, 0, 1])) :] or calls  # one may not be stored
    final = event(
        *calls, partial=False, **lane, longRunningToolIds=long_running, finishReason="STOP"
    )
    return [*streamed, final, *draw(_answers(calls, long_running, lane, ids))]


@st.composite
def _streamed_arguments(draw: Draw, made: Json, lane: Json) -> list[Json]:
    """The arguments of a call, piece by piece, under the call's id or under another one."""
    whole = made["functionCall"]
    call_id = whole.get("id") if draw(st.booleans()) else draw(st.sampled_from([None, "preview"]))
    head = {"name": whole["name"], "willContinue": True} | ({"id": call_id} if call_id else {})
    pieces = []
    for _ in range(draw(st.integers(0, 3))):
        value = draw(
            st.one_of(
                words.map(lambda said: {"stringValue": said, "willContinue": True}),
                words.map(lambda said: {"stringValue": said}),
                st.integers(-9, 9).map(lambda number: {"numberValue": number}),
                st.just({"boolValue": True}),
                st.just({"nullValue": "NULL_VALUE"}),
            )
        )
        path = draw(st.sampled_from(["$.a", "$.b.c", "$.d[0]", "$.d[1].e", "$.f[0][1]"]))
        pieces.append({"partialArgs": [{"jsonPath": path, **value}], "willContinue": True})
    tail = {"id": call_id} if call_id else {}
    parts = [head, *({**piece, **tail} for piece in pieces), {"willContinue": False, **tail}]
    return [event({"functionCall": part}, partial=True, **lane) for part in parts]


@st.composite
def _answers(
    draw: Draw, calls: list[Json], long_running: list[str], lane: Json, ids: _Ids
) -> list[Json]:
    answered: list[Json] = []
    for made in draw(st.permutations(calls)):
        whole = made["functionCall"]
        answered += draw(_reports(whole.get("id") or "nothing"))
        # A call without an id is answered in order: which one is meant, nobody could tell.
        fate = draw(st.sampled_from(["answered", "missing", "gated", "failed", "media"]))
        if fate == "gated" and whole.get("id") and whole["id"] not in long_running:
            answered += draw(_asked(made, lane, ids.next("a")))
        elif fate == "missing":
            continue
        else:
            answered += draw(_reports(whole.get("id") or "nothing"))
            response = {"error": "no"} if fate == "failed" else draw(objects)
            part = answer(whole["name"], whole.get("id"), response)
            if fate == "media":
                blob = {"mimeType": "image/png", "data": "iVBORw0K"}
                part["functionResponse"]["parts"] = [{"inlineData": blob}]
            answered.append(event(part, **lane))
    return answered


def _reports(call_id: str) -> st.SearchStrategy[list[Json]]:
    """How far a tool is, in its own words."""
    numbers = st.one_of(st.none(), st.integers(-1, 9), st.floats(0, 1))
    report = st.fixed_dictionaries(
        {"done": numbers, "total": numbers, "message": words, "data": objects}
    )
    told = report.map(lambda said: progress(call_id, **said))
    return st.lists(told, max_size=2)


@st.composite
def _asked(draw: Draw, made: Json, lane: Json, approval: str) -> list[Json]:
    """A person is asked about a call; in the capture of a session the answer may follow."""
    whole = made["functionCall"]
    question = event(confirmation(made, approval), **lane)
    waiting = placeholder(made, **lane)
    asked = draw(st.sampled_from([[question, waiting], [waiting, question]]))
    if draw(st.booleans()):
        return asked
    approved = draw(st.booleans())
    response = {"done": True} if approved else {"error": "This tool call is rejected."}
    answered = event(answer(whole["name"], whole["id"], response), **lane)
    return [*asked, decision(approval, approved), answered]


@st.composite
def delegations(draw: Draw, lane: Json, ids: _Ids) -> list[Json]:
    """A call that runs an agent, whose words come before the answer."""
    call_id = ids.next("c")
    made = call("helper", call_id, {"request": "go"})
    inner = {"author": "helper", "path": f"root@1/helper@{call_id}", "branch": f"helper@{call_id}"}
    said = draw(speeches(inner))
    done = [event(answer("helper", call_id, {"result": "done"}), **lane)]
    return [event(made, partial=False, **lane), *said, *(done if draw(st.booleans()) else [])]


@st.composite
def provider_tools(draw: Draw, lane: Json, ids: _Ids) -> list[Json]:
    """A tool that the model's provider ran; perhaps it never said how it went."""
    call_id = ids.next("p") if draw(st.booleans()) else None
    head: Json = {"toolType": "GOOGLE_SEARCH_WEB"} | ({"id": call_id} if call_id else {})
    parts: list[Json] = [{"toolCall": {**head, "args": draw(objects)}}]
    if draw(st.booleans()):
        parts.append({"toolResponse": {**head, "response": draw(objects)}})
    return [event(*parts, text(draw(words)), partial=False, **lane)]


@st.composite
def questions(draw: Draw, lane: Json, ids: _Ids) -> list[Json]:
    """A question to the person in its own right."""
    if draw(st.booleans()):
        asked = call("adk_request_input", ids.next("i"), {"message": draw(words)})
    else:
        asked = call("adk_request_credential", ids.next("i"), {"functionCallId": "c1"})
    call_id = asked["functionCall"]["id"]
    return [event(asked, **lane, longRunningToolIds=[call_id])]


# --------------------------------------------------------------------------- the rest


@st.composite
def changes(draw: Draw, lane: Json) -> list[Json]:
    """Events beside the talk: state, artifacts, sources, outputs, errors that may be survived."""
    grounding = {
        "groundingChunks": [{"web": {"uri": "https://example.com", "title": draw(words)}}],
        "groundingSupports": [{"groundingChunkIndices": [0]}],
    }
    fields = draw(
        st.sampled_from(
            [
                {"actions": {"stateDelta": draw(objects)}},
                {"actions": {"artifactDelta": {"a.txt": 1}, "transferToAgent": "left"}},
                {"actions": None},
                {"output": draw(values)},
                {"customMetadata": draw(objects)},
                {"groundingMetadata": grounding},
                {"citationMetadata": {"citations": [{"uri": "https://example.com"}]}},
                {"usageMetadata": {"totalTokenCount": 3}},
                {"errorCode": "ValueError", "errorMessage": "no"},
                {"errorCode": "MAX_TOKENS"},
                {"content": {"role": "model"}},
            ]
        )
    )
    return [event(**lane, **fields)]


def scenes(lane: Json, ids: _Ids) -> st.SearchStrategy[list[Json]]:
    """One thing that happens in a lane."""
    return st.one_of(
        speeches(lane),
        batches(lane, ids),
        delegations(lane, ids),
        provider_tools(lane, ids),
        questions(lane, ids),
        media(lane),
        voices(lane),
        changes(lane),
        user_events(),
    )


@st.composite
def _lanes(draw: Draw) -> list[Json]:
    """Events of one to four lanes, shuffled into one another."""
    ids = _Ids()
    rows = []
    for lane in LANES[: draw(st.integers(1, len(LANES)))]:
        told = draw(st.lists(scenes(lane, ids), max_size=3))
        rows.append([item for scene in told for item in scene])
    order = [index for index, row in enumerate(rows) for _ in row]
    turns = {index: iter(row) for index, row in enumerate(rows)}
    return [next(turns[index]) for index in draw(st.permutations(order))]


outcomes = st.sampled_from([None, "finished", "failed", "cancelled", "waiting", "incomplete"])


@st.composite
def plausible_runs(draw: Draw) -> list[Entry]:
    """The capture of what ADK did, perhaps cut off anywhere."""
    events = draw(_lanes())
    cut = draw(st.integers(0, len(events)))
    events = events if draw(st.booleans()) else events[:cut]
    outcome: Outcome | None = draw(st.sampled_from([None, "failed", "cancelled"]))
    return entries(events, outcome, captured=True)


@st.composite
def wild_runs(draw: Draw) -> list[Entry]:
    """A run with events that are doubled, in disorder, odd or unreadable, and any end."""
    events: list[Any] = draw(_lanes())
    for _ in range(draw(st.integers(0, 4))):
        events.insert(draw(st.integers(0, len(events))), draw(_odd_events(events)))
    if draw(st.booleans()):
        events = draw(st.permutations(events))
    return entries(events, draw(outcomes), draw(st.none() | _continuations()), "ValueError")


@st.composite
def _odd_events(draw: Draw, others: list[Any]) -> Any:
    again = st.sampled_from(others) if others else st.just(event())
    known = st.sampled_from(["c1", "c2", "a3", "p1", None])
    return draw(
        st.one_of(
            again,
            known.map(lambda name: event(answer("search", name, {"late": True}))),
            known.map(lambda name: event(answer("delete", name, {}), author="user")),
            known.map(lambda name: event(answer("search", name), errorCode="INVOCATION_ABORTED")),
            st.booleans().map(lambda approved: decision("a3", approved)),
            words.map(lambda said: event({"brandNew": {"said": said}})),
            words.map(lambda said: event(text(said), somethingNew=said)),
            st.just(event(text("x")) | {"timestamp": "1.5", "actions": {"stateDelta": None}}),
            st.just(event() | {"content": None, "actions": None, "longRunningToolIds": None}),
            st.just(event() | {"content": {"parts": None}}),
            st.just(event(usageMetadata={"totalTokenCount": "12"}, groundingMetadata=[1])),
            st.sampled_from(_UNREADABLE),
            st.sampled_from(_RECORDS),
        )
    )


_RECORDS = (
    NodeStarted(node="n1", name="root", kind="agent", path="root@1"),
    NodeEnded(node="n1", status="finished"),
    NodeEnded(node="n9", status="failed", error="ValueError"),
    ChildEvent(call="c1", event=Raw(b'{"author":"child","content":{"parts":[{"text":"x"}]}}')),
    ChildEvent(call="c1", event=Raw(b"[]")),
    ApprovalAsked(approval="a9", call="c1", name="search"),
    ApprovalGiven(approval="a9", approved=False),
    ModelCalled(agent="root", node="n1", model="m", started=1.0, duration=2, finish="STOP"),
    ModelCalled(error="cancelled", pieces=CallPieces(contents=3)),
    RunTakenOver(epoch=2, in_doubt=["c1"]),
)
"""Records besides events, in no order that a source would give them."""

_UNREADABLE = (
    b"",
    b"{",
    b"[]",
    b'"text"',
    b'{"author":"agent","content":{"parts":"none"}}',
    b'{"author":"agent","content":{"parts":[{"functionResponse":{"name":"x","response":NaN}}]}}',
    b'{"author":"agent","content":{"parts":[{"text":"\\ud800"}]}}',
    b'{"author":"agent","content":{"parts":[{"text":"\xff"}]}}',
    b'{"author":"agent","output":' + b"[" * 2000 + b"]" * 2000 + b"}",
)


@st.composite
def _continuations(draw: Draw) -> Continues:
    calls = draw(st.lists(st.sampled_from(["c1", "c2", "old"]), unique=True, max_size=3))
    decided = {name: Decision(approval=f"d-{name}", approved=draw(st.booleans())) for name in calls}
    return Continues(
        message="run-0",
        open_calls=dict.fromkeys(calls, "search"),
        decisions={name: decided[name] for name in calls if draw(st.booleans())},
        answers={name: to_raw({"ok": True}) for name in calls if draw(st.booleans())},
        held=draw(st.booleans()),
    )
