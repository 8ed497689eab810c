"""L: what a search of the sample library costs: in time, and beside SQLite alone.

Ours is the query as it was typed, parsed, searched, counted and turned into papers; the reference is the
same words as one plain FTS5 statement on the same index, its rows left as they come. The first row is the
slowest of the queries beside five milliseconds, which is the most that a query may take.
"""

from __future__ import annotations

import time
from pathlib import Path
from tempfile import TemporaryDirectory

from adk_prism_apps.research.databases import Query
from adk_prism_apps.research.library import SampleLibrary
from adk_prism_apps.research.library.index import open_index
from adk_prism_apps.research.library.paper_file import PaperFile
from benchmarks.rounds import cpu_per_item, take_turns
from benchmarks.table import Row, micros

LONGEST = 0.005
"""Seconds that a query may take."""

# What it is in FTS5's own syntax stands beside each query.
QUERIES = (
    (Query("explainable AI"), '"explainable" AND "AI"'),
    (Query("explainable AI clinical"), '"explainable" AND "AI" AND "clinical"'),
    (Query("counterfactual explanations", since=2020), '"counterfactual" AND "explanations"'),
    (Query('"graph neural network" OR saliency'), '"graph neural network" OR "saliency"'),
    (Query("software testing", kinds=("preprint",)), '"software" AND "testing"'),
    (Query("wildfire"), '"wildfire"'),
)
_PLAIN = """
    SELECT title, authors, year, venue, kind, doi, arxiv, field FROM papers
    JOIN (SELECT rowid AS id, rank FROM words WHERE words MATCH ? ORDER BY rank LIMIT 50) USING (id)
"""


def rows(*, quick: bool) -> list[Row]:
    """Measure, and return the comparisons."""
    rounds, times = (3, 10) if quick else (9, 50)
    with TemporaryDirectory() as folder:
        library = SampleLibrary(folder=Path(folder))
        plain = open_index(PaperFile(), Path(folder))
        variants = {
            "ours": cpu_per_item(
                lambda: [library.find(query) for query, _ in QUERIES * times], len(QUERIES) * times
            ),
            "sqlite": cpu_per_item(
                lambda: [plain.execute(_PLAIN, (text,)).fetchall() for _, text in QUERIES * times],
                len(QUERIES) * times,
            ),
        }
        measured = take_turns(variants, rounds)
        slowest = max(_fastest_of(library, query) for query, _ in QUERIES)
        plain.close()
        library.close()
    costs = micros(measured.cost("ours")), micros(measured.cost("sqlite"))
    return [
        Row(
            "library: the slowest query, 5 ms",
            micros(slowest),
            micros(LONGEST),
            slowest / LONGEST,
            1,
        ),
        Row("library: per query, plain FTS5", *costs, measured.ratio("ours", "sqlite"), 3),
    ]


def _fastest_of(library: SampleLibrary, query: Query, times: int = 5) -> float:
    """Return a query's time on the clock, without what else the machine did meanwhile."""
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        library.find(query)
        taken.append(time.perf_counter() - began)
    return min(taken)
