"""Sends one request, with a timeout and a size limit. Errors are returned, not raised."""

from __future__ import annotations

import asyncio

import httpx

# A page of 200 records with abstracts is below one megabyte; more is not an answer to our question.
LARGEST_ANSWER = 16 * 1024 * 1024


class TooLarge(Exception):
    """An answer that was given up, because it did not end."""


async def fetch(
    client: httpx.AsyncClient, request: httpx.Request, seconds: float
) -> httpx.Response | Exception:
    """Return the answer, read whole, or what prevented it. Redirects are answers, not followed.

    A redirect could carry a key to another host, and no service that is asked here needs one.
    """
    try:
        async with asyncio.timeout(seconds):
            return await _read(client, request)
    except (httpx.HTTPError, httpx.InvalidURL, TimeoutError, TooLarge) as problem:
        return problem


async def _read(client: httpx.AsyncClient, request: httpx.Request) -> httpx.Response:
    response = await client.send(request, stream=True, follow_redirects=False)
    try:
        pieces, size = [], 0
        async for piece in response.aiter_bytes():
            size += len(piece)
            if size > LARGEST_ANSWER:
                raise TooLarge
            pieces.append(piece)
    finally:
        await response.aclose()
    # Bytes are decoded here; the headers that say how they were sent no longer apply.
    headers = [
        (name, value)
        for name, value in response.headers.multi_items()
        if name.lower() not in ("content-encoding", "content-length", "transfer-encoding")
    ]
    return httpx.Response(
        response.status_code, headers=headers, content=b"".join(pieces), request=request
    )
