"""`python -m tests.apps.research.databases.table`: what each adapter made of each recorded answer.

Every recording of a service goes over real HTTP to every adapter of that service.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass

import httpx
from tests.apps.research.databases.asking import KEYS, SERVICE, adapter
from tests.apps.research.databases.loopback import loopback, recorded
from tests.apps.research.databases.recordings import Recording, of_service

from adk_prism_apps.research.databases import BadAnswer, Database
from adk_prism_apps.research.databases.fetch import fetch

HEAD = ("adapter", "package", "answers", "parsed", "papers", "without title", "errors", "other")


@dataclass(frozen=True)
class Reading:
    """One recording and what became of it: papers, a trouble, or a refusal to call it papers."""

    adapter: str
    recording: Recording
    papers: int = 0
    untitled: int = 0
    total: int | None = None
    error: str = ""
    refused: str = ""

    @property
    def parsed(self) -> bool:
        """Whether the answer was read as papers."""
        return not self.error and not self.refused


def is_asked_for(recording: Recording) -> bool:
    """Say whether the answer is to a question that the adapters ask: works, not journals or BibTeX."""
    if recording.service == "openalex":
        return "select=open_access" not in recording.url
    if recording.service != "crossref":
        return True
    path = recording.path.partition("?")[0]
    return "/works" in path and not any(word in path for word in ("/transform", "/agency"))


async def readings(key: str) -> list[Reading]:
    """Give an adapter all recordings of its service, over HTTP."""
    kept = of_service(SERVICE[key])
    async with (
        loopback(lambda asked: recorded(kept[int(asked.path.strip("/"))])) as server,
        httpx.AsyncClient(trust_env=False, verify=False) as client,
    ):
        database = adapter(key, server.url)
        return [
            await _reading(database, client, f"{server.url}/{number}", recording)
            for number, recording in enumerate(kept)
        ]


async def _reading(
    database: Database, client: httpx.AsyncClient, url: str, recording: Recording
) -> Reading:
    answer = await fetch(client, httpx.Request("GET", url), 20)
    error = database.classify(answer)
    if error is not None:
        return Reading(database.key, recording, error=error.kind)
    assert isinstance(answer, httpx.Response)
    try:
        page = database.parse(answer)
    except BadAnswer as problem:
        return Reading(database.key, recording, refused=str(problem))
    return Reading(database.key, recording, len(page.papers), page.unreadable, page.total)


def render(found: list[Reading]) -> str:
    """Return the table, a line for each adapter and package."""
    packages = sorted({(each.adapter, each.recording.source.partition(":")[0]) for each in found})
    lines = [HEAD, *(_line(found, *pair) for pair in packages)]
    widths = [max(len(line[at]) for line in lines) for at in range(len(HEAD))]
    rows = [
        " | ".join(cell.ljust(size) for cell, size in zip(line, widths, strict=True))
        for line in lines
    ]
    return "\n".join(f"| {row} |" for row in rows)


def _line(found: list[Reading], key: str, package: str) -> tuple[str, ...]:
    mine = [
        each
        for each in found
        if each.adapter == key and each.recording.source.startswith(f"{package}:")
    ]
    asked = [each for each in mine if is_asked_for(each.recording)]
    errors = Counter(each.error for each in asked if each.error)
    return (
        key,
        package,
        str(len(mine)),
        str(sum(each.parsed for each in asked)),
        str(sum(each.papers for each in asked)),
        str(sum(each.untitled for each in asked)),
        ", ".join(f"{count} {name}" for name, count in sorted(errors.items())),
        str(len(mine) - len(asked)),
    )


async def _all() -> list[Reading]:
    return [each for key in KEYS for each in await readings(key)]


if __name__ == "__main__":
    print(render(asyncio.run(_all())))
