"""Where the messages of a live run begin and end, on the sequences that real live models give."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from tests.conformance.conftest import judge as judge
from tests.conformance.judge import SDKS, Judge
from tests.laws.events import answer, call, event, text
from tests.voice.turns import (
    ANSWER,
    CALL,
    CUT,
    DONE,
    SOUND,
    USAGE,
    Step,
    chunks,
    heard,
    heard_all,
    live_run,
    messages,
    said,
    said_all,
    streams,
    typed,
)

from adk_prism.log.entry import ApprovalAsked, ApprovalGiven, SpeakerInterrupted
from adk_prism.testing.laws import check_laws


@dataclass(frozen=True)
class Case:
    """A live run, and its messages."""

    id: str
    steps: tuple[Step, ...]
    told: tuple[str, ...]


ASKED = ApprovalAsked(approval="a1", call="c1", name="look")
YES = ApprovalGiven(approval="a1", approved=True)
NO = ApprovalGiven(approval="a1", approved=False, reason="no")
SEARCH = event({"toolCall": {"id": "s1", "toolType": "GOOGLE_SEARCH_WEB", "args": {}}})
FOUND = event({"toolResponse": {"id": "s1", "toolType": "GOOGLE_SEARCH_WEB", "response": {}}})
ARRIVING = event(call("look", "c1", willContinue=True), partial=True)
OTHER_DONE = event(author="other", turnComplete=True)
STOP = SpeakerInterrupted(reason="user_abort")

CASES = (
    Case("nothing is said", (), ()),
    Case(
        "two turns",
        (typed("hi"), said("Hel"), SOUND, said("lo"), said_all("Hello"), DONE, said("Bye"), DONE),
        ("user 'hi'", "1: Hel (sound) lo", "2: Bye"),
    ),
    Case("usage before the turn's end", (said("Hi"), USAGE, DONE), ("1: Hi usage",)),
    Case("usage after it", (said("Hi"), DONE, USAGE), ("1: Hi", "usage")),
    Case(
        "a tool whose call has a turn of its own",
        (
            said("Wait. "),
            said_all("Wait. "),
            CALL,
            ANSWER,
            DONE,
            said("Seen."),
            said_all("Seen."),
            DONE,
        ),
        ("1: Wait. look? look! Seen.",),
    ),
    Case(
        "a tool in the background",
        (CALL, DONE, said("Meanwhile."), DONE, ANSWER, said("Seen."), DONE),
        ("1: look? Meanwhile. look! Seen.",),
    ),
    Case(
        "a turn that ends while the arguments of another agent's call arrive",
        (ARRIVING, OTHER_DONE, CALL, ANSWER, said("Seen."), DONE),
        ("1: look? look! Seen.",),
    ),
    Case(
        "a turn that ends while another agent is speaking",
        (said("Hel"), OTHER_DONE, said("lo"), DONE),
        ("1: Hel", "2: lo"),
    ),
    Case(
        "a tool inside one turn",
        (said("One "), CALL, ANSWER, said("two."), said_all("One two."), DONE, said("Next"), DONE),
        ("1: One look? look! two.", "2: Next"),
    ),
    Case(
        "a model that is silent after a tool, and a user who goes on",
        (CALL, ANSWER, DONE, typed("well?"), said("Sorry."), DONE),
        ("1: look? look!", "user 'well?'", "2: Sorry."),
    ),
    Case(
        "one that is silent for two turns",
        (CALL, ANSWER, DONE, DONE, said("Now."), DONE),
        ("1: look? look!", "2: Now."),
    ),
    Case(
        "one that says that it is idle",
        (CALL, ANSWER, event(turnComplete=True, interactionStatus="IDLE"), said("Now."), DONE),
        ("1: look? look!", "2: Now."),
    ),
    Case(
        "a second batch of calls is forgiven a turn of its own",
        (CALL, ANSWER, DONE, event(call("look", "c2")), event(answer("look", "c2")), DONE, DONE),
        ("1: look? look! look? look!",),
    ),
    Case(
        "the user is heard in two pieces, since the turn ends between them",
        (
            said("Long"),
            heard("next que"),
            heard_all("next que"),
            DONE,
            heard_all("stion"),
            said("A"),
        ),
        ("1: Long heard 'next que'", "heard 'next question'", "2: A"),
    ),
    Case(
        "barge-in",
        (said("A long"), heard_all("stop"), said_all("A long"), CUT, DONE, said("Yes?"), DONE),
        ("1: A long heard 'stop' cut", "2: Yes?"),
    ),
    Case(
        "the person interrupts: nothing more is heard of that turn",
        (
            said("A lo"),
            STOP,
            said("ng sto"),
            SOUND,
            said_all("A long sto"),
            CUT,
            DONE,
            said("Yes?"),
        ),
        ("1: A lo cut", "2: Yes?"),
    ),
    Case(
        "the model ends its turn without a word on the interruption",
        (
            said("A lo"),
            STOP,
            said("ng story."),
            said_all("A long story."),
            DONE,
            said("Yes?"),
            DONE,
        ),
        ("1: A lo cut", "2: Yes?"),
    ),
    Case(
        "text that is interrupted is not told again by its whole",
        (
            event(text("A lo"), partial=True),
            STOP,
            event(text("ng"), partial=True),
            event(text("A long"), interrupted=True),
            DONE,
            event(text("Yes?")),
            DONE,
        ),
        ("1: A lo cut", "2: Yes?"),
    ),
    Case(
        "an interruption of silence",
        (said("Hi"), DONE, STOP, said("Yes?"), DONE),
        ("1: Hi", "cut", "2: Yes?"),
    ),
    Case(
        "an approval while the agent speaks",
        (CALL, ASKED, DONE, said("Well? "), YES, ANSWER, said("Done."), DONE),
        ("1: look? asked Well? yes look! Done.",),
    ),
    Case(
        "a denial",
        (CALL, ASKED, NO, event(answer("look", "c1", {"error": "rejected"})), said("Oh."), DONE),
        ("1: look? asked no look denied Oh.",),
    ),
    Case(
        "an interruption while a call waits leaves its message open",
        (said("I "), CALL, ASKED, STOP, NO, event(answer("look", "c1")), said("Fine."), DONE),
        ("1: I look? asked cut no look denied Fine.",),
    ),
    Case(
        "a search of the provider that is never answered, or too late",
        (SEARCH, said("Hm."), DONE, said("So "), FOUND, said("it is."), DONE),
        ("1: GOOGLE_SEARCH_WEB? Hm. GOOGLE_SEARCH_WEB abandoned", "2: So it is."),
    ),
    Case("the run ends inside a call", (CALL, ASKED), ("1: look? asked no look denied",)),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_messages(case: Case) -> None:
    """Each turn is a message; what is of no message is told between them."""
    assert tuple(messages(live_run(case.steps))) == case.told


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
@pytest.mark.parametrize("outcome", ["finished", "failed", "cancelled"])
def test_the_laws_hold(case: Case, outcome: str) -> None:
    """In every protocol, however the run ends."""
    assert check_laws(live_run(case.steps, outcome)) == []


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_clients_accept_each_message(case: Case, judge: Judge) -> None:
    """Each message alone is a stream that the real clients take without a complaint."""
    for dialect, sdks in (("6", SDKS), ("7", ("ai-7",))):
        for stream in streams(live_run(case.steps), dialect):
            for sdk in sdks:
                verdict = judge(stream, sdk)
                assert verdict.ok, f"{sdk}, dialect {dialect}: {verdict.why}\n{stream}"


def test_each_message_has_its_own_totals() -> None:
    """Sound, usage and interruption are told with the message they belong to, and start anew."""
    run = live_run([SOUND, SOUND, USAGE, STOP, CUT, DONE, SOUND, DONE, said("no sound"), DONE])
    told = [c["messageMetadata"] for c in chunks(run) if c["type"] == "finish"]
    sound = {"chunks": 1, "bytes": 3, "sampleRate": 24000, "duration": 6.3e-05}
    assert [t.get("audio") for t in told] == [
        sound | {"chunks": 2, "bytes": 6, "duration": 0.000125},
        sound,
        None,
    ]
    assert [t.get("interrupted") for t in told] == [True, None, None]
    assert [t["usage"].get("totalTokens") for t in told] == [3, None, None]


def test_sound_that_was_not_kept_still_counts() -> None:
    """A log that dropped the sound says how much it was."""
    dropped = event(
        {
            "inlineData": {"mimeType": "audio/pcm;rate=24000", "data": ""},
            "partMetadata": {"adkPrism": {"chunks": 50, "bytes": 48000}},
        }
    )
    told = chunks(live_run([dropped, DONE]))
    assert [c for c in told if c["type"] == "data-pcm"] == []
    (finish,) = [c for c in told if c["type"] == "finish"]
    assert finish["messageMetadata"]["audio"] == {
        "chunks": 50,
        "bytes": 48000,
        "sampleRate": 24000,
        "duration": 1.0,
    }


def test_the_user_is_not_in_the_assistants_message() -> None:
    """What is heard is told for the moment, under one id for one utterance."""
    run = live_run([said("I"), heard("next que"), heard_all("next que"), DONE, heard_all("stion")])
    told = [c for c in chunks(run) if c["type"] == "data-input-transcription"]
    assert all(c["transient"] for c in told)
    assert len({c["id"] for c in told}) == 1
    assert told[-1]["data"] == {"text": "next question", "final": True}


def test_an_utterance_that_is_told_whole_after_its_answer_began_is_the_same_one() -> None:
    """Where the model does not mark the end, ADK tells the whole with the end of the answer."""
    run = live_run([heard("good "), heard("day"), said("I"), heard_all("good day"), DONE])
    told = [c for c in chunks(run) if c["type"] == "data-input-transcription"]
    assert len({c["id"] for c in told}) == 1
    assert told[-1]["data"] == {"text": "good day", "final": True}


def test_what_is_heard_during_the_answer_is_the_next_utterance() -> None:
    """ADK tells both in one: the end of the one, and the other."""
    events = [heard("good day"), said("I"), heard(" and n"), heard_all("good day and n"), DONE]
    told = [
        (c["id"], c["data"]["text"], c["data"]["final"])
        for c in chunks(live_run([*events, heard_all("ow?")]))
        if c["type"] == "data-input-transcription"
    ]
    first, second = dict.fromkeys(name for name, _, _ in told)
    assert told == [
        (first, "good day", False),
        (second, " and n", False),
        (first, "good day", True),
        (second, " and n", True),
        (second, " and now?", True),
    ]
