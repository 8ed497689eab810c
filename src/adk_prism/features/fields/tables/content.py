"""`Content` and `Part`: what is said, thought, shown and run."""

from __future__ import annotations

from adk_prism.facts import model as fact
from adk_prism.features.fields.kinds import Projected, Rows, at, carried, verbatim

_CODE = "data-executable-code.data"
_RESULT = "data-code-execution-result.data"
_SIGNATURE = "providerMetadata.google.thoughtSignature"
_FOR_MODEL = "tells the model how to take the part in; there is nothing to show"

CONTENT: Rows = {
    "parts": at("text-delta.delta", fact.BlockGrew, "one by one: see `Part`"),
    **carried("role", "all of it is the assistant's message; results of tools have the role user"),
}

PART: Rows = {
    "text": at("text-delta.delta", fact.BlockGrew),
    "thought": at("reasoning-delta.delta", fact.BlockGrew, "its text is reasoning"),
    "thought_signature": at(f"reasoning-start.{_SIGNATURE}", fact.BlockBegan)
    + at(f"reasoning-end.{_SIGNATURE}", fact.BlockEnded, "where it came after the block began")
    + at(f"text-start.{_SIGNATURE}", fact.BlockBegan)
    + at(f"text-end.{_SIGNATURE}", fact.BlockEnded, "where it came after the block began")
    + at(f"tool-input-available.{_SIGNATURE}", fact.CallRequested),
    "function_call": at("tool-input-available.input", fact.CallRequested, "see `FunctionCall`"),
    "function_response": at(
        "tool-output-available.output", fact.CallAnswered, "see `FunctionResponse`"
    ),
    "tool_call": at(
        "tool-input-available.providerExecuted", fact.CallRequested, "true: see `ToolCall`"
    ),
    "tool_response": at(
        "tool-output-available.providerExecuted", fact.CallAnswered, "true: see `ToolResponse`"
    ),
    "executable_code": at(_CODE, fact.CodeShown),
    "code_execution_result": at(_RESULT, fact.CodeResultShown),
    "inline_data": at("file.url", fact.FileShown, "a data URL, or a link to the run's file")
    + at("data-pcm.data.content", fact.AudioHeard, "raw PCM sound, transient"),
    "file_data": at("file.url", fact.FileShown, "as it is, or a link to the run's file"),
    "audio_transcription": at("text-delta.delta", fact.BlockGrew, "see `Transcription`"),
    **carried("media_resolution media_processing video_metadata speech_metadata", _FOR_MODEL),
    **carried("part_metadata", "the app's own notes to the model's API; ours on sound not kept"),
}

CODE: Rows = verbatim(_CODE, fact.CodeShown, "code language id")
CODE_RESULT: Rows = verbatim(_RESULT, fact.CodeResultShown, "outcome output id")

TRANSCRIPTION: Rows = {
    "text": at("text-delta.delta", fact.BlockGrew)
    + at("data-input-transcription.data.text", fact.InputTranscribed, "the utterance so far"),
    "finished": at("data-input-transcription.data.final", fact.InputTranscribed),
    **carried(
        "language_code speaker_label words start_offset end_offset",
        "a message's text has no place for times, languages and voices",
    ),
}

_CONTENT_TABLE = {
    "Content": CONTENT,
    "Part": PART,
    "ExecutableCode": CODE,
    "CodeExecutionResult": CODE_RESULT,
    "Transcription": TRANSCRIPTION,
    "WordInfo": carried("word start_offset end_offset", "part of `Transcription.words`"),
    "PartMediaResolution": carried("level num_tokens", "part of `Part.media_resolution`"),
    "VideoMetadata": carried("end_offset fps start_offset", "part of `Part.video_metadata`"),
    "SpeechMetadata": carried("speaker style", "part of `Part.speech_metadata`"),
}


# ---------------------------------------------------------------------- files
#
# Files and sound: inside an event, or referred to by one.

_NAME = "file.providerMetadata.adk.filename"


def _name() -> Projected:
    return at(_NAME, fact.FileShown)


def _media_type() -> Projected:
    return at("file.mediaType", fact.FileShown)


def _reference() -> Rows:
    reference = "data-file-reference.data"
    unlinked = "where no server can link it, as in `replay`"
    return {
        "file_uri": at("file.url", fact.FileShown, "web links as they are, others as a run file")
        + at(f"{reference}.uri", fact.FileShown, unlinked),
        "mime_type": _media_type() + at(f"{reference}.mediaType", fact.FileShown, unlinked),
        "display_name": _name() + at(f"{reference}.filename", fact.FileShown, unlinked),
    }


BLOB: Rows = {
    "data": at("file.url", fact.FileShown, "a data URL, or a link to the run's file")
    + at("data-pcm.data.content", fact.AudioHeard, "raw PCM sound"),
    "mime_type": _media_type()
    + at("data-pcm.data.sampleRate", fact.AudioHeard, "its parameter `rate`")
    + at("data-pcm.data.channels", fact.AudioHeard, "its parameter `channels`"),
    "display_name": _name(),
}

