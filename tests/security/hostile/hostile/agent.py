"""An app whose tools do what the message says, in a real server: exit, panic, block, leak, hang."""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import AsyncGenerator
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.apps.app import App, ResumabilityConfig
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types


class Panic(BaseException):
    """Like what bindings to other languages raise."""


class Obedient(BaseLlm):
    """Calls `work` with the words of the last message, then says that it is done."""

    model: str = "obedient"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        del stream
        last = llm_request.contents[-1]
        said = [part.text for part in last.parts or () if part.text]
        if not said or any(part.function_response for part in last.parts or ()):
            yield LlmResponse(content=types.ModelContent("Done."))
            return
        tool, _, words = said[0].partition(" ")
        if tool == "model":
            await _work(words)
        call = types.FunctionCall(id=f"c-{time.time_ns()}", name=tool, args={"words": words})
        yield LlmResponse(content=types.ModelContent(types.Part(function_call=call)))


def _raise(error: BaseException) -> None:
    raise error


def _print_much() -> None:
    for stream in (sys.stdout, sys.stderr):
        print("x" * 100_000, file=stream, flush=True)
    logging.getLogger("hostile").error("that was much")


def _outlive() -> None:
    """Be a child that lives on when the server is killed; a test ends it."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)  # the test reads the server's to its end
    with open(os.path.join(os.environ["PRISM_TEST_FOLDER"], "child.txt"), "w") as file:
        file.write(str(os.getpid()))
    time.sleep(3600)
    os._exit(0)


def _fork() -> None:
    if os.fork() == 0:
        _outlive()


async def _cancel_again() -> None:
    for _ in range(20):
        for task in asyncio.all_tasks():
            if task is not asyncio.current_task():
                task.cancel()
        await asyncio.sleep(0)


def _take_signals() -> None:
    def ignored(*_: object) -> None:
        pass

    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, ignored)
        signal.signal(name, ignored)


async def _leave_task() -> None:
    async def later() -> None:
        await asyncio.sleep(0.1)
        sys.exit(7)

    asyncio.get_running_loop().create_task(later())


async def _ignore() -> None:
    while True:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            continue


_DEEDS: dict[str, Any] = {
    "exit": lambda: sys.exit(3),
    "interrupt": lambda: _raise(KeyboardInterrupt()),
    "group": lambda: _raise(BaseExceptionGroup("both", [KeyboardInterrupt()])),
    "panic": lambda: _raise(Panic()),
    "cancelled": lambda: _raise(asyncio.CancelledError()),
    "exit later": lambda: asyncio.get_running_loop().call_later(0.1, sys.exit, 5) and None,
    "stop loop": lambda: asyncio.get_running_loop().stop(),
    "leak task": _leave_task,
    "leak thread": lambda: threading.Thread(target=time.sleep, args=(3600,)).start(),
    "hang": lambda: asyncio.Event().wait(),
    "ignore": _ignore,
    "die": lambda: os._exit(9),
    "print": lambda: _print_much(),
    "move": lambda: os.chdir("/"),
    "fork": lambda: _fork(),
    "process": lambda: multiprocessing.get_context("fork").Process(target=_outlive).start(),
    "cancel all": lambda: [task.cancel() for task in asyncio.all_tasks()] and None,
    "cancel again": lambda: _cancel_again(),
    "take signals": lambda: _take_signals(),
}


async def _work(words: str) -> None:
    done = _DEEDS[words]()
    if done is not None:
        await done


async def work(words: str) -> dict[str, str]:
    """Do what the words say."""
    _count(words)
    await _work(words)
    return {"did": words}


def block(words: str) -> dict[str, str]:
    """Sleep for some seconds, in a synchronous function, or do what the words say."""
    _count(words)
    if words in _DEEDS:
        _DEEDS[words]()
    else:
        time.sleep(float(words))
    return {"slept": words}


def _count(words: str) -> None:
    """Note that a tool begins, where a test has said to."""
    folder = os.environ.get("PRISM_TEST_FOLDER")
    if folder:
        with open(os.path.join(folder, "begun.txt"), "a") as file:
            file.write(f"{words}\n")


root_agent = LlmAgent(name="hostile", model=Obedient(), tools=[work, block])
app = App(
    name="hostile",
    root_agent=root_agent,
    resumability_config=ResumabilityConfig(is_resumable=True),
)
