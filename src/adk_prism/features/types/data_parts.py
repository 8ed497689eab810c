"""Our data parts: what each `data-<name>` holds, as TypeScript and in a sentence.

The one table from which `adk-prism types` and the protocol's page are written; tests hold it equal
to what the projection emits and to what requests may bring. Shapes name types of `typescript.py`.
"""

from __future__ import annotations

from msgspec import Struct


class DataPart(Struct, frozen=True):
    """One kind of data part."""

    shape: str
    """The TypeScript type of its `data`."""
    doc: str
    keyed: bool = False
    """Has an `id`: a later part with the same id replaces it."""
    transient: bool = False
    """Only for `onData`; never part of the message."""


SENT = {
    "state": DataPart(
        "{ [key: string]: JsonValue }",
        "Session state that an agent or tool changed: the changed keys with their new values.",
    ),
    "artifact": DataPart(
        "{ filename: string; version: number; url?: string }",
        "An artifact was saved under this name as this version; a server adds the URL of its content.",
    ),
    "transfer": DataPart(
        "{ to: string; reason?: string }", "The conversation continues with another agent."
    ),
    "output": DataPart(
        "{ author: string; path: string; output: JsonValue }",
        "What a node of a workflow returned; `path` says which node.",
    ),
    "long-running": DataPart(
        "{ toolCallId: string; toolName: string; status?: 'answered' }",
        "This call's answer may come much later, or from the client. In the history, `status` marks a "
        "call that the client has answered.",
    ),
    "progress": DataPart(
        "{ toolCallId: string; toolName: string; done?: number; total?: number; message?: string; "
        "data?: JsonValue }",
        "How far a tool is whose call the client may answer, and in dialect 5 any tool; for the others "
        "it is a preliminary output.",
        keyed=True,
    ),
    "approval": DataPart(
        "{ approvalId: string; toolCallId: string; hint?: string; payload?: JsonValue; "
        "schema?: JsonValue; status?: 'expired' }",
        "What the tool shows before an approval, and asks for; beside "
        "`tool-approval-request`. `payload` is a sample of the answer, `schema` the JSON schema read "
        "from it. In the history, `status` marks a request without an answer.",
        keyed=True,
    ),
    "approval-request": DataPart(
        "{ approvalId: string; toolCallId: string; state: string; reason?: string }",
        "In dialect 5, and in a live run in dialect 6: a person is asked (`requested`), and has `approved` "
        "or `denied`. The other dialects use the AI SDK's own approval chunks. Answer with "
        "`data-approval-response`.",
        keyed=True,
    ),
    "usage": DataPart(
        "{ messageId: string; usage: PrismUsage }",
        "In a live run: tokens of a message, sent after its end.",
        transient=True,
    ),
    "input-request": DataPart(
        "{ id: string; request: JsonValue; status?: 'answered' | 'expired' }",
        "A workflow asks the person something. Answer with `data-input-response`.",
        keyed=True,
    ),
    "credential-request": DataPart(
        "{ id: string; toolCallId?: string; request: JsonValue; status?: 'answered' | 'expired' }",
        "A tool needs the person to sign in. Answer with `data-credential-response`.",
        keyed=True,
    ),
    "proof": DataPart(
        "PrismProof",
        "The proof of a specialist's answer, when it answers, and of the whole answer, at its end: "
        "confidence, citations, reasoning, each with the run's entry (`cursor`) it came from. Its id is "
        "the specialist's; that of the whole is `proof`. Sent only if there is any.",
        keyed=True,
    ),
    "executable-code": DataPart(
        "{ code?: string; language?: string; id?: string }", "Code that the model wrote to be run."
    ),
    "code-execution-result": DataPart(
        "{ outcome?: string; output?: string; id?: string }", "The result of that code."
    ),
    "file-reference": DataPart(
        "{ uri: string; mediaType: string; filename?: string }",
        "A file without a link (`gs://…`, in a replay without a server).",
    ),
    "pcm": DataPart(
        "{ content: string; sampleRate: number; channels: number; bitDepth: number }",
        "A chunk of raw audio, base64.",
        transient=True,
    ),
    "input-transcription": DataPart(
        "{ text: string; final: boolean }",
        "The transcript of what the user has said so far.",
        keyed=True,
    ),
    "prism-takeover": DataPart(
        "{ epoch: number; superseded: string[]; inDoubt?: string[] }",
        "Another process continues the run. `superseded`: ids of text and reasoning blocks that are sent "
        "again; `inDoubt`: calls that may have run twice.",
        keyed=True,
    ),
    "rewound": DataPart(
        "{ messageIds: string[] }",
        "This message replaces these messages of the user and the assistant, oldest first, and everything "
        "after them. The log keeps their runs.",
    ),
    "warning": DataPart(
        "{ code: string; message: string }",
        "Something of the request was ignored: its tools (`tools-ignored`), or its system message "
        "(`system-ignored`).",
    ),
    "prism-replaced": DataPart(
        "{ blocks: string[] }",
        "ADK stored other text than these text and reasoning blocks: hide them; the stored text "
        "follows. A part that was still open is marked (`providerMetadata.prism.replaced`); one that "
        "had ended has its block's id in `providerMetadata.prism.block`. Dialect 7 removes the parts "
        "instead (`reset-step`), unless their step contains a call that was made.",
        keyed=True,
    ),
    "interrupted": DataPart("{ author: string }", "The speaker was interrupted."),
    "error": DataPart(
        "{ code: string; author: string; path: string; message?: string }",
        "A node or agent failed; the run may have survived it.",
    ),
    "unrecognised": DataPart(
        "{ kind: string; raw: JsonValue }",
        "Data that this version of adk-prism does not know, unchanged.",
    ),
}
"""What the server sends."""