RESPONSE_BLOB: Rows = {
    "data": at("file.url", fact.FileShown, "a data URL, or a link to the run's file"),
    "mime_type": _media_type(),
    "display_name": _name(),
}

_FILES_TABLE = {
    "Blob": BLOB,
    "FileData": _reference(),
    "FunctionResponseBlob": RESPONSE_BLOB,
    "FunctionResponseFileData": _reference(),
}


# ---------------------------------------------------------------------- calls
#
# Calls and their answers: functions of the app, and tools that the model's provider runs.

_ASK = "tool-input-available"
_ANSWER = "tool-output-available"
_PIECE = "tool-input-delta.inputTextDelta"
_WRITTEN = "written as growing JSON"
_MADE_UP = "of a call that was never seen, made up for its answer"
_LIVE_TOOLS = "tells a live model when to listen; a later answer replaces an earlier one anyway"

CALL: Rows = {
    "id": at(f"{_ASK}.toolCallId", fact.CallRequested)
    + at("tool-input-start.toolCallId", fact.CallInputGrew),
    "name": at(f"{_ASK}.toolName", fact.CallRequested)
    + at("tool-input-start.toolName", fact.CallInputGrew),
    "args": at(f"{_ASK}.input", fact.CallRequested),
    "partial_args": at(_PIECE, fact.CallInputGrew, _WRITTEN),
    "will_continue": at(
        "tool-input-start.toolName",
        fact.CallInputGrew,
        "arguments follow; without it, they are all here",
    ),
}

PARTIAL_ARG: Rows = {
    "json_path": at(_PIECE, fact.CallInputGrew, "as keys and brackets"),
    "string_value": at(_PIECE, fact.CallInputGrew, _WRITTEN),
    "number_value": at(_PIECE, fact.CallInputGrew, _WRITTEN),
    "bool_value": at(_PIECE, fact.CallInputGrew, _WRITTEN),
    "null_value": at(_PIECE, fact.CallInputGrew, _WRITTEN),
    "will_continue": at(_PIECE, fact.CallInputGrew, "the string stays open"),
}

RESPONSE: Rows = {
    "id": at(f"{_ANSWER}.toolCallId", fact.CallAnswered),
    "name": at(f"{_ASK}.toolName", fact.CallRequested, _MADE_UP),
    "response": at(f"{_ANSWER}.output", fact.CallAnswered)
    + at("tool-output-error.errorText", fact.CallFailed, "its `error`, where the tool failed"),
    "parts": at("file.url", fact.FileShown, "after the output: see `FunctionResponsePart`"),
    **carried("scheduling will_continue", _LIVE_TOOLS),
}

RESPONSE_PART: Rows = {
    "inline_data": at("file.url", fact.FileShown, "see `FunctionResponseBlob`"),
    "file_data": at("file.url", fact.FileShown, "see `FunctionResponseFileData`"),
    **carried("media_processing", "tells the model how to take the part in"),
}

SERVER_CALL: Rows = {
    "id": at(f"{_ASK}.toolCallId", fact.CallRequested),
    "tool_type": at(f"{_ASK}.toolName", fact.CallRequested),
    "args": at(f"{_ASK}.input", fact.CallRequested),
}

SERVER_RESPONSE: Rows = {
    "id": at(f"{_ANSWER}.toolCallId", fact.CallAnswered),
    "tool_type": at(f"{_ASK}.toolName", fact.CallRequested, _MADE_UP),
    "response": at(f"{_ANSWER}.output", fact.CallAnswered),
}

_CALLS_TABLE = {
    "FunctionCall": CALL,
    "PartialArg": PARTIAL_ARG,
    "FunctionResponse": RESPONSE,
    "FunctionResponsePart": RESPONSE_PART,
    "ToolCall": SERVER_CALL,
    "ToolResponse": SERVER_RESPONSE,
}


# ---------------------------------------------------------------------- grounding and citations
#
# What an answer rests on: grounding metadata and citations.
#
# All of it is in the message's metadata as upstream wrote it; what can be linked is a source as well.

_GROUNDING = "finish.messageMetadata.grounding"
_CHUNK = f"{_GROUNDING}.groundingChunks[]"
_SUPPORT = f"{_GROUNDING}.groundingSupports[]"
_CONTEXT = f"{_CHUNK}.retrievedContext"
_PLACE = f"{_CHUNK}.maps.placeAnswerSources"
_CITATION = "finish.messageMetadata.citations[]"

_LISTED = f"{_GROUNDING}.sources[]"
_URL = at("source-url.url", fact.SourceCited) + at(f"{_LISTED}.uri", fact.SourcesLinked)
_TITLE = at("source-url.title", fact.SourceCited) + at(f"{_LISTED}.title", fact.SourcesLinked)
_DOCUMENT = at("source-document.title", fact.SourceCited) + at(
    f"{_LISTED}.title", fact.SourcesLinked
)


