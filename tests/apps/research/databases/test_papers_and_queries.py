"""When two records are one paper, what is wrong with a query, and how its text is read."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adk_prism_apps.research.databases import Paper, Query, distinct, identity, lint, repaired
from adk_prism_apps.research.databases.query import MOST_CHARACTERS, filters_of
from adk_prism_apps.research.databases.syntax import (
    Dialect,
    holds,
    is_plain,
    parse,
    quoted,
    render,
    terms_of,
)

PLAIN = Dialect(term=quoted, both=" AND ", either=" OR ", without=" NOT ")
SAME = (
    (Paper("A", doi="10.1000/ABC"), Paper("B", doi="https://doi.org/10.1000/abc")),
    (Paper("A", arxiv="1602.04938v3"), Paper("B", arxiv="arXiv:1602.04938")),
    (Paper("A", doi="10.48550/arXiv.1602.04938"), Paper("B", arxiv="1602.04938v1")),
    (Paper("Why Should I Trust You?"), Paper("“Why should I trust you”")),
    (Paper("Étude of naïve methods now"), Paper("Etude of naive methods: now")),
    (
        Paper("Deep learning for all people", doi="10.1000/x"),
        Paper("Deep Learning for All People", arxiv="1234.56789"),
    ),
)
OTHER = (
    (Paper("Editorial", doi="10.1000/a"), Paper("Editorial", doi="10.1000/b")),
    (Paper("A study of one thing"), Paper("A study of another thing")),
    (Paper("A", arxiv="1602.04938"), Paper("B", arxiv="1602.04939")),
)


@pytest.mark.parametrize("pair", SAME)
def test_one_key_in_common_is_one_paper(pair: tuple[Paper, Paper]) -> None:
    """DOI in any spelling, arXiv id in any version, title in any dress."""
    assert distinct(pair) == pair[:1]
    assert set(identity(pair[0])) & set(identity(pair[1]))


@pytest.mark.parametrize("pair", OTHER)
def test_papers_that_only_look_alike_stay_two(pair: tuple[Paper, Paper]) -> None:
    """A short title is no proof where there is a DOI."""
    assert distinct(pair) == pair


def test_a_third_record_joins_two_others() -> None:
    """The preprint knows the title, the publication the DOI: a record with both makes them one."""
    preprint = Paper("A long enough title here", arxiv="1602.04938")
    both = Paper("A long enough title here", doi="10.1000/z")
    published = Paper("Another name altogether for it", doi="10.1000/z")
    assert distinct((preprint, both, published)) == (preprint,)


@dataclass(frozen=True)
class Fault:
    query: Query
    rules: tuple[str, ...]


FAULTS = (
    Fault(Query("plain words"), ()),
    Fault(Query(""), ("empty",)),
    Fault(Query("?! ()"), ("empty",)),
    Fault(Query("x " * 300), ("too_long", "too_many_words")),
    Fault(Query('an "open phrase'), ("quotes",)),
    Fault(Query("a (b"), ("parentheses",)),
    Fault(Query(")a("), ("parentheses",)),
    Fault(Query("a\r\nb"), ("control_characters",)),
    Fault(Query("a b", since=2025, until=2020), ("year_order",)),
    Fault(Query("a b", since=-3), ("year",)),
    Fault(Query("a b", limit=0), ("limit",)),
)


@pytest.mark.parametrize("case", FAULTS, ids=lambda case: repr(case.query.text[:12]))
def test_faults_are_named(case: Fault) -> None:
    """Each fault has its rule and a sentence."""
    found = lint(case.query)
    assert tuple(fault.rule for fault in found) == case.rules
    assert all(fault.detail.endswith(".") for fault in found)


@given(st.text(max_size=3 * MOST_CHARACTERS))
def test_a_repaired_text_has_no_faults(text: str) -> None:
    """Whatever was typed, what is left of it can be sent; or nothing is left."""
    text = repaired(text)
    assert not text or not lint(Query(text))


@given(st.text(alphabet='ab "()|ANDORNOT-\n*:é', max_size=200))
def test_any_text_is_some_tree(text: str) -> None:
    """Reading never fails, and what is written for a service can be read again as the same."""
    tree = parse(text)
    if tree.parts:
        written = render(tree, PLAIN)
        assert terms_of(written) == terms_of(text)
        assert parse(render(parse(written), PLAIN)) == parse(written)


def test_precedence_and_exclusion() -> None:
    """NOT binds first, then AND, then OR; an exclusion of nothing wanted is dropped."""
    assert render(parse('a OR b c NOT "d e"'), PLAIN) == '(a OR (b AND c NOT "d e"))'
    assert render(parse("NOT a"), PLAIN) == ""
    assert is_plain("just words")
    assert not is_plain('a "b c"')


def test_words_match_by_their_stems() -> None:
    """What ranks by any word is checked here: all words, in any usual form."""
    tree = parse('explainable "neural networks" (clinic OR medicine) NOT game')
    assert holds(tree, "Explaining a neural network in medicine")
    assert not holds(tree, "Explaining networks, neural, in medicine")
    assert not holds(tree, "Explaining a neural network in medicine: a game")


def test_filters_are_shown_as_a_receipt_shows_them() -> None:
    """In one order, only those that are set."""
    query = Query("x", since=2020, fields=("Medicine", "Biology"), kinds=("review",))
    assert filters_of(query) == ("year>=2020", "fields=Medicine,Biology", "kinds=review")
    assert filters_of(Query("x")) == ()