TAKEN = {
    "input-response": DataPart(
        "{ id: string; response: JsonValue }",
        "Sent by the client: the answer to `data-input-request`.",
    ),
    "credential-response": DataPart(
        "{ id: string; response?: JsonValue }",
        "Sent by the client: the answer to `data-credential-request`. In the history without `response`, "
        "which is a secret.",
    ),
    "confirmation-response": DataPart(
        "{ approvalId: string; payload: JsonValue }",
        "Sent by the client: what a tool wants with an approval, in the shape of `data-approval`'s "
        "`schema`. Beside the answered approval in the assistant's message; or in a message of the "
        "user's, where it is the approval.",
    ),
    "approval-response": DataPart(
        "{ approvalId: string; approved: boolean; reason?: string }",
        "Sent by the client in dialect 5, in the assistant's message: the answer to "
        "`data-approval-request`.",
        keyed=True,
    ),
}
"""What a client may put into a message that it sends."""

# ---------------------------------------------------------------------------
# The keys of our message metadata: what each holds, as TypeScript and in a sentence.
#
# The table from which `adk-prism types` and the protocol's page are written; a test holds it equal to
# what `ai_sdk/message_state.py` collects. Shapes name types of `typescript.py`.


class MetadataKey(Struct, frozen=True):
    """One key of `message.metadata`."""

    shape: str
    doc: str
    always: bool = False
    """There from the message's first chunk on."""
    first: bool = False
    """Comes with the message's first chunk, where there is something to say; all others come with its end."""


METADATA_KEYS = {
    "runId": MetadataKey(
        "string", "The run that wrote the message last: its id in `/api/runs/{run}`.", always=True
    ),
    "derived": MetadataKey(
        "boolean",
        "The message was read from an ADK session or a capture, and not recorded while it ran: streamed "
        "fragments and the times of agents and tools are not known.",
        first=True,
    ),
    "createdAt": MetadataKey(
        "number",
        "When the message began, in milliseconds since 1970 (`new Date(createdAt)`), by the log's clock; "
        "there from the first chunk on, too. A user's message has it in the history.",
        first=True,
    ),
    "usage": MetadataKey(
        "PrismUsage", "Tokens, summed over the run's model calls, and each call's own counts."
    ),
    "modelVersion": MetadataKey("string", "The model that answered last, as it names itself."),
    "adkFinishReason": MetadataKey("string", "Why it stopped, in upstream's word."),
    "finishMessage": MetadataKey(
        "string", "Why it stopped, in a sentence of the model's provider."
    ),
    "grounding": MetadataKey(
        "PrismGrounding",
        "Sources, as a list (`sources`) and as upstream gives them, and which spans of the text rest on "
        "them.",
    ),
    "citations": MetadataKey("PrismCitation[]", "Passages that are quoted from somewhere."),
    "cache": MetadataKey(
        "PrismCache",
        "The context cache: how many model calls found something in it (`hits`) or nothing (`misses`), and "
        "what ADK said of it last.",
    ),
    "avgLogprobs": MetadataKey("number", "Average log probability of the answer's tokens."),
    "logprobs": MetadataKey("PrismLogprobs", "Log probabilities, token by token."),
    "custom": MetadataKey(
        "{ [key: string]: JsonValue }", "The app's own metadata (`custom_metadata`)."
    ),
    "audio": MetadataKey(
        "{ chunks: number; bytes: number; sampleRate: number; duration: number }",
        "How much raw sound was sent; `duration` in seconds.",
    ),
    "interrupted": MetadataKey("boolean", "The user cut the speaker off; in live runs only."),
    "failure": MetadataKey(
        "string", "Why the message breaks off: its run failed. For a page that is loaded later."
    ),
}
