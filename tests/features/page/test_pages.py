"""The pages for people: true, whole, and with nothing from anywhere else."""

from __future__ import annotations

import re

import httpx
import pytest
from fastapi import FastAPI

pytestmark = pytest.mark.usefixtures("unbuilt")


async def test_the_page_says_what_runs_here(client: httpx.AsyncClient) -> None:
    """Apps, routes and a line to try."""
    shown = await client.get("/")
    assert shown.headers["content-type"].startswith("text/html")
    assert "<code>helper</code>" in shown.text
    assert "curl -N http://127.0.0.1:8000/api/chat/" in shown.text
    assert "GET /list-apps" in shown.text


async def test_pages_load_nothing_and_run_nothing(client: httpx.AsyncClient) -> None:
    """The policy forbids it, and there is nothing to forbid."""
    for path in ("/", "/docs"):
        shown = await client.get(path)
        policy = shown.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "<script" not in shown.text
        assert re.findall(r"(?:src|href)=\"(?!docs|openapi\.json)", shown.text) == []


async def test_the_reference_has_every_operation(client: httpx.AsyncClient, app: FastAPI) -> None:
    """It is made from the application's own OpenAPI."""
    shown = (await client.get("/docs")).text
    document = (await client.get("/openapi.json")).json()
    operations = [(m.upper(), path) for path, item in document["paths"].items() for m in item]
    assert operations
    for method, path in operations:
        assert f"<code>{method} {path}</code>" in shown


async def test_openapi_promises_problems(client: httpx.AsyncClient) -> None:
    """Every operation says what a failure looks like, and none says FastAPI's own form."""
    document = (await client.get("/openapi.json")).json()
    for path, item in document["paths"].items():
        # Clients of OpenAI's API read its own form.
        form = "application/json" if path.startswith("/v1/") else "application/problem+json"
        for operation in item.values():
            assert form in operation["responses"]["default"]["content"]
            assert operation["description"]
    assert "HTTPValidationError" not in document["components"]["schemas"]
