"""What else an event says: media, code, sources, changes, errors; and what cannot be read of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest
from tests.facts.fact_lines import fact_lines, facts_of
from tests.laws.events import Json, answer, call, entries, event, text
from tests.recordings.library import CAPTURES, RECORDINGS, load

from adk_prism.facts import model as fact
from adk_prism.facts.adk_event import MOST, unknown_fields
from adk_prism.facts.run_reader import Reader
from adk_prism.log.entry import AgentEvent, Entry, Outcome, RunStarted

IMAGE = {"inlineData": {"mimeType": "image/png", "data": "AAAA", "displayName": "a.png"}}
CODE = {"executableCode": {"language": "PYTHON", "code": "1"}}
RESULT = {"codeExecutionResult": {"outcome": "OUTCOME_OK"}}
SHOWN = "file image/png AAAA at 0"


def pcm(media_type: str) -> Json:
    return event({"inlineData": {"mimeType": media_type, "data": "AAAA"}})


def grounded(*chunks: Json, **more: Any) -> Json:
    return event(groundingMetadata={"groundingChunks": list(chunks), **more})


def said(*lines: str, at: str = "text-2.0") -> list[str]:
    return [f"begin {at} by=agent", *(f"grow {at} {line!r}" for line in lines), f"end {at}"]


@dataclass(frozen=True)
class Case:
    id: str
    events: list[Json | bytes]
    told: list[str]


MEDIA = [
    Case("an image", [event(IMAGE)], [SHOWN]),
    Case(
        "seen in a partial event, it is not shown again",
        [event(IMAGE, partial=True), event(IMAGE, partial=False)],
        [SHOWN],
    ),
    Case(
        "a second one of the kind is",
        [event(IMAGE, partial=True), event(IMAGE, IMAGE, partial=False)],
        [SHOWN, "file image/png AAAA at 1"],
    ),
    Case(
        "a file elsewhere",
        [event({"fileData": {"mimeType": "text/plain", "fileUri": "gs://b/a"}})],
        ["file text/plain gs://b/a at 0"],
    ),
    Case(
        "no media type",
        [event({"inlineData": {"data": "AAAA"}})],
        ["file application/octet-stream AAAA at 0"],
    ),
    Case("PCM", [pcm("audio/pcm;rate=16000")], ["sound AAAA 16000x1x16"]),
    Case("PCM in stereo", [pcm("audio/L16; rate=8000; channels=2")], ["sound AAAA 8000x2x16"]),
    Case("PCM that does not say its rate", [pcm("audio/pcm")], ["sound AAAA 24000x1x16"]),
    Case("other sound is a file", [pcm("audio/wav")], ["file audio/wav AAAA at 0"]),
    Case(
        "code and its result",
        [event(CODE, RESULT)],
        [
            f"code {json.dumps(CODE['executableCode'])}",
            f"result {json.dumps(RESULT['codeExecutionResult'])}",
        ],
    ),
    Case(
        "media ends the text before it",
        [event(text("Look: "), IMAGE, text("!"))],
        [
            "begin text-2.0 by=agent",
            "grow text-2.0 'Look: '",
            "end text-2.0",
            "file image/png AAAA at 1",
            "begin text-2.2 by=agent",
            "grow text-2.2 '!'",
            "end text-2.2",
        ],
    ),
    Case(
        "what is said in a sound is a transcript",
        [
            event(
                {
                    "inlineData": {"mimeType": "audio/wav", "data": "AAAA"},
                    "audioTranscription": {"text": "Hi"},
                }
            )
        ],
        ["file audio/wav AAAA at 0", *said("Hi", at="transcript-2.0")],
    ),
]

BESIDE = [
    Case("state", [event(actions={"stateDelta": {"a": 1, "b": None}})], ["state a,b"]),
    Case(
        "state on a partial event is not yet true",
        [event(partial=True, actions={"stateDelta": {"a": 1}})],
        [],
    ),
    Case(
        "artifacts",
        [event(actions={"artifactDelta": {"a.txt": 0, "b.txt": 2}})],
        ["artifact a.txt 0", "artifact b.txt 2"],
    ),
    Case("a transfer", [event(actions={"transferToAgent": "billing"})], ["transfer billing"]),
    Case(
        "a node's output, which is the answer of a run that says nothing",
        [event(output={"n": 0}), event(output={"n": 1})],
        ['output {"n": 0}', 'output {"n": 1}', *said('{\n "n": 1\n}', at="text-output")],
    ),
    Case(
        "an output that is text",
        [event(output="Done.")],
        ['output "Done."', *said("Done.", at="text-output")],
    ),
    Case(
        "a node's output beside text",
        [event({"text": "Hi."}), event(output={"n": 1})],
        [*said("Hi."), 'output {"n": 1}'],
    ),
    Case(
        "false is an output, null is none",
        [event(output=False), event() | {"output": None}],
        ["output false", *said("false", at="text-output")],
    ),
    Case("the app's own metadata", [event(customMetadata={"k": 1})], ['custom {"k": 1}']),
    Case(
        "web, map and image sources are links, a document store's a document",
        [
            grounded(
                {"web": {"uri": "https://a", "title": "A"}},
                {"maps": {"uri": "https://m"}},
                {"retrievedContext": {"uri": "gs://b/d.pdf", "title": "D"}},
                {"retrievedContext": {"documentName": "N"}},
                {"web": None},
            )
        ],
        [
            "source source-1 https://a 'A'",
            "source source-2 https://m 'https://m'",
            "source source-3 gs://b/d.pdf 'D' document",
            "source source-4 'N' document",
            "sources linked",
        ],
    ),
    Case(
        "a source is cited once in a run",
        [
            grounded({"web": {"uri": "https://a"}}),
            grounded({"web": {"uri": "https://a"}}, {"web": {"uri": "https://b"}}),
        ],
        [
            "source source-1 https://a 'https://a'",
            "sources linked",
            "source source-2 https://b 'https://b'",
            "sources linked",
        ],
    ),
    Case(
        "sources that cannot be read are still linked",
        [event(groundingMetadata={"groundingChunks": 5})],
        ["sources linked"],
    ),
    Case("citations", [event(citationMetadata={"citations": []})], ["citations given"]),
    Case(
        "usage on a partial event comes again",
        [
            event(text("a"), partial=True, usageMetadata={"totalTokenCount": 1}),
            event(text("a"), partial=False, usageMetadata={"totalTokenCount": 1}),
        ],
        [*said("a"), "model call-2"],
    ),
    Case(
        "a finish reason in the error code is no error",
        [event(text("Cut"), errorCode="MAX_TOKENS")],
        [*said("Cut"), "model call-2 finish=MAX_TOKENS"],
    ),
    Case(
        "nor is a refused prompt",
        [event(errorCode="JAILBREAK", errorMessage="no")],
        ["model call-2 finish=JAILBREAK"],
    ),
    Case(
        "an error is told, and the run may survive it",
        [event(errorCode="ValueError", errorMessage="no"), event(text("Again."))],
        ["error ValueError no", *said("Again.", at="text-3.0")],
    ),
    Case("an abort is no error", [event(errorCode="INVOCATION_ABORTED")], []),
]

USER = [
    Case("a user's own words", [event(text("Hello"), text("!"), author="user")], ["user 'Hello!'"]),
    Case(
        "only a user's events",
        [
            event(text("Hello"), author="user"),
            event(author="user", actions={"stateDelta": {"a": 1}}),
        ],
        ["user 'Hello'", "state a"],
    ),
    Case(
        "what a user was heard to say grows, and is then final",
        [
            event(
                author="user", partial=True, inputTranscription={"text": "He", "finished": False}
            ),
            event(
                author="user", partial=True, inputTranscription={"text": "llo", "finished": False}
            ),
            event(
                author="user",
                partial=False,
                inputTranscription={"text": "Hello.", "finished": True},
            ),
            event(author="user", inputTranscription={"text": "Bye"}),
        ],
        [
            "heard input-2 'He'",
            "heard input-2 'Hello'",
            "heard input-2 'Hello.' final=True",
            "heard input-5 'Bye'",
            "heard input-5 'Bye' final=True",
        ],
    ),
]

ODD = [
    Case("content: null", [event() | {"content": None}], []),
    Case("parts: null", [event() | {"content": {"parts": None}}], []),
    Case("no parts", [event() | {"content": {"parts": []}}], []),
    Case("an empty part", [event({})], []),
    Case(
        "a part of nulls",
        [event({"text": None, "executableCode": None, "functionCall": None, "odd": None})],
        [],
    ),
    Case(
        "a partial part of nulls", [event({"text": None, "executableCode": None}, partial=True)], []
    ),
    Case("actions: null", [event(text("a")) | {"actions": None}], said("a")),
    Case(
        "nulls inside actions",
        [
            event(text("a"))
            | {
                "actions": {
                    "stateDelta": None,
                    "artifactDelta": None,
                    "requestedToolConfirmations": None,
                }
            }
        ],
        said("a"),
    ),
    Case(
        "longRunningToolIds: null",
        [event(call("f", "c1")) | {"longRunningToolIds": None}],
        ["call c1 f {}", "abandon c1"],
    ),
    Case(
        "args: null",
        [event({"functionCall": {"name": "f", "id": "c1", "args": None}})],
        ["call c1 f {}", "abandon c1"],
    ),
    Case(
        "an author of null",
        [event(text("a")) | {"author": None, "id": None}],
        ["begin text-2.0", "grow text-2.0 'a'", "end text-2.0"],
    ),
    Case(
        "numbers in quotes",
        [
            event(text("a"), actions={"artifactDelta": {"f": "3"}})
            | {"timestamp": "1.5", "partial": "false"}
        ],
        [*said("a"), "artifact f 3"],
    ),
    Case(
        "a part of a kind that is not known yet",
        [event({"hologram": {"x": 1}})],
        ['unknown part {"hologram":{"x":1}}'],
    ),
    Case(
        "a part whose field is known, and says nothing by itself",
        [event({"videoMetadata": {"fps": 1}})],
        [],
    ),
    Case("an event that is no object", [b"[1]"], ["unknown event [1]"]),
    Case("an event that is no JSON", [b"{oops"], ['unknown event "{oops"']),
    Case("an event of another shape", [b'{"content":5}'], ['unknown event {"content":5}']),
    Case(
        "NaN",
        [b'{"author":"agent","output":{"a":NaN}}'],
        ['output {"a":null}', *said('{\n "a": null\n}', at="text-output")],
    ),
    Case(
        "half a surrogate pair",
        [b'{"author":"agent","content":{"parts":[{"text":"\\ud800"}]}}'],
        said("\ufffd"),
    ),
    Case(
        "bytes that are not UTF-8",
        [b'{"author":"agent","content":{"parts":[{"text":"\xff"}]}}'],
        said("\ufffd"),
    ),
    Case(
        "bytes that are not UTF-8 in a tool's answer",
        [
            b'{"author":"agent","content":{"parts":[{"functionResponse":{"id":"c1","name":"f","response":{"error":"\xff"}}}]}}'
        ],
        ["call c1 f {}", "fail c1 \ufffd"],
    ),
    Case(
        "too deep for any reader",
        [
            event({"text": "Hi."}),
            b'{"author":"agent","output":' + b"[" * 3000 + b"]" * 3000 + b"}",
        ],
        [*said("Hi."), "output " + "[" * 127 + '"[cut: nested too deep]"' + "]" * 127],
    ),
    Case(
        "a number that no double holds, in an error",
        [
            event(call("f", "c1")),
            b'{"author":"agent","content":{"parts":[{"functionResponse":{"id":"c1","name":"f","response":{"error":1e999}}}]}}',
        ],
        ["call c1 f {}", 'fail c1 {"error":1e999}'],
    ),
]


@pytest.mark.parametrize("case", [*MEDIA, *BESIDE, *USER, *ODD], ids=lambda case: case.id)
def test_what_an_event_means(case: Case) -> None:
    """Each thing once, in its order; what is odd is read as it was meant, or shown as it is."""
    assert fact_lines(*case.events) == case.told


def test_an_event_of_a_megabyte_is_read() -> None:
    """Size is no oddity: a picture is that large."""
    data = "A" * 1_000_000
    (shown,) = [
        item
        for item in facts_of(
            entries([event({"inlineData": {"mimeType": "image/png", "data": data}})])
        )
        if isinstance(item, fact.FileShown)
    ]
    assert shown.data == data


@pytest.mark.parametrize(
    ("tree", "names"),
    [
        (event(text("a"), actions={"stateDelta": {}}), set()),
        (event(newField=1), {"event.newField"}),
        (event(actions={"newAction": 1}), {"actions.newAction"}),
        (event(nodeInfo={"path": "a@1", "newInfo": 1}), {"nodeInfo.newInfo"}),
        (event(newField=None, content=None, nodeInfo=None), set()),
        (event({"text": "a", "newPart": 1}, {"newPart": 2}), {"part.newPart"}),
        (event() | {"content": {"parts": "odd"}, "actions": "odd"}, set()),
        (event() | {"content": {"parts": [1, None]}}, set()),
    ],
    ids=[
        "none",
        "of the event",
        "of its actions",
        "of its node",
        "null",
        "of a part",
        "odd shapes",
        "odd parts",
    ],
)
def test_unknown_fields_are_named(tree: Json, names: set[str]) -> None:
    """So that an operator hears of a newer ADK; nothing else depends on it."""
    assert unknown_fields(json.dumps(tree).encode()).keys() == names


@pytest.mark.parametrize("partial", [None, True], ids=["whole", "partial"])
def test_an_unknown_field_is_shown_once(partial: bool | None) -> None:
    """With its first value, whatever event it stands on; the event is read as any other."""
    news = event(text("a"), partial=partial, newField={"a": 1}, actions={"newAction": True})
    later = news | {"newField": 2, "newer": 3, "partial": False}
    facts = facts_of(entries([news, later], "finished"))
    shown = [(f.kind, json.loads(bytes(f.raw))) for f in facts if isinstance(f, fact.Unrecognised)]
    assert shown == [
        ("event field", {"newField": {"a": 1}}),
        ("actions field", {"newAction": True}),
        ("event field", {"newer": 3}),
    ]
    assert {f.text for f in facts if isinstance(f, fact.BlockGrew)} == {"a"}


def test_the_unknown_fields_of_a_run_are_bounded() -> None:
    """An event of a thousand fields that nobody knows does not become a thousand facts."""
    facts = facts_of(entries([event(**{f"field{n}": n for n in range(1000)})]))
    assert len([f for f in facts if isinstance(f, fact.Unrecognised)]) == MOST


@pytest.mark.parametrize("name", [*RECORDINGS, *CAPTURES])
def test_no_field_of_a_recording_is_unknown(name: str) -> None:
    """They were all written by the ADK that this version knows."""
    events = [e.record.event for e in load(name) if isinstance(e.record, AgentEvent)]
    assert [unknown_fields(raw) for raw in events if unknown_fields(raw)] == []


ENDINGS = [
    ("nothing", [], ("finished", "")),
    ("an answer", [event(text("a"))], ("finished", "")),
    ("an abort", [event(errorCode="INVOCATION_ABORTED")], ("cancelled", "")),
    ("an error last", [event(text("a")), event(errorCode="ValueError")], ("failed", "ValueError")),
    ("an error survived", [event(errorCode="ValueError"), event(text("a"))], ("finished", "")),
    ("a node retried", [event(errorCode="ValueError"), event(output={"a": 1})], ("finished", "")),
    ("a finish reason as error code", [event(text("a"), errorCode="MAX_TOKENS")], ("finished", "")),
    (
        "a sub-agent's error survived by its parent",
        [
            event(errorCode="ValueError", path="root@1/child@1", author="child"),
            event(text("I go on."), path="root@1", author="root"),
        ],
        ("finished", ""),
    ),
    (
        "the outermost error counts, whatever a sibling says after it",
        [
            event(errorCode="ValueError", path="root@1", author="root"),
            event(text("Hm?"), path="root@1/child@1", author="child"),
        ],
        ("failed", "ValueError"),
    ),
    (
        "state after an error does not heal it",
        [event(errorCode="ValueError"), event(actions={"stateDelta": {"a": 1}})],
        ("failed", "ValueError"),
    ),
]


@pytest.mark.parametrize(
    ("events", "outcome"), [e[1:] for e in ENDINGS], ids=[e[0] for e in ENDINGS]
)
def test_how_a_run_ended(events: list[Json], outcome: tuple[str, str]) -> None:
    """Failed means: the outermost speaker's last word is an error."""
    reader = Reader()
    for entry in entries(events, "finished")[:-1]:
        reader.feed(entry)
    assert reader.outcome() == outcome


