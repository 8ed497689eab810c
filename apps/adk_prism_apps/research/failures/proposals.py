"""The remedies themselves: each turns a search that disappointed into others that can be run as they are.

An action's label has a count where it was measured, which is free in a local database; other
numbers are predictions from what came, and say so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from ..databases.database import AnyDatabase, LocalDatabase
from ..databases.paper import Paper
from ..databases.query import Query, filters_of, lint, repaired
from ..databases.syntax import terms_of
from .case import Case
from .evidence import Numbers
from .failure import Action, ActionKind
from .spelling import spelling
from .thesaurus import Concept, spoken

# As many as a person looks at to see whether the words are right.
SHORT_RUN = 10
_FEWER_WORDS = 8
_YEARS_BACK = 5
OFFLINE = "sample_library"
"""Key of the database that is always there."""


def retry(case: Case, numbers: Numbers) -> Iterator[Action]:
    """The same again, after the time that the service asked for."""
    wait = float(numbers.get("retry_after_s", 1.0))
    label = f"Try {case.database.label} again" + (f" in {wait:.0f} s" if wait > 1 else "")
    yield replace(action_of(case, "retry", label, case.query, measured=False), after=wait)


def offline(case: Case, numbers: Numbers) -> Iterator[Action]:
    """The sample library, which needs no network; never passed off as anything else."""
    library = case.databases.get(OFFLINE)
    if library is not None and library.key != case.database.key:
        label = f"Search the {library.label} (offline)"
        yield action_of(case, "work_offline", label, case.query, library)


def halved(case: Case, numbers: Numbers) -> Iterator[Action]:
    """Half as many papers at a time."""
    smaller = replace(case.query, limit=max(1, case.query.limit // 2))
    label = f"Ask {case.database.label} for {smaller.limit} papers only"
    yield action_of(case, "retry", label, smaller, measured=False)


def elsewhere(case: Case, numbers: Numbers) -> Iterator[Action]:
    """Other databases: those known to have more, then those that cover the query's fields."""
    counts = case.elsewhere()
    fields = [concept.field for concept in case.concepts if concept.field]
    keys = sorted(
        (key for key in case.databases if key not in (case.database.key, OFFLINE)),
        key=lambda key: (-counts.get(key, 0), *_rank(case, case.databases[key], fields)),
    )
    for key in keys:
        other = case.databases[key]
        known = f", which has {counts[key]}" if counts.get(key) else f": {other.profile.about}"
        yield action_of(
            case, "different_database", f"Search {other.label}{known}", case.query, other
        )


def _rank(case: Case, other: AnyDatabase, fields: list[str]) -> tuple[int, int, int]:
    """Order databases: special to the missing field, covering it, then as equivalents go."""
    special = sum(1 for field in fields if field in other.profile.fields)
    covering = sum(1 for field in fields if other.profile.covers(field))
    equals = case.database.profile.equivalents
    place = equals.index(other.key) if other.key in equals else len(equals)
    missing = [field for field in fields if not case.database.profile.covers(field)]
    return (-special if missing else 0, -covering, place)


def repaired_query(case: Case, numbers: Numbers) -> Iterator[Action]:
    """The query with its faults corrected; shown as what it was and what it becomes."""
    years = sorted(year for year in (case.query.since, case.query.until) if year is not None)
    ordered = len(years) == 2
    query = replace(
        case.query,
        text=repaired(case.query.text),
        since=years[0] if ordered else case.query.since,
        until=years[1] if ordered else case.query.until,
    )
    if query.text and query != case.query and not lint(query):
        yield action_of(case, "fix_query", f"Fix the query: {query.text}", query)


def plain_words(case: Case, numbers: Numbers) -> Iterator[Action]:
    """The first words of the query, without any sign or filter."""
    words = [word for term in terms_of(case.query.text) for word in term.words]
    kept = [word for word in words if len(word) < 40][:_FEWER_WORDS]
    query = Query(" ".join(kept), limit=min(max(case.query.limit, 1), 50))
    if kept and not lint(query):
        yield action_of(case, "broaden_query", f"Search for the plain words: {query.text}", query)


def synonyms(case: Case, numbers: Numbers) -> Iterator[Action]:
    """Other names: for the concept that is lacking, else for each that has some, then for all."""
    concepts = case.concepts
    lacking = [concept for concept in concepts if concept.text == numbers.get("concept")]
    uncovered = [concept for concept in concepts if concept.text in numbers.get("concepts", ())]
    scarce = lacking or uncovered or _scarcest_first(concepts, numbers)
    for chosen in [*([concept] for concept in scarce), [*concepts]]:
        widened = [_widened(case, each) if each in chosen else each for each in concepts]
        if widened != list(concepts):
            text = spoken(widened)
            yield action_of(
                case, "try_synonyms", f"Try synonyms: {text}", replace(case.query, text=text)
            )


def _widened(case: Case, concept: Concept) -> Concept:
    """Widen a concept by its synonyms; in a local database, by those that are there."""
    there = [
        name
        for name in concept.synonyms
        if case.measure(replace(case.query, text=f'"{name}"')) != 0
    ]
    return concept.widened(there) if there else concept


def _scarcest_first(concepts: tuple[Concept, ...], numbers: Numbers) -> list[Concept]:
    alone: dict[str, int] = numbers.get("count_alone", {})
    return sorted(concepts, key=lambda concept: alone.get(concept.text, 0))


