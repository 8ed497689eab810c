"""What an answer rests on: grounding metadata and citations.

All of it is in the message's metadata as upstream wrote it; what can be linked is a source as well.
"""

from __future__ import annotations

from adk_prism.facts import model as fact
from adk_prism.fieldcheck.kinds import Projected, Rows, at, verbatim

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

TABLE = GROUNDING | CHUNKS | MAPS | CITATIONS
