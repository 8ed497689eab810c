"""The chat driver tried on canned answers: what it sends and shows is what the real client does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.conformance.chat import Chat, ChatResult, text_of
from tests.conformance.judge import Judge, Sdk
from tests.conformance.loopback import Canned, serving
from tests.conformance.sse import (
    DENIED,
    START,
    approval,
    call,
    chunk,
    message,
    output,
    sse,
    text,
)

HELLO = sse(*message(text()))
AGAIN = sse(*message(text("Again!"), message_id="m2"))
ASK = sse(*message([call(), approval()], reason="tool-calls"))
ASK_TWICE = sse(
    *message([call(), call("c2", "mv"), approval(), approval("c2", "a2")], reason="tool-calls")
)
RAN = sse(START, output(), *message(text("Removed."))[1:])
REFUSED = sse(START, DENIED, *message(text("Kept."))[1:])
MIXED = sse(START, output("c2"), DENIED, *message(text("Moved."))[1:])
CLIENT_CALL = sse(*message([call(tool="where")], reason="tool-calls"))
SEND = {"do": "send", "text": "hello"}
USER = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "hello"}]}
HELLO_STORED = {"id": "m1", "role": "assistant", "parts": [{"type": "text", "text": "Hello!"}]}

Play = Callable[..., ChatResult]


@pytest.fixture
def play(chat: Chat, sdk: Sdk) -> Play:
    """`play(canned, *steps, **script)`: play a script against canned answers."""

    def play(canned: Canned, *steps: dict[str, Any], query: str = "", **script: Any) -> ChatResult:
        with serving(canned) as url:
            return chat({"sdk": sdk, "url": url + query, "id": "c", "steps": steps, **script})

    return play


def states(request: dict[str, Any]) -> dict[str, str]:
    """The tool calls of the last message in a request, and their states."""
    parts = request["body"]["messages"][-1]["parts"]
    return {part["toolCallId"]: part["state"] for part in parts if "toolCallId" in part}


def test_a_plain_answer(play: Play, sdk: Sdk, judge: Judge) -> None:
    """One request goes out, and what came back is there to be judged."""
    result = play(Canned([HELLO]), SEND)
    assert (result.status, result.error, result.text) == ("ready", None, "Hello!")
    (request,) = result.posts
    assert request["status"] == 200
    assert request["responseHeaders"]["content-type"] == "text/event-stream"
    assert request["body"]["id"] == "c"
    assert request["body"]["trigger"] == "submit-message"
    assert [finish["finishReason"] for finish in result.finishes] == ["stop"]
    assert request["text"] == HELLO
    assert judge(request["text"], sdk).ok


def test_extras_of_the_script_and_of_a_step(play: Play) -> None:
    """Headers and body extras reach the request, the step's own beside the script's."""
    step = {**SEND, "headers": {"x-step": "1"}, "body": {"step": 1}, "files": [FILE]}
    result = play(Canned([HELLO]), step, headers={"x-all": "2"}, body={"userId": "ann"})
    (request,) = result.posts
    assert request["headers"].items() >= {"x-step": "1", "x-all": "2"}.items()
    assert request["body"].items() >= {"step": 1, "userId": "ann"}.items()
    assert [part["type"] for part in request["body"]["messages"][0]["parts"]] == ["file", "text"]


FILE = {"type": "file", "url": "data:text/plain,x", "mediaType": "text/plain"}


def test_data_parts(play: Play) -> None:
    """Data parts are reported, also the transient ones that no message keeps."""
    parts = [chunk("data-a", data=1), chunk("data-b", data=2, transient=True)]
    result = play(Canned([sse(*message([*parts, *text()]))]), SEND)
    assert [part["type"] for part in result.data] == ["data-a", "data-b"]
    assert "data-b" not in [part["type"] for part in result.messages[-1]["parts"]]


def test_a_refused_request(play: Play) -> None:
    """The text of a refusal is the error that the client shows."""
    result = play(Canned([(409, "too late")]), SEND)
    assert (result.status, result.error) == ("error", "too late")
    assert result.finishes[-1]["isError"]


def test_an_approval(play: Play) -> None:
    """The answer goes out by itself and the continuation lands in the same message."""
    result = play(Canned([ASK, RAN]), SEND, {"do": "approve"})
    assert [step["requests"] for step in result.steps] == [1, 1]
    assert result.steps[0]["status"] == "ready"
    body = result.posts[1]["body"]
    assert (body["trigger"], body["messageId"]) == ("submit-message", "m1")
    assert body["messages"][-1]["parts"][-1]["approval"] == {"id": "a1", "approved": True}
    assert [m["role"] for m in result.messages] == ["user", "assistant"]
    assert result.call("rm")["state"] == "output-available"
    assert result.text == "Removed."


@pytest.mark.parametrize("sdk", ["ai-6", "ai-7"])
def test_an_approval_in_react(play: Play) -> None:
    """The Chat of @ai-sdk/react does the same."""
    result = play(Canned([ASK, RAN]), SEND, {"do": "approve"}, client="react")
    assert (len(result.posts), result.text) == (2, "Removed.")


def test_a_denial_with_its_reason(play: Play) -> None:
    """The reason travels in the request, and the call ends denied."""
    result = play(Canned([ASK, REFUSED]), SEND, {"do": "deny", "reason": "too risky"})
    answer = result.posts[1]["body"]["messages"][-1]["parts"][-1]["approval"]
    assert answer == {"id": "a1", "approved": False, "reason": "too risky"}
    assert (result.call("rm")["state"], result.text) == ("output-denied", "Kept.")


def test_approvals_one_by_one(play: Play) -> None:
    """The client waits for the second answer before it posts."""
    first = {"do": "approve", "first": True}
    result = play(Canned([ASK_TWICE, RAN]), SEND, first, first)
    assert [step["requests"] for step in result.steps] == [1, 0, 1]
    assert states(result.posts[1]) == {"c1": "approval-responded", "c2": "approval-responded"}


def test_approvals_by_tool(play: Play) -> None:
    """Each tool gets its own answer."""
    deny, approve = {"do": "deny", "tool": "rm"}, {"do": "approve", "tool": "mv"}
    result = play(Canned([ASK_TWICE, MIXED]), SEND, deny, approve)
    assert result.call("rm")["state"] == "output-denied"
    assert result.call("mv")["state"] == "output-available"


def test_an_answer_on_an_open_stream_waits_for_its_end(play: Play) -> None:
    """Nothing is posted before the body ends, whatever chunks have come."""
    hold = {**SEND, "hold": {"chunks": 6}}
    result = play(Canned([ASK, RAN]), hold, {"do": "approve"}, {"do": "release"})
    assert [step["requests"] for step in result.steps] == [1, 0, 1]
    assert result.text == "Removed."


@pytest.mark.parametrize(
    ("answer", "state"),
    [({"output": {"at": "home"}}, "output-available"), ({"errorText": "off"}, "output-error")],
)
def test_a_tool_that_the_client_runs(play: Play, answer: dict[str, Any], state: str) -> None:
    """At once, as onToolCall does, or in a step of its own, as a button does."""
    at_once = play(Canned([CLIENT_CALL, HELLO]), SEND, clientTools={"where": answer})
    by_hand = play(Canned([CLIENT_CALL, HELLO]), SEND, {"do": "output", "tool": "where", **answer})
    for result in (at_once, by_hand):
        assert states(result.posts[1]) == {"c1": state}
        assert result.text == "Hello!"
        assert len(result.posts) == 2


def test_nothing_is_automatic_without_helpers(play: Play) -> None:
    """With `auto: []` the answer goes out when the script says so."""
    steps = [SEND, {"do": "approve"}, {"do": "continue"}]
    result = play(Canned([ASK, RAN]), *steps, auto=[])
    assert [step["requests"] for step in result.steps] == [1, 0, 1]
    assert result.posts[1]["body"]["messageId"] == "m1"


def test_regenerate(play: Play) -> None:
    """Without a message the last answer goes; with one, that and what follows."""
    last = play(Canned([HELLO, AGAIN]), SEND, {"do": "regenerate"})
    body = last.posts[1]["body"]
    assert (body["trigger"], "messageId" in body) == ("regenerate-message", False)
    assert [m["role"] for m in body["messages"]] == ["user"]
    assert [text_of(m) for m in last.messages] == ["hello", "Again!"]

    third = sse(*message(text("Third!"), message_id="m3"))
    first = {"do": "regenerate", "message": 1}
    result = play(Canned([HELLO, AGAIN, third]), SEND, SEND, first)
    assert result.posts[2]["body"]["messageId"] == "m1"
    assert [text_of(m) for m in result.messages] == ["hello", "Third!"]


def test_edit(play: Play) -> None:
    """The message keeps its id, and what came after it is gone."""
    result = play(Canned([HELLO, AGAIN]), SEND, {"do": "edit", "message": 0, "text": "bye"})
    body = result.posts[1]["body"]
    assert body["messageId"] == result.messages[0]["id"]
    assert [text_of(m) for m in body["messages"]] == ["bye"]
    assert [text_of(m) for m in result.messages] == ["bye", "Again!"]


# Four chunks, and the same place with some bytes of the fifth.
FOUR_CHUNKS = HELLO.index('data: {"type": "text-end"')


@pytest.mark.parametrize("at", [{"chunks": 4}, {"bytes": FOUR_CHUNKS + 9}])
def test_resume_after_a_cut(play: Play, at: dict[str, int]) -> None:
    """The cut is a disconnect to the client; a new page gets the whole answer, once."""
    canned = Canned([HELLO], stream=HELLO, messages=[USER])
    result = play(canned, {**SEND, "cut": at}, {"do": "resume"})
    cut, resumed = result.steps
    assert (cut["status"], text_of(cut["messages"][-1])) == ("error", "Hello!")
    assert result.finishes[0]["isDisconnect"]
    assert result.requests[0]["text"] == HELLO[: at.get("bytes", FOUR_CHUNKS)]
    paths = [request["url"].partition("/api/chat/canned")[2] for request in result.requests]
    assert paths == ["", "/c/messages", "/c/stream"]
    assert [text_of(m) for m in resumed["messages"]] == ["hello", "Hello!"]
    assert resumed["messages"][0]["id"] == "u1"


def test_resume_in_the_same_chat(play: Play, sdk: Sdk) -> None:
    """Newer clients rebuild the message from the replay; 6.0.0 shows both."""
    canned = Canned([HELLO], stream=HELLO)
    result = play(canned, {**SEND, "cut": {"chunks": 4}}, {"do": "resume", "from": "memory"})
    assert result.text == ("Hello!Hello!" if sdk == "ai-6.0.0" else "Hello!")


def test_nothing_to_resume(play: Play) -> None:
    """204 leaves the chat as it was."""
    result = play(Canned(messages=[USER, HELLO_STORED]), {"do": "resume"})
    assert (result.status, result.text) == ("ready", "Hello!")
    assert result.requests[-1]["status"] == 204


def test_a_query_in_the_url(play: Play, sdk: Sdk) -> None:
    """It stays behind the path; but 6.0.0 itself appends the resume path to the query."""
    canned = Canned([HELLO], stream=HELLO, messages=[USER])
    result = play(canned, SEND, {"do": "resume"}, query="?dialect=7")
    paths = [request["url"].partition("/api/chat/canned")[2] for request in result.requests]
    resumed = "?dialect=7/c/stream" if sdk == "ai-6.0.0" else "/c/stream?dialect=7"
    assert paths == ["?dialect=7", "/c/messages?dialect=7", resumed]


def test_reload(play: Play) -> None:
    """A new page shows what the server kept, and goes on from there."""
    canned = Canned([HELLO, AGAIN], messages=[USER, HELLO_STORED])
    result = play(canned, SEND, {"do": "reload"}, SEND)
    assert [m["id"] for m in result.steps[1]["messages"]] == ["u1", "m1"]
    assert [m["id"] for m in result.posts[1]["body"]["messages"]][:2] == ["u1", "m1"]
    assert result.text == "Again!"


def test_stop(play: Play) -> None:
    """The stop button keeps what has come, and it is no error. Comments are no chunks."""
    result = play(Canned([": open\n\n" + HELLO]), {**SEND, "hold": {"chunks": 4}}, {"do": "stop"})
    held, stopped = result.steps
    assert (held["status"], text_of(held["messages"][-1])) == ("streaming", "Hello!")
    assert (stopped["status"], stopped["error"]) == ("ready", None)
    assert result.finishes[-1]["isAbort"]


def test_stop_while_resuming(play: Play) -> None:
    """Also 6.0.0, which cannot abort a resumed response, comes to rest."""
    canned = Canned(stream=HELLO, messages=[USER])
    result = play(canned, {"do": "resume", "hold": {"chunks": 4}}, {"do": "stop"})
    assert result.status == "ready"


def test_a_request_of_the_app(play: Play) -> None:
    """A front end has requests of its own, such as the stop route, also during a response."""
    stop = {"do": "fetch", "method": "POST", "path": "stop", "body": {"why": "user"}}
    result = play(Canned([HELLO]), {**SEND, "hold": {"chunks": 2}}, stop, {"do": "release"})
    assert result.requests[1]["url"].endswith("/api/chat/canned/c/stop")
    assert (result.requests[1]["body"], result.text) == ({"why": "user"}, "Hello!")


def test_a_client_that_posts_for_ever_is_stopped(play: Play) -> None:
    """A layout that makes stock clients loop ends the script, after as many requests as allowed."""
    loop = [sse(*message([call(name), output(name), *text()])) for name in "abcdefghi"]
    with pytest.raises(AssertionError, match="more than 4 requests"):
        play(Canned(loop), SEND, limits={"requests": 4})


def test_a_response_that_never_ends_is_stopped(play: Play) -> None:
    """The limit in seconds ends the script."""
    with pytest.raises(AssertionError, match=r"not done after 0\.3 s"):
        play(Canned([HELLO.removesuffix("data: [DONE]\n\n")]), SEND, limits={"seconds": 0.3})


@pytest.mark.parametrize(
    ("step", "complaint"),
    [
        ({"do": "dance"}, "no such step"),
        ({"do": "approve"}, "no call of any tool is approval-requested"),
        ({"do": "output", "tool": "where", "output": 1}, "no call of where is input-available"),
        ({"do": "edit", "message": 7, "text": "x"}, "no message 7"),
        ({**SEND, "cut": {"chunks": 99}}, "ended before the cut"),
        ({**SEND, "hold": {"chunks": 99}}, "ended before the hold"),
    ],
)
def test_a_script_that_cannot_be_played_fails(
    play: Play, step: dict[str, Any], complaint: str
) -> None:
    """A script that does nothing would prove nothing."""
    with pytest.raises(AssertionError, match=complaint):
        play(Canned([HELLO]), step)


async def test_beside_a_running_event_loop(chat: Chat) -> None:
    """A test whose server lives in its own loop can await the driver."""
    with serving(Canned([HELLO])) as url:
        result = await chat.in_thread({"sdk": "ai-7", "url": url, "steps": [SEND]})
    assert result.text == "Hello!"
