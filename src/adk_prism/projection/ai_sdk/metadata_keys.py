"""The keys of our message metadata: what each holds, as TypeScript and in a sentence.

The table from which `adk-prism types` and the protocol's page are written; a test holds it equal to
what `metadata.py` collects. Shapes name types of `typescript.py`.
"""

from __future__ import annotations

from msgspec import Struct


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
