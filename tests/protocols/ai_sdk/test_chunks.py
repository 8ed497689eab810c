"""What each thing an agent does is in the AI SDK's stream: every chunk type, key by key."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.laws.events import (
    Json,
    answer,
    call,
    confirmation,
    decision,
    event,
    placeholder,
    thought,
)
from tests.laws.events import text as said
from tests.protocols.chunks import BY_AGENT, DONE, STEP, STEP_END, chunks, text

from adk_prism.log.entry import Continues, Decision, Record, RunTakenOver
from adk_prism.protocols.ai_sdk import frames
from adk_prism.protocols.ai_sdk.projection import EXPIRED
from adk_prism.protocols.contract import Scope

START = {
    "type": "start",
    "messageId": "run-1",
    "messageMetadata": {"runId": "run-1", "derived": True},
}
"""Of bare events, which are read as a capture is."""
RECORDED = {**START, "messageMetadata": {"runId": "run-1"}}
TOLD_FIRST: list[Json] = [
    {"type": "data-rewound", "data": {"messageIds": ["m-1", "run-0"]}},
    {"type": "data-warning", "data": {"code": "tools-ignored", "message": "They were ignored."}},
]
"""What every recorded run of these tests has to say of the request that began it."""
NO_USAGE: Json = {"usage": {}}
PAY = call("pay", "c1", {"amount": 5})
MADE = {
    "type": "tool-input-available",
    "toolCallId": "c1",
    "toolName": "pay",
    "input": {"amount": 5},
    "providerMetadata": BY_AGENT,
}
TAKEN = RunTakenOver(epoch=1)
TOLD = {
    "type": "data-prism-takeover",
    "id": "takeover-1",
    "data": {"epoch": 1, "superseded": []},
}
ASKED = {"type": "tool-approval-request", "approvalId": "a1", "toolCallId": "c1"}
EXPIRED_ERROR = {"type": "tool-output-error", "toolCallId": "c1", "errorText": EXPIRED}
EXPIRED_MARK = {
    "type": "data-approval",
    "data": {"approvalId": "a1", "toolCallId": "c1", "status": "expired"},
    "id": "a1",
}


OUTPUT = {"type": "tool-output-available", "toolCallId": "c1", "output": {"ok": 1}}
FAILED = {"type": "tool-output-error", "toolCallId": "c1"}
DENIED = {"type": "tool-output-denied", "toolCallId": "c1"}


BY_B = {"adk": {"author": "b", "branch": "b"}}
HM: list[Json] = [
    {"type": "reasoning-start", "id": "reasoning-2.0", "providerMetadata": BY_AGENT},
    {"type": "reasoning-delta", "id": "reasoning-2.0", "delta": "Hm."},
    {
        "type": "reasoning-end",
        "id": "reasoning-2.0",
        "providerMetadata": {**BY_AGENT, "prism": {"block": "reasoning-2.0"}},
    },
]


def decided(approved: bool) -> Json:
    return {"type": "tool-approval-response", "approvalId": "a1", "approved": approved}


def finish(reason: str = "stop", **more: Any) -> list[Any]:
    told = {"type": "finish", "finishReason": reason, "messageMetadata": {**NO_USAGE, **more}}
    return [told, DONE]


def broken(why: str) -> list[Any]:
    metadata = {"type": "message-metadata", "messageMetadata": {**NO_USAGE, "failure": why}}
    return [metadata, {"type": "error", "errorText": why}, DONE]


def data(name: str, value: Any, **more: Any) -> Json:
    return {"type": f"data-{name}", "data": value, **more}


def stepped(*inner: Any) -> list[Any]:
    return [STEP, *inner, STEP_END]


@dataclass(frozen=True)
class Case:
    id: str
    events: list[Json | bytes | Record]
    chunks: list[Any]
    how: dict[str, Any] = field(default_factory=dict)


CASES = [
    Case("nothing at all has an empty step", [], [START, *stepped(), *finish()]),
    Case("text", [event(said("Hi"))], [START, *stepped(*text("Hi")), *finish()]),
    Case(
        "text of an agent inside another, on a branch",
        [event(said("Hi"), author="a", path="r@1/a@2", branch="b")],
        [
            START,
            *stepped(*text("Hi", about={"adk": {"author": "a", "path": "r@1/a@2", "branch": "b"}})),
            *finish(),
        ],
    ),
    Case(
        "after a takeover the same is said again, and more",
        [event(said("Hi "), partial=True), TAKEN, event(said("Hi there"), partial=False)],
        [
            START,
            *stepped(
                {"type": "text-start", "id": "text-2.0", "providerMetadata": BY_AGENT},
                {"type": "text-delta", "id": "text-2.0", "delta": "Hi "},
                TOLD,
                {"type": "text-delta", "id": "text-2.0", "delta": "there"},
                {"type": "text-end", "id": "text-2.0"},
            ),
            *finish(),
        ],
    ),
    *(
        Case(
            f"after a takeover something else is said, in dialect {name}",
            [event(said("Hi "), partial=True), TAKEN, event(said("No."), partial=False)],
            [
                START,
                *stepped(
                    {"type": "text-start", "id": "text-2.0", "providerMetadata": BY_AGENT},
                    {"type": "text-delta", "id": "text-2.0", "delta": "Hi "},
                    TOLD,
                    {
                        "type": "text-end",
                        "id": "text-2.0",
                        "providerMetadata": {**BY_AGENT, "prism": {"replaced": True}},
                    },
                    *taken_back,
                    *text("No.", block="text-4.0"),
                ),
                *finish(),
            ],
            {"dialect": name},
        )
        for name, taken_back in {
            "6": [data("prism-replaced", {"blocks": ["text-2.0"]}, id="replaced-4")],
            "7": [{"type": "reset-step"}, TOLD],
        }.items()
    ),
    Case(
        "a takeover in a step that holds more than the text takes nothing back",
        [
            event(said("Hi "), partial=True),
            event(PAY, path="other@1", author="other", partial=False),
            TAKEN,
            event(answer("pay", "c1", {"ok": 1}), path="other@1", author="other"),
            event(said("No."), partial=False),
        ],
        [
            START,
            *stepped(
                {"type": "text-start", "id": "text-2.0", "providerMetadata": BY_AGENT},
                {"type": "text-delta", "id": "text-2.0", "delta": "Hi "},
                MADE | {"providerMetadata": {"adk": {"author": "other", "path": "other@1"}}},
                TOLD,
                OUTPUT,
                {
                    "type": "text-end",
                    "id": "text-2.0",
                    "providerMetadata": {**BY_AGENT, "prism": {"replaced": True}},
                },
                data("prism-replaced", {"blocks": ["text-2.0"]}, id="replaced-6"),
                *text("No.", block="text-6.0"),
            ),
            *stepped(),
            *finish(),
        ],
        {"dialect": "7"},
    ),
    Case(
        "thoughts, signed at their start and at their end",
        [
            event(thought("a", thoughtSignature="s1"), partial=True),
            event(thought("b", thoughtSignature="s2"), partial=True),
            event(thought("ab"), partial=False),
        ],
        [
            START,
            *stepped(
                {
                    "type": "reasoning-start",
                    "id": "reasoning-2.0",
                    "providerMetadata": {**BY_AGENT, "google": {"thoughtSignature": "s1"}},
                },
                {"type": "reasoning-delta", "id": "reasoning-2.0", "delta": "a"},
                {"type": "reasoning-delta", "id": "reasoning-2.0", "delta": "b"},
                {
                    "type": "reasoning-end",
                    "id": "reasoning-2.0",
                    "providerMetadata": {**BY_AGENT, "google": {"thoughtSignature": "s2"}},
                },
            ),
            *finish(),
        ],
    ),
    Case(
        "a call and its answer, sealed by an empty step",
        [event(PAY, partial=False), event(answer("pay", "c1", {"paid": 5}))],
        [
            START,
            *stepped(
                MADE,
                {"type": "tool-output-available", "toolCallId": "c1", "output": {"paid": 5}},
            ),
            *stepped(),
            *finish(),
        ],
    ),
    Case(
        "a failed call",
        [event(PAY, partial=False), event(answer("pay", "c1", {"error": "no"}))],
        [
            START,
            *stepped(MADE, {"type": "tool-output-error", "toolCallId": "c1", "errorText": "no"}),
            *stepped(),
            *finish(),
        ],
    ),
    Case(
        "an answer that is not there is null",
        [event(PAY, partial=False), event(answer("pay", "c1"))],
        [
            START,
            *stepped(MADE, {"type": "tool-output-available", "toolCallId": "c1", "output": None}),
            *stepped(),
            *finish(),
        ],
    ),
    Case(
        "streamed arguments",
        [
            event(call("pay", "c1", None, willContinue=True), partial=True),
            event(
                {
                    "functionCall": {
                        "id": "c1",
                        "partialArgs": [{"jsonPath": "$.amount", "numberValue": 5}],
                        "willContinue": True,
                    }
                },
                partial=True,
            ),
            event(PAY, partial=False),
            event(answer("pay", "c1", {})),
        ],
        [
            START,
            *stepped(
                {"type": "tool-input-start", "toolCallId": "c1", "toolName": "pay"},
                {"type": "tool-input-delta", "toolCallId": "c1", "inputTextDelta": '{"amount":5'},
                MADE,
                {"type": "tool-output-available", "toolCallId": "c1", "output": {}},
            ),
            *stepped(),
            *finish(),
        ],
    ),
    Case(
        "a call that was never made is closed as one that failed",
        [event(call("pay", "c1", None, willContinue=True), partial=True)],
        [
            START,
            *stepped(
                {"type": "tool-input-start", "toolCallId": "c1", "toolName": "pay"},
                {
                    "type": "tool-input-available",
                    "toolCallId": "c1",
                    "toolName": "pay",
                    "input": {},
                    "providerExecuted": True,
                },
                {
                    "type": "tool-output-error",
                    "toolCallId": "c1",
                    "errorText": "The run stopped before this tool returned.",
                    "providerExecuted": True,
                },
            ),
            *stepped(),
            *broken("The recording ends before the run did."),
        ],
    ),
    Case(
        "a call that comes whole is sent when it comes, and made when ADK has stored it",
        [
            event(said("Look."), partial=True),
            event(PAY, partial=True),
            event(said("Look."), PAY, partial=False),
            event(answer("pay", "c1", {})),
        ],
        [
            START,
            *stepped(
                *text("Look.")[:2],
                {
                    "type": "text-end",
                    "id": "text-2.0",
                    "providerMetadata": {**BY_AGENT, "prism": {"block": "text-2.0"}},
                },
                {"type": "tool-input-start", "toolCallId": "c1", "toolName": "pay"},
                {"type": "tool-input-delta", "toolCallId": "c1", "inputTextDelta": '{"amount": 5}'},
                MADE,
                {"type": "tool-output-available", "toolCallId": "c1", "output": {}},
            ),
            *stepped(),
            *finish(),
        ],
    ),
    Case(
        "one that ADK did not store is marked, and not for the client to run",
        [event(PAY, partial=True), event(said("No."), partial=False)],
        [
            START,
            *stepped(
                {"type": "tool-input-start", "toolCallId": "c1", "toolName": "pay"},
                {"type": "tool-input-delta", "toolCallId": "c1", "inputTextDelta": '{"amount": 5}'},
                *text("No.", block="text-3.0"),
                {
                    "type": "tool-input-available",
                    "toolCallId": "c1",
                    "toolName": "pay",
                    "input": {},
                    "providerExecuted": True,
                    "providerMetadata": {"prism": {"replaced": True}},
                },
                {
                    "type": "tool-output-error",
                    "toolCallId": "c1",
                    "errorText": "The model did not make this call.",
                    "providerExecuted": True,
                },
            ),
            *stepped(),
            *finish(),
        ],
    ),
    *(
        Case(
            f"text that ADK did not store, beside a thought and another agent, in dialect {name}",
            [
                event(thought("Hm."), partial=True),
                event(said("Hel"), partial=True),
                event(said("Other"), partial=True, author="b", branch="b"),
                event(thought("Hm."), said("No."), partial=False),
                event(said("Others"), partial=False, author="b", branch="b"),
            ],
            [
                START,
                *stepped(
                    *HM,
                    *text("Hel", block="text-3.0")[:2],
                    *text("Other", block="text-4.0", about=BY_B)[:2],
                    {
                        "type": "text-end",
                        "id": "text-3.0",
                        "providerMetadata": {**BY_AGENT, "prism": {"replaced": True}},
                    },
                    *replaced,
                    *text("No.", block="text-5.1"),
                    {"type": "text-delta", "id": "text-4.0", "delta": "s"},
                    {"type": "text-end", "id": "text-4.0"},
                ),
                *finish(),
            ],
            {"dialect": name},
        )
        for name, replaced in {
            "6": [data("prism-replaced", {"blocks": ["text-3.0"]}, id="replaced-5")],
            "7": [
                {"type": "text-end", "id": "text-4.0"},
                {"type": "reset-step"},
                *HM,
                *text("Other", block="text-4.0", about=BY_B)[:2],
            ],
        }.items()
    ),
    Case(
        "a step that holds a call that was made is not taken back",
        [
            event(PAY, partial=False, author="b", branch="b"),
            event(said("Hel"), partial=True),
            event(said("No."), partial=False),
            event(answer("pay", "c1", {"ok": 1}), author="b", branch="b"),
        ],
        [
            START,
            *stepped(
                MADE | {"providerMetadata": BY_B},
                *text("Hel", block="text-3.0")[:2],
                {
                    "type": "text-end",
                    "id": "text-3.0",
                    "providerMetadata": {**BY_AGENT, "prism": {"replaced": True}},
                },
                data("prism-replaced", {"blocks": ["text-3.0"]}, id="replaced-4"),
                *text("No.", block="text-4.0"),
                OUTPUT,
            ),
            *stepped(),
            *finish(),
        ],
        {"dialect": "7"},
    ),
    Case(
        "white space at the end that ADK did not store",
        [event(said("Hi\n"), partial=True), event(said("Hi"), partial=False)],
        [
            START,
            *stepped(
                *text("Hi\n")[:2],
                {
                    "type": "text-end",
                    "id": "text-2.0",
                    "providerMetadata": {**BY_AGENT, "prism": {"trimmed": 1}},
                },
            ),
            *finish(),
        ],
    ),
    Case(
        "a call left to the client",
        [event(call("locate", "c1"), longRunningToolIds=["c1"], partial=False)],
        [
            START,
            *stepped(
                {**MADE, "toolName": "locate", "input": {}},
                data("long-running", {"toolCallId": "c1", "toolName": "locate"}),
            ),
            *finish("tool-calls"),
        ],
    ),
    Case(
        "an approval",
        [event(PAY, partial=False), event(confirmation(PAY)), placeholder(PAY)],
        [START, *stepped(MADE, ASKED), *finish("tool-calls")],
    ),
    Case(
        "an approval whose tool says why, and wants more than yes or no",
        [event(PAY, partial=False), event(confirmation(PAY, "a1", "Sure?", {"max": 9}))],
        [
            START,
            *stepped(
                MADE,
                ASKED,
                data(
                    "approval",
                    {
                        "approvalId": "a1",
                        "toolCallId": "c1",
                        "hint": "Sure?",
                        "payload": {"max": 9},
                        "schema": {
                            "type": "object",
                            "properties": {"max": {"type": "number"}},
                            "required": ["max"],
                        },
                    },
                    id="a1",
                ),
            ),
            *finish("tool-calls"),
        ],
    ),
    Case(
        "an approval that the conversation has left behind has no buttons",
        [event(PAY, partial=False), event(confirmation(PAY, "a1"))],
        [START, *stepped(MADE, EXPIRED_ERROR), *finish("tool-calls")],
        {"scope": Scope(left=True)},
    ),
    Case(
        "dialect 7 can say that it expired",
        [event(PAY, partial=False), event(confirmation(PAY, "a1"))],
        [
            START,
            *stepped(
                MADE,
                ASKED,
                EXPIRED_MARK,
                {
                    "type": "tool-approval-response",
                    "approvalId": "a1",
                    "approved": False,
                    "reason": EXPIRED,
                },
                {"type": "tool-output-denied", "toolCallId": "c1"},
            ),
            *finish("tool-calls"),
        ],
        {"dialect": "7", "scope": Scope(left=True)},
    ),
    Case(
        "dialect 7 has a word for the reason",
        [event(PAY, partial=False), event(confirmation(PAY, "a1", "Sure?"))],
        [
            START,
            *stepped(
                MADE,
                {**ASKED, "reason": "Sure?"},
                data(
                    "approval", {"approvalId": "a1", "toolCallId": "c1", "hint": "Sure?"}, id="a1"
                ),
            ),
            *finish("tool-calls"),
        ],
        {"dialect": "7"},
    ),
    Case(
        "ADK's own hint is for programs",
        [
            event(PAY, partial=False),
            event(confirmation(PAY, "a1", "Please approve or reject the tool call pay() by …")),
        ],
        [START, *stepped(MADE, ASKED), *finish("tool-calls")],
    ),
    Case(
        "a denial, in the run that goes on",
        [event(answer("pay", "c1", {"error": "rejected"}))],
        [
            {**RECORDED, "messageId": "run-0"},
            {"type": "tool-output-denied", "toolCallId": "c1"},
            *stepped(),
            *finish(),
        ],
        {
            "continues": Continues(
                message="run-0",
                open_calls={"c1": "pay"},
                decisions={"c1": Decision(approval="a1", approved=False)},
            )
        },
    ),
    Case(
        "a replayed denial in dialect 6, which has no word for decisions",
        [event(answer("pay", "c1", {"error": "rejected"}))],
        [
            {"type": "message-metadata", "messageMetadata": {"runId": "run-1"}},
            {"type": "tool-output-error", "toolCallId": "c1", "errorText": "Denied: Too much."},
            *stepped(),
            *finish(),
        ],
        {
            "continues": Continues(
                message="run-0",
                open_calls={"c1": "pay"},
                decisions={"c1": Decision(approval="a1", approved=False, reason="Too much.")},
            ),
            "scope": Scope(opens=False, replayed=True),
        },
    ),
    Case(
        "a replayed denial in dialect 7",
        [event(answer("pay", "c1", {"error": "rejected"}))],
        [
            {"type": "message-metadata", "messageMetadata": {"runId": "run-1"}},
            {
                "type": "tool-approval-response",
                "approvalId": "a1",
                "approved": False,
                "reason": "Too much.",
            },
            {"type": "tool-output-denied", "toolCallId": "c1"},
            *stepped(),
            *finish(),
        ],
        {
            "continues": Continues(
                message="run-0",
                open_calls={"c1": "pay"},
                decisions={"c1": Decision(approval="a1", approved=False, reason="Too much.")},
            ),
            "scope": Scope(opens=False, replayed=True),
            "dialect": "7",
        },
    ),
    *(
        Case(
            f"the capture of a session holds the answer: {word}, dialect {dialect}",
            [
                event(PAY, partial=False),
                event(confirmation(PAY)),
                placeholder(PAY),
                decision("a1", approved),
                event(answer("pay", "c1", {"ok": 1})),
            ],
            [START, *stepped(MADE, *retold), *stepped(), *finish()],
            {"dialect": dialect},
        )
        for word, approved, dialect, retold in (
            ("yes", True, "6", [OUTPUT]),
            ("yes", True, "7", [ASKED, decided(True), OUTPUT]),
            ("no", False, "6", [{**FAILED, "errorText": "Denied."}]),
            ("no", False, "7", [ASKED, decided(False), DENIED]),
        )
    ),
    Case(
        "requests for input and for a credential",
        [
            event(call("adk_request_input", "i1", {"message": "How many?"})),
            event(call("adk_request_credential", "k1", {"functionCallId": "c1"})),
        ],
        [
            START,
            data("input-request", {"id": "i1", "request": {"message": "How many?"}}, id="i1"),
            data(
                "credential-request",
                {"id": "k1", "toolCallId": "c1", "request": {"functionCallId": "c1"}},
                id="k1",
            ),
            *stepped(),
            *finish("tool-calls"),
        ],
    ),
    Case(
        "a tool that the provider ran",
        [
            event(
                {
                    "toolCall": {"id": "p1", "toolType": "URL_CONTEXT", "args": {}},
                    "thoughtSignature": "s",
                },
                {"toolResponse": {"id": "p1", "toolType": "URL_CONTEXT", "response": {"ok": 1}}},
            )
        ],
        [
            START,
            *stepped(
                {
                    "type": "tool-input-available",
                    "toolCallId": "p1",
                    "toolName": "URL_CONTEXT",
                    "input": {},
                    "providerExecuted": True,
                    "providerMetadata": {**BY_AGENT, "google": {"thoughtSignature": "s"}},
                },
                {
                    "type": "tool-output-available",
                    "toolCallId": "p1",
                    "output": {"ok": 1},
                    "providerExecuted": True,
                },
            ),
            *finish(),
        ],
    ),
    Case(
        "a picture",
        [event({"inlineData": {"mimeType": "image/png", "data": "a-_b", "displayName": "a.png"}})],
        [
            START,
            *stepped(
                {
                    "type": "file",
                    "url": "data:image/png;base64,a+/b",
                    "mediaType": "image/png",
                    "providerMetadata": {"adk": {"author": "agent", "filename": "a.png"}},
                }
            ),
            *finish(),
        ],
    ),
    Case(
        "sound is transient, and counted",
        [event({"inlineData": {"mimeType": "audio/pcm;rate=8000", "data": "AAAA"}})],
        [
            START,
            data(
                "pcm",
                {"content": "AAAA", "sampleRate": 8000, "channels": 1, "bitDepth": 16},
                transient=True,
            ),
            *stepped(),
            *finish(
                audio={"chunks": 1, "bytes": 3, "sampleRate": 8000, "duration": round(3 / 16000, 6)}
            ),
        ],
    ),
    Case(
        "code and its result",
        [event({"executableCode": {"code": "1"}}, {"codeExecutionResult": {"output": "1"}})],
        [
            START,
            *stepped(
                data("executable-code", {"code": "1"}),
                data("code-execution-result", {"output": "1"}),
            ),
            *finish(),
        ],
    ),
    Case(
        "what the user was heard to say is no text of the assistant",
        [event(author="user", inputTranscription={"text": "Hi", "finished": True})],
        [
            START,
            data("input-transcription", {"text": "Hi", "final": True}, id="input-2"),
            *stepped(),
            *finish(),
        ],
    ),
    Case(
        "what the agent said aloud is",
        [event(outputTranscription={"text": "Hi", "finished": True})],
        [START, *stepped(*text("Hi", "transcript-2.0")), *finish()],
    ),
    Case(
        "an interruption",
        [event(interrupted=True)],
        [START, data("interrupted", {"author": "agent"}), *stepped(), *finish()],
    ),
    Case(
        "state, artifacts, a transfer, an output",
        [
            event(
                output={"n": 1},
                actions={
                    "stateDelta": {"a": 1},
                    "artifactDelta": {"f": 2},
                    "transferToAgent": "b",
                    "transferReason": "c",
                },
            )
        ],
        [
            START,
            data("state", {"a": 1}),
            data("artifact", {"filename": "f", "version": 2}),
            data("transfer", {"to": "b", "reason": "c"}),
            data("output", {"author": "agent", "path": "", "output": {"n": 1}}),
            *stepped(*text('{\n  "n": 1\n}', "text-output")),
            *finish(),
        ],
    ),
    Case(
        "an error that the run survives",
        [event(errorCode="ValueError", errorMessage="no"), event(said("Again."))],
        [
            START,
            data("error", {"code": "ValueError", "author": "agent", "path": "", "message": "no"}),
            *stepped(*text("Again.", "text-3.0")),
            *finish(),
        ],
    ),
    Case(
        "what is not known yet",
        [event({"hologram": 1})],
        [
            START,
            data("unrecognised", {"kind": "part", "raw": {"hologram": 1}}),
            *stepped(),
            *finish(),
        ],
    ),
    Case(
        "a run that failed in the middle of a word",
        [event(said("Hel"), partial=True)],
        [
            RECORDED,
            *TOLD_FIRST,
            *stepped(*text("Hel")),
            {
                "type": "message-metadata",
                "messageMetadata": {**NO_USAGE, "failure": "The run failed (ValueError)."},
            },
            {"type": "error", "errorText": "The run failed (ValueError)."},
            DONE,
        ],
        {"outcome": "failed", "code": "ValueError"},
    ),
    Case(
        "a run that was cancelled in the middle of a call",
        [event(PAY, partial=False)],
        [
            RECORDED,
            *TOLD_FIRST,
            *stepped(
                MADE,
                {
                    "type": "tool-output-error",
                    "toolCallId": "c1",
                    "errorText": "The run stopped before this tool returned.",
                },
            ),
            *stepped(),
            {"type": "message-metadata", "messageMetadata": NO_USAGE},
            {"type": "abort"},
            DONE,
        ],
        {"outcome": "cancelled"},
    ),
    Case(
        "an agent that asks back: its call is answered in a later message",
        [
            event(call("helper", "c1"), partial=False),
            event(said("Which?"), author="helper", branch="helper@c1"),
        ],
        [
            START,
            *stepped({**MADE, "toolName": "helper", "input": {}}),
            *stepped(
                *text("Which?", "text-3.0", {"adk": {"author": "helper", "branch": "helper@c1"}}),
                {"type": "tool-output-available", "toolCallId": "c1", "output": None},
            ),
            *finish(),
        ],
    ),
    Case(
        "a link and a document",
        [
            event(
                groundingMetadata={
                    "groundingChunks": [
                        {"web": {"uri": "https://a", "title": "A"}},
                        {"retrievedContext": {"uri": "gs://b/d.pdf", "title": "D"}},
                    ]
                }
            )
        ],
        [
            START,
            *stepped(
                {"type": "source-url", "sourceId": "source-1", "url": "https://a", "title": "A"},
                {
                    "type": "source-document",
                    "sourceId": "source-2",
                    "mediaType": "application/octet-stream",
                    "title": "D",
                    "filename": "d.pdf",
                },
            ),
            *finish(
                grounding={
                    "groundingChunks": [
                        {"web": {"uri": "https://a", "title": "A"}},
                        {"retrievedContext": {"uri": "gs://b/d.pdf", "title": "D"}},
                    ],
                    "sources": [
                        {"uri": "https://a", "title": "A"},
                        {"uri": "gs://b/d.pdf", "title": "D"},
                    ],
                }
            ),
        ],
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_what_a_client_is_sent(case: Case) -> None:
    """The whole stream, chunk by chunk."""
    assert chunks(*case.events, **case.how) == case.chunks


def test_every_frame_is_in_the_table() -> None:
    """A frame type that no case shows is a frame type that nobody has looked at."""
    shown = {chunk if chunk == DONE else chunk["type"] for case in CASES for chunk in case.chunks}
    tags = {
        frame.__struct_config__.tag
        for frame in (*frames.TypedFrame.__subclasses__(), frames.Data, frames.Done)
        if frame.__struct_config__.tag
    }
    assert tags <= shown
    assert DONE in shown