def test_a_capture_that_ends_in_an_error_failed() -> None:
    """A file does not tell whether the Runner raised; an error that nothing follows is the end."""
    events = [event(text("a"), path="root@1"), event(errorCode="ValueError", path="root@1/child@1")]
    live, captured = entries(events, "finished"), entries(events)
    assert _outcome(live) == ("finished", "")
    assert _outcome(captured) == ("failed", "ValueError")


def _outcome(run: list[Entry]) -> tuple[str, str]:
    started = run[0].record
    assert isinstance(started, RunStarted)
    reader = Reader()
    for entry in run[:-1]:
        reader.feed(entry)
    return reader.outcome()


def test_an_answer_can_be_a_mixture() -> None:
    """Text, a call and its answer in one event, as a unary model call of another runtime gives them."""
    assert fact_lines(
        event(text("So: "), call("f", "c1"), answer("f", "c1", 1), text("Done."))
    ) == [
        *said("So: "),
        "call c1 f {}",
        "answer c1 1",
        *said("Done.", at="text-2.3"),
    ]


@pytest.mark.parametrize("outcome", ["waiting", "failed", "cancelled"])
def test_an_output_is_no_answer_of_a_run_that_did_not_finish(outcome: Outcome) -> None:
    assert fact_lines(event(output="Done."), outcome=outcome) == ['output "Done."']
