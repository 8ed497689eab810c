"""What the papers say together, as far as that is known: each sentence cites papers or says it does not.

A model may write the sentences; they are checked here, and a number without a paper does not count
as a citation. Without a model they are made of the metadata alone, and say nothing that a title, a
venue or a year does not show.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..databases.syntax import stem, words_of
from .receipts import cited

UNCITED = "[uncited]"
MOST_SENTENCES = 60
LONGEST_SENTENCE = 1000
_MOST_THEMES = 4
_MOST_CITED = 8
_CITATION = re.compile(r"\[(\d{1,4}(?:\s*[,;]\s*\d{1,4})*)\]")
_DULL = frozenset(
    "about approach approaches artificial based beyond case data evaluating framework from guide have into "
    "intelligence learning machine method methods model models more need neural networks new novel over "
    "overview paper review study survey systematic system systems that their through toward towards using "
    "what when with without your deep network".split()
)

Papers = Sequence[Mapping[str, Any]]


def synthesis(question: str, papers: Papers, sentences: Sequence[str] = ()) -> str:
    """Return the synthesis with its references; the given sentences, or those that metadata allows."""
    said = [checked(each, len(papers)) for each in sentences[:MOST_SENTENCES] if each.strip()]
    body = said or list(_from_metadata(papers))
    used = sorted({number for each in body for number in cited_numbers(each, len(papers))})
    references = [f"[{number}] {cited(papers[number - 1])}" for number in used]
    heading = f"**SYNTHESIS**: {question}" if question else "**SYNTHESIS**"
    listed = "\n".join(f"- {sentence}" for sentence in body)
    cites = ["References:", "\n".join(f"- {each}" for each in references)] if references else []
    return "\n\n".join([heading, listed, *cites])


def checked(sentence: str, count: int) -> str:
    """Return a sentence with the citations that are papers' numbers; without any, marked uncited."""
    text = " ".join(sentence.split())[:LONGEST_SENTENCE]

    def keep(found: re.Match[str]) -> str:
        numbers = [int(each) for each in re.split(r"\s*[,;]\s*", found.group(1))]
        known = [str(each) for each in numbers if 1 <= each <= count]
        return f"[{', '.join(known)}]" if known else ""

    text = " ".join(_CITATION.sub(keep, text).split())
    if cited_numbers(text, count) or UNCITED in text:
        return text
    bare = text.rstrip(".!?… ")
    return f"{bare} {UNCITED}{text[len(bare) :].strip() or '.'}"


def cited_numbers(sentence: str, count: int) -> set[int]:
    """Return the papers that a sentence cites."""
    groups = _CITATION.findall(sentence)
    numbers = {int(number) for group in groups for number in re.split(r"\s*[,;]\s*", group)}
    return {number for number in numbers if 1 <= number <= count}


def _from_metadata(papers: Papers) -> Iterator[str]:
    yield f"The searches found {len(papers)} distinct papers {UNCITED}."
    dated = sorted((int(p["year"]), n) for n, p in enumerate(papers, 1) if p.get("year"))
    if dated:
        (first, oldest), (last, newest) = dated[0], dated[-1]
        yield f"They were published from {first} [{oldest}] to {last} [{newest}]."
    reviews = [number for number, paper in enumerate(papers, 1) if paper.get("kind") == "review"]
    if reviews:
        yield f"Reviews of the field are among them {_marks(reviews)}."
    for theme, numbers in _themes(papers):
        yield f'"{theme.capitalize()}" is named in the titles of {len(numbers)} of them {_marks(numbers)}.'
    yield f"Titles, venues and years were read, no abstracts: nothing is said about results {UNCITED}."


def _themes(papers: Papers) -> list[tuple[str, list[int]]]:
    """Return the words that several titles share, the most frequent first, with the papers' numbers."""
    found: dict[str, list[int]] = {}
    spelt: dict[str, Counter[str]] = {}
    for number, paper in enumerate(papers, 1):
        for word in dict.fromkeys(words_of(str(paper["title"]))):
            if len(word) > 3 and word not in _DULL and not word.isdecimal():
                root = stem(word)
                spelt.setdefault(root, Counter())[word] += 1
                if number not in found.setdefault(root, []):
                    found[root].append(number)
    shared = [(root, numbers) for root, numbers in found.items() if 1 < len(numbers) < len(papers)]
    shared.sort(key=lambda each: -len(each[1]))
    return [(spelt[root].most_common(1)[0][0], each) for root, each in shared[:_MOST_THEMES]]


def _marks(numbers: Sequence[int]) -> str:
    return f"[{', '.join(map(str, numbers[:_MOST_CITED]))}]"
