"""The test client talks to agents, and to the program around them."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi import FastAPI
from google.adk.agents import LlmAgent
from google.adk.tools import FunctionTool
from tests.adk.scripted import Scripted, call

from adk_prism import Prism, Settings, errors
from adk_prism.testing import TestClient, ToolCall

SETTINGS = Settings(log="memory:", sessions="memory://", artifacts="memory://", grace=0.1)


def refund(order: int) -> dict[str, Any]:
    """Give money back."""
    return {"refunded": order}


def shop(*turns: Any) -> Prism:
    tools = [FunctionTool(refund, require_confirmation=True)]
    agent = LlmAgent(name="shop", model=Scripted.saying(*turns), tools=tools)
    return Prism(apps={"shop": agent}, settings=SETTINGS)


def test_it_says_something_and_reads_the_reply() -> None:
    """In one conversation, of one user."""
    with TestClient(shop("Hello there.", "Again.")) as client:
        reply = client.say("shop", "hi", user="ann")
        assert (reply.text, reply.run.user, reply.calls, reply.questions) == (
            "Hello there.", "ann", [], [],
        )  # fmt: skip
        again = client.say("shop", "more", user="ann", session=reply.run.session)
        assert (again.text, again.run.session) == ("Again.", reply.run.session)


@pytest.mark.parametrize("by_id", [True, False])
def test_it_answers_an_approval(by_id: bool) -> None:
    with TestClient(shop(call("refund", "c1", order=7), "Done.")) as client:
        reply = client.say("shop", "give it back")
        assert reply.calls == [ToolCall("refund", {"order": 7})]
        assert (reply.run.outcome, reply.questions[0].kind) == ("waiting", "approval")
        answers = {reply.questions[0].id: True} if by_id else True
        done = client.answer(reply, answers)
        assert (done.text, done.run.outcome) == ("Done.", "finished")


def test_it_denies_with_a_reason() -> None:
    """A decision is an object too, and is not taken for answers by id."""
    with TestClient(shop(call("refund", "c1", order=7), "Not done.")) as client:
        reply = client.say("shop", "give it back")
        denied = client.answer(reply, {"approved": False, "reason": "too late"})
        assert (denied.text, denied.run.outcome) == ("Not done.", "finished")


def test_it_asks_routes() -> None:
    """Of the server, and of the program that it is mounted in."""
    prism = shop("Hello.")
    with TestClient(prism) as client:
        run = client.say("shop", "hi").run
        assert client.get(f"/api/runs/{run.id}").json()["outcome"] == "finished"
    prism = shop("Hello.")
    host = FastAPI(lifespan=prism.lifespan)
    host.mount("/agents", prism)
    with TestClient(prism, app=host) as client:
        run = client.say("shop", "hi").run
        assert client.get(f"/agents/api/runs/{run.id}").json()["outcome"] == "finished"


def test_what_is_refused_is_raised() -> None:
    client = TestClient(shop("Hello."))
    with pytest.raises(RuntimeError, match="with TestClient"):
        client.say("shop", "hi")
    with client, pytest.raises(errors.NotFound, match="There is no app 'other'"):
        client.say("other", "hi")
