"""How ADK would say it: for each upstream type, the events that hold an instance of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from google.adk.events.event import Event, NodeInfo
from google.adk.events.event_actions import EventActions, EventCompaction
from google.adk.events.ui_widget import UiWidget
from google.adk.models.cache_metadata import CacheMetadata
from google.adk.tools.tool_confirmation import ToolConfirmation
from google.genai import types
from pydantic import BaseModel
from tests.features.fields.samples import filled, sample

PNG = types.Blob(mime_type="image/png", data=b"a picture")
CALL = types.FunctionCall(id="call-a", name="look", args={"at": "it"})

RICH = [
    types.Part(text="thinking", thought=True),
    types.Part(text="speaking"),
    types.Part(function_call=CALL),
    types.Part(inline_data=PNG),
]
"""Parts of each kind that names its speaker."""


def said(*parts: types.Part, **fields: Any) -> Event:
    """Return an agent's event with these parts."""
    content = types.Content(role="model", parts=list(parts)) if parts else None
    return Event(**{"author": "agent", "content": content, **fields})


def text(words: str, **fields: Any) -> Event:
    """Return an agent's event with text."""
    return said(types.Part(text=words), **fields)


def grounded(**metadata: Any) -> list[Event]:
    """Return an answer with grounding metadata."""
    return [text("so", grounding_metadata=types.GroundingMetadata(**metadata))]


def chunk(**source: Any) -> list[Event]:
    """Return an answer that rests on one source."""
    return grounded(grounding_chunks=[types.GroundingChunk(**source)])


def context(**fields: Any) -> list[Event]:
    """Return an answer that rests on one piece of a document."""
    return chunk(retrieved_context=types.GroundingChunkRetrievedContext(**fields))


def place(**sources: Any) -> list[Event]:
    """Return an answer that rests on a place of a map."""
    answers = types.GroundingChunkMapsPlaceAnswerSources(**sources)
    return chunk(maps=types.GroundingChunkMaps(place_answer_sources=answers))


def reviewed(**fields: Any) -> list[Event]:
    """Return an answer that rests on one review of a place."""
    return place(
        review_snippets=[types.GroundingChunkMapsPlaceAnswerSourcesReviewSnippet(**fields)]
    )


def cited(**fields: Any) -> list[Event]:
    """Return an answer with one citation."""
    citations = types.CitationMetadata(citations=[types.Citation(**fields)])
    return [text("so", citation_metadata=citations)]


def counted(**counts: Any) -> list[Event]:
    """Return an answer with usage."""
    return [text("so", usage_metadata=types.GenerateContentResponseUsageMetadata(**counts))]


def likely(**fields: Any) -> list[Event]:
    """Return an answer with log probabilities."""
    return [text("so", logprobs_result=types.LogprobsResult(**fields))]


def heard(said: types.Transcription) -> list[Event]:
    """Return a transcription of each side."""
    if said.text is None:
        said = said.model_copy(update={"text": "so"})
    return [
        Event(author="user", input_transcription=said),
        Event(author="agent", output_transcription=said),
    ]


def transcribed(*pieces: str) -> dict[str, list[Event]]:
    """Return what each side says, in every shape in which ADK has written it; together the same text."""
    whole, last = "".join(pieces), len(pieces) - 1

    def told(said: str, finished: bool | None, author: str, **more: Any) -> Event:
        words = types.Transcription(text=said, finished=finished)
        return Event(author=author, input_transcription=words, output_transcription=words, **more)

    unfinished = [told(piece, False, "agent", partial=True) for piece in pieces]
    return {
        "by the agent, both in one event": [*unfinished, told(whole, True, "agent", partial=False)],
        "by the user": [told(whole, True, "user", partial=False)],
        "no partial flag": [told(p, i == last, "agent") for i, p in enumerate(pieces)],
        "no flag at all": [told(piece, None, "agent") for piece in pieces],
        "the final one is only the last piece": [
            *unfinished[:-1],
            told(pieces[-1], True, "agent", partial=False),
        ],
        "one final event": [told(whole, True, "agent", partial=False)],
    }


