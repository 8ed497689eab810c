"""Short texts: positions, names, addresses, places, media types."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tests.fuzz.target import Target, as_text, split

from adk_prism.errors import UsageError
from adk_prism.features.cloud_files.settings import AllowedLocations, place_of
from adk_prism.log.entry import parse_position, run_of_position
from adk_prism.server.identity.methods import place_of_url
from adk_prism.server.proxies import origin_of_url, parse_authority, parse_network, parse_origin
from adk_prism.server.request_bodies import check_app, check_artifact, check_session, check_user
from adk_prism.server.run_files import Presentation, plain_type

_TEXTS: Sequence[Callable[[str], object]] = (
    parse_position,
    lambda text: parse_position(text, "run-1"),
    run_of_position,
    check_app,
    check_user,
    check_session,
    check_artifact,
    parse_authority,
    parse_origin,
    origin_of_url,
    parse_network,
    lambda text: place_of_url(text, "/p"),
    place_of,
    lambda text: AllowedLocations((text,)),
    lambda text: (
        Presentation(plain_type(text), text).headers()["content-disposition"].encode("latin-1")
    ),
)


def _read_text(data: bytes) -> None:
    which, rest = split(data, len(_TEXTS))
    _TEXTS[which](as_text(rest))


def _text_seeds() -> list[bytes]:
    texts = (
        "12.3", "run-1:12.3", "0", "999999999999999.1", "app", "a/b/../c", "user:x/y.txt", "[::1]:80",
        "https://a.example:8080", "http://[::ffff:127.0.0.1]", "10.0.0.0/8", "fe80::1%eth0/64",
        "/p/api/runs/r/stream?as=adk&after=1", "gs://bucket/a/b.png", "gs://bucket/{user}/x", "text/html",
    )  # fmt: skip
    return [bytes([n]) + text.encode() for n in range(len(_TEXTS)) for text in texts]


TARGET = Target(_read_text, (UsageError,), _text_seeds, longest=600)