def respelt(case: Case, numbers: Numbers) -> Iterator[Action]:
    """Words that are in no title, as the nearest word that is."""
    known = getattr(case.databases.get(OFFLINE), "words", None)
    if known and (text := spelling(case.query.text, known)):
        yield action_of(case, "fix_query", f"Did you mean: {text}", replace(case.query, text=text))


def without_filter(case: Case, numbers: Numbers) -> Iterator[Action]:
    """Without one filter: the one that takes most away, where that is known."""
    ways = [
        (name, query)
        for name, query in (
            ("kinds", replace(case.query, kinds=())),
            ("fields", replace(case.query, fields=())),
            ("years", replace(case.query, since=None, until=None)),
        )
        if query != case.query
    ]
    every = replace(case.query, kinds=(), fields=(), since=None, until=None)
    found = [_dropping(case, name, query) for name, query in ways]
    yield from sorted(found, key=lambda action: -(action.count or 0))
    if len(ways) > 1:
        yield _dropping(case, "filters", every)


def _dropping(case: Case, name: str, query: Query) -> Action:
    gone = [text for text in filters_of(case.query) if text not in filters_of(query)]
    action = action_of(case, "broaden_query", f"Drop the filter on {name}", query)
    # Without a free count, a probe may have told.
    probed = [case.probes.without[text] for text in gone if text in case.probes.without]
    return replace(action, count=max(probed)) if action.count is None and probed else action


def relaxed_years(case: Case, numbers: Numbers) -> Iterator[Action]:
    """Some years more, then all."""
    if case.query.since is not None:
        earlier = replace(case.query, since=case.query.since - _YEARS_BACK)
        yield action_of(case, "broaden_query", f"Go back to {earlier.since}", earlier)
    if case.query.since is not None or case.query.until is not None:
        query = replace(case.query, since=None, until=None)
        yield action_of(case, "broaden_query", "Search all years", query)


def without_concept(case: Case, numbers: Numbers) -> Iterator[Action]:
    """Without one concept: the scarcest first."""
    for concept in _scarcest_first(case.concepts, numbers):
        query = case.without_concept(concept)
        if query is not None:
            yield action_of(case, "broaden_query", f'Leave out "{concept.text}"', query)


def narrowed(case: Case, numbers: Numbers) -> Iterator[Action]:
    """By the facet that leaves closest to what was expected, with the count that it should leave."""
    papers = case.outcome.papers
    target = case.expected[1] if case.expected else min(case.database.cap, 100)
    found = []
    for label, query, share in _facets(case.query, papers):
        action = action_of(case, "narrow_query", label, query)
        predicted = round(case.count * share) if action.count is None else action.count
        if 0 < predicted < case.count:
            about = "" if action.count is not None else f" (about {predicted} papers)"
            found.append((abs(predicted - target), replace(action, label=action.label + about)))
    yield from (action for _, action in sorted(found, key=lambda each: each[0]))


def _facets(query: Query, papers: tuple[Paper, ...]) -> Iterator[tuple[str, Query, float]]:
    """Yield each way to narrow, with the share of the papers found that it keeps."""
    years = sorted(paper.year for paper in papers if paper.year is not None)
    for quantile in (0.5, 0.75):
        since = years[int(len(years) * quantile)] if years else None
        if since is not None and since != query.since:
            share = sum(1 for year in years if year >= since) / len(years)
            yield f"Only since {since}", replace(query, since=since), share
    if not query.kinds:
        for kind, count in Counter(paper.kind for paper in papers if paper.kind).most_common(3):
            label = f"Only the kind {kind}"
            yield label, replace(query, kinds=(kind,)), count / len(papers)
    if not query.fields:
        named = Counter(field for paper in papers for field in paper.fields[:1])
        for field, count in named.most_common(3):
            yield f"Only the field {field}", replace(query, fields=(field,)), count / len(papers)


def short_run(case: Case, numbers: Numbers) -> Iterator[Action]:
    """The best few alone."""
    query = replace(case.query, limit=SHORT_RUN)
    yield action_of(case, "short_run", f"Look at the best {SHORT_RUN}", query, measured=False)


def one_meaning(case: Case, numbers: Numbers) -> Iterator[Action]:
    """The query with the words of one meaning; the commonest first."""
    meanings: dict[str, int] = numbers["meanings"]
    senses = {sense.name: sense for sense in case.thesaurus.senses(numbers["term"])}
    for name, _ in sorted(meanings.items(), key=lambda each: (-each[1], each[0])):
        marks = senses[name].marks if name in senses else (name,)
        quoted = " OR ".join(f'"{mark}"' if " " in mark else mark for mark in marks)
        text = f"{case.query.text} ({quoted})" if len(marks) > 1 else f"{case.query.text} {quoted}"
        label = f'"{numbers["term"]}" as in {name}'
        yield action_of(case, "choose_meaning", label, replace(case.query, text=text))


def open_elsewhere(case: Case, numbers: Numbers) -> Iterator[Action]:
    """Preprints, which anyone can read."""
    preprints = case.databases.get("arxiv")
    if preprints is not None and preprints.key != case.database.key:
        yield action_of(
            case, "different_database", "Look for preprints on arXiv", case.query, preprints
        )


def action_of(
    case: Case,
    kind: ActionKind,
    label: str,
    query: Query,
    database: AnyDatabase | None = None,
    *,
    measured: bool = True,
) -> Action:
    """Return a search as a remedy, in this database or another, with its count where that is free."""
    where = database or case.database
    count = case.measure(query, where) if measured and not lint(query) else None
    if count is not None and isinstance(where, LocalDatabase):
        label = f"{label} ({count} papers)"
    return Action(kind, label, where.key, query, count)
