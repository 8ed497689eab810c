"""What is sent to each service, and what of it may be shown: requests, keys, curl."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

import httpx
import pytest
from tests.apps.research.databases.asking import KEYS, adapter, ask
from tests.apps.research.databases.loopback import loopback, synthetic

from adk_prism_apps.research.databases import Database, Query, as_curl
from adk_prism_apps.research.databases.registry import BY_TOOL, DATABASES, databases_named

SECRETS = {
    "SEMANTIC_SCHOLAR_API_KEY": "s2-secret",
    "OPENALEX_API_KEY": "oa-secret",
    "NCBI_API_KEY": "ncbi-secret",
    "ADK_PRISM_RESEARCH_EMAIL": "someone@example.org",
}
ASKED = Query(
    '"neural network" (testing OR fuzzing) NOT game',
    since=2019,
    until=2021,
    fields=("Computer Science",),
    kinds=("article",),
    limit=25,
)


@dataclass(frozen=True)
class Case:
    """The parameters that a service gets for one and the same query."""

    key: str
    path: str
    parameters: dict[str, str]


_CROSSREF_FILTER = "from-pub-date:2019,until-pub-date:2021,type:journal-article"
CASES = (
    Case(
        "semantic_scholar",
        "/graph/v1/paper/search/bulk",
        {
            "query": '"neural network" (testing | fuzzing) -game',
            "year": "2019-2021",
            "fieldsOfStudy": "Computer Science",
            "publicationTypes": "JournalArticle,Study,ClinicalTrial,CaseReport",
        },
    ),
    Case(
        "arxiv",
        "/api/query",
        {
            "search_query": '(all:"neural network" AND (all:testing OR all:fuzzing) ANDNOT all:game)'
            " AND (cat:cs.*) AND submittedDate:[201901010000 TO 202112312359]",
            "max_results": "25",
            "start": "0",
        },
    ),
    Case(
        "openalex",
        "/works",
        {
            "search": '"neural network" AND (testing OR fuzzing) NOT game',
            "filter": "from_publication_date:2019-01-01,to_publication_date:2021-12-31,"
            "type:article,primary_topic.field.id:17",
            "per_page": "25",
            "cursor": "*",
        },
    ),
    Case(
        "pubmed",
        "/entrez/eutils/esearch.fcgi",
        {
            "term": '("neural network" AND (testing OR fuzzing) NOT game)'
            ' AND ("Journal Article"[Publication Type])',
            "mindate": "2019",
            "maxdate": "2021",
            "datetype": "pdat",
            "retmax": "25",
        },
    ),
    Case(
        "crossref",
        "/works",
        {
            "query.bibliographic": "neural network testing fuzzing",
            "filter": _CROSSREF_FILTER,
            "rows": "50",
            "cursor": "*",
        },
    ),
    Case("acm", "/works", {"filter": f"member:320,{_CROSSREF_FILTER}"}),
    Case("ieee", "/works", {"filter": f"member:263,{_CROSSREF_FILTER}"}),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.key)
def test_a_query_is_said_in_the_words_of_each_service(case: Case) -> None:
    """Phrases, choices, exclusions and filters, each in the service's own syntax."""
    request = adapter(case.key).build_request(ASKED)
    assert request.method == "GET"
    assert request.url.path == case.path
    sent = dict(request.url.params)
    assert {name: sent[name] for name in case.parameters} == case.parameters


def test_plain_words_go_to_the_ranked_search_of_semantic_scholar() -> None:
    """It reads no operators and finds nothing for a word with a hyphen."""
    request = adapter("semantic_scholar").build_request(Query("self-explaining networks"), "100")
    assert request.url.path == "/graph/v1/paper/search"
    assert dict(request.url.params)["query"] == "self explaining networks"
    assert dict(request.url.params)["offset"] == "100"


@pytest.mark.parametrize("key", KEYS)
def test_what_a_service_cannot_do_is_said(key: str) -> None:
    """A filter that a service lacks is never dropped in silence."""
    database = adapter(key)
    query = Query("testing", fields=("Philosophy",), kinds=("preprint",))
    sent = str(database.build_request(query).url)
    said = " ".join(database.cannot(query))
    marks = {
        "field": ("Philosophy", "field.id"),
        "kind": ("preprint", "posted-content", "Preprint"),
    }
    for name, signs in marks.items():
        applied = any(sign in sent for sign in signs)
        preprints_only = key == "arxiv" and name == "kind"
        assert applied or preprints_only or f"cannot filter by {name}" in said, (key, name, sent)


@pytest.mark.parametrize("key", KEYS)
async def test_keys_go_to_the_service_and_nowhere_else(key: str) -> None:
    """A key is sent, but stands in no receipt, no trouble and no command (errors are synthetic)."""
    echo = {"error": " ".join(SECRETS.values()), "message": " ".join(SECRETS.values())}
    async with loopback([synthetic(400, echo)]) as server:
        database = adapter(key, server.url, SECRETS)
        found = await ask(database, Query("testing"))
    wire = server.asked[0].path + str(server.asked[0].headers)
    if database.key_variable:
        assert SECRETS[database.key_variable] in wire
    shown = repr(found)
    mine = {SECRETS[name] for name in (database.key_variable, "ADK_PRISM_RESEARCH_EMAIL") if name}
    assert not [secret for secret in mine if secret in shown or secret.replace("@", "%40") in shown]


@pytest.mark.parametrize("key", KEYS)
def test_curl_is_a_command_with_the_same_request(key: str) -> None:
    """What a shell would run has the same address and parameters; keys are names of variables."""
    database: Database = adapter(key, environment=SECRETS)
    request = database.build_request(Query('don\'t $(rm) `x` "a b" & c', since=2020))
    command = as_curl(request)
    assert not [secret for secret in SECRETS.values() if secret in command]
    words = shlex.split(command)
    assert words[:2] == ["curl", "-sS"]
    url = httpx.URL(words[-1])
    hidden = {"api_key", "mailto", "email"}
    kept = {name: value for name, value in request.url.params.items() if name not in hidden}
    assert {name: url.params[name] for name in kept} == kept
    assert url.host == request.url.host
    for name in hidden & set(request.url.params):
        assert url.params[name].startswith("$")


def test_an_address_of_the_environment_takes_the_place_of_the_public_one() -> None:
    """So that a proxy or a mirror can stand in, and tests can."""
    given = {"ADK_PRISM_ARXIV_URL": "http://mirror.example:8080/"}
    database = adapter("arxiv", environment=given)
    assert str(database.build_request(Query("x y")).url).startswith(
        "http://mirror.example:8080/api/"
    )
    assert database.host == "mirror.example:8080"


def test_the_registry_has_the_fixed_tools() -> None:
    """Names that clients know; ACM and IEEE are labelled as what they are."""
    assert set(BY_TOOL) == {
        "search_semantic_scholar",
        "search_arxiv",
        "search_acm_digital_library",
        "search_ieee_xplore",
        "search_pubmed",
        "search_openalex",
        "search_crossref",
        "search_sample_library",
    }
    assert DATABASES["acm"].label == "ACM publications (Crossref metadata)"
    assert DATABASES["ieee"].label == "IEEE publications (Crossref metadata)"
    for database in DATABASES.values():
        assert set(database.profile.equivalents) <= set(DATABASES)


def test_databases_are_known_by_what_people_call_them() -> None:
    """Whole words only, each once, in the order of naming."""
    named = databases_named("try IEEE Xplore, then the ACM Digital Library, arXiv and ieee")
    assert [database.key for database in named] == ["ieee", "acm", "arxiv"]
    assert databases_named("pacman and sacrament") == ()
