"""The proof of the whole answer: from its own text, and from the specialists and tools behind it.

Its confidence is what the answer itself gives: computed by a tool of the root, or stated; if it gives
none, the lowest confidence of its specialists. Its citations are its own, those of the specialists, and
the model provider's sources, each once with everyone who cited it; citations in its text count only if no
tool of the root cited any. A claim whose figures a specialist or tool gave about the same subject, with
citations, counts as cited.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Raw
from msgspec.structs import replace

from adk_prism.facts.event_actions import AgentText
from adk_prism.facts.state import read_value
from adk_prism.features.proof import model
from adk_prism.features.proof.proof_layer_reader import Pieces, read_layer
from adk_prism.features.proof.prose.answer_reader import read_proof_text
from adk_prism.features.proof.prose.findings import Evidence, uncited
from adk_prism.features.proof.subject_proof import Confidence, SubjectProof, disagreements

# ---------------------------------------------------------------------------
# Split an agent's answer for its proof: its text, and the proof fields in it if it is data.
#
# ADK returns an agent's text as `{"result": "…"}`. An agent with an output schema answers with an
# object, bare or in a code fence. Proof fields may be at the top of that object or in each finding;
# its other strings are read as prose.

_FIELD_OF = {
    name: field
    for field, names in {
        "confidence": "confidence confidencescore confidencelevel overallconfidence certainty",
        "citations": "citations citation sources source references datasources",
        "reasoning_chain": "reasoningchain reasoning rationale justification",
    }.items()
    for name in names.split()
}
"""The proof fields by the names that output schemas use, in lower case and without underscores."""
_CAUSE = "source"
"""Without a confidence beside it, this may be the source of anything: of a fire, of water."""
_NAMES = ("name", "title", "topic", "skill", "finding", "id")
"""The keys that name a finding in a list of findings."""
_LAYERS = frozenset(("proof_layer", "proofLayer"))
_DEEPEST = 4
"""Levels of an answer that are searched: deeper values are data, not part of the answer's schema."""
_MOST = 64
"""Fields of each kind."""
_FENCE = "```"
_LANGUAGES = ("", "json")


def answer_text(output: Raw) -> tuple[str, dict[str, Any]]:
    """Return the text of a call's response, and the proof fields beside it."""
    value = read_value(output)
    if isinstance(value, dict) and value.keys() <= {"result", *_LAYERS}:
        value = value.get("result")
    if isinstance(value, str):
        return split_text(value)
    return _split_object(value) if isinstance(value, dict) else ("", {})


def split_text(text: str) -> tuple[str, dict[str, Any]]:
    """Return what an agent wrote as text and proof fields; fields only if it wrote a JSON object."""
    inside = _unfenced(text)
    value = read_value(inside.encode(errors="replace")) if inside.startswith("{") else None
    return _split_object(value) if isinstance(value, dict) else (text, {})


def _unfenced(text: str) -> str:
    """Return the content of a code fence that spans the whole text; else the text."""
    bare = text.strip()
    if not (bare.startswith(_FENCE) and bare.endswith(_FENCE)):
        return bare
    language, _, inside = bare[len(_FENCE) : -len(_FENCE)].partition("\n")
    is_one = language.strip().lower() in _LANGUAGES and _FENCE not in inside
    return inside.strip() if is_one else bare


