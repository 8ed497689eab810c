"""One-time tickets: for one place, one time, half a minute, and whoever asked."""

from __future__ import annotations

import pytest

from adk_prism.errors import TooMany
from adk_prism.log.coordination import MOST_OF_ONE, LocalValues
from adk_prism.server.identity.caller import Principal
from adk_prism.server.identity.methods import TICKET_LIFETIME as LIFETIME
from adk_prism.server.identity.methods import Place, Tickets, place_of

ANN = Principal("ann")
HERE: Place = place_of("/api/runs/run-1/stream", "as=studio")


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def tickets(clock: Clock) -> Tickets:
    return Tickets(LocalValues(clock))


@pytest.mark.parametrize(("after", "good"), [(0, True), (29.9, True), (30, False), (31, False)])
async def test_a_ticket_is_good_for_half_a_minute(
    after: float, good: bool, clock: Clock, tickets: Tickets
) -> None:
    """And not a moment longer."""
    ticket = await tickets.issue(ANN, HERE)
    clock.now += after
    assert await tickets.redeem(ticket, HERE) == (ANN if good else None)


async def test_a_ticket_is_used_once(tickets: Tickets) -> None:
    ticket = await tickets.issue(ANN, HERE)
    assert await tickets.redeem(ticket, HERE) == ANN
    assert await tickets.redeem(ticket, HERE) is None


@pytest.mark.parametrize(
    "place",
    [
        place_of("/api/runs/run-2/stream", "as=studio"),
        place_of("/api/runs/run-1/recording", "as=studio"),
        place_of("/api/runs/run-1/stream", "as=adk"),
        place_of("/api/runs/run-1/stream", ""),
    ],
    ids=["another run", "another route", "another protocol", "less"],
)
async def test_a_ticket_is_for_one_place(place: Place, tickets: Tickets) -> None:
    """A try elsewhere spends it."""
    ticket = await tickets.issue(ANN, HERE)
    assert await tickets.redeem(ticket, place) is None
    assert await tickets.redeem(ticket, HERE) is None


async def test_a_ticket_is_as_long_as_it_has_to_be(tickets: Tickets) -> None:
    """32 random bytes; nothing near one is one."""
    ticket = await tickets.issue(ANN, HERE)
    assert len(ticket) >= 43
    for near in (ticket[:-1], ticket + "A", ticket.swapcase(), "", "\ud800"):
        assert await tickets.redeem(near, HERE) is None
    assert await tickets.redeem(ticket, HERE) == ANN


async def test_who_asks_and_does_not_come_is_stopped(clock: Clock, tickets: Tickets) -> None:
    """Others go on; with time the unused ones are forgotten."""
    for _ in range(MOST_OF_ONE):
        await tickets.issue(ANN, HERE)
    with pytest.raises(TooMany):
        await tickets.issue(ANN, HERE)
    await tickets.issue(Principal("bob"), HERE)
    clock.now += LIFETIME
    await tickets.issue(ANN, HERE)