def _kept(path: str, fields: str) -> dict[str, Projected]:
    return verbatim(path, fact.SourcesLinked, fields)


def _cited(path: str, fields: str) -> dict[str, Projected]:
    return verbatim(path, fact.CitationsGiven, fields)


def _also(rows: dict[str, Projected], **shown: Projected) -> Rows:
    """Add the places at which a field is shown besides."""
    return {name: shown[name] + row if name in shown else row for name, row in rows.items()}


GROUNDING: dict[str, Rows] = {
    "GroundingMetadata": _kept(
        _GROUNDING,
        """image_search_queries grounding_chunks grounding_supports retrieval_metadata search_entry_point
        web_search_queries google_maps_widget_context_token retrieval_queries source_flagging_uris""",
    ),
    "RetrievalMetadata": _kept(
        f"{_GROUNDING}.retrievalMetadata", "google_search_dynamic_retrieval_score"
    ),
    "SearchEntryPoint": _kept(f"{_GROUNDING}.searchEntryPoint", "rendered_content sdk_blob"),
    "GroundingMetadataSourceFlaggingUri": _kept(
        f"{_GROUNDING}.sourceFlaggingUris[]", "flag_content_uri source_id"
    ),
    "GroundingSupport": _kept(
        _SUPPORT, "confidence_scores grounding_chunk_indices segment rendered_parts"
    ),
    "Segment": _kept(f"{_SUPPORT}.segment", "start_index end_index part_index text"),
}

CHUNKS: dict[str, Rows] = {
    "GroundingChunk": _kept(_CHUNK, "image maps retrieved_context web"),
    "GroundingChunkWeb": _also(_kept(f"{_CHUNK}.web", "domain title uri"), uri=_URL, title=_TITLE),
    "GroundingChunkImage": _also(
        _kept(f"{_CHUNK}.image", "source_uri image_uri title domain"),
        source_uri=_URL,
        image_uri=at("source-url.url", fact.SourceCited, "where there is no `source_uri`"),
        title=_TITLE,
    ),
    "GroundingChunkRetrievedContext": _also(
        _kept(
            _CONTEXT,
            """document_name rag_chunk text title uri custom_metadata file_search_store page_number
            media_id""",
        ),
        title=_DOCUMENT,
        document_name=at("source-document.title", fact.SourceCited, "where there is no `title`"),
        uri=at("source-document.filename", fact.SourceCited, "its last segment"),
    ),
    "RagChunk": _kept(f"{_CONTEXT}.ragChunk", "page_span text chunk_id file_id"),
    "RagChunkPageSpan": _kept(f"{_CONTEXT}.ragChunk.pageSpan", "first_page last_page"),
    "GroundingChunkCustomMetadata": _kept(
        f"{_CONTEXT}.customMetadata[]", "key numeric_value string_list_value string_value"
    ),
    "GroundingChunkStringList": _kept(f"{_CONTEXT}.customMetadata[].stringListValue", "values"),
}

MAPS: dict[str, Rows] = {
    "GroundingChunkMaps": _also(
        _kept(f"{_CHUNK}.maps", "place_answer_sources place_id text title uri route"),
        uri=_URL,
        title=_TITLE,
    ),
    "GroundingChunkMapsRoute": _kept(
        f"{_CHUNK}.maps.route", "distance_meters duration encoded_polyline"
    ),
    "GroundingChunkMapsPlaceAnswerSources": _kept(
        _PLACE, "review_snippet flag_content_uri review_snippets"
    ),
    "GroundingChunkMapsPlaceAnswerSourcesReviewSnippet": _kept(
        f"{_PLACE}.reviewSnippets[]",
        """author_attribution flag_content_uri google_maps_uri relative_publish_time_description review
        review_id title""",
    ),
    "GroundingChunkMapsPlaceAnswerSourcesAuthorAttribution": _kept(
        f"{_PLACE}.reviewSnippets[].authorAttribution", "display_name photo_uri uri"
    ),
}

CITATIONS: dict[str, Rows] = {
    "CitationMetadata": {
        "citations": at("finish.messageMetadata.citations", fact.CitationsGiven),
    },
    "Citation": _cited(_CITATION, "end_index license publication_date start_index title uri"),
    "GoogleTypeDate": _cited(f"{_CITATION}.publicationDate", "day month year"),
}

_GROUNDING_AND_CITATIONS_TABLE = GROUNDING | CHUNKS | MAPS | CITATIONS


TABLE: dict[str, Rows] = {
    **_CONTENT_TABLE,
    **_FILES_TABLE,
    **_CALLS_TABLE,
    **_GROUNDING_AND_CITATIONS_TABLE,
}
"""By upstream type, by field or value."""