def _split_object(value: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    found = _Found()
    found.search(value, "", _DEEPEST)
    return "\n\n".join(found.texts), found.fields()


class _Found:
    """The texts and proof fields found in an answer that is an object."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._confidence: dict[str, Any] = {}
        self._lists: dict[str, list[Any]] = {"citations": [], "reasoning_chain": []}

    def fields(self) -> dict[str, Any]:
        given = {name: held for name, held in self._lists.items() if held}
        return ({"confidence": self._confidence} if self._confidence else {}) | given

    def search(self, value: dict[str, Any], name: str, depth: int) -> None:
        """Search an object; `name` says what it is about."""
        fields = {key: _FIELD_OF.get(key.lower().replace("_", "")) for key in value}
        if "confidence" not in fields.values() and _CAUSE in fields:
            fields[_CAUSE] = None
        for key, held in value.items():
            field = fields[key]
            if key in _LAYERS or held is None:
                continue
            if field == "confidence":
                self._state(key, held, name)
            elif field is not None:
                known = self._lists[field]
                known.extend((held if isinstance(held, list) else [held])[: _MOST - len(known)])
            else:
                self._other(key, held, depth - 1)

    def _state(self, key: str, held: Any, name: str) -> None:
        if key.lower().startswith("overall"):
            name = "overall"
        if isinstance(held, dict):
            for about, inner in held.items():
                self._state("", inner, about)
        elif len(self._confidence) < _MOST:
            # A score and its level may have the same name: keep both.
            name = name or "value"
            self._confidence[name if name not in self._confidence else f"{name} ({key})"] = held

    def _other(self, key: str, held: Any, depth: int) -> None:
        if isinstance(held, str):
            self.texts.append(held)
        elif isinstance(held, dict) and depth > 0:
            self.search(held, _name_of(held, key), depth)
        elif isinstance(held, list) and depth > 0:
            for item in held:
                if isinstance(item, dict):
                    self.search(item, _name_of(item, key), depth)


def value_texts(value: Any, depth: int = _DEEPEST) -> Iterator[str]:
    """Yield the names and plain values of data, without confidences, as deep as an answer is searched."""
    if isinstance(value, dict):
        for key, held in value.items():
            if _FIELD_OF.get(key.lower().replace("_", "")) != "confidence" and depth:
                yield key
                yield from value_texts(held, depth - 1)
    elif isinstance(value, list):
        for item in value if depth else ():
            yield from value_texts(item, depth - 1)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


def _name_of(value: dict[str, Any], key: str) -> str:
    named = (value.get(name) for name in _NAMES)
    return next((name for name in named if isinstance(name, str) and name), key)


# --------------------------------------------------------------------------- reading


def read_answer(
    text: str, fields: dict[str, Any], by: str, cursor: int, *, claims: bool = False
) -> tuple[Pieces, list[model.Claim]]:
    """Read a split answer; with `claims`, return also the sentences with a figure and no citation."""
    read = read_proof_text(text, cursor, figures=claims)
    pieces = Pieces.of(read, cursor)
    if fields:
        pieces.add(read_layer(fields, by, cursor, "parsed"))
    return pieces, read.figures


# ---------------------------------------------------------------------------

_KEPT = 256 * 1024
"""Characters of specialists' texts and tool results that are kept to find the answer's claims in: about a
hundred pages, more than an answer summarises."""


_SOURCES = 256
"""The most provider sources that are kept; a proof shows fewer."""


class WholeProof:
    """What is known about the answer until it is complete."""

    def __init__(self) -> None:
        self.own = SubjectProof("answer", "answer")
        """What the root and its own tools gave."""
        self._sources_of_proof: dict[str, SubjectProof] = {}
        self._provider_sources: list[model.Citation] = []
        self._kept: list[str | tuple[Raw, bytes]] = []
        self._kept_size = 0
        self._text: tuple[int, AgentText] | None = None

    def add_source(self, key: str, subject: SubjectProof) -> None:
        """Add a specialist or tool whose proof was reported."""
        self._sources_of_proof[key] = subject

    def cite(self, source: model.Citation) -> None:
        """Add a source that the model's provider cited."""
        if len(self._provider_sources) < _SOURCES:
            self._provider_sources.append(source)

    def keep_text(self, subject: SubjectProof, text: str) -> None:
        """Keep the text of a subject that cites sources."""
        if subject.summary.citations and self._kept_size + len(text) <= _KEPT:
            self._kept.append(text)
            self._kept_size += len(text)

    def keep_result(self, subject: SubjectProof, output: Raw, arguments: bytes) -> None:
        """Keep a call's result and arguments; their text is extracted only if it is needed."""
        size = len(bytes(output)) + len(arguments)
        if subject.summary.citations and self._kept_size + size <= _KEPT:
            self._kept.append((output.copy(), arguments))
            self._kept_size += size

    def set_text(self, cursor: int, text: AgentText) -> None:
        """Take a text that is the answer unless another one follows."""
        self._text = cursor, text

    # -------------------------------------------------------------- at the end

    def proof(self) -> model.Proof | None:
        """Return the proof of the answer; None if there is no answer or nobody gave a proof."""
        if self._text is None:
            return None
        cursor, said = self._text
        behind = list(self._behind(said))
        gave = any(not subject.is_empty for subject in behind)
        text, fields = split_text(said.text)
        pieces, claims = read_answer(text, fields, said.speaker.node, cursor, claims=True)
        self.own.add_text(pieces)
        if not gave and self.own.is_empty:
            return None
        citations = self._citations(behind)
        confidence, origin = self._confidence(behind)
        computed = [each for each in self.own.summary.readings if each.origin == "computed"]
        given = [each for subject in behind for each in subject.summary.readings]
        latest = [each for subject in behind for each in subject.latest]
        return self.own.proof(
            origin=origin,
            confidence=confidence.value,
            derivation=confidence.derivation,
            level=confidence.level,
            citations=citations,
            disagreements=disagreements(pieces.readings, [*computed, *given], [*computed, *latest]),
            uncited=self._uncited(claims, pieces.citations, citations),
            specialists=[_brief(subject) for subject in behind],
        )

    def _behind(self, said: AgentText) -> Iterator[SubjectProof]:
        """Yield the subjects behind the answer, without the one that gave it."""
        for subject in self._sources_of_proof.values():
            if not subject.path or subject.path != said.speaker.path:
                yield subject

    def _citations(self, behind: Sequence[SubjectProof]) -> list[model.Citation]:
        theirs = (
            replace(c, by=subject.name) for subject in behind for c in subject.summary.citations
        )
        return model.unique_citations(
            [*self.own.summary.citations, *theirs, *self._provider_sources]
        )

    def _confidence(self, behind: Sequence[SubjectProof]) -> tuple[Confidence, model.ProofOrigin]:
        own = self.own.summary.confidence
        known = [subject for subject in behind if subject.summary.confidence.value is not None]
        if own.value is not None or own.level or not known:
            return own, self._origin(behind)
        lowest = min(known, key=lambda subject: subject.summary.confidence.value or 0.0)
        words = f"lowest of {len(known)} specialists" if len(known) > 1 else "the one specialist's"
        given = lowest.summary.confidence
        origin: model.ProofOrigin = (
            "computed" if {a.summary.origin for a in known} == {"computed"} else "parsed"
        )
        return Confidence(given.value, f"{words}: {lowest.name}", given.level), origin

    def _origin(self, behind: Sequence[SubjectProof]) -> model.ProofOrigin:
        if not self.own.is_empty:
            return self.own.summary.origin
        return (
            "computed"
            if any(subject.summary.origin == "computed" for subject in behind)
            else "parsed"
        )

    def _uncited(
        self, claims: list[model.Claim], own: list[model.Citation], all_: list[model.Citation]
    ) -> list[model.Claim]:
        left = uncited(claims, own, all_)
        kept = [Evidence(_plain_text(said)) for said in self._kept] if left else []
        return [claim for claim in left if not any(each.supports(claim.text) for each in kept)]


def _plain_text(said: str | tuple[Raw, bytes]) -> str:
    """Return a text, or all that a call was given and returned, without Markdown emphasis like the claims."""
    if isinstance(said, str):
        text = said
    else:
        output, arguments = said
        given = read_value(arguments) if arguments else None
        text = "\n".join((*value_texts(read_value(output)), *value_texts(given)))
    return text.replace("*", "").replace("`", "")


def _brief(subject: SubjectProof) -> model.Brief:
    confidence = subject.summary.confidence
    return model.Brief(subject.name, subject.summary.origin, confidence.value, confidence.level)
