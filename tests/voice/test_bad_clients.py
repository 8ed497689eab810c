"""Clients that break the protocol below the messages, fall silent or vanish: the line is closed, the run goes
on for its grace, and nothing of them is left."""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import pytest
from tests.patience import PATIENCE
from tests.voice.agent import TOOLS, script
from tests.voice.live_run import runner_of, scripted_agent
from tests.voice.served import Client, Served, served

from adk_prism.log.entry import RunId


def framed(opcode: int, data: bytes, *, masked: bool = True) -> bytes:
    """Return a frame of a client; the mask changes nothing."""
    assert len(data) < 126
    return bytes([0x80 | opcode, len(data) | (0x80 if masked else 0)]) + b"\0" * 4 * masked + data


async def write(client: Client, data: bytes) -> None:
    client.connection.transport.write(data)


@dataclass(frozen=True)
class Case:
    """What a client does in the middle of a conversation, and the code that it is closed with."""

    id: str
    act: Callable[[Client], Awaitable[None]]
    code: int | None = None
    """None: nobody is there any more to be told."""


async def oversized(client: Client) -> None:
    await client.connection.send(b"\0" * 40_000)


async def oversized_text(client: Client) -> None:
    await client.connection.send("x" * 40_000)


async def in_pieces(client: Client) -> None:
    async def pieces() -> object:
        for _ in range(64):
            yield b"\0" * 1000

    await client.connection.send(pieces())  # type: ignore[arg-type]  # an iterator of pieces


async def unmasked(client: Client) -> None:
    await write(client, framed(2, b"\0\0", masked=False))


async def unknown_opcode(client: Client) -> None:
    await write(client, framed(5, b"\0\0"))


async def half_a_character(client: Client) -> None:
    await write(client, framed(1, b'{"type":"ping\xc3"}'))


async def vanish(client: Client) -> None:
    client.connection.transport.abort()


async def vanish_in_a_frame(client: Client) -> None:
    client.connection.transport.write(b"\x82\xfe\x02\x80\0\0\0\0" + b"\1\0" * 100)
    await asyncio.sleep(0)
    client.connection.transport.abort()


async def fall_silent(client: Client) -> None:
    """Half-open: the connection stands, and nobody reads from it."""
    client.connection.transport.pause_reading()


async def leave(client: Client) -> None:
    await client.connection.close(1001)


CASES = (
    Case("a message that is too large", oversized, 1009),
    Case("a text that is too large", oversized_text, 1009),
    Case("too large, in pieces", in_pieces, 1009),
    Case("a frame without a mask", unmasked, 1002),
    Case("an unknown kind of frame", unknown_opcode, 1002),
    Case("a text that is none", half_a_character, 1007),
    Case("vanishes in the middle of a word", vanish),
    Case("vanishes in the middle of a frame", vanish_in_a_frame),
    Case("falls silent", fall_silent),
    Case("leaves", leave),
)


def open_files() -> int:
    gc.collect()
    return len(os.listdir("/proc/self/fd"))


async def all_end(tasks: set[asyncio.Task[object]]) -> None:
    """Wait until no task is left but those."""
    async with asyncio.timeout(PATIENCE):
        while new := asyncio.all_tasks() - tasks:
            await asyncio.wait(new)


async def hello(server: Served) -> None:
    """A conversation of somebody else."""
    async with server.live("session=other") as client:
        await client.say("hello", "other")
        await client.until_chunk("finish")
        await client.send("close")
        await client.closed()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
async def test_nothing_is_left_of_a_bad_client(case: Case) -> None:
    """It is told why, if it is there; its run is ended after the grace; others do not notice."""
    agent = scripted_agent(script, TOOLS, delay=0.002)
    limits = {"live_grace": 0.05, "body_limit": 32_768}
    async with served(runner_of(agent), ping=0.2, **limits) as server:
        await hello(server)
        tasks, files = asyncio.all_tasks(), open_files()
        async with server.live(ping_interval=None, close_timeout=0) as client:
            await client.say("talk")
            await client.until_chunk("text-delta", 3)
            await case.act(client)
            run = RunId(client.frames[0]["run"])
            async with asyncio.timeout(PATIENCE):
                await server.context.runs.wait(run)
            if case.code is not None:
                assert (await client.closed())[0] == case.code
        assert (await server.context.log.summary(run)).outcome == "finished"
        await hello(server)
        await all_end(tasks)
        assert open_files() <= files + 1  # of the last good client, who has just gone


async def test_sound_that_the_model_does_not_take_is_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A client that floods is told, and what waits for the model stays small."""
    from adk_prism.models.scripted_live import ScriptedConnection

    taken = asyncio.Event()

    async def slow(self: ScriptedConnection, blob: object) -> None:
        del self, blob
        await taken.wait()

    monkeypatch.setattr(ScriptedConnection, "send_realtime", slow)
    async with served(runner_of(scripted_agent(script, TOOLS))) as server, server.live() as client:
        await client.send("audio_control", action="start")
        for _ in range(400):
            await client.connection.send(b"\0\0" * 320)
        error = await client.error()
        assert (error["code"], error["errorText"]) == (
            "conflict",
            "The model is too slow: audio was dropped.",
        )
        taken.set()
        await client.say("hello")
        await client.until_chunk("finish")
