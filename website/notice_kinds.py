"""The activities and custom events that we send: what each holds, as TypeScript and in a sentence.

The tables from which the protocol's page is written; a test holds them equal to what is sent.
"""

from __future__ import annotations

from msgspec import Struct


class NoticeKind(Struct, frozen=True):
    """One activity type, or the name of one custom event."""

    shape: str
    """The TypeScript type of its `content`, or `value`."""
    doc: str


ACTIVITIES = {
    "adk.file": NoticeKind(
        "{ mediaType: string; url?: string; uri?: string; size?: number; filename?: string; "
        "author: string; path?: string; branch?: string }",
        "A picture, a file or recorded sound that a model or tool shows. `url` can be opened: a data URL if "
        "it is small, else an address of this server. `uri` is a reference that nobody here can serve; "
        "`size` stands alone where a file is too large and there is no server.",
    ),
    "adk.artifact": NoticeKind(
        "{ filename: string; version: number; url?: string }",
        "An artifact was saved; from a server, with where its content is.",
    ),
    "adk.sources": NoticeKind(
        "{ sources?: { id: string; type: 'url' | 'document'; uri: string; title: string }[]; "
        "citations?: JsonValue[]; grounding?: JsonValue }",
        "What an answer rests on. `grounding` and `citations` are as the model's provider gives them. The "
        "text has `sources` and `citations` in its `metadata`, too.",
    ),
    "adk.proof": NoticeKind(
        "JsonValue",
        "Confidence, citations and reasoning behind a specialist's answer, or the whole one.",
    ),
    "adk.long_running": NoticeKind(
        "{ toolCallId: string; toolName: string; status: 'running'; output?: string }",
        "A long-running tool has given its first result and is still at work; `output` is what it said "
        "since, as JSON.",
    ),
    "adk.progress": NoticeKind(
        "{ toolCallId: string; toolName: string; done?: number; total?: number; message?: string; "
        "data?: JsonValue }",
        "How far a tool is, in its own words; the next report replaces it.",
    ),
    "adk.approval": NoticeKind(
        "{ state: 'requested'; interrupt: Interrupt } | "
        "{ state: 'approved' | 'denied'; toolCallId: string; reason?: string }",
        "In a live run, where approvals are asked for and given while the agent speaks.",
    ),
    "adk.replaced": NoticeKind(
        "{ kind: 'text' | 'reasoning' | 'transcript' }",
        "Takes the place of a message whose text ADK did not store: it no longer counts.",
    ),
}

CUSTOM = {
    "adk.model_call": NoticeKind(
        "{ author: string; path?: string; model?: string; finishReason?: string; finishMessage?: string; "
        "usage?: JsonValue; cache?: JsonValue; logprobs?: JsonValue; avgLogprobs?: number }",
        "A model call ended.",
    ),
    "adk.metadata": NoticeKind("JsonValue", "The app's own metadata on an event."),
    "adk.output": NoticeKind(
        "{ author: string; path: string; output: JsonValue }",
        "What a node of a workflow returned; a sub-agent's is the `result` of `SUBAGENT_FINISHED`.",
    ),
    "adk.transfer": NoticeKind(
        "{ to: string; reason?: string }", "The conversation goes on with another agent."
    ),
    "adk.error": NoticeKind(
        "{ code: string; message?: string; author: string; path: string }",
        "A node failed; the run may survive it.",
    ),
    "adk.audio": NoticeKind(
        "{ content: string; sampleRate: number; channels: number; bitDepth: number }",
        "A piece of raw sound, as base64.",
    ),
    "adk.input_transcription": NoticeKind(
        "{ id: string; text: string }",
        "What the user is heard saying, so far; when it is over it is a message of the user.",
    ),
    "adk.interrupted": NoticeKind("{ author: string }", "The user cut the speaker off."),
    "adk.unrecognised": NoticeKind(
        "{ kind: string; raw: JsonValue }", "Something in an event that this version does not know."
    ),
    "prism.warning": NoticeKind(
        "{ code: string; message: string }", "What of the request was ignored, and why."
    ),
    "prism.rewound": NoticeKind(
        "{ messageIds: string[] }", "The run stands in the place of these messages."
    ),
    "prism.takeover": NoticeKind(
        "{ epoch: number; superseded: string[]; inDoubt?: string[] }",
        "Another process goes on with the run; `inDoubt` are calls that may have run, or not.",
    ),
}
