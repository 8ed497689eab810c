"""Streams that the AI SDK's client can use, and that the judge must pass."""

from __future__ import annotations

from dataclasses import dataclass

from tests.conformance.judge import SDKS, Sdk
from tests.conformance.sse import (
    DENIED,
    ERROR,
    FAILED,
    FINISH,
    INPUT_DELTA,
    INPUT_START,
    SIGNATURE,
    START,
    STEP,
    STEP_END,
    TEXT_DELTA,
    TEXT_END,
    TEXT_START,
    Message,
    approval,
    call,
    chunk,
    decided,
    message,
    output,
    prior,
    sse,
    text,
    tool_part,
)

SEVEN: tuple[Sdk, ...] = ("ai-7",)


@dataclass(frozen=True)
class Good:
    id: str
    stream: str
    prior: Message | None = None
    expect_error: bool = False
    sdks: tuple[Sdk, ...] = SDKS


GOOD = [
    Good("text", sse(*message(text()))),
    Good("an empty answer", sse(*message([]))),
    Good("a block id used again", sse(*message(text("a") + text("b")))),
    Good(
        "reasoning and text with one id, interleaved",
        sse(
            *message(
                [
                    chunk("reasoning-start", id="t1", providerMetadata=SIGNATURE),
                    TEXT_START,
                    chunk("reasoning-delta", id="t1", delta="hm"),
                    TEXT_DELTA,
                    chunk("reasoning-end", id="t1"),
                    TEXT_END,
                ]
            )
        ),
    ),
    Good("a tool, then text in a new step", sse(*message([call(), output()], text()))),
    Good("a tool, then an empty step", sse(*message([call(), output()], []))),
    Good("an output in a later step", sse(*message([call()], [output(), *text()]))),
    Good("a failed tool", sse(*message([call(), FAILED], text()))),
    Good(
        "streamed input and a preliminary output",
        sse(
            *message(
                [INPUT_START, INPUT_DELTA, call(), output(preliminary=True), output()],
                text(),
            )
        ),
    ),
    Good(
        "a dynamic tool",
        sse(
            *message(
                [{**INPUT_START, "dynamic": True}, call(dynamic=True), output(dynamic=True)],
                text(),
            )
        ),
    ),
    Good(
        "a provider's tool, with text in its step",
        sse(*message([call(providerExecuted=True), output(providerExecuted=True), *text()])),
    ),
    Good(
        "an input that the tool refuses",
        sse(
            *message(
                [
                    chunk(
                        "tool-input-error",
                        toolCallId="c1",
                        toolName="rm",
                        input="x",
                        errorText="bad",
                    )
                ],
                text(),
            )
        ),
    ),
    Good(
        "sources, files, data",
        sse(
            *message(
                [
                    chunk("source-url", sourceId="s1", url="https://a.example", title="A"),
                    chunk("source-document", sourceId="s2", mediaType="text/plain", title="B"),
                    chunk("file", url="data:text/plain,x", mediaType="text/plain"),
                    chunk("data-state", data={"a": None}, id="s"),
                    chunk("data-pcm", data={"content": ""}, transient=True),
                    chunk("message-metadata", messageMetadata={"a": None}),
                ]
            )
        ),
    ),
    Good("null inside an output", sse(*message([call(), output(value=None)], text()))),
    Good("a call that the client runs", sse(*message([call()], reason="tool-calls"))),
    Good("a call to approve", sse(*message([call(), approval()], reason="tool-calls"))),
    Good(
        "two calls to approve, one that ran",
        sse(
            *message(
                [call(), call("c2"), call("c3"), approval(), approval("c2", "a2"), output("c3")],
                reason="tool-calls",
            )
        ),
    ),
    Good(
        "approved: the output before the first step",
        sse(START, output(), *message(text())[1:]),
        prior(decided(True)),
    ),
    Good(
        "approved: the output inside a step",
        sse(*message([output(), *text()])),
        prior(decided(True)),
    ),
    Good("denied", sse(START, DENIED, *message(text())[1:]), prior(decided(False, reason="no"))),
    Good(
        "the client's output",
        sse(*message(text())),
        prior(tool_part("output-available", output={"at": "home"})),
    ),
    Good("comments, ids and CRLF", ": open\r\n\r\n" + sse(*message(text())).replace("\n", "\r\n")),
    Good("ids", sse(*message(text())).replace("data:", "id: r:1.1\ndata:")),
    Good("a failure", sse(START, STEP, *text(), STEP_END, ERROR), expect_error=True),
    Good("a cancelled answer", sse(START, STEP, *text(), STEP_END, chunk("abort"))),
    Good("a cancelled answer, finished", sse(START, STEP, chunk("abort"), STEP_END, FINISH)),
    Good(
        "a decision replayed to version 7",
        sse(
            *message(
                [
                    call(),
                    approval(),
                    chunk("tool-approval-response", approvalId="a1", approved=False, reason="no"),
                    DENIED,
                ],
                text(),
            )
        ),
        sdks=SEVEN,
    ),
    Good(
        "a step taken back in version 7",
        sse(
            START,
            STEP,
            *text("wrong"),
            chunk("reset-step"),
            chunk("custom", kind="google.x"),
            chunk("reasoning-file", url="data:,x", mediaType="text/plain"),
            *text(),
            STEP_END,
            FINISH,
        ),
        sdks=SEVEN,
    ),
]
