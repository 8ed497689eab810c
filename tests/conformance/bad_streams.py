"""One stream for each fault, with the code under which the judge must report it.

`sdks` are the releases that mind the fault; to the others it is none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.conformance.judge import SDKS, Sdk
from tests.conformance.sse import (
    DENIED,
    DONE,
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

SIX: tuple[Sdk, ...] = ("ai-6.0.0", "ai-6")
SEVEN: tuple[Sdk, ...] = ("ai-7",)


@dataclass(frozen=True)
class Bad:
    id: str
    stream: str
    code: str
    prior: Message | None = None
    expect_error: bool = False
    sdks: tuple[Sdk, ...] = SDKS


WHOLE = sse(*message(text()))
FRAMING = [
    Bad("no DONE", WHOLE.removesuffix(DONE), "missing-done"),
    Bad("DONE twice", WHOLE + DONE, "repeated-done"),
    Bad(
        "a chunk after DONE",
        WHOLE + sse(chunk("data-x", data=1)).removesuffix(DONE),
        "data-after-done",
    ),
    Bad("no blank line at the end", WHOLE.removesuffix("\n"), "unterminated-event"),
    Bad("one newline between chunks", WHOLE.replace("\n\n", "\n", 1), "invalid-json"),
    Bad("the protocol before SSE", '0:"Hello!"\n' + WHOLE, "bad-line"),
    Bad("nothing at all", "", "missing-done"),
    Bad("no JSON", "data: {\n\n" + WHOLE, "invalid-json"),
    Bad("NaN", WHOLE.replace('"Hello!"', "NaN"), "invalid-json"),
    Bad(
        "__proto__ in an output",
        sse(*message([call(), output(value={"a": [{"__proto__": {}}]})], text())),
        "invalid-json",
    ),
    Bad(
        "constructor.prototype in an output",
        sse(*message([call(), output(value={"constructor": {"prototype": {}}})], text())),
        "invalid-json",
    ),
]


def metadata_start(value: Any) -> str:
    """A text whose block starts with this providerMetadata."""
    return sse(*message([{**TEXT_START, "providerMetadata": value}, TEXT_DELTA, TEXT_END]))


SCHEMA = [
    Bad("providerMetadata: null", metadata_start(None), "invalid-chunk"),
    Bad("flat providerMetadata", metadata_start({"a": "b"}), "invalid-chunk"),
    Bad("messageId: null", sse(*message(text(), message_id=None)), "invalid-chunk"),
    Bad("title: null", sse(*message([call(title=None), output()], text())), "invalid-chunk"),
    Bad("dynamic: null", sse(*message([call(dynamic=None), output()], text())), "invalid-chunk"),
    Bad(
        "transient: null", sse(*message([chunk("data-x", data=1, transient=None)])), "invalid-chunk"
    ),
    Bad("finishReason: null", sse(*message(text(), reason=None)), "invalid-chunk"),
    Bad("finishReason: unknown", sse(*message(text(), reason="unknown")), "invalid-chunk"),
    Bad(
        "finishReason: interrupted",
        sse(*message(text(), reason="interrupted")),
        "invalid-chunk",
        sdks=SIX,
    ),
    Bad("no delta", sse(*message([TEXT_START, chunk("text-delta", id="t1")])), "invalid-chunk"),
    Bad(
        "no output",
        sse(*message([call(), chunk("tool-output-available", toolCallId="c1")])),
        "invalid-chunk",
    ),
    Bad("no data", sse(*message([chunk("data-x", id="1")])), "invalid-chunk"),
    Bad(
        "an error object",
        sse(START, chunk("error", error={"code": 1, "message": "x"})),
        "invalid-chunk",
        expect_error=True,
    ),
    Bad("an unknown key", sse(*message([*text(), {**STEP_END, "x": 1}])), "unknown-key"),
    Bad("usage on finish", sse(*message(text())[:-1], {**FINISH, "usage": {}}), "unknown-key"),
    Bad(
        "a code beside an error", sse(START, {**ERROR, "code": 1}), "unknown-key", expect_error=True
    ),
    Bad(
        "a key of a later 6",
        sse(*message([call(), output(providerMetadata=SIGNATURE)], text())),
        "unknown-key",
        sdks=("ai-6.0.0",),
    ),
    Bad("an unknown type", sse(*message([chunk("thought", text="hm")])), "unknown-type"),
    Bad("ping", sse(*message([chunk("ping")])), "unknown-type"),
    Bad("no type", sse(*message([{"id": "t1"}])), "unknown-type"),
    Bad("no object", "data: 1\n\n" + WHOLE, "unknown-type"),
    Bad("a chunk of version 7", sse(*message([chunk("reset-step")])), "unknown-type", sdks=SIX),
]

ORDER = [
    Bad("no start", sse(*message(text())[1:]), "before-start"),
    Bad("data before start", sse(chunk("data-x", data=1), *message(text())), "before-start"),
    Bad("start twice", sse(START, *message(text())), "second-start"),
    Bad("no messageId", sse(chunk("start"), *message(text())[1:]), "no-message-id"),
    Bad(
        "another messageId in a continuation",
        sse(*message([output(), *text()], message_id="m2")),
        "wrong-message-id",
        prior(decided(True)),
    ),
    Bad("a step in a step", sse(START, STEP, STEP, STEP_END, STEP_END, FINISH), "nested-step"),
    Bad("a step never begun", sse(START, STEP_END, FINISH), "step-not-open"),
    Bad("a step never ended", sse(START, STEP, *text(), FINISH), "step-open"),
    Bad("no steps", sse(START, *text(), FINISH), "outside-step"),
    Bad(
        "a file outside a step",
        sse(START, chunk("file", url="data:,", mediaType="a/b"), FINISH),
        "outside-step",
    ),
    Bad("text never begun", sse(*message([TEXT_DELTA, TEXT_END])), "block-not-open"),
    Bad("text after its end", sse(*message([*text(), TEXT_DELTA])), "block-not-open"),
    Bad("an end twice", sse(*message([*text(), TEXT_END])), "block-not-open"),
    Bad(
        "reasoning never begun",
        sse(*message([chunk("reasoning-delta", id="r", delta="")])),
        "block-not-open",
    ),
    Bad("text never ended", sse(*message([TEXT_START, TEXT_DELTA])), "block-open"),
    Bad("a block open twice", sse(*message([TEXT_START, *text()])), "block-open"),
    Bad(
        "text across steps",
        sse(START, STEP, TEXT_START, STEP_END, STEP, TEXT_DELTA, TEXT_END, STEP_END, FINISH),
        "block-not-open",
    ),
    Bad(
        "text open at an error",
        sse(START, STEP, TEXT_START, ERROR),
        "block-open",
        expect_error=True,
    ),
    Bad("text open at an abort", sse(START, STEP, TEXT_START, chunk("abort")), "block-open"),
    Bad(
        "input never begun",
        sse(*message([INPUT_DELTA, call(), output()], text())),
        "input-not-open",
    ),
    Bad("input never ended", sse(*message([INPUT_START, INPUT_DELTA], text())), "input-open"),
    Bad(
        "a call begun twice",
        sse(*message([call(), INPUT_START, output()], text())),
        "call-repeated",
    ),
    Bad(
        "a call in two steps",
        sse(*message([call(), output()], [call(), output()], text())),
        "call-repeated",
    ),
    Bad(
        "the call again in a continuation",
        sse(*message([call(), output(), *text()])),
        "call-repeated",
        prior(decided(True)),
    ),
    Bad(
        "dynamic in one chunk only",
        sse(*message([INPUT_START, call(dynamic=True), output()], text())),
        "call-changed",
    ),
    Bad(
        "input across steps",
        sse(*message([INPUT_START], [call(), output()], text())),
        "call-changed",
    ),
    Bad("an output for nothing", sse(*message([output("zz")], text())), "call-unknown"),
    Bad(
        "an error for nothing",
        sse(*message([{**FAILED, "toolCallId": "zz"}], text())),
        "call-unknown",
    ),
    Bad("a denial of nothing", sse(*message([{**DENIED, "toolCallId": "zz"}])), "call-unknown"),
    Bad("an approval of nothing", sse(*message([approval("zz")])), "call-unknown"),
    Bad(
        "an output before the input",
        sse(*message([INPUT_START, output()], text())),
        "output-too-early",
    ),
    Bad("an output twice", sse(*message([call(), output(), output()], text())), "output-repeated"),
    Bad(
        "only a preliminary output",
        sse(*message([call(), output(preliminary=True)], text())),
        "call-unanswered",
    ),
    Bad(
        "an output while a person thinks",
        sse(*message([call(), approval(), output()], text())),
        "output-unapproved",
    ),
    Bad("denied by nobody", sse(*message([call(), DENIED], text())), "denied-undecided"),
    Bad(
        "approved, then denied",
        sse(*message([DENIED, *text()])),
        "denied-undecided",
        prior(decided(True)),
    ),
    Bad(
        "denied, then run",
        sse(*message([output(), *text()])),
        "invalid-message",
        prior(decided(False)),
    ),
    Bad(
        "an approval before the input",
        sse(*message([INPUT_START, approval()])),
        "approval-too-early",
    ),
    Bad(
        "one approval id for two calls",
        sse(*message([call(), call("c2"), approval(), approval("c2")], reason="tool-calls")),
        "approval-repeated",
    ),
    Bad(
        "an answer to no question",
        sse(*message([chunk("tool-approval-response", approvalId="zz", approved=True)])),
        "approval-unknown",
        sdks=SEVEN,
    ),
    Bad(
        "a decision without consequence",
        sse(*message(text())),
        "decision-unanswered",
        prior(decided(False)),
    ),
    Bad("a call without an output", sse(*message([call()], text())), "call-unanswered"),
    Bad(
        "a provider's call without an output",
        sse(*message([call(providerExecuted=True)], reason="tool-calls")),
        "call-unanswered",
    ),
    Bad("a question at an ordinary end", sse(*message([call(), approval()])), "call-unanswered"),
    Bad("no finish", sse(*message(text())[:-1]), "missing-finish"),
    Bad(
        "data after finish",
        sse(*message(text()), chunk("data-x", data=1, transient=True)),
        "after-end",
    ),
    Bad("finish twice", sse(*message(text()), FINISH), "after-end"),
    Bad("finish after an error", sse(START, ERROR, FINISH), "after-end", expect_error=True),
    Bad(
        "text after an abort",
        sse(START, STEP, chunk("abort"), *text(), STEP_END, FINISH),
        "after-abort",
    ),
]

CLIENT = [
    Bad("an unexpected error", sse(START, ERROR), "error-chunk"),
    Bad("an expected error that does not come", WHOLE, "error-expected", expect_error=True),
    Bad("text behind a server's tool", sse(*message([call(), output(), *text()])), "reposts"),
    Bad("text before a server's tool", sse(*message([*text(), call(), output()])), "reposts"),
    Bad("a server's tool at the end", sse(*message([call(), output()])), "reposts"),
    Bad("a failed tool at the end", sse(*message([call(), FAILED])), "reposts"),
    Bad("a tool and no steps", sse(START, call(), output(), *text(), FINISH), "reposts"),
    Bad(
        "an empty step, but no metadata on finish",
        sse(*message([call(), output()], [])[:-1], chunk("finish", finishReason="stop")),
        "reposts",
    ),
    Bad(
        "cancelled after a tool",
        sse(START, STEP, call(), output(), STEP_END, chunk("abort")),
        "reposts",
    ),
    Bad(
        "a decision without consequence or step",
        sse(START, FINISH),
        "reposts",
        prior(decided(False)),
    ),
    Bad(
        "a continuation without a step",
        sse(START, *text(), FINISH),
        "reposts",
        prior(tool_part("output-available", output=1)),
    ),
    Bad(
        "a question that later steps hide",
        sse(*message([call(), approval()], text(), reason="tool-calls")),
        "stuck",
    ),
    Bad(
        "start twice, other id",
        sse(START, *message(text(), text("b", "t2"), message_id="m2")),
        "second-start",
    ),
    Bad("a message without parts", sse(START, FINISH), "invalid-message", sdks=("ai-6.0.0",)),
    Bad(
        "a relative file URL",
        sse(*message([chunk("file", url="/files/1", mediaType="image/png")])),
        "invalid-message",
        sdks=SEVEN,
    ),
    Bad(
        "the message of a wrong messageId",
        sse(*message([*text()], message_id="m2")),
        "forked",
        prior(tool_part("output-available", output=1)),
    ),
    Bad("text never begun, as the client says it", sse(*message([TEXT_DELTA])), "chat-error"),
    Bad("an unknown call, as the client says it", sse(*message([output("zz")])), "reader-error"),
]

BAD = [*FRAMING, *SCHEMA, *ORDER, *CLIENT]
