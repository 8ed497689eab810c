"""Faults that are planted in good servers, with the check that has to find each; and those of any stream."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

from tests.features.conform.stub_server import Asked, Handler, Json, Reply, as_stream

Change = Callable[[Handler], Handler]


@dataclass(frozen=True)
class Planted:
    """A fault."""

    check: str
    change: Change
    also: tuple[str, ...] = ()
    """Other checks that it breaks as well."""


def changed(change: Callable[[Asked, Reply], Reply]) -> Change:
    """Change the answers of a server."""
    return lambda handler: lambda asked: change(asked, handler(asked))


def before(answer: Callable[[Asked], Reply | None]) -> Change:
    """Answer some requests otherwise."""
    return lambda handler: lambda asked: answer(asked) or handler(asked)


def streams(change: Callable[[Reply], Reply]) -> Change:
    """Change the answers that are streams."""
    return changed(
        lambda _, reply: (
            change(reply) if "event-stream" in reply.headers.get("content-type", "") else reply
        )
    )


# ------------------------------------------------------------------ frames that are JSON objects with a type

Frames = list[Json | str]
ABSENT = object()


def in_frames(change: Callable[[Frames], None]) -> Change:
    """Change the frames of every stream."""

    def change_reply(reply: Reply) -> Reply:
        texts = [line[6:] for line in reply.body.decode().split("\n\n") if line]
        sent: Frames = [json.loads(text) if text[0] == "{" else text for text in texts]
        change(sent)
        return replace(as_stream(*sent), headers=reply.headers)

    return streams(change_reply)


def where(kind: str, **values: Any) -> Change:
    """Set values of each frame of a kind; `ABSENT` takes one out."""

    def change(sent: Frames) -> None:
        for frame in sent:
            if isinstance(frame, dict) and frame.get("type") == kind:
                frame.update(values)
                for key in [key for key, value in values.items() if value is ABSENT]:
                    del frame[key]

    return in_frames(change)


def without(*kinds: str) -> Change:
    """Leave frames out."""

    def change(sent: Frames) -> None:
        sent[:] = [each for each in sent if _kind(each) not in kinds]

    return in_frames(change)


def put(kinds: tuple[str, ...], place: int, *added: Json | str) -> Change:
    """Put frames at a place of the streams that have these kinds; from the end if it is negative."""

    def change(sent: Frames) -> None:
        if set(kinds) <= {_kind(each) for each in sent}:
            index = place if place >= 0 else len(sent) + place + 1
            sent[index:index] = [*map(copy, added)]

    return in_frames(change)


def _kind(frame: Json | str) -> str:
    return frame if isinstance(frame, str) else str(frame.get("type"))


def _body(change: Callable[[bytes], bytes]) -> Change:
    return streams(lambda reply: replace(reply, body=change(reply.body)))


def _accepts(asked: Asked, reply: Reply) -> Reply:
    is_bad = reply.status == 422 and asked.method == "POST"
    return Reply(200, b"{}", {"content-type": "application/json"}) if is_bad else reply


def _fails(asked: Asked, reply: Reply) -> Reply:
    return Reply(500) if reply.status == 422 else reply


ANY_STREAM = (
    Planted("content-type", streams(lambda reply: reply.having(content_type="text/plain"))),
    Planted("cache-control", streams(lambda reply: reply.having(cache_control="max-age=60"))),
    Planted("framing", _body(lambda body: b'0:"Hello"\n' + body)),
    Planted("framing", _body(lambda body: b": \xff\n\n" + body)),
    Planted("complete", streams(lambda reply: replace(reply, is_cut=True))),
    Planted("bad-input", changed(_accepts), also=("bad-input-status",)),
    Planted("bad-input-status", changed(_fails)),
    Planted("method", changed(lambda _, reply: Reply(200) if reply.status == 405 else reply)),
    Planted("request-type", changed(lambda _, reply: Reply(200) if reply.status == 415 else reply)),
)
"""Of every protocol; the server answers a bad body with 422, a bad type with 415, a bad method with 405."""
