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
        "An artifact was saved, under this name, as this version; from a server, with where its content is.",
    ),
    "transfer": DataPart(
        "{ to: string; reason?: string }", "The conversation goes on with another agent."
    ),
    "output": DataPart(
        "{ author: string; path: string; output: JsonValue }",
        "What a node of a workflow returned; `path` says which node.",
    ),
    "long-running": DataPart(
        "{ toolCallId: string; toolName: string; status?: 'answered' }",
        "This call's answer may come much later, or from the client. In the history of a call that the "
        "client has answered, `status` says so.",
    ),
    "approval": DataPart(
        "{ approvalId: string; toolCallId: string; hint?: string; payload?: JsonValue; "
        "schema?: JsonValue; status?: 'expired' }",
        "What the tool wants the person to know before approving, and to give; beside "
        "`tool-approval-request`. `payload` is a sample of what it wants, `schema` the JSON schema read "
        "from it. In the history of a request that nobody answered, `status` says so.",
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
        "In a live run: tokens of a message, told after its end.",
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
        "What stands behind a specialist's answer, as it answers, and behind the whole, at its end: "
        "confidence, citations, reasoning, each with the run's entry (`cursor`) it came from. Its id is "
        "the specialist's; that of the whole is `proof`. Sent only where somebody gave any.",
        keyed=True,
    ),
    "executable-code": DataPart(
        "{ code?: string; language?: string; id?: string }", "Code that the model wrote to be run."
    ),
    "code-execution-result": DataPart(
        "{ outcome?: string; output?: string; id?: string }", "What running that code gave."
    ),
    "file-reference": DataPart(
        "{ uri: string; mediaType: string; filename?: string }",
        "A file that lies where no link can be given (`gs://…`, in a replay without a server).",
    ),
    "pcm": DataPart(
        "{ content: string; sampleRate: number; channels: number; bitDepth: number }",
        "A piece of raw sound, base64.",
        transient=True,
    ),
    "input-transcription": DataPart(
        "{ text: string; final: boolean }",
        "What the user was heard to say, so far.",
        keyed=True,
    ),
    "prism-takeover": DataPart(
        "{ epoch: number; superseded: string[]; inDoubt?: string[] }",
        "Another process goes on with the run. `superseded`: ids of text and reasoning blocks that are said "
        "anew; `inDoubt`: calls that may have run twice.",
        keyed=True,
    ),
    "rewound": DataPart(
        "{ messageIds: string[] }",
        "This message takes the place of these, the user's and the assistant's, oldest first; what came "
        "after them is gone too. The log keeps their runs.",
    ),
    "warning": DataPart(
        "{ code: string; message: string }",
        "Something of the request was ignored: its tools (`tools-ignored`), or its system message "
        "(`system-ignored`).",
    ),
    "prism-replaced": DataPart(
        "{ blocks: string[] }",
        "What these text and reasoning blocks said is not what ADK stored: hide them; what was stored "
        "follows. A part that was still open says so itself (`providerMetadata.prism.replaced`), one that "
        "had ended has its block's id in `providerMetadata.prism.block`. Dialect 7 takes the parts back "
        "instead (`reset-step`), unless their step holds a call that was made.",
        keyed=True,
    ),
    "interrupted": DataPart("{ author: string }", "The speaker was cut off."),
    "error": DataPart(
        "{ code: string; author: string; path: string; message?: string }",
        "A node or agent failed; the run may have survived it.",
    ),
    "unrecognised": DataPart(
        "{ kind: string; raw: JsonValue }",
        "Something that this version of adk-prism does not know, as it came.",
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
