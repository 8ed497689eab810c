"""Calls of long-running tools without a result in what a model is sent: each gets an interim one.

A tool of the client's, which is long-running for ADK, may have no result yet when the user sends another
message. Models refuse a request in which a call has no result (Gemini and OpenAI answer 400), and ADK sends
it so. The session is left as it is: a result that comes late is the call's only one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

from google.adk.tools.base_tool import BaseTool
from google.genai import types

PENDING = {
    "status": "pending",
    "message": "There is no result yet; the user has gone on without it.",
}


def with_interim_results(
    contents: list[types.Content], tools: Mapping[str, BaseTool]
) -> list[types.Content]:
    """Return contents in which each call of a long-running tool before the last content has a result.

    Return the same list if all have.
    """
    late = {name for name, tool in tools.items() if tool.is_long_running}
    if not late:
        return contents
    answered: list[types.Content] = []
    is_changed = False
    for at, content in enumerate(contents):
        answered.append(content)
        missing = _missing(contents, at, late) if at + 1 < len(contents) else []
        if missing:
            is_changed = True
            answered.append(types.Content(role="user", parts=[_pending(call) for call in missing]))
    return _joined(answered) if is_changed else contents


def _missing(
    contents: list[types.Content], at: int, late: Collection[str]
) -> list[types.FunctionCall]:
    """Return the calls of these tools in a content that no result right after it is for."""
    made = (part.function_call for part in contents[at].parts or ())
    calls = [call for call in made if call is not None and call.name in late]
    if not calls:
        return []
    results: Counter[str] = Counter()
    for content in contents[at + 1 :]:
        found = [p.function_response for p in content.parts or () if p.function_response]
        if not found:
            break
        results.update(_key(result) for result in found)
    missing = []
    for call in calls:
        if results[_key(call)] > 0:
            results[_key(call)] -= 1
        else:
            missing.append(call)
    return missing


def _key(given: types.FunctionCall | types.FunctionResponse) -> str:
    """Return what a call and its result have in common: ADK removes the ids that it made itself."""
    return f"id {given.id}" if given.id else f"name {given.name}"


def _pending(call: types.FunctionCall) -> types.Part:
    return types.Part(
        function_response=types.FunctionResponse(id=call.id, name=call.name, response=PENDING)
    )


def _joined(contents: list[types.Content]) -> list[types.Content]:
    """Join results that follow each other: models take those of one content's calls together."""
    found: list[types.Content] = []
    for content in contents:
        if found and _are_results(found[-1]) and _are_results(content):
            parts = [*(found[-1].parts or ()), *(content.parts or ())]
            found[-1] = types.Content(role="user", parts=parts)
        else:
            found.append(content)
    return found


def _are_results(content: types.Content) -> bool:
    return bool(content.parts) and all(part.function_response for part in content.parts or ())
