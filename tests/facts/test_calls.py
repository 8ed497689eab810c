"""Calls and answers: which belongs to which, however they are named, ordered, doubled or left out."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from msgspec import Raw
from tests.facts.fact_lines import fact_lines, facts_of
from tests.laws.events import Json, answer, call, entries, event, text

from adk_prism.facts import model as fact
from adk_prism.facts.calls import failure
from adk_prism.log.entry import Outcome


def streamed(*pieces: Json, **head: object) -> list[Json]:
    """A call whose arguments arrive in pieces: its name, the pieces, and a chunk that closes it."""
    tail = {"id": head["id"]} if "id" in head else {}
    parts = [
        {**head, "willContinue": True},
        *({"partialArgs": [piece], "willContinue": True, **tail} for piece in pieces),
        {**tail},
    ]
    return [event({"functionCall": part}, partial=True) for part in parts]


CITY = {"jsonPath": "$.city", "stringValue": "Ro", "willContinue": True}
CITY_END = {"jsonPath": "$.city", "stringValue": "me"}
ROME = {"city": "Rome"}


def whole(*parts: Json, **fields: object) -> Json:
    return event(*parts, partial=False, **fields)


@dataclass(frozen=True)
class Case:
    id: str
    events: list[Json]
    told: list[str]
    outcome: Outcome | None = field(default=None)


CASES = [
    # ------------------------------------------------------------------ streamed arguments
    Case(
        "arguments stream, and the confirmed call has all of them",
        [
            *streamed(CITY, CITY_END, name="search", id="c1"),
            whole(call("search", "c1", ROME)),
            event(answer("search", "c1", {})),
        ],
        [
            "input c1 search",
            'input c1 search {"city":"Ro',
            'input c1 search me"',
            'call c1 search {"city": "Rome"}',
            "answer c1 {}",
        ],
    ),
    Case(
        "a call that comes whole in a partial event is shown when it comes, once",
        [
            event(call("search", "c1", ROME), partial=True),
            event(call("search", "c1", ROME), partial=True),
            whole(call("search", "c1", ROME)),
            event(answer("search", "c1", {})),
        ],
        [
            'input c1 search {"city": "Rome"}',
            'call c1 search {"city": "Rome"}',
            "answer c1 {}",
        ],
    ),
    Case(
        "in the order of arrival, between calls whose arguments are streamed",
        [
            *streamed(CITY_END, name="search", id="c1"),
            event(call("look", "c2", {"x": 1}), partial=True),
            *streamed(CITY_END, name="search", id="c3"),
            whole(
                call("search", "c1", ROME), call("look", "c2", {"x": 1}), call("search", "c3", ROME)
            ),
        ],
        [
            "input c1 search",
            'input c1 search {"city":"me"',
            'input c2 look {"x": 1}',
            "input c3 search",
            'input c3 search {"city":"me"',
            'call c1 search {"city": "Rome"}',
            'call c2 look {"x": 1}',
            'call c3 search {"city": "Rome"}',
            "abandon c1",
            "abandon c2",
            "abandon c3",
        ],
    ),
    Case(
        "two whole ones of one tool, confirmed under other ids, in order",
        [
            event(call("search", "p1", {"n": 1}), partial=True),
            event(call("search", "p2", {"n": 2}), partial=True),
            whole(call("search", "f1", {"n": 1}), call("search", "f2", {"n": 2})),
            event(answer("search", "f2", 2), answer("search", "f1", 1)),
        ],
        [
            'input p1 search {"n": 1}',
            'input p2 search {"n": 2}',
            'call p1 search {"n": 1} adk=f1',
            'call p2 search {"n": 2} adk=f2',
            "answer p2 2",
            "answer p1 1",
        ],
    ),
    Case(
        "a whole one that its model call does not confirm is withdrawn",
        [event(call("search", "c1", ROME), partial=True), whole(text("No."))],
        [
            'input c1 search {"city": "Rome"}',
            "begin text-3.0 by=agent",
            "grow text-3.0 'No.'",
            "end text-3.0",
            "withdraw c1 unmade",
        ],
    ),
    Case(
        "a whole call while another one streams without an id is a call of its own",
        [
            event(call("search", None, None, willContinue=True), partial=True),
            event(call("search", None, {"n": 2}), partial=True),
        ],
        [
            "input call-2.0 search",
            'input call-3.0 search {"n": 2}',
            "abandon call-2.0 unmade",
            "abandon call-3.0 unmade",
        ],
    ),
    Case(
        "pieces that are plain JSON, each under an id of its own, belong to the last call",
        [
            event(call("search", "c1", None, partialArgs=[]), partial=True),
            *(
                event(call("search", name, None, partialArgs=[{"stringValue": said}]), partial=True)
                for name, said in {"x1": '{"city"', "x2": ': "Rome"}'}.items()
            ),
            whole(call("search", "c1", ROME)),
            event(answer("search", "c1", {})),
        ],
        [
            "input c1 search",
            'input c1 search {"city"',
            'input c1 search : "Rome"}',
            'call c1 search {"city": "Rome"}',
            "answer c1 {}",
        ],
    ),
    Case(
        "what only looks like a call is nothing",
        [
            event(call("", "c1", ROME), partial=True),
            event(call("adk_request_input", "c2", {}), partial=True),
        ],
        [],
    ),
    Case(
        "a call that is confirmed under another id keeps the first; ADK is answered with the second",
        [
            *streamed(CITY_END, name="search", id="early"),
            whole(call("search", "late", ROME)),
            event(answer("search", "late", {})),
        ],
        [
            "input early search",
            'input early search {"city":"me"',
            'call early search {"city": "Rome"} adk=late',
            "answer early {}",
        ],
    ),
    Case(
        "a stream without an id gets one from its place",
        [
            *streamed(CITY_END, name="search"),
            whole(call("search", "c1", ROME)),
            event(answer("search", "c1", {})),
        ],
        [
            "input call-2.0 search",
            'input call-2.0 search {"city":"me"',
            'call call-2.0 search {"city": "Rome"} adk=c1',
            "answer call-2.0 {}",
        ],
    ),
    Case(
        "pieces that repeat the name go on with the same call",
        [
            event(call("search", None, None, willContinue=True), partial=True),
            event(
                call("search", None, None, partialArgs=[CITY_END], willContinue=True), partial=True
            ),
            whole(call("search", None, ROME)),
            event(answer("search", None, {})),
        ],
        [
            "input call-2.0 search",
            'input call-2.0 search {"city":"me"',
            'call call-2.0 search {"city": "Rome"}',
            "answer call-2.0 {}",
        ],
    ),
    Case(
        "two streams of one tool, their pieces mixed, are told apart by their ids",
        [
            *streamed(CITY, name="search", id="a")[:2],
            *streamed(CITY, name="search", id="b")[:2],
            event(
                {"functionCall": {"id": "a", "partialArgs": [CITY_END], "willContinue": True}},
                partial=True,
            ),
            whole(call("search", "b", ROME), call("search", "a", ROME)),
            event(answer("search", "a", 1), answer("search", "b", 2)),
        ],
        [
            "input a search",
            'input a search {"city":"Ro',
            "input b search",
            'input b search {"city":"Ro',
            'input a search me"',
            'call b search {"city": "Rome"}',
            'call a search {"city": "Rome"}',
            "answer a 1",
            "answer b 2",
        ],
    ),
    Case(
        "a call beside a streamed one of the same tool is another call",
        [
            *streamed(CITY_END, name="search", id="a"),
            whole(call("search", "new", {}), call("search", "a", ROME)),
            event(answer("search", "new", 1), answer("search", "a", 2)),
        ],
        [
            "input a search",
            'input a search {"city":"me"',
            "call new search {}",
            'call a search {"city": "Rome"}',
            "answer new 1",
            "answer a 2",
        ],
    ),
    Case(
        "a stream that its model call does not confirm is given up",
        [*streamed(CITY, name="search", id="c1"), whole(text("Never mind."))],
        [
            "input c1 search",
            'input c1 search {"city":"Ro',
            "begin text-5.0 by=agent",
            "grow text-5.0 'Never mind.'",
            "end text-5.0",
            "withdraw c1 unmade",
        ],
    ),
    Case(
        "one that was given up and is answered all the same is not made again",
        [
            *streamed(CITY, name="search", id="c1")[:1],
            whole(text("No.")),
            event(answer("search", "c1", 1)),
        ],
        [
            "input c1 search",
            "begin text-3.0 by=agent",
            "grow text-3.0 'No.'",
            "end text-3.0",
            "withdraw c1 unmade",
            "answer c1 1",
        ],
    ),
    Case(
        "so is one that the end of the run cuts off",
        streamed(CITY, name="search", id="c1")[:2],
        ["input c1 search", 'input c1 search {"city":"Ro', "abandon c1 unmade"],
    ),
    # ------------------------------------------------------------------ ids
    Case(
        "a call without an id is answered by its name",
        [whole(call("search", None)), event(answer("search", None, {}))],
        ["call call-2.0 search {}", "answer call-2.0 {}"],
    ),
    Case(
        "of two such calls the oldest is answered first",
        [
            whole(call("search", None), call("search", None)),
            event(answer("search", None, 1)),
            event(answer("search", None, 2)),
        ],
        [
            "call call-2.0 search {}",
            "call call-2.1 search {}",
            "answer call-2.0 1",
            "answer call-2.1 2",
        ],
    ),
    Case(
        "an answer with an id takes a call without one, if no call has it",
        [whole(call("search", None)), event(answer("search", "c9", {}))],
        ["call call-2.0 search {}", "answer call-2.0 {}"],
    ),
    Case(
        "an answer without an id takes the oldest call of its tool",
        [whole(call("search", "c1"), call("search", "c2")), event(answer("search", None, 1))],
        ["call c1 search {}", "call c2 search {}", "answer c1 1", "abandon c2"],
    ),
    Case(
        "overlapping calls of one tool are answered by id, in any order",
        [
            whole(call("search", "c1"), call("search", "c2")),
            event(answer("search", "c2", 2)),
            event(answer("search", "c1", 1)),
        ],
        ["call c1 search {}", "call c2 search {}", "answer c2 2", "answer c1 1"],
    ),
    Case(
        "an id that is used again names another call",
        [
            whole(call("search", "c1")),
            event(answer("search", "c1", 1)),
            whole(call("search", "c1")),
            event(answer("search", "c1", 2)),
        ],
        ["call c1 search {}", "answer c1 1", "call c1~2 search {} adk=c1", "answer c1~2 2"],
    ),
    Case(
        "an answer to a call that nobody saw brings the call along",
        [event(answer("search", "c9", {"found": 1}))],
        ["call c9 search {}", 'answer c9 {"found": 1}'],
    ),
    Case(
        "an answer to a call whose input still streams brings the rest of it along",
        [*streamed(CITY, name="search", id="c1")[:2], event(answer("search", "c1", 1))],
        ["input c1 search", 'input c1 search {"city":"Ro', "call c1 search {}", "answer c1 1"],
    ),
    Case(
        "a second answer is the same call's",
        [
            whole(call("order", "c1"), longRunningToolIds=["c1"]),
            event(answer("order", "c1", {"status": "pending"})),
            event(answer("order", "c1", {"status": "done"}), author="user"),
        ],
        [
            "call c1 order {} long=True",
            "pending c1",
            'answer c1 {"status": "pending"}',
            'answer c1 {"status": "done"}',
        ],
    ),
    # ------------------------------------------------------------------ failures
    Case(
        "an error without a result is a failure",
        [whole(call("f", "c1")), event(answer("f", "c1", {"error": "no"}))],
        ["call c1 f {}", "fail c1 no"],
    ),
    Case(
        "an error's text is told, whatever stands beside it",
        [whole(call("f", "c1")), event(answer("f", "c1", {"error": "no", "code": 5}))],
        ["call c1 f {}", "fail c1 no"],
    ),
    Case(
        "an error that is no text is told whole",
        [whole(call("f", "c1")), event(answer("f", "c1", {"error": {"code": 5}}))],
        ["call c1 f {}", 'fail c1 {"error": {"code": 5}}'],
    ),
    Case(
        "success: false is a failure, with or without a reason",
        [
            whole(call("f", "c1"), call("f", "c2")),
            event(
                answer("f", "c1", {"success": False}),
                answer("f", "c2", {"success": False, "error": "no"}),
            ),
        ],
        ["call c1 f {}", "call c2 f {}", 'fail c1 {"success": false}', "fail c2 no"],
    ),
    Case(
        "an error beside a result is none, nor is an empty one",
        [
            whole(call("f", "c1"), call("f", "c2"), call("f", "c3"), call("f", "c4")),
            event(
                answer("f", "c1", {"error": "a warning", "result": 1}),
                answer("f", "c2", {"error": None}),
                answer("f", "c3", {"error": []}),
                answer("f", "c4", {"success": True, "error": ""}),
            ),
        ],
        [
            *(f"call c{n} f {{}}" for n in (1, 2, 3, 4)),
            'answer c1 {"error": "a warning", "result": 1}',
            'answer c2 {"error": null}',
            'answer c3 {"error": []}',
            'answer c4 {"success": true, "error": ""}',
        ],
    ),
    Case(
        "an error deeper inside is the tool's own business",
        [whole(call("f", "c1")), event(answer("f", "c1", {"rows": [{"error": "no"}]}))],
        ["call c1 f {}", 'answer c1 {"rows": [{"error": "no"}]}'],
    ),
    Case(
        "an answer need not be an object, nor there at all",
        [
            whole(call("f", "c1"), call("f", "c2")),
            event(answer("f", "c1", ["error"]), answer("f", "c2")),
        ],
        ["call c1 f {}", "call c2 f {}", 'answer c1 ["error"]', "answer c2"],
    ),
    Case(
        "files of an answer are shown after it",
        [
            whole(call("draw", "c1")),
            event(
                answer(
                    "draw",
                    "c1",
                    {},
                    parts=[
                        {"inlineData": {"mimeType": "image/png", "data": "AAAA"}},
                        {"fileData": {"fileUri": "https://example.com/a"}},
                    ],
                )
            ),
        ],
        [
            "call c1 draw {}",
            "answer c1 {}",
            "file image/png AAAA at 0-0",
            "file application/octet-stream https://example.com/a at 0-1",
        ],
    ),
    # ------------------------------------------------------------------ delegation
    Case(
        "a call runs an agent: its id ends the branch",
        [
            whole(call("helper", "c1")),
            event(text("Hi"), author="helper", path="agent@1/helper@1", branch="helper@c1"),
            event(answer("helper", "c1", {"result": "Hi"})),
        ],
        [
            "call c1 helper {}",
            "delegated c1",
            "begin text-3.0 by=helper",
            "grow text-3.0 'Hi'",
            "end text-3.0",
            'answer c1 {"result": "Hi"}',
        ],
    ),
    Case(
        "of two answers to one call in an event the last counts",
        [
            whole(call("f", "c1")),
            event(answer("f", "c1", {"a": 1}), answer("f", "c1", {"a": 2})),
        ],
        ["call c1 f {}", 'answer c1 {"a": 2}'],
    ),
    Case(
        "two calls of one id have an answer each",
        [
            whole(call("f", "c1"), call("f", "c1")),
            event(answer("f", "c1", {"a": 1}), answer("f", "c1", {"a": 2})),
        ],
        ["call c1 f {}", "call c1~2 f {} adk=c1", 'answer c1 {"a": 1}', 'answer c1~2 {"a": 2}'],
    ),
    Case(
        "or a step of the path",
        [
            whole(call("helper", "c1")),
            event(author="deep", path="agent@1/helper@c1/deep@1", output=1),
            event({"text": "Hi."}),
        ],
        [
            "call c1 helper {}",
            "delegated c1",
            "output 1",
            "begin text-4.0 by=agent",
            "grow text-4.0 'Hi.'",
            "end text-4.0",
        ],
    ),
    Case(
        "with the answer of an agent all that its agents asked is over",
        [
            whole(call("helper", "c1"), call("other", "c9")),
            event(call("deep", "c2"), author="helper", branch="helper@c1", partial=False),
            event(
                call("locate", "c3"),
                call("search", "c4"),
                author="deep",
                branch="helper@c1.deep@c2",
                longRunningToolIds=["c3"],
                partial=False,
            ),
            event(answer("search", "c4", 4), author="deep", branch="helper@c1.deep@c2"),
            event(answer("helper", "c1", {"result": None})),
        ],
        [
            "call c1 helper {}",
            "call c9 other {}",
            "delegated c1",
            "call c2 deep {}",
            "delegated c2",
            "call c3 locate {} long=True",
            "pending c3",
            "call c4 search {}",
            "answer c4 4",
            "abandon c3",
            "abandon c2",
            'answer c1 {"result": null}',
            "abandon c9",
        ],
    ),
    # ------------------------------------------------------------------ the provider's tools
    Case(
        "the provider's own tool is answered in the same breath",
        [
            whole(
                {"toolCall": {"id": "p1", "toolType": "URL_CONTEXT", "args": {"u": 1}}},
                {"toolResponse": {"id": "p1", "toolType": "URL_CONTEXT", "response": {"ok": 1}}},
            )
        ],
        [
            'call p1 URL_CONTEXT {"u": 1} provider=True',
            'answer p1 {"ok": 1} provider=True',
        ],
    ),
    Case(
        "also without ids, and with an answer alone",
        [
            whole(
                {"toolCall": {"toolType": "URL_CONTEXT"}},
                {"toolResponse": {"toolType": "URL_CONTEXT"}},
            ),
            whole({"toolResponse": {"id": "p2", "response": 1}}),
        ],
        [
            "call call-2.0 URL_CONTEXT {} provider=True",
            "answer call-2.0 provider=True",
            "call p2 tool {} provider=True",
            "answer p2 1 provider=True",
        ],
    ),
    Case(
        "one that is never answered is given up, whatever the end",
        [whole({"toolCall": {"id": "p1", "toolType": "URL_CONTEXT"}}, text("Hm."))],
        [
            "call p1 URL_CONTEXT {} provider=True",
            "begin text-2.1 by=agent",
            "grow text-2.1 'Hm.'",
            "end text-2.1",
            "abandon p1",
        ],
    ),
    # ------------------------------------------------------------------ the end
    Case(
        "a finished run leaves a call to the client",
        [whole(call("f", "c1"))],
        ["call c1 f {}"],
        outcome="finished",
    ),
    *(
        Case(
            f"a {outcome} run gives up what nobody will answer",
            [
                whole(
                    call("f", "c1"),
                    call("helper", "c2"),
                    call("g", "c3"),
                    longRunningToolIds=["c3"],
                ),
                event(output=1, author="helper", branch="helper@c2"),
            ],
            [
                "call c1 f {}",
                "call c2 helper {}",
                "call c3 g {} long=True",
                "pending c3",
                "delegated c2",
                "output 1",
                "abandon c1",
                *given_up,
            ],
            outcome=outcome,
        )
        for outcome, given_up in (
            ("waiting", ()),
            ("failed", ("abandon c2",)),
            ("cancelled", ("abandon c2",)),
        )
    ),
    Case(
        "an abort's made-up answers are no answers",
        [
            whole(call("f", "c1")),
            event(answer("f", "c1", {"error": "Aborted."}), errorCode="INVOCATION_ABORTED"),
        ],
        ["call c1 f {}", "abandon c1"],
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_each_answer_finds_its_call(case: Case) -> None:
    """By ADK's id, else the oldest open call of that name; nothing vanishes, nothing is answered twice."""
    assert fact_lines(*case.events, outcome=case.outcome) == case.told


