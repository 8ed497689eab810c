"""One search over real HTTP: pages, troubles, patience. Recorded answers, and synthetic ones by name."""

from __future__ import annotations

from dataclasses import dataclass

import httpx
import pytest
from tests.apps.research.databases.asking import KEYS, Clock, adapter, ask
from tests.apps.research.databases.loopback import Answer, Asked, loopback, recorded, synthetic
from tests.apps.research.databases.recordings import Recording, of_service

from adk_prism_apps.research.databases import Limiter, Query, RetryPolicy, distinct, search

XML = (("content-type", "text/xml"),)
HTML = Answer(body=b"<!DOCTYPE html><html><body>Maintenance</body></html>", headers=XML)
WORK = {"paperId": "1", "title": "A paper on testing things", "externalIds": {"DOI": "10.1/1"}}


def _of(service: str, part: str) -> Recording:
    return next(each for each in of_service(service) if part in each.source or part in each.url)


def _testing_page(asked: Asked) -> Answer:
    """Give the recorded page of arXiv that begins where the request asks."""
    start = asked.parameters["start"]
    return recorded(_of("arxiv", f"q_testing_s{start}_m10_"))


async def test_pages_follow_each_other_until_there_are_enough() -> None:
    """Recorded pages of one arXiv query: each begins where the one before ended."""
    async with loopback(_testing_page) as server:
        clock = Clock()
        database = adapter("arxiv", server.url)
        found = await ask(database, Query("testing", limit=30), clock)
    assert [asked.parameters["start"] for asked in server.asked] == ["0", "10", "20"]
    assert len(found.papers) == 30 == len(distinct(found.papers))
    assert (found.pages, found.requests, found.error) == (3, 3, None)
    assert found.truncated
    assert found.total is not None
    assert found.total > 1000
    assert clock.slept == [3.0, 3.0], "arXiv wants three seconds between requests"


async def test_pubmed_finds_ids_and_then_fetches_them() -> None:
    """Two recorded steps: what esearch found is what efetch is asked for."""

    def give(asked: Asked) -> Answer:
        part = "esearch1" if "esearch" in asked.path else "pubmed1"
        return recorded(_of("pubmed", part))

    async with loopback(give) as server:
        found = await ask(adapter("pubmed", server.url), Query("biopython"))
    search_request, fetch_request = server.asked
    assert search_request.parameters["term"] == "biopython"
    assert fetch_request.parameters["id"].count(",") >= 4
    assert found.total == 63
    assert len(found.papers) == 2, "the recorded records are of two other articles"
    assert (found.pages, found.requests) == (1, 2)


async def test_crossref_papers_without_the_words_are_left_out() -> None:
    """Crossref ranks by any word: its total is not taken over, and what does not match is named."""
    page = _of("crossref", "query=widget")
    async with loopback([recorded(page)]) as server:
        found = await ask(adapter("crossref", server.url), Query("widget engines"))
    assert found.total is None
    assert any("left out" in text for text in found.warnings)
    assert all("widget" in paper.title.lower() for paper in found.papers)


async def test_semantic_scholar_says_nothing_when_it_has_nothing() -> None:
    """An answer without hits has no list at all (as recorded elsewhere; synthetic here)."""
    async with loopback([synthetic(value={"total": 0, "offset": 0})]) as server:
        found = await ask(adapter("semantic_scholar", server.url), Query("nothing at all"))
    assert (found.papers, found.total, found.error) == ((), 0, None)


@dataclass(frozen=True)
class Case:
    """A synthetic misfortune and what it is called. `tries` counts the requests that it costs."""

    name: str
    answer: Answer
    kind: str
    tries: int = 3


SYNTHETIC = (
    Case("429", synthetic(429, {"message": "slow down"}), "rate_limited"),
    Case("429 for too long", synthetic(429, {}, retry_after="3600"), "rate_limited", 1),
    Case("401", synthetic(401, {"error": "who"}), "auth_failed", 1),
    Case("402", synthetic(402, {}), "access_restricted", 1),
    Case("403 by subscription", synthetic(403, {"e": "No subscription"}), "access_restricted", 1),
    Case("403 used up", synthetic(403, {}, x_ratelimit_remaining="0"), "rate_limited"),
    Case("414", synthetic(414, {}), "malformed_query", 1),
    Case("500", synthetic(500, {"error": "oops"}), "service_error"),
    Case("503", synthetic(503, b"upstream"), "service_error"),
    Case("504", synthetic(504, b""), "timeout"),
    Case("a page for people", HTML, "service_error"),
    Case("an empty answer", Answer(), "service_error"),
    Case(
        "a redirect",
        Answer(302, headers=(("location", "http://127.0.0.1:9/"),)),
        "service_error",
        1,
    ),
    Case("a cut body", Answer(body=b'{"total": 1, "data": [', says=10_000), "service_error"),
    Case("half of the JSON or XML", synthetic(200, b'{"total": 1, "da'), "service_error"),
    Case("bytes that are no text", synthetic(200, b"\xff\xfe\x00\x01" * 50), "service_error"),
)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("case", SYNTHETIC, ids=lambda case: case.name)
async def test_synthetic_misfortunes_have_a_name(key: str, case: Case) -> None:
    """Whatever comes instead of papers becomes a trouble; what may pass is tried again, no oftener."""
    async with loopback([case.answer]) as server:
        found = await ask(adapter(key, server.url), Query("testing"))
    assert found.error is not None
    assert found.error.kind == case.kind
    assert found.papers == ()
    assert found.error.detail
    assert len(server.asked) == found.requests <= case.tries


