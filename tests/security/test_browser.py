"""A web page in somebody's browser that is not ours: it changes nothing, and reads nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.security.people import BOB, headers, house
from tests.security.route_table import ROUTES, path_of
from tests.security.test_isolation import HTTP, ask, everything
from tests.security.test_sockets import SOCKETS, address, serving, status

FOREIGN = ("https://evil.example", "null", "http://127.0.0.1:8000.evil.example", "http://localhost")
REBOUND = ("evil.example", "evil.example:8000", "127.0.0.1.evil.example", "0x7f.1:8000")
SIMPLE = ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x")
"""What a form sends without asking first."""


async def test_a_page_of_another_origin_calls_nothing(tmp_path: Path) -> None:
    """On every route and method, with a good credential: 403, and nothing has happened."""
    async with house(tmp_path) as made:
        before = await everything(made)
        for name in HTTP:
            for origin in FOREIGN:
                refused = await ask(made, name, headers={**headers(BOB), "origin": origin})
                assert refused.status_code == 403, (name, origin)
                assert "access-control-allow-origin" not in refused.headers
        assert await everything(made) == before


async def test_a_name_that_was_bound_anew_reads_nothing(tmp_path: Path) -> None:
    """The browser thinks that it talks to the page's own server: the Host gives it away, on GET too."""
    async with house(tmp_path) as made:
        for name in HTTP:
            for host in REBOUND:
                refused = await ask(made, name, headers={**headers(BOB), "host": host})
                assert refused.status_code == 403, (name, host)


async def test_a_form_is_no_request(tmp_path: Path) -> None:
    """Even where no Origin is sent: a body has to say that it is JSON."""
    async with house(tmp_path) as made:
        before = await everything(made)
        for name in HTTP:
            method, _, path = name.partition(" ")
            # Where no body is looked at, there is none to misread; A2A is off here.
            bodiless = path.endswith(("/stop", "/cancel", "/restore")) or path.startswith("/a2a/")
            if method not in ("POST", "PATCH") or bodiless:
                continue
            # OpenAI's clients send files as a form: there only the Origin, above, keeps other pages out.
            kinds = [each for each in SIMPLE if path != "/v1/files" or "multipart" not in each]
            for kind in kinds:
                answer = await made.client.request(
                    method,
                    path_of(ROUTES[name], made.bobs),
                    headers={**headers(BOB), "content-type": kind},
                    content=b'{"a":"b"}',
                )
                # Of tus, a header that no form can send has to be there.
                wanted = 412 if path.startswith("/api/uploads") else 415
                assert answer.status_code == wanted, (name, kind, answer.text)
        assert await everything(made) == before


@pytest.mark.parametrize("path", SOCKETS)
async def test_a_socket_is_not_a_foreign_pages(path: str, tmp_path: Path) -> None:
    """A browser always says where a socket's page is from; a program says nothing, and is known."""
    async with serving(tmp_path) as (server, _):
        url = address(server, path)
        for origin in ("https://evil.example", "null", "http://localhost:1"):
            given = {**headers(BOB), "origin": origin}
            assert await status(url, additional_headers=given) == 403
        for host in ("evil.example", "127.0.0.1.evil.example"):
            assert await status(url, additional_headers={**headers(BOB), "host": host}) in (
                400,
                403,
            )
        assert await status(url, additional_headers=headers(BOB)) == 101
        assert await status(url) == 401