@pytest.mark.parametrize(
    ("outcome", "awaiting"), [("finished", True), ("waiting", True), ("failed", False)]
)
def test_the_message_tells_whether_a_call_is_left(outcome: Outcome, awaiting: bool) -> None:
    """A call that a client may answer ends the message in waiting, unless the run has failed."""
    (ended,) = [
        item
        for item in facts_of(entries([whole(call("f", "c1"))], outcome))
        if isinstance(item, fact.MessageEnded)
    ]
    assert ended.awaiting is awaiting


TOLD = "told"
WHOLE = "whole"


@pytest.mark.parametrize(
    ("response", "text"),
    [
        ({"error": "no"}, "no"),
        ({"status": "error", "error": "no", "code": 3}, "no"),
        ({"success": False, "error": "no", "result": None}, "no"),
        ({"error": {"code": 429, "message": "too fast"}}, "too fast"),
        ({"error": {"code": 429}}, WHOLE),
        ({"error": ["no", "nor that"]}, WHOLE),
        ({"error": True, "message": "no"}, WHOLE),
        ({"error": 7}, WHOLE),
        ({"error": " "}, WHOLE),
        ({"success": False}, WHOLE),
        ({"success": False, "error": ""}, WHOLE),
        ({"success": False, "status": "success"}, WHOLE),
        ({"error": None, "rows": 1}, TOLD),
        ({"error": False, "rows": 1}, TOLD),
        ({"error": "", "rows": 1}, TOLD),
        ({"error": 0.0, "slope": 1}, TOLD),
        ({"error": {}, "rows": 1}, TOLD),
        ({"errors": 0}, TOLD),
        ({"errors": ["late"]}, TOLD),
        ({"result": 1, "error": "late"}, TOLD),
        ({"status": "success", "error": "0.02 m"}, TOLD),
        ({"status": "OK", "error": "0.02 m"}, TOLD),
        ({"success": True, "error": "0.02 m"}, TOLD),
        ({"status": "error", "error_message": "no"}, TOLD),
        ({"log": {"error": "no"}}, TOLD),
        ("error", TOLD),
        (None, TOLD),
    ],
    ids=str,
)
def test_which_answers_are_failures(response: Any, text: str) -> None:
    """An error that says something, unless the answer says that it is a success; its text is what is told."""
    raw = Raw(json.dumps(response).encode())
    wanted = {TOLD: None, WHOLE: bytes(raw).decode()}.get(text, text)
    assert failure(raw) == wanted
