"""A ticket that one replica gave out opens a stream at another, once."""

from __future__ import annotations

import asyncio

from tests.patience import PATIENCE
from tests.redis_server import RedisServer

from adk_prism.log.from_url import open_coordination
from adk_prism.server.identity.caller import Principal
from adk_prism.server.identity.methods import Tickets, place_of

ANN = Principal("ann", admin=True, expires=2e9)
PLACE = place_of("/api/runs/run-1/stream", "as=studio&x=é")


async def test_a_ticket_is_good_at_every_replica(redis: RedisServer) -> None:
    """For its URL, for whoever asked; of ten who come with it at once, one gets in."""
    stores = [open_coordination(redis.url).values() for _ in "ab"]
    one, two = (Tickets(store) for store in stores)
    ticket = await one.issue(ANN, PLACE)
    let_in = await asyncio.gather(*(office.redeem(ticket, PLACE) for office in [one, two] * 5))
    assert [caller for caller in let_in if caller is not None] == [ANN]
    elsewhere = await one.issue(ANN, PLACE)
    assert await two.redeem(elsewhere, place_of("/api/runs/run-2/stream", "as=studio")) is None
    assert await one.redeem(elsewhere, PLACE) is None
    assert await two.redeem("\ud800 never given out", PLACE) is None
    for store in stores:
        await store.close()


async def test_what_is_put_down_is_gone_in_time(redis: RedisServer) -> None:
    """By the clock of Redis."""
    store = open_coordination(f"{redis.url}?prefix=other").values()
    await store.put("thing", b"value", 0.05)
    await store.put("other", b"value", 60)
    async with asyncio.timeout(PATIENCE):
        while await store._redis.exists("other:shelf:thing"):  # type: ignore[attr-defined]
            pass
    assert await store.take("thing") is None
    assert await store.take("other") == b"value"
    await store.close()
