"""Finds the `proof_layer` object in a tool's response.

`adk_prism.proof` writes it; `proof_text` reads what it says.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw, Struct

from adk_prism.facts.json_value import is_given, read_value
from adk_prism.facts.strict_json import repair
from adk_prism.runlog.entry import NOTHING


class _Response(Struct, gc=False):
    """The members that may hold a layer; the rest of a response, often long, is skipped."""

    proof_layer: Raw = NOTHING
    proofLayer: Raw = NOTHING
    result: Raw = NOTHING
    structuredContent: Raw = NOTHING


_UNDERSCORE, _L = b"_L"

_decode = msgspec.json.Decoder(_Response).decode


def find_layer(response: Raw) -> Any:
    """Return the layer of a response as a JSON value; None if it has none.

    Agents and MCP servers put it beside the result, inside the result, or inside a result that is JSON in
    a string.
    """
    raw = bytes(response)
    # Most responses have none. Looking for one byte first costs a tenth of looking for the word.
    if not ((_UNDERSCORE in raw and b"proof_layer" in raw) or (_L in raw and b"proofLayer" in raw)):
        return None
    inner = response
    for _ in range(3):
        if bytes(inner).lstrip()[:1] == b'"':
            text = read_value(inner)
            inner = Raw(text.encode()) if isinstance(text, str) else NOTHING
        found = _read(inner)
        layer = found.proof_layer if bytes(found.proof_layer) else found.proofLayer
        if is_given(layer):
            return read_value(layer)
        inner = found.result if is_given(found.result) else found.structuredContent
    return None


def _read(raw: Raw) -> _Response:
    for data in (bytes(raw), repair(bytes(raw))):
        try:
            return _decode(data)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue
    return _Response()