async def test_openalex_refuses_with_403_when_the_day_is_used_up() -> None:
    """Elsewhere 403 is a question of who asks; at OpenAlex, of how often (synthetic)."""
    for key, kind in (("openalex", "rate_limited"), ("semantic_scholar", "auth_failed")):
        async with loopback([synthetic(403, {"message": "Forbidden"})]) as server:
            found = await ask(adapter(key, server.url), Query("testing"))
        assert found.error is not None
        assert found.error.kind == kind


async def test_a_wait_that_was_asked_for_is_kept() -> None:
    """After 429 with Retry-After, the next request comes after that time, and may succeed (synthetic)."""
    answers = [synthetic(429, {}, retry_after="7"), synthetic(value={"total": 1, "data": [WORK]})]
    async with loopback(answers) as server:
        clock = Clock()
        found = await ask(adapter("semantic_scholar", server.url), Query("testing"), clock)
    assert found.error is None
    assert len(found.papers) == 1
    assert found.requests == 2
    assert sum(clock.slept) == pytest.approx(7, abs=0.5)


async def test_a_wait_until_a_date_is_counted_by_the_services_own_clock() -> None:
    """Retry-After as a date, relative to the answer's own date (synthetic)."""
    until, now = "Wed, 21 Oct 2026 07:28:10 GMT", "Wed, 21 Oct 2026 07:28:00 GMT"
    answers = [
        synthetic(429, {}, retry_after=until, date=now),
        synthetic(value={"total": 1, "data": [WORK]}),
    ]
    async with loopback(answers) as server:
        clock = Clock()
        found = await ask(adapter("semantic_scholar", server.url), Query("testing"), clock)
    assert found.error is None
    assert sum(clock.slept) == pytest.approx(10, abs=0.5)


async def test_a_search_ends_within_its_budget() -> None:
    """Waits that would go beyond it are not begun (synthetic)."""
    async with loopback([synthetic(503, {}, retry_after="40")]) as server:
        clock = Clock()
        policy = RetryPolicy(tries=9, budget=90)
        found = await ask(adapter("arxiv", server.url), Query("testing"), clock, policy)
    assert found.error is not None
    assert found.error.kind == "service_error"
    assert sum(clock.slept) <= 90
    assert found.requests == 3


async def test_pages_that_came_are_kept() -> None:
    """A trouble on the second page leaves the papers of the first, marked as partial (synthetic)."""
    first = {"total": 300, "next": 100, "data": [WORK]}
    async with loopback([synthetic(value=first), synthetic(500, {})]) as server:
        found = await ask(adapter("semantic_scholar", server.url), Query("testing", limit=150))
    assert len(found.papers) == 1
    assert found.partial
    assert found.error is not None
    assert found.error.kind == "service_error"


async def test_silence_is_a_timeout() -> None:
    """A service that takes the request and never answers (synthetic)."""
    async with loopback([Answer(silent=True)]) as server:
        policy = RetryPolicy(tries=1, timeout=0.2)
        found = await ask(adapter("arxiv", server.url), Query("testing"), policy=policy)
    assert found.error is not None
    assert found.error.kind == "timeout"


async def test_nobody_there_is_a_network_error() -> None:
    """A port on which nobody listens."""
    async with loopback([Answer()]) as server:
        gone = server.url
    found = await ask(adapter("crossref", gone), Query("testing"), policy=RetryPolicy(tries=1))
    assert found.error is not None
    assert found.error.kind == "network_error"


async def test_an_endless_answer_is_given_up() -> None:
    """More bytes than any page of papers has (synthetic)."""
    body = b'{"total": 1, "data": [' + b" " * (17 * 1024 * 1024)
    async with loopback([Answer(body=body)]) as server:
        found = await ask(adapter("semantic_scholar", server.url), Query("testing"))
    assert found.error is not None
    assert found.error.rule == "body.size"


