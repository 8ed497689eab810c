"""The proof of the whole answer: from its own text, and from the specialists and tools behind it.

Its confidence is what the answer itself gives: computed by a tool of the root, or stated; if it gives
none, the lowest confidence of its specialists. Its citations are its own, those of the specialists, and
the model provider's sources, each once with everyone who cited it; citations in its text count only if no
tool of the root cited any. A claim whose figures a specialist or tool gave about the same subject, with
citations, counts as cited.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Raw
from msgspec.structs import replace

from adk_prism.facts.agent_text import AgentText
from adk_prism.facts.json_value import read_value
from adk_prism.facts.proof_model import Brief, Citation, Claim, Proof, ProofOrigin, Reading
from adk_prism.proof_text.answer_reader import read_answer, split_text, value_texts
from adk_prism.proof_text.overall_confidence import Confidence, disagreements
from adk_prism.proof_text.prose.answer_reader import may_hold_proof
from adk_prism.proof_text.prose.claims import Evidence, uncited
from adk_prism.proof_text.subject_proof import SubjectProof
from adk_prism.proof_text.unique_citations import unique_citations

_KEPT = 256 * 1024
"""Characters of specialists' texts and tool results that are kept to find the answer's claims in: about a
hundred pages, more than an answer summarises."""


_SOURCES = 256
"""The most provider sources that are kept; a proof shows fewer."""


class AnswerProof:
    """What is known about the answer until it is complete."""

    def __init__(self) -> None:
        self.own = SubjectProof("answer", "answer")
        """What the root and its own tools gave."""
        self._sources_of_proof: dict[str, SubjectProof] = {}
        self._provider_sources: list[Citation] = []
        self._kept: list[str | tuple[Raw, bytes]] = []
        self._kept_size = 0
        self._text: tuple[int, AgentText] | None = None

    def add_source(self, key: str, subject: SubjectProof) -> None:
        """Add a specialist or tool whose proof was reported."""
        self._sources_of_proof[key] = subject

    def cite(self, source: Citation) -> None:
        """Add a source that the model's provider cited."""
        if len(self._provider_sources) < _SOURCES:
            self._provider_sources.append(source)

    def keep_text(self, subject: SubjectProof, text: str) -> None:
        """Keep the text of a subject that cites sources."""
        if subject.citations and self._kept_size + len(text) <= _KEPT:
            self._kept.append(text)
            self._kept_size += len(text)

    def keep_result(self, subject: SubjectProof, output: Raw, arguments: bytes) -> None:
        """Keep a call's result and arguments; their text is extracted only if it is needed."""
        size = len(bytes(output)) + len(arguments)
        if subject.citations and self._kept_size + size <= _KEPT:
            self._kept.append((output.copy(), arguments))
            self._kept_size += size

    def set_text(self, cursor: int, text: AgentText) -> None:
        """Take a text that is the answer unless another one follows."""
        self._text = cursor, text

    # -------------------------------------------------------------- at the end

    def proof(self) -> Proof | None:
        """Return the proof of the answer; None if there is no answer or nobody gave a proof."""
        if self._text is None:
            return None
        cursor, said = self._text
        behind = list(self._behind(said))
        gave = any(not subject.is_empty for subject in behind)
        if not gave and self.own.is_empty and not may_hold_proof(said.text):
            return None
        text, fields = split_text(said.text)
        pieces, claims = read_answer(text, fields, said.speaker.node, cursor, claims=True)
        self.own.add_text(pieces)
        if not gave and self.own.is_empty:
            return None
        citations = self._citations(behind)
        confidence, origin = self._confidence(behind)
        return self.own.proof(
            origin=origin,
            confidence=confidence.value,
            derivation=confidence.derivation,
            level=confidence.level,
            citations=citations,
            disagreements=disagreements(
                pieces.readings, self._numbers(behind), self._latest_numbers(behind)
            ),
            uncited=self._uncited(claims, pieces.citations, citations),
            specialists=[_brief(subject) for subject in behind],
        )

    def _behind(self, said: AgentText) -> Iterator[SubjectProof]:
        """Yield the subjects behind the answer, without the one that gave it."""
        for subject in self._sources_of_proof.values():
            if not subject.path or subject.path != said.speaker.path:
                yield subject

    def _numbers(self, behind: Sequence[SubjectProof]) -> list[Reading]:
        theirs = (reading for subject in behind for reading in subject.readings)
        return [*self._computed(), *theirs]

    def _latest_numbers(self, behind: Sequence[SubjectProof]) -> list[Reading]:
        theirs = (reading for subject in behind for reading in subject.latest)
        return [*self._computed(), *theirs]

    def _computed(self) -> list[Reading]:
        return [reading for reading in self.own.readings if reading.origin == "computed"]

    def _citations(self, behind: Sequence[SubjectProof]) -> list[Citation]:
        theirs = (replace(c, by=subject.name) for subject in behind for c in subject.citations)
        return unique_citations([*self.own.citations, *theirs, *self._provider_sources])

    def _confidence(self, behind: Sequence[SubjectProof]) -> tuple[Confidence, ProofOrigin]:
        own = self.own.confidence
        known = [subject for subject in behind if subject.confidence.value is not None]
        if own.value is not None or own.level or not known:
            return own, self._origin(behind)
        lowest = min(known, key=lambda subject: subject.confidence.value or 0.0)
        words = f"lowest of {len(known)} specialists" if len(known) > 1 else "the one specialist's"
        given = lowest.confidence
        origin: ProofOrigin = "computed" if {a.origin for a in known} == {"computed"} else "parsed"
        return Confidence(given.value, f"{words}: {lowest.name}", given.level), origin

    def _origin(self, behind: Sequence[SubjectProof]) -> ProofOrigin:
        if not self.own.is_empty:
            return self.own.origin
        return "computed" if any(subject.origin == "computed" for subject in behind) else "parsed"

    def _uncited(
        self, claims: list[Claim], own: list[Citation], all_: list[Citation]
    ) -> list[Claim]:
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


def _brief(subject: SubjectProof) -> Brief:
    confidence = subject.confidence
    return Brief(subject.name, subject.origin, confidence.value, confidence.level)
