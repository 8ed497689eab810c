"""Text, thoughts and transcripts: shown once, in blocks, whatever is streamed and said again."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from tests.facts.fact_lines import fact_lines
from tests.laws.events import Json, answer, call, event, text, thought

LEFT = {"author": "left", "branch": "par.left"}
RIGHT = {"author": "right", "branch": "par.right"}


def piece(said: str, **more: object) -> Json:
    return event(text(said), partial=True, **more)


def mused(said: str, **more: object) -> Json:
    return event(thought(said), partial=True, **more)


def heard(said: str, *, finished: bool = False, **more: object) -> Json:
    transcript = {"text": said, "finished": finished}
    return event(partial=not finished, outputTranscription=transcript, **more)


SOUND = event({"inlineData": {"mimeType": "audio/pcm;rate=24000", "data": "AAAA"}})
USAGE = event(usageMetadata={"totalTokenCount": 5})


@dataclass(frozen=True)
class Case:
    id: str
    events: list[Json]
    told: list[str]


CASES = [
    Case(
        "an aggregate that says the same adds nothing",
        [piece("Hel"), piece("lo"), event(text("Hello"), partial=False)],
        ["begin text-2.0 by=agent", "grow text-2.0 'Hel'", "grow text-2.0 'lo'", "end text-2.0"],
    ),
    Case(
        "a longer one adds what is new",
        [piece("Hel"), event(text("Hello"), partial=False)],
        ["begin text-2.0 by=agent", "grow text-2.0 'Hel'", "grow text-2.0 'lo'", "end text-2.0"],
    ),
    Case(
        "one that contradicts takes its place",
        [piece("Hel"), event(text("Bye"), partial=False)],
        [
            "begin text-2.0 by=agent",
            "grow text-2.0 'Hel'",
            "end text-2.0 replaced",
            "replaced text-2.0",
            "begin text-3.0 by=agent",
            "grow text-3.0 'Bye'",
            "end text-3.0",
        ],
    ),
    Case(
        "without pieces the whole is shown",
        [event(text("Hello"))],
        ["begin text-2.0 by=agent", "grow text-2.0 'Hello'", "end text-2.0"],
    ),
    Case(
        "the totals of each kind are compared, not the parts",
        [
            mused("I "),
            mused("see."),
            piece("Hel"),
            piece("lo"),
            event(thought("I see."), text("He"), text("llo"), partial=False),
        ],
        [
            "begin reasoning-2.0 by=agent",
            "grow reasoning-2.0 'I '",
            "grow reasoning-2.0 'see.'",
            "end reasoning-2.0",
            "begin text-4.0 by=agent",
            "grow text-4.0 'Hel'",
            "grow text-4.0 'lo'",
            "end text-4.0",
        ],
    ),
    Case(
        "a thought that was not streamed comes with the aggregate",
        [piece("Hi"), event(thought("Hm."), text("Hi"), partial=False)],
        [
            "begin text-2.0 by=agent",
            "grow text-2.0 'Hi'",
            "end text-2.0",
            "begin reasoning-3.0 by=agent",
            "grow reasoning-3.0 'Hm.'",
            "end reasoning-3.0",
        ],
    ),
    Case(
        "empty text is nothing",
        [event(text(""), partial=True), event(text("")), event(text("a"), text(""))],
        ["begin text-4.0 by=agent", "grow text-4.0 'a'", "end text-4.0"],
    ),
    Case(
        "a signature is told at the block's start, or at its end if it came later",
        [
            event(thought("a", thoughtSignature="s1"), partial=True),
            event(thought("b", thoughtSignature="s2"), partial=True),
            piece("c"),
            event(text("", thoughtSignature="s3"), partial=True),
            event(thought("ab"), text("c"), partial=False),
        ],
        [
            "begin reasoning-2.0 by=agent signed=s1",
            "grow reasoning-2.0 'a'",
            "grow reasoning-2.0 'b'",
            "end reasoning-2.0 signed=s2",
            "begin text-4.0 by=agent",
            "grow text-4.0 'c'",
            "end text-4.0 signed=s3",
        ],
    ),
    Case(
        "a part that is only a signature signs the open block",
        [piece("a"), event(text("a"), {"thoughtSignature": "s"}, partial=False)],
        ["begin text-2.0 by=agent", "grow text-2.0 'a'", "end text-2.0 signed=s"],
    ),
    Case(
        "lanes do not disturb one another",
        [
            piece("A", **LEFT),
            piece("B", **RIGHT),
            piece("a", **LEFT),
            event(text("Bb"), partial=False, **RIGHT),
            event(text("Aa"), partial=False, **LEFT),
        ],
        [
            "begin text-2.0 by=left",
            "grow text-2.0 'A'",
            "begin text-3.0 by=right",
            "grow text-3.0 'B'",
            "grow text-2.0 'a'",
            "grow text-3.0 'b'",
            "end text-3.0",
            "end text-2.0",
        ],
    ),
    Case(
        "one author on two branches speaks in two lanes",
        [
            piece("A", author="x", branch="a"),
            piece("B", author="x", branch="b"),
            event(text("A"), partial=False, author="x", branch="a"),
        ],
        [
            "begin text-2.0 by=x",
            "grow text-2.0 'A'",
            "begin text-3.0 by=x",
            "grow text-3.0 'B'",
            "end text-2.0",
            "end text-3.0",
        ],
    ),
    Case(
        "the next model call of a lane starts anew",
        [
            piece("Hi"),
            event(text("Hi"), partial=False),
            piece("Hi"),
            event(text("Hi"), partial=False),
        ],
        [
            "begin text-2.0 by=agent",
            "grow text-2.0 'Hi'",
            "end text-2.0",
            "begin text-4.0 by=agent",
            "grow text-4.0 'Hi'",
            "end text-4.0",
        ],
    ),
    Case(
        "usage, state and a tool's answer leave what is being said alone",
        [
            event(call("search", "c1"), partial=False),
            piece("Hel"),
            USAGE,
            event(actions={"stateDelta": {"k": 1}}),
            event(answer("search", "c1", {})),
            piece("lo"),
            event(text("Hello"), partial=False),
        ],
        [
            "call c1 search {}",
            "begin text-3.0 by=agent",
            "grow text-3.0 'Hel'",
            "model call-3",
            "state k",
            "answer c1 {}",
            "grow text-3.0 'lo'",
            "end text-3.0",
        ],
    ),
    Case(
        "an error ends what was being said",
        [
            piece("Hel"),
            event(errorCode="ValueError", errorMessage="no"),
            piece("Hel"),
            event(text("Hello"), partial=False),
        ],
        [
            "begin text-2.0 by=agent",
            "grow text-2.0 'Hel'",
            "error ValueError no",
            "end text-2.0",
            "begin text-4.0 by=agent",
            "grow text-4.0 'Hel'",
            "grow text-4.0 'lo'",
            "end text-4.0",
        ],
    ),
    Case(
        "a call ends the block before it",
        [piece("Look: "), event(text("Look: "), call("search", "c1"), partial=False)],
        [
            "begin text-2.0 by=agent",
            "grow text-2.0 'Look: '",
            "end text-2.0",
            "call c1 search {}",
            "abandon c1",
        ],
    ),
    Case(
        "an error is told before the content that it cuts",
        [piece("Hel"), event(text("Hello"), errorCode="Overload", errorMessage="busy")],
        [
            "begin text-2.0 by=agent",
            "grow text-2.0 'Hel'",
            "error Overload busy",
            "grow text-2.0 'lo'",
            "end text-2.0",
        ],
    ),
    Case(
        "the run's end closes what is open",
        [piece("Hel")],
        ["begin text-2.0 by=agent", "grow text-2.0 'Hel'", "end text-2.0"],
    ),
    Case(
        "a transcript is streamed and then said again, with sound between",
        [heard("Once "), SOUND, heard("upon"), SOUND, heard("Once upon a", finished=True)],
        [
            "begin transcript-2.0 by=agent",
            "grow transcript-2.0 'Once '",
            "sound AAAA 24000x1x16",
            "grow transcript-2.0 'upon'",
            "sound AAAA 24000x1x16",
            "grow transcript-2.0 ' a'",
            "end transcript-2.0",
        ],
    ),
    Case(
        "a final transcript that does not begin with the pieces is the last of them",
        [heard("Once "), heard("upon", finished=True)],
        [
            "begin transcript-2.0 by=agent",
            "grow transcript-2.0 'Once '",
            "grow transcript-2.0 'upon'",
            "end transcript-2.0",
        ],
    ),
    Case(
        "an interruption cuts speech and text",
        [piece("Hel"), heard("Once "), event(interrupted=True), heard("Again")],
        [
            "begin text-2.0 by=agent",
            "grow text-2.0 'Hel'",
            "begin transcript-3.0 by=agent",
            "grow transcript-3.0 'Once '",
            "end text-2.0",
            "end transcript-3.0",
            "interrupted agent",
            "begin transcript-5.0 by=agent",
            "grow transcript-5.0 'Again'",
            "end transcript-5.0",
        ],
    ),
    Case(
        "a turn's end ends speech whose end nobody told",
        [heard("Once "), event(turnComplete=True), heard("Once ")],
        [
            "begin transcript-2.0 by=agent",
            "grow transcript-2.0 'Once '",
            "end transcript-2.0",
            "begin transcript-4.0 by=agent",
            "grow transcript-4.0 'Once '",
            "end transcript-4.0",
        ],
    ),
]


def shown(*names: str) -> list[str]:
    """A block of that id for each, with its kind for a text; `!` before it: ended as replaced."""
    out = []
    for name in names:
        block = name.removeprefix("!")
        out += [f"begin {block} by=agent", f"grow {block} '{block}'"]
        out.append(f"end {block}" + (" replaced" if name.startswith("!") else ""))
    return out


def say(block: str, **more: object) -> Json:
    """A piece whose text is the id of the block that it begins."""
    return mused(block, **more) if block.startswith("reasoning") else piece(block, **more)


A, B, C = "text-2.0", "text-4.0", "reasoning-2.0"
PREVIEW = event(call("search", "c1", {}), partial=True)
CALL = ["input c1 search {}"]
MADE = ["call c1 search {}"]

OWED = "abandon c1"
"""These events end before the call is answered."""


REPLACED = [
    Case(
        "an aggregate of the same call without text withdraws what was streamed",
        [say(A), event(call("search", "c1", {}), partial=False)],
        [*shown(f"!{A}"), f"replaced {A}", *MADE, OWED],
    ),
    Case(
        "so does one without any part",
        [say(A), {**event(partial=False), "content": {"role": "model", "parts": []}}],
        [*shown(f"!{A}"), f"replaced {A}"],
    ),
    Case(
        "and one that is only an error",
        [say(A), event(partial=False, errorCode="BLOCKED")],
        [*shown(f"!{A}")[:2], "error BLOCKED", *shown(f"!{A}")[2:], f"replaced {A}"],
    ),
    Case(
        "an event of another id without text does not: the text may be stored elsewhere",
        [say(A), event(call("search", "c1", {}), partial=False, id="other")],
        [*shown(A), *MADE, OWED],
    ),
    Case(
        "nor does the end of a live turn",
        [say(A), event(partial=False, turnComplete=True)],
        shown(A),
    ),
    Case(
        "code that an executor took out of the text withdraws it",
        [
            piece("```print(1)```"),
            event({"executableCode": {"code": "print(1)", "language": "PYTHON"}}, id="other"),
        ],
        [
            "begin text-2.0 by=agent",
            "grow text-2.0 '```print(1)```'",
            "end text-2.0 replaced",
            "replaced text-2.0",
            'code {"code": "print(1)", "language": "PYTHON"}',
        ],
    ),
    Case(
        "thoughts are withdrawn with the text",
        [say(C), say("text-3.0"), event(text("No."), partial=False)],
        [
            *shown(C, "!text-3.0"),
            f"replaced {C} text-3.0",
            "begin text-4.0 by=agent",
            "grow text-4.0 'No.'",
            "end text-4.0",
        ],
    ),
    Case(
        "thoughts that are stored stay",
        [say(C), say("text-3.0"), event(thought(C), text("No."), partial=False)],
        [
            *shown(C, "!text-3.0"),
            "replaced text-3.0",
            "begin text-4.1 by=agent",
            "grow text-4.1 'No.'",
            "end text-4.1",
        ],
    ),
    Case(
        "a block that a call ended is replaced all the same",
        [say(A), PREVIEW, event(text("No."), call("search", "c1", {}), partial=False)],
        [
            *shown(A),
            *CALL,
            f"replaced {A}",
            "begin text-4.0 by=agent",
            "grow text-4.0 'No.'",
            "end text-4.0",
            *MADE,
            OWED,
        ],
    ),
    Case(
        "of several blocks those that are stored stay",
        [
            say(A),
            PREVIEW,
            say(B),
            event(text(A), call("search", "c1", {}), text("No."), partial=False),
        ],
        [
            *shown(A),
            *CALL,
            *shown(f"!{B}"),
            f"replaced {B}",
            "call c1 search {}",
            "begin text-5.2 by=agent",
            "grow text-5.2 'No.'",
            "end text-5.2",
            OWED,
        ],
    ),
    Case(
        "a stored text that runs through a call stays",
        [say(A), PREVIEW, say(B), event(text(A + B), call("search", "c1", {}), partial=False)],
        [*shown(A), *CALL, *shown(B), *MADE, OWED],
    ),
    Case(
        "white space at the end that is not stored is cut off",
        [piece("Hi \n"), event(text("Hi"), partial=False)],
        ["begin text-2.0 by=agent", "grow text-2.0 'Hi \\n'", "end text-2.0 trimmed=2"],
    ),
    Case(
        "white space at the beginning is a difference",
        [piece(" Hi"), event(text("Hi"), partial=False)],
        [
            "begin text-2.0 by=agent",
            "grow text-2.0 ' Hi'",
            "end text-2.0 replaced",
            "replaced text-2.0",
            "begin text-3.0 by=agent",
            "grow text-3.0 'Hi'",
            "end text-3.0",
        ],
    ),
    Case(
        "text that becomes a thought is told as one",
        [say(A), event(thought(A), text("Yes."), partial=False)],
        [
            *shown(f"!{A}"),
            f"replaced {A}",
            "begin reasoning-3.0 by=agent",
            f"grow reasoning-3.0 '{A}'",
            "end reasoning-3.0",
            "begin text-3.1 by=agent",
            "grow text-3.1 'Yes.'",
            "end text-3.1",
        ],
    ),
    Case(
        "another lane keeps what it says",
        [
            piece("A", **LEFT),
            piece("B", **RIGHT),
            event(text("No."), partial=False, **LEFT),
            event(text("B"), partial=False, **RIGHT),
        ],
        [
            "begin text-2.0 by=left",
            "grow text-2.0 'A'",
            "begin text-3.0 by=right",
            "grow text-3.0 'B'",
            "end text-2.0 replaced",
            "replaced text-2.0",
            "begin text-4.0 by=left",
            "grow text-4.0 'No.'",
            "end text-4.0",
            "end text-3.0",
        ],
    ),
]


@pytest.mark.parametrize("case", REPLACED, ids=lambda case: case.id)
def test_what_adk_stored_is_the_answer(case: Case) -> None:
    """Blocks that the stored event contradicts are replaced by what it says."""
    assert fact_lines(*case.events) == case.told


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_what_is_said_is_shown_once(case: Case) -> None:
    """Per lane and kind the totals are compared; what was streamed is not said again."""
    assert fact_lines(*case.events) == case.told
