"""The sample library as a database: found, counted, filtered, safe, and there without a home."""

from __future__ import annotations

import os
import sqlite3
import threading
from pathlib import Path

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adk_prism_apps.research.databases import Limiter, LocalDatabase, Query, search
from adk_prism_apps.research.databases.registry import DATABASES
from adk_prism_apps.research.library import SampleLibrary
from adk_prism_apps.research.library.index import cache_folder

LIBRARY = SampleLibrary()


def test_it_calls_itself_what_it_is() -> None:
    """A sample, with its size, offline; and it is in the registry under its tool's name."""
    assert LIBRARY.label == f"sample library, {LIBRARY.cap} papers"
    assert LIBRARY.mode == "offline"
    assert isinstance(DATABASES["sample_library"], LocalDatabase)
    assert DATABASES["sample_library"].tool == "search_sample_library"


def test_a_good_search_a_thin_one_and_an_empty_one() -> None:
    """What a demonstration needs, from real papers."""
    assert LIBRARY.count(Query("explainable AI")) > 200
    assert 0 < LIBRARY.count(Query("explainable AI clinical")) < 9
    assert LIBRARY.count(Query("explainable AI (clinical OR medical OR healthcare)")) >= 12
    assert LIBRARY.count(Query("wildfire")) == 0


def test_the_best_come_first() -> None:
    """A word in the title weighs more than one in the subject."""
    papers = LIBRARY.search(Query("layer-wise relevance propagation", limit=3))
    assert "relevance propagation" in papers[0].title.lower()
    assert LIBRARY.search(Query("trust explaining predictions classifier"))[0].arxiv == "1602.04938"


def test_filters_narrow() -> None:
    """Years are inclusive; kinds and fields are any of those named; the limit cuts, the total stays."""
    page = LIBRARY.find(Query("counterfactual", since=2020, until=2021, limit=5))
    assert len(page.papers) == 5
    assert page.total is not None
    assert page.total > 5
    assert all(paper.year in (2020, 2021) for paper in page.papers)
    kinds = {paper.kind for paper in LIBRARY.search(Query("explanation", kinds=("conference",)))}
    assert kinds == {"conference"}
    medicine = LIBRARY.search(Query("patients", fields=("Medicine",)))
    assert medicine
    assert all(paper.fields == ("Medicine",) for paper in medicine)


def test_phrases_choices_and_exclusions() -> None:
    """The query's own syntax, in every combination."""
    both, phrase = LIBRARY.count(Query("neural graph")), LIBRARY.count(Query('"graph neural"'))
    assert 0 < phrase <= both
    either = LIBRARY.count(Query("saliency OR counterfactual"))
    assert either <= LIBRARY.count(Query("saliency")) + LIBRARY.count(Query("counterfactual"))
    rest = LIBRARY.count(Query("counterfactual NOT causal"))
    assert 0 < rest < LIBRARY.count(Query("counterfactual"))


@pytest.mark.parametrize(
    "text",
    [
        '" OR 1=1 --',
        "title:x* NEAR(a b, 3) ^a + - {title} : a",
        "'; DROP TABLE papers; --",
        "explainable\r\nSet-Cookie: x",
        "https://example.org/?q=explainable",
        "(" * 5_000,
        "explainable " * 2_000,
        "x" * 10_000,
        "\x00\ud800 explainable",
        "NOT explainable",
        "AND OR NOT NEAR",
        "",
    ],
    ids=lambda text: repr(text[:20]),
)
def test_any_text_is_safe(text: str) -> None:
    """Nothing typed is syntax to SQLite; counting and finding agree."""
    page = LIBRARY.find(Query(text, limit=200))
    assert page.total == LIBRARY.count(Query(text))
    assert len(page.papers) == min(page.total or 0, 200)
    assert LIBRARY.count(Query("explainable")) > 0


@given(st.text(max_size=300))
def test_no_text_raises(text: str) -> None:
    """Nor does any other."""
    assert LIBRARY.count(Query(text)) >= 0


async def test_it_is_searched_like_every_database_but_without_a_request() -> None:
    """The same outcome, marked offline; a faulty query is answered with its fault."""
    async with httpx.AsyncClient(verify=False) as client:
        found = await search(LIBRARY, Query("saliency maps"), client=client, limiter=Limiter())
        fault = await search(LIBRARY, Query('"open'), client=client, limiter=Limiter())
    assert found.papers
    assert (found.mode, found.requests, found.pages, found.curl) == ("offline", 0, 1, "")
    assert fault.error is not None
    assert fault.error.kind == "malformed_query"


def test_the_index_is_built_once(tmp_path: Path) -> None:
    """At first use, in the folder given; the next one opens it as it is, and older ones go."""
    (tmp_path / "library-old.sqlite").touch()
    SampleLibrary(folder=tmp_path).count(Query("explanation"))
    (index,) = tmp_path.iterdir()
    built = index.stat().st_mtime_ns
    assert SampleLibrary(folder=tmp_path).count(Query("explanation")) > 0
    assert index.stat().st_mtime_ns == built


@pytest.mark.parametrize("content", [b"", b"not a database at all" * 100])
def test_a_spoilt_index_is_replaced(tmp_path: Path, content: bytes) -> None:
    """A file that is not our index does not stand in the way, now or later."""
    SampleLibrary(folder=tmp_path).count(Query("explanation"))
    (index,) = tmp_path.iterdir()
    index.write_bytes(content)
    assert SampleLibrary(folder=tmp_path).count(Query("explanation")) > 0
    assert SampleLibrary(folder=tmp_path).count(Query("explanation")) > 0
    with sqlite3.connect(index) as connection:
        assert connection.execute("SELECT count(*) FROM papers").fetchone() == (LIBRARY.cap,)
    connection.close()


def test_where_nothing_can_be_written_it_lives_in_memory(tmp_path: Path) -> None:
    """A folder that cannot be made, as on a read-only home."""
    blocked = tmp_path / "file"
    blocked.touch()
    assert SampleLibrary(folder=blocked / "below").count(Query("explanation")) > 0
    assert os.listdir(tmp_path) == ["file"]


def test_the_cache_folder_is_the_users(tmp_path: Path) -> None:
    """The platform's own place, unless the environment says otherwise."""
    assert cache_folder({"XDG_CACHE_HOME": str(tmp_path)}) == tmp_path / "adk-prism"
    assert cache_folder({"ADK_PRISM_CACHE": str(tmp_path)}) == tmp_path


def test_threads_may_share_it(tmp_path: Path) -> None:
    """Many at once, also at the first use."""
    library = SampleLibrary(folder=tmp_path)
    counts: list[int] = []
    ask = lambda: counts.append(library.count(Query("explanation")))  # noqa: E731 - a thread's target
    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(counts) == 8
    assert len(set(counts)) == 1
