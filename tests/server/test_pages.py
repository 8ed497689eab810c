"""The pages for people: true, whole, and with nothing from anywhere else."""

from __future__ import annotations

import re

import httpx
from fastapi import FastAPI


async def test_the_page_says_what_runs_here(client: httpx.AsyncClient) -> None:
    """Apps, routes and a line to try."""
    page = await client.get("/")
    assert page.headers["content-type"].startswith("text/html")
    assert "<code>helper</code>" in page.text
    assert "curl -N http://127.0.0.1:8000/api/chat/" in page.text
    assert "GET /list-apps" in page.text


async def test_pages_load_nothing_and_run_nothing(client: httpx.AsyncClient) -> None:
    """The policy forbids it, and there is nothing to forbid."""
    for path in ("/", "/docs"):
        page = await client.get(path)
        policy = page.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "<script" not in page.text
        assert re.findall(r"(?:src|href)=\"(?!docs|openapi\.json)", page.text) == []


async def test_the_reference_has_every_operation(client: httpx.AsyncClient, app: FastAPI) -> None:
    """It is made from the application's own OpenAPI."""
    page = (await client.get("/docs")).text
    document = (await client.get("/openapi.json")).json()
    operations = [(m.upper(), path) for path, item in document["paths"].items() for m in item]
    assert operations
    for method, path in operations:
        assert f"<code>{method} {path}</code>" in page


async def test_openapi_promises_problems(client: httpx.AsyncClient) -> None:
    """Every operation says what a failure looks like, and none says FastAPI's own form."""
    document = (await client.get("/openapi.json")).json()
    for item in document["paths"].values():
        for operation in item.values():
            assert "application/problem+json" in operation["responses"]["default"]["content"]
            assert operation["description"]
    assert "HTTPValidationError" not in document["components"]["schemas"]
