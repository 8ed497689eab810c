"""The text of a call's answer, whatever the answer is: for agents, whose answers people read.

ADK gives an agent's text as `{"result": "…"}`; an agent with an output schema answers with an object, in
which the fields of a proof may stand by themselves and the other texts are read as prose.
"""

from __future__ import annotations

from typing import Any

from msgspec import Raw

from adk_prism.facts.json_value import read_value

_PROOF_FIELDS = frozenset(
    "confidence citations sources references reasoning_chain reasoning proof_layer proofLayer".split()
)


def answer_text(output: Raw) -> tuple[str, dict[str, Any]]:
    """Return the text of an answer, and the fields of a proof that stand beside it."""
    value = read_value(output)
    if isinstance(value, dict) and value.keys() <= {"result", "proof_layer", "proofLayer"}:
        value = value.get("result")
    if isinstance(value, str):
        inner = read_value(value.encode()) if value.lstrip().startswith("{") else None
        value = inner if isinstance(inner, dict) else value
    if isinstance(value, dict):
        fields = {key: held for key, held in value.items() if key in _PROOF_FIELDS}
        fields.pop("proof_layer", None)
        fields.pop("proofLayer", None)
        texts = (v for k, v in value.items() if k not in _PROOF_FIELDS and isinstance(v, str))
        return "\n\n".join(texts), fields
    return (value, {}) if isinstance(value, str) else ("", {})
