"""Model calls in files and on their way to a server, where there are no pieces: with request and response."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Raw, Struct, ValidationError, json, structs

from adk_prism.errors import SourceError
from adk_prism.runlog.entry import NOTHING, Entry, ModelCalled, is_absent
from adk_prism.source.model_calls.bounded_text import bounded
from adk_prism.source.model_calls.seen_call import CallTexts, ContentText, SeenCall

_Object = dict[str, Raw]


class _FileRequest(Struct, frozen=True):
    config: _Object = {}
    contents: list[Raw] = []
    tools: list[Raw] = []


def in_file(call: SeenCall, most_bytes: int) -> ModelCalled:
    """Return a call as one record; without its texts if they are larger than `most_bytes`."""
    texts, record = call.texts, call.record
    if texts is None:
        return record
    config = json.decode(texts.config or b"{}", type=_Object)
    if texts.instruction:
        config["systemInstruction"] = Raw(texts.instruction)
    tools = Raw(texts.tools or b"[]")
    contents = [Raw(each.text) for each in texts.contents]
    request = json.encode({"config": config, "contents": contents, "tools": tools})
    answer = {"content": Raw(texts.answer)} if texts.answer else {}
    response = json.encode(json.decode(texts.response or b"{}", type=_Object) | answer)
    if len(request) + len(response) > most_bytes:
        return structs.replace(record, cut=["request", "response"])
    return structs.replace(record, request=Raw(request), response=Raw(response))


def from_file(record: ModelCalled) -> SeenCall:
    """Return the call of a record from elsewhere, bounded. Raise `SourceError` for what is not one."""
    bare = structs.replace(record, request=NOTHING, response=NOTHING, pieces=None)
    if is_absent(record.request):
        return SeenCall(bare, None)
    try:
        request = json.decode(record.request, type=_FileRequest)
        response = {} if is_absent(record.response) else json.decode(record.response, type=_Object)
    except ValidationError as error:
        raise SourceError(f"A model call is not valid: {error}.") from None
    config, answer = dict(request.config), response.pop("content", NOTHING)
    response.pop("usageMetadata", None)
    texts = CallTexts(
        instruction=_bounded(config.pop("systemInstruction", NOTHING)),
        config=_bounded(json.encode(config)),
        tools=_bounded(json.encode(request.tools)) if request.tools else b"",
        contents=[ContentText(_bounded(each)) for each in request.contents],
        answer=_bounded(answer),
        response=_bounded(json.encode(response)),
    )
    return SeenCall(bare, texts)


def _bounded(text: Raw | bytes) -> bytes:
    return bounded(bytes(text))[0]


def between_calls(entries: Sequence[Entry]) -> Iterator[Sequence[Entry]]:
    """Split entries before each model call: its texts can be stored once its run is."""
    begun: list[Entry] = []
    for entry in entries:
        if isinstance(entry.record, ModelCalled) and begun:
            yield begun
            begun = []
        begun.append(entry)
    if begun:
        yield begun
