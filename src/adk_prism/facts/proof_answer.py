"""The proof of the whole answer: its own words, and the specialists on whom it rests.

Its confidence is what the answer itself gives: computed by a tool of the root, or stated; where it gives
none, the lowest of its specialists. Its citations are its own, theirs, and the model provider's sources,
each once with everybody who cited it; its prose is read for citations where no tool of the root gave any.
A claim that a specialist, or a tool, made in the same words and with citations is cited.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Raw
from msgspec.structs import replace

from adk_prism.facts.answer_text import answer_text, spoken_text
from adk_prism.facts.proof_account import Account
from adk_prism.facts.proof_citations import once
from adk_prism.facts.proof_confidence import Confidence, disagreements
from adk_prism.facts.proof_model import Brief, Citation, Claim, Proof, ProofOrigin, Reading
from adk_prism.facts.proof_text import may_hold_proof
from adk_prism.facts.proof_words import read_words_and_claims
from adk_prism.facts.prose.claims import says, uncited
from adk_prism.facts.utterance import Utterance

_HEARD = 256 * 1024
"""Characters of what specialists and tools said, kept to find the answer's claims in: about a hundred
pages, more than an answer sums up."""


_SOURCES = 256
"""Sources that are kept; a proof shows fewer."""


class AnswerProof:
    """What is known of the answer, until it is complete."""

    def __init__(self) -> None:
        self.own = Account("answer", "answer")
        """What the root's own calls gave."""
        self._specialists: dict[str, Account] = {}
        self._sources: list[Citation] = []
        self._heard: list[str | Raw] = []
        self._heard_size = 0
        self._said: tuple[int, Utterance] | None = None

    def rest_on(self, key: str, account: Account) -> None:
        """Note a specialist, or a tool, whose proof has been told."""
        self._specialists[key] = account

    def cite(self, source: Citation) -> None:
        """Take a source of the model's provider."""
        if len(self._sources) < _SOURCES:
            self._sources.append(source)

    def hear(self, account: Account, text: str) -> None:
        """Keep what somebody said who cites sources."""
        if account.citations and self._heard_size + len(text) <= _HEARD:
            self._heard.append(text)
            self._heard_size += len(text)

    def hear_result(self, account: Account, output: Raw) -> None:
        """Keep a call's answer; its text is looked for only if it is needed."""
        size = len(bytes(output))
        if account.citations and self._heard_size + size <= _HEARD:
            self._heard.append(output.copy())
            self._heard_size += size

    def say(self, cursor: int, said: Utterance) -> None:
        """Take what may be the answer: it is, if nothing else is said after it."""
        self._said = cursor, said

    # -------------------------------------------------------------- at the end

    def proof(self) -> Proof | None:
        """Return the proof of the answer; None without an answer, and where nobody gave any."""
        if self._said is None:
            return None
        cursor, said = self._said
        rests = list(self._rests(said))
        gave = any(not account.is_empty for account in rests)
        if not gave and self.own.is_empty and not may_hold_proof(said.text):
            return None
        words, fields = spoken_text(said.text)
        pieces, claims = read_words_and_claims(words, fields, said.speaker.node, cursor)
        self.own.say(pieces)
        if not gave and self.own.is_empty:
            return None
        citations = self._citations(rests)
        confidence, origin = self._confidence(rests)
        return self.own.proof(
            origin=origin,
            confidence=confidence.value,
            derivation=confidence.derivation,
            level=confidence.level,
            citations=citations,
            disagreements=disagreements(
                pieces.readings, self._numbers(rests), self._latest_numbers(rests)
            ),
            uncited=self._uncited(claims, pieces.citations, citations),
            specialists=[_brief(account) for account in rests],
        )

    def _rests(self, said: Utterance) -> Iterator[Account]:
        """Yield the specialists; who gave the answer itself does not stand behind it."""
        for account in self._specialists.values():
            if not account.path or account.path != said.speaker.path:
                yield account

    def _numbers(self, rests: Sequence[Account]) -> list[Reading]:
        theirs = (reading for account in rests for reading in account.readings)
        return [*self._computed(), *theirs]

    def _latest_numbers(self, rests: Sequence[Account]) -> list[Reading]:
        theirs = (reading for account in rests for reading in account.latest)
        return [*self._computed(), *theirs]

    def _computed(self) -> list[Reading]:
        return [reading for reading in self.own.readings if reading.origin == "computed"]

    def _citations(self, rests: Sequence[Account]) -> list[Citation]:
        theirs = (replace(c, by=account.name) for account in rests for c in account.citations)
        return once([*self.own.citations, *theirs, *self._sources])

    def _confidence(self, rests: Sequence[Account]) -> tuple[Confidence, ProofOrigin]:
        own = self.own.confidence
        known = [account for account in rests if account.confidence.value is not None]
        if own.value is not None or own.level or not known:
            return own, self._origin(rests)
        lowest = min(known, key=lambda account: account.confidence.value or 0.0)
        words = f"lowest of {len(known)} specialists" if len(known) > 1 else "the one specialist's"
        given = lowest.confidence
        origin: ProofOrigin = "computed" if {a.origin for a in known} == {"computed"} else "parsed"
        return Confidence(given.value, f"{words}: {lowest.name}", given.level), origin

    def _origin(self, rests: Sequence[Account]) -> ProofOrigin:
        if not self.own.is_empty:
            return self.own.origin
        return "computed" if any(account.origin == "computed" for account in rests) else "parsed"

    def _uncited(
        self, claims: list[Claim], own: list[Citation], all_: list[Citation]
    ) -> list[Claim]:
        left = uncited(claims, own, all_)
        heard = [_words(said) for said in self._heard] if left else []
        return [claim for claim in left if not any(says(text, claim.text) for text in heard)]


def _words(said: str | Raw) -> str:
    """Return what was said, without emphasis: a claim has none either."""
    text = said if isinstance(said, str) else answer_text(said)[0]
    return text.replace("*", "").replace("`", "")


def _brief(account: Account) -> Brief:
    confidence = account.confidence
    return Brief(account.name, account.origin, confidence.value, confidence.level)
