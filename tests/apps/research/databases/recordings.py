"""What the packages recorded, as answers that a server can give again."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import yaml
from tests.apps.research.databases.sdists import ARXIV, BIOPYTHON, HABANERO, METAPUB, PAPER_QA

# Ours to set, or said about how the bytes were sent then.
_NOT_REPLAYED = frozenset(
    "content-encoding content-length transfer-encoding connection date keep-alive".split()
)


@dataclass(frozen=True)
class Recording:
    """One real answer. `service` is the database that gave it."""

    service: str
    source: str
    url: str
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    @property
    def path(self) -> str:
        """Return path and parameters as they were asked for."""
        parts = urlsplit(self.url)
        return parts.path + (f"?{parts.query}" if parts.query else "")


@cache
def recordings() -> tuple[Recording, ...]:
    """Return every recorded answer of a service that is asked here."""
    return (*_arxiv(), *_cassettes(), *_pubmed())


def of_service(service: str) -> list[Recording]:
    """Return the answers of one service."""
    return [each for each in recordings() if each.service == service]


def _arxiv() -> Iterator[Recording]:
    for name, content in ARXIV.members(r"tests/fixtures/.*\.json"):
        kept = json.loads(content)
        headers = (("content-type", "application/atom+xml; charset=utf-8"),)
        body = kept["body"].encode()
        yield Recording("arxiv", f"arxiv: {name}", kept["url"], kept["status_code"], headers, body)


_HOSTS = {
    "api.crossref.org": "crossref",
    "api.semanticscholar.org": "semantic_scholar",
    "api.openalex.org": "openalex",
}


def _cassettes() -> Iterator[Recording]:
    for sdist in (HABANERO, PAPER_QA):
        for name, content in sdist.members(r"tests?/cassettes/.*\.yaml"):
            for turn in _turns(content):
                uri = str(turn["request"]["uri"])
                service = _HOSTS.get(urlsplit(uri).hostname or "")
                if service:
                    yield _replayed(service, f"{sdist.name}: {name}", uri, turn["response"])


def _turns(content: bytes) -> list[dict[str, Any]]:
    if not any(host.encode() in content for host in _HOSTS):
        return []
    loaded = yaml.load(content, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    turns: list[dict[str, Any]] = loaded["interactions"]
    return turns


def _replayed(service: str, source: str, uri: str, response: Mapping[str, Any]) -> Recording:
    given = response.get("body", {}).get("string", response.get("content", b""))
    body = given.encode() if isinstance(given, str) else given
    found = {name.lower(): values for name, values in response["headers"].items()}
    status = response.get("status", response.get("status_code"))
    code = status["code"] if isinstance(status, dict) else status
    headers = tuple(
        (name, value if isinstance(value, str) else value[0])
        for name, value in found.items()
        if name not in _NOT_REPLAYED
    )
    return Recording(service, source, uri, int(code), headers, _unpacked(body))


def _unpacked(body: bytes) -> bytes:
    if body[:2] == b"\x1f\x8b":
        return gzip.decompress(body)
    if body[:1] == b"\x78" and body[1:2] in b"\x01\x5e\x9c\xda":
        return zlib.decompress(body)
    return body


_ENTREZ = "https://eutils.ncbi.nlm.nih.gov/entrez/eutils"


def _pubmed() -> Iterator[Recording]:
    """Yield E-utilities' answers to the two requests that are made of them."""
    headers = (("content-type", "text/xml; charset=UTF-8"),)
    for name, content in BIOPYTHON.members(r"Tests/Entrez/(esearch|pubmed)\d+\.xml"):
        step = "esearch" if "esearch" in name else "efetch"
        source, url = f"biopython: {name}", f"{_ENTREZ}/{step}.fcgi?db=pubmed"
        yield Recording("pubmed", source, url, 200, headers, content)
    for name, content in METAPUB.members(r"tests/fixtures/pmid_xml/.*\.xml"):
        url = f"{_ENTREZ}/efetch.fcgi?db=pubmed"
        yield Recording("pubmed", f"metapub: {name}", url, 200, headers, content)