def streamed(call: types.FunctionCall) -> list[Event]:
    """Return a call whose arguments stream before it is made."""
    begun = call.model_copy(update={"will_continue": True, "args": None})
    piece = types.PartialArg(json_path="$.at", string_value="it")
    more = types.FunctionCall(partial_args=[piece], will_continue=False)
    made = call.model_copy(update={"will_continue": None, "partial_args": None})
    parts = [types.Part(function_call=part) for part in (begun, more, made)]
    return [
        said(parts[0], partial=True),
        said(parts[1], partial=True),
        said(types.Part(function_call=call)) if call.will_continue else said(parts[2]),
    ]


def argued(piece: types.PartialArg) -> list[Event]:
    """Return one piece of a streamed argument."""
    call = types.FunctionCall(id="call-a", name="look", partial_args=[piece], will_continue=True)
    return [said(types.Part(function_call=call), partial=True)]


def answered(response: types.FunctionResponse) -> list[Event]:
    """Return a call's answer."""
    return [said(types.Part(function_response=response))]


def with_media(**media: Any) -> list[Event]:
    """Return an answer that holds a file."""
    parts = [types.FunctionResponsePart(**media)]
    return answered(types.FunctionResponse(id="call-a", name="look", response={}, parts=parts))


def confirmed(confirmation: ToolConfirmation) -> list[Event]:
    """Return how ADK asks for a confirmation: a reserved call, and a placeholder for an answer."""
    original = CALL.model_dump(by_alias=True, exclude_none=True)
    asked = confirmation.model_dump(by_alias=True, exclude_none=True)
    request = types.FunctionCall(
        id="ask-a",
        name="adk_request_confirmation",
        args={"originalFunctionCall": original, "toolConfirmation": asked},
    )
    waits = types.FunctionResponse(id=CALL.id, name=CALL.name, response={"error": "not yet"})
    return [
        said(types.Part(function_call=CALL)),
        said(types.Part(function_call=request), long_running_tool_ids={"ask-a"}),
        said(
            types.Part(function_response=waits),
            actions=EventActions(requested_tool_confirmations={"call-a": confirmation}),
        ),
    ]


def acted(actions: EventActions) -> list[Event]:
    """Return an event that does something."""
    return [text("done", actions=actions)]


def _part(name: str) -> Callable[[Any], list[Event]]:
    return lambda held: [said(types.Part(**{name: held}))]


