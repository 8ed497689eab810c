"""Kinds of publications and fields of science: one vocabulary, and each service's words for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

KINDS = (
    "article",
    "conference",
    "preprint",
    "review",
    "book",
    "chapter",
    "dataset",
    "thesis",
    "other",
)
_KIND_WORDS: Mapping[str, str] = {
    "journal": "article",
    "journal article": "article",
    "journal paper": "article",
    "paper": "article",
    "proceedings": "conference",
    "conference paper": "conference",
    "survey": "review",
    "systematic review": "review",
    "literature review": "review",
    "review article": "review",
    "review paper": "review",
    "survey paper": "review",
    "overview": "review",
    "meta-analysis": "review",
    "metaanalysis": "review",
    "book chapter": "chapter",
    "dissertation": "thesis",
    "data": "dataset",
}

# The names that Semantic Scholar gives to fields; the other services' codes for them.
FIELDS = (
    "Computer Science",
    "Medicine",
    "Biology",
    "Chemistry",
    "Physics",
    "Mathematics",
    "Engineering",
    "Environmental Science",
    "Economics",
    "Psychology",
    "Sociology",
    "Geology",
    "Education",
    "Law",
    "Materials Science",
    "Business",
    "Philosophy",
    "Political Science",
    "Agricultural and Food Sciences",
)
_FIELD_WORDS: Mapping[str, str] = {
    "cs": "Computer Science",
    "computing": "Computer Science",
    "ai": "Computer Science",
    "health": "Medicine",
    "healthcare": "Medicine",
    "clinical": "Medicine",
    "medical": "Medicine",
    "biomedicine": "Medicine",
    "math": "Mathematics",
    "maths": "Mathematics",
    "statistics": "Mathematics",
    "ecology": "Environmental Science",
    "environment": "Environmental Science",
    "forestry": "Agricultural and Food Sciences",
    "agriculture": "Agricultural and Food Sciences",
    "geoscience": "Geology",
}
ARXIV_CATEGORIES: Mapping[str, tuple[str, ...]] = {
    "Computer Science": ("cs.*",),
    "Biology": ("q-bio.*",),
    "Physics": ("physics.*", "astro-ph.*", "cond-mat.*", "quant-ph", "hep-ph", "hep-th"),
    "Mathematics": ("math.*", "stat.*"),
    "Engineering": ("eess.*",),
    "Economics": ("econ.*", "q-fin.*"),
    "Materials Science": ("cond-mat.mtrl-sci",),
}
# The field ids of OpenAlex's topics, which are those of the ASJC classification.
OPENALEX_FIELDS: Mapping[str, tuple[int, ...]] = {
    "Agricultural and Food Sciences": (11,),
    "Biology": (13, 24, 28),
    "Business": (14,),
    "Chemistry": (16, 15),
    "Computer Science": (17,),
    "Geology": (19,),
    "Economics": (20,),
    "Engineering": (22, 21),
    "Environmental Science": (23,),
    "Materials Science": (25,),
    "Mathematics": (26,),
    "Medicine": (27, 29, 30, 35, 36),
    "Physics": (31,),
    "Psychology": (32,),
    "Sociology": (33,),
    "Political Science": (33,),
    "Education": (33,),
    "Law": (33,),
    "Philosophy": (12,),
}
SEMANTIC_SCHOLAR_KINDS: Mapping[str, tuple[str, ...]] = {
    "article": ("JournalArticle", "Study", "ClinicalTrial", "CaseReport"),
    "conference": ("Conference",),
    "review": ("Review", "MetaAnalysis"),
    "book": ("Book",),
    "chapter": ("BookSection",),
    "dataset": ("Dataset",),
}
CROSSREF_KINDS: Mapping[str, tuple[str, ...]] = {
    "article": ("journal-article",),
    "conference": ("proceedings-article",),
    "preprint": ("posted-content",),
    "book": ("book", "monograph", "edited-book", "reference-book"),
    "chapter": ("book-chapter",),
    "dataset": ("dataset",),
    "thesis": ("dissertation",),
}
OPENALEX_KINDS: Mapping[str, tuple[str, ...]] = {
    "article": ("article",),
    "preprint": ("preprint",),
    "review": ("review",),
    "book": ("book",),
    "chapter": ("book-chapter",),
    "dataset": ("dataset",),
    "thesis": ("dissertation",),
}
PUBMED_KINDS: Mapping[str, tuple[str, ...]] = {
    "article": ("Journal Article",),
    "review": ("Review", "Systematic Review", "Meta-Analysis"),
    "preprint": ("Preprint",),
    "dataset": ("Dataset",),
}


_TOO_COMMON = frozenset({"paper", "data", "other"})
"""Names of kinds that in a sentence mean anything else: "only papers on sleep" are papers of any kind."""
KIND_NAMES = tuple(name for name in (*KINDS, *_KIND_WORDS) if name not in _TOO_COMMON)
"""Names of kinds that are looked for in sentences."""


def kind_named(word: str) -> str:
    """Return the kind that a person's word means; empty if none is known."""
    plain = " ".join(word.lower().split())
    singular = plain[:-2] + "is" if plain.endswith(("theses", "analyses")) else plain
    for candidate in (singular, plain.removesuffix("s")):
        if candidate in KINDS:
            return candidate
        if candidate in _KIND_WORDS:
            return _KIND_WORDS[candidate]
    return ""


def field_named(word: str) -> str:
    """Return the field that a person's word means; empty if none is known."""
    plain = " ".join(word.lower().split())
    named = {field.lower(): field for field in FIELDS}
    return named.get(plain) or _FIELD_WORDS.get(plain, "")


def codes(wanted: Iterable[str], table: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return a service's words for what is wanted; what it has no word for gives none."""
    return tuple(code for name in wanted for code in table.get(name, ()))


def kind_of(words: Iterable[str], table: Mapping[str, tuple[str, ...]]) -> str:
    """Return our kind for a service's words; the rarer kind wins over a plain article."""
    given = set(words)
    found = [kind for kind, service in table.items() if not given.isdisjoint(service)]
    special = [kind for kind in found if kind != "article"]
    preferred = [kind for kind in special if kind == "review"] or special or found
    return preferred[0] if preferred else "other" if given else ""


def unknown(
    label: str, what: str, wanted: Iterable[str], table: Mapping[str, object]
) -> tuple[str, ...]:
    """Return a warning for each filter that a service cannot apply."""
    missing = [name for name in wanted if name not in table]
    if not missing:
        return ()
    return (f"{label} cannot filter by {what} {', '.join(missing)}; that filter was not applied",)