WRONG_TYPES: tuple[object, ...] = (
    [],
    {"data": "abc", "total": 3},
    {"total": "many", "data": [None, 3, "x", [], {"title": 5}, {"title": None, "authors": "me"}]},
    {"meta": [], "results": {}},
    {"meta": {"count": "x"}, "results": [{"display_name": {}, "authorships": [1], "id": 3}]},
    {"message-type": "work-list", "message": {"items": [{"title": [None, 1], "author": {}}]}},
    {"message-type": "work-list", "message": {"items": [{"title": ["T"], "issued": [[None]]}]}},
    {"message-type": "work", "message": "text"},
)


@pytest.mark.parametrize("key", ["semantic_scholar", "openalex", "crossref", "acm", "ieee"])
@pytest.mark.parametrize("value", WRONG_TYPES, ids=lambda value: str(value)[:40])
async def test_wrong_types_crash_nothing(key: str, value: object) -> None:
    """JSON of another shape is a service's error, or gives no papers; it never raises (synthetic)."""
    async with loopback([synthetic(value=value)]) as server:
        found = await ask(adapter(key, server.url), Query("t"))
    assert len(found.papers) <= 1


BOMB = (
    b"""<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "boom"><!ENTITY c "&b;&b;&b;">]><a>&c;</a>"""
)
HOSTILE_XML = (
    BOMB,
    BOMB.decode().replace('version="1.0"', 'version="1.0" encoding="utf-16"').encode("utf-16"),
    b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>',
    b"<a>" * 5000,
    b"<feed><entry/></feed>",
    b"<eSearchResult><Count>x</Count></eSearchResult>",
    b"<PubmedArticleSet><PubmedArticle/><PubmedArticle><MedlineCitation/></PubmedArticle></PubmedArticleSet>",
)


@pytest.mark.parametrize("key", ["arxiv", "pubmed"])
@pytest.mark.parametrize("body", HOSTILE_XML, ids=lambda body: str(body[:30]))
async def test_hostile_xml_is_refused(key: str, body: bytes) -> None:
    """No entity is expanded, no file read, no depth followed; the search ends with no paper (synthetic)."""
    async with loopback([Answer(body=body, headers=XML)]) as server:
        found = await ask(adapter(key, server.url), Query("testing"))
    assert found.papers == ()


async def test_an_empty_page_of_arxiv_is_asked_for_again() -> None:
    """arXiv sends empty pages in the middle of a result now and then (synthetic)."""
    page = _of("arxiv", "q_testing_s0_m10_")
    start, end = page.body.index(b"<entry>"), page.body.rindex(b"</entry>") + len(b"</entry>")
    empty = Answer(200, page.body[:start] + page.body[end:], page.headers)
    async with loopback([empty, recorded(page)]) as server:
        found = await ask(adapter("arxiv", server.url), Query("testing", limit=10))
    assert found.error is None
    assert len(found.papers) == 10
    assert found.requests == 2


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize(
    "text",
    [
        "testing\r\nX-Injected: yes",
        'a" OR 1=1 --',
        "https://example.org/?api_key=1&filter=member:1#x",
        "ti:(x) AND cat:cs.* ANDNOT all:[1 TO 2]",
        "a&rows=1000&mailto=me",
        "title:word* NEAR(a b) ^c {d} ~e \\ | & %00 \x00",
        "日本語 Ελληνικά naïve",
        "(" * 400,
        "",
        "   ",
        "AND OR NOT",
        "x" * 10_000,
        "word " * 2_000,
    ],
    ids=lambda text: repr(text[:25]),
)
async def test_what_is_typed_stays_a_search_for_words(key: str, text: str) -> None:
    """No text of a query becomes a header, a parameter, an operator or a path; faulty ones are not sent."""
    async with loopback([synthetic(500, {})]) as server:
        found = await ask(adapter(key, server.url), Query(text), policy=RetryPolicy(tries=1))
    assert found.error is not None
    assert found.error.kind in ("malformed_query", "service_error")
    assert bool(server.asked) == (found.error.kind == "service_error")
    for asked in server.asked:
        assert "x-injected" not in asked.headers
        assert not {"api_key", "mailto", "email"} & set(asked.parameters)
        filters = asked.parameters.get("filter", "")
        assert "member:1" not in filters.split(",")


async def test_a_shared_limiter_holds_for_all_searches_of_a_host() -> None:
    """ACM, IEEE and Crossref are one host: three searches wait for each other's turn."""
    clock = Clock()
    limiter = Limiter(clock)
    async with (
        loopback([synthetic(500, {})]) as server,
        httpx.AsyncClient(trust_env=False, verify=False) as client,
    ):
        for key in ("crossref", "acm", "ieee"):
            await search(
                adapter(key, server.url),
                Query("testing"),
                client=client,
                limiter=limiter,
                clock=clock,
                policy=RetryPolicy(tries=1),
            )
    assert clock.slept == [0.2, 0.2]
    assert len(server.asked) == 3