CARRIERS: Mapping[type[BaseModel], Callable[[Any], list[Event]]] = {
    Event: lambda event: [event],
    NodeInfo: lambda info: [text("so", node_info=info, output={"a": 1})],
    EventActions: acted,
    EventCompaction: lambda held: acted(EventActions(compaction=held)),
    UiWidget: lambda held: acted(EventActions(render_ui_widgets=[held])),
    ToolConfirmation: confirmed,
    CacheMetadata: lambda held: [text("so", cache_metadata=held)],
    types.Content: lambda content: [Event(author="agent", content=content)],
    types.Part: lambda part: [said(part)],
    types.ExecutableCode: _part("executable_code"),
    types.CodeExecutionResult: _part("code_execution_result"),
    types.FileData: _part("file_data"),
    types.Blob: _part("inline_data"),
    types.ToolCall: _part("tool_call"),
    types.ToolResponse: _part("tool_response"),
    types.Transcription: heard,
    types.WordInfo: lambda word: heard(types.Transcription(words=[word])),
    types.PartMediaResolution: lambda held: [
        said(types.Part(inline_data=PNG, media_resolution=held))
    ],
    types.VideoMetadata: lambda held: [said(types.Part(inline_data=PNG, video_metadata=held))],
    types.SpeechMetadata: lambda held: [said(types.Part(text="so", speech_metadata=held))],
    types.FunctionCall: streamed,
    types.PartialArg: argued,
    types.FunctionResponse: answered,
    types.FunctionResponsePart: lambda part: answered(
        types.FunctionResponse(id="call-a", name="look", response={}, parts=[part])
    ),
    types.FunctionResponseBlob: lambda blob: with_media(inline_data=blob),
    types.FunctionResponseFileData: lambda file: with_media(file_data=file),
    types.GroundingMetadata: lambda held: [text("so", grounding_metadata=held)],
    types.RetrievalMetadata: lambda held: grounded(retrieval_metadata=held),
    types.SearchEntryPoint: lambda held: grounded(search_entry_point=held),
    types.GroundingMetadataSourceFlaggingUri: lambda uri: grounded(source_flagging_uris=[uri]),
    types.GroundingSupport: lambda held: grounded(grounding_supports=[held]),
    types.Segment: lambda held: grounded(grounding_supports=[types.GroundingSupport(segment=held)]),
    types.GroundingChunk: lambda held: grounded(grounding_chunks=[held]),
    types.GroundingChunkWeb: lambda held: chunk(web=held),
    types.GroundingChunkImage: lambda held: chunk(image=held),
    types.GroundingChunkRetrievedContext: lambda held: chunk(retrieved_context=held),
    types.RagChunk: lambda held: context(rag_chunk=held),
    types.RagChunkPageSpan: lambda span: context(rag_chunk=types.RagChunk(page_span=span)),
    types.GroundingChunkCustomMetadata: lambda held: context(custom_metadata=[held]),
    types.GroundingChunkStringList: lambda held: context(
        custom_metadata=[types.GroundingChunkCustomMetadata(string_list_value=held)]
    ),
    types.GroundingChunkMaps: lambda held: chunk(maps=held),
    types.GroundingChunkMapsRoute: lambda held: chunk(maps=types.GroundingChunkMaps(route=held)),
    types.GroundingChunkMapsPlaceAnswerSources: lambda held: chunk(
        maps=types.GroundingChunkMaps(place_answer_sources=held)
    ),
    types.GroundingChunkMapsPlaceAnswerSourcesReviewSnippet: lambda held: place(
        review_snippets=[held]
    ),
    types.GroundingChunkMapsPlaceAnswerSourcesAuthorAttribution: lambda held: reviewed(
        author_attribution=held
    ),
    types.CitationMetadata: lambda held: [text("so", citation_metadata=held)],
    types.Citation: lambda held: [
        text("so", citation_metadata=types.CitationMetadata(citations=[held]))
    ],
    types.GoogleTypeDate: lambda held: cited(publication_date=held),
    types.GenerateContentResponseUsageMetadata: lambda held: [text("so", usage_metadata=held)],
    types.ModalityTokenCount: lambda held: counted(prompt_tokens_details=[held]),
    types.LogprobsResult: lambda held: [text("so", logprobs_result=held)],
    types.LogprobsResultCandidate: lambda held: likely(chosen_candidates=[held]),
    types.LogprobsResultTopCandidates: lambda held: likely(top_candidates=[held]),
    types.LiveServerSessionResumptionUpdate: lambda held: [
        text("so", live_session_resumption_update=held)
    ],
    types.LiveServerGoAway: lambda held: [text("so", go_away=held)],
    types.VoiceActivity: lambda held: [text("so", voice_activity=held)],
}

_BESIDE: Mapping[str, Mapping[str, Any]] = {
    "Event": {"content": types.Content(role="model", parts=RICH)},
    "Event.error_message": {"error_code": "SAFETY"},
    "EventActions": {"transfer_to_agent": "helper"},
    "CacheMetadata": {"cache_name": "cache", "expire_time": 1.0, "invocations_used": 1},
    "FunctionCall": {"id": "call-a", "name": "look"},
    "PartialArg": {"json_path": "$.at", "string_value": "it"},
    "FunctionResponse": {"id": "call-a", "name": "look", "response": {}},
    "FileData": {"file_uri": "https://example.org/a.pdf", "mime_type": "application/pdf"},
    "FunctionResponseFileData": {
        "file_uri": "https://example.org/a.pdf",
        "mime_type": "application/pdf",
    },
    "GroundingChunkWeb": {"uri": "https://example.org/web"},
    "GroundingChunkImage": {"source_uri": "https://example.org/image"},
    "GroundingChunkMaps": {"uri": "https://example.org/maps"},
}
"""What must stand beside a value to be shown at all, by type or field."""


def instance(model: type[BaseModel], field: str) -> Any:
    """Return an instance with a value in `field` that no other field has."""
    beside = {**_BESIDE.get(model.__name__, {}), **_BESIDE.get(f"{model.__name__}.{field}", {})}
    return model(**{**filled(model, only_required=True), **beside, field: sample(model, field)})


def events_with(model: type[BaseModel], field: str) -> list[Event]:
    """Return events as ADK emits them, with a value in that field."""
    return CARRIERS[model](instance(model, field))


def on_the_wire(model: type[BaseModel], field: str) -> tuple[str, Any]:
    """Return the key and the JSON value under which ADK writes that field's value."""
    key = model.model_fields[field].alias or field
    dumped = instance(model, field).model_dump(mode="json", by_alias=True, exclude_none=True)
    return key, dumped[key]
