"""The conversation at a playhead: exactly what a viewer had seen by then."""

from __future__ import annotations

from typing import Any

from tests.features.page.entries import Log
from tests.recordings.library import load

from adk_prism.features.page.film import encode, fold


def said(log: Log, cursor: int | None = None) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = fold(log.entries).at(cursor, "conversation")["conversation"]
    return items


def test_a_playhead_inside_a_sentence_shows_what_had_been_streamed() -> None:
    """Word by word; the aggregate that repeats it adds nothing but the end."""
    log = Log("Hi")
    for word in ("Good ", "morning ", "to you."):
        log.event("agent", text=word, partial=True)
    whole = log.event("agent", text="Good morning to you.", finishReason="STOP")
    texts = [[item["text"] for item in said(log, cursor)] for cursor in range(1, whole + 1)]
    assert texts == [
        ["Hi"],
        ["Hi", "Good "],
        ["Hi", "Good morning "],
        ["Hi", "Good morning to you."],
        ["Hi", "Good morning to you."],
    ]
    done = [said(log, cursor)[-1].get("complete") for cursor in range(2, whole + 1)]
    assert done == [False, False, False, True]


def test_what_was_replaced_is_shown_at_no_cursor() -> None:
    """Neither afterwards nor before; a film that was written before the replacement forgets it, too."""
    log = Log("Hi")
    log.event("agent", text="The secret", partial=True)
    shown = said(log)
    log.event("agent", text="[withheld]", finishReason="STOP")
    assert [item["text"] for item in shown] == ["Hi", "The secret"]
    assert [item["text"] for item in said(log, 2)] == ["Hi"]
    assert [item["text"] for item in said(log)] == ["Hi", "[withheld]"]
    assert b"secret" not in encode(fold(log.entries))


def test_white_space_that_was_not_stored_is_cut_off() -> None:
    """From the text's end on: before, it was there."""
    log = Log("Hi")
    log.event("agent", text="Good morning.\n\n", partial=True)
    log.event("agent", text="Good morning.", finishReason="STOP")
    assert [said(log, cursor)[-1]["text"] for cursor in (2, 3)] == [
        "Good morning.\n\n",
        "Good morning.",
    ]


def test_thoughts_and_voices_are_told_apart() -> None:
    """Each block has its kind and its speaker; two agents may speak at once."""
    log = Log()
    log.event("a", parts=[{"text": "Hm.", "thought": True}], partial=True, branch="one")
    log.event("b", text="Yes.", partial=True, branch="two")
    log.event("a", text="No.", partial=True, branch="one")
    assert [(i["kind"], i["speaker"], i["text"]) for i in said(log)] == [
        ("reasoning", "a", "Hm."),
        ("text", "b", "Yes."),
        ("text", "a", "No."),
    ]


def test_what_was_spoken_and_cut_off_is_part_of_the_conversation() -> None:
    """The user's words grow as they are heard, each utterance once; an interruption is told where it came."""
    log = Log()
    heard = log.event(
        "user", partial=True, inputTranscription={"text": "Tell me", "finished": False}
    )
    log.event("user", partial=True, inputTranscription={"text": " a story", "finished": False})
    log.event("user", inputTranscription={"text": "Tell me a story.", "finished": True})
    log.event("voice", partial=True, outputTranscription={"text": "Once upon", "finished": False})
    cut = log.event("voice", interrupted=True)
    [words] = said(log, heard)
    assert (words["kind"], words["text"], words["complete"]) == ("user", "Tell me", False)
    assert [(i["kind"], i.get("text", "")) for i in said(log, cut)] == [
        ("user", "Tell me a story."),
        ("transcript", "Once upon"),
        ("interrupted", ""),
    ]


def test_a_call_shows_what_had_become_of_it() -> None:
    """Requested, then answered; its output is not there before."""
    log = Log()
    asked = log.event(parts=[{"functionCall": {"id": "c1", "name": "look", "args": {"x": 1}}}])
    answered = log.event(
        parts=[{"functionResponse": {"id": "c1", "name": "look", "response": {"y": 2}}}]
    )
    [call] = said(log, asked)
    assert (call["name"], call["input"], call["status"]) == ("look", {"x": 1}, "requested")
    assert "output" not in call
    [call] = said(log, answered)
    assert (call["status"], call["output"]) == ("answered", {"y": 2})


def test_a_call_that_the_run_left_is_abandoned() -> None:
    """At the run's end, and not before."""
    log = Log()
    asked = log.event(parts=[{"functionCall": {"id": "c1", "name": "look", "args": {}}}])
    over = log.over("failed", code="BOOM")
    assert said(log, asked)[0]["status"] == "requested"
    call, end = said(log, over)
    assert call["status"] == "abandoned"
    assert (end["kind"], end["outcome"], end["code"]) == ("end", "failed", "BOOM")


def test_a_run_without_a_message_begins_with_its_answer() -> None:
    """A capture, a continuation: nobody said anything that the run knows of."""
    log = Log()
    log.event(text="Hello.")
    assert [item["kind"] for item in said(log)] == ["text"]


def test_what_is_said_inside_a_tool_names_its_call() -> None:
    """An agent behind `AgentTool` has its words too, and they are not the answer's."""
    items = fold(load("agent_tool")).at(panel="conversation")["conversation"]
    (call,) = [item for item in items if item["kind"] == "call"]
    inside = [item for item in items if "within" in item]
    assert [(item["speaker"], item["text"]) for item in inside] == [
        ("translator", "Bom dia (synthetic)")
    ]
    assert inside[0]["within"] == call["call"]
    assert [item["speaker"] for item in items if item["kind"] == "text"].count("translator") == 1


def test_an_answer_to_an_earlier_run_is_told() -> None:
    """A run that goes on with another's brings results of calls that were asked there."""
    kinds = [(i["kind"], i.get("earlier"), i.get("status")) for i in _at_end("approval.2")]
    assert kinds[0] == ("call", True, "answered")
    assert [i["status"] for i in _at_end("approval.denied") if i["kind"] == "call"] == ["denied"]
    assert [i for i in _at_end("approval") if i.get("earlier")] == []


def _at_end(name: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = fold(load(name)).at(None, "conversation")["conversation"]
    return items


def test_what_stands_beside_the_words_is_kept() -> None:
    """Code and its result, what the words rest on, why an answer stopped, and that a provider ran a call."""

    def kinds(recording: str) -> dict[str, dict[str, Any]]:
        film = fold(load(recording))
        return {item["kind"]: item for item in film.at(None, "conversation")["conversation"]}

    code = kinds("code")
    assert "print" in code["code"]["code"]["code"]
    assert code["code result"]["result"]["output"].strip() == "30"
    assert kinds("sources")["grounding"]["grounding"]["groundingSupports"]
    finish = kinds("safety_block")["finish"]
    assert (finish["reason"], bool(finish["text"])) == ("SAFETY", True)
    assert kinds("server_side_tool")["call"]["by"] == "provider"
    assert "finish" not in kinds("text")
