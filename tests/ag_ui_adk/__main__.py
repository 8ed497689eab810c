"""Compare our AG-UI with that of ag-ui-adk, on every prompt of the tour.

    make .venv/bench/.installed
    .venv/bench/bin/python -m tests.ag_ui_adk [--prompt PROMPT]

Each prompt is sent to both, once, in a new thread. Each aspect in which the streams differ is printed, with
its reason (`reasons.py`). The exit code is 1 where there is a difference without a reason. It runs in the
environment of the benchmarks: ag-ui-adk brings packages that change how google-genai speaks.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI
from tests.ag_ui_adk.reasons import differences
from tests.ag_ui_adk.summary import Summary, events_of, summary

LONGEST = 300
"""Characters of a value that are printed."""


async def asked(app: Any, path: str, prompt: str) -> Summary:
    """Send a prompt in a thread of its own, and return what the stream tells."""
    body = {
        "threadId": f"thread-{prompt.replace(' ', '-')}",
        "runId": f"run-{prompt.replace(' ', '-')}",
        "state": {},
        "messages": [{"id": "m1", "role": "user", "content": prompt}],
        "tools": [],
        "context": [],
        "forwardedProps": {},
    }
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        answer = await client.post(path, json=body, timeout=120)
    return summary(events_of(answer.text))


def theirs() -> FastAPI:
    """Return ag-ui-adk's endpoint for the tour, with the outcome of interrupts on."""
    from ag_ui_adk import ADKAgent, add_adk_fastapi_endpoint

    from adk_prism.apps.tour.agent import app as tour

    served = FastAPI()
    agent = ADKAgent.from_app(
        tour,
        user_id="user",
        emit_interrupt_outcome=True,
        streaming_function_call_arguments=True,
    )
    add_adk_fastapi_endpoint(served, agent, path="/")
    return served


async def compare(prompts: list[str]) -> bool:
    """Print the differences; return whether each has a reason."""
    from adk_prism import create_app

    ours, them = create_app(), theirs()
    good = True
    async with ours.router.lifespan_context(ours):
        for prompt in prompts:
            mine = await asked(ours, "/api/ag-ui/tour", prompt)
            other = await asked(them, "/", prompt)
            for aspect, reason in differences(mine, other):
                good = good and bool(reason)
                print(f"{prompt} · {aspect}: {reason or 'NO REASON'}", flush=True)
                if not reason:
                    print(f"    ours    {str(mine.get(aspect))[:LONGEST]}")
                    print(f"    theirs  {str(other.get(aspect))[:LONGEST]}")
    return good


def main() -> int:
    """Compare the prompts that were named, or all."""
    warnings.simplefilter("ignore")
    os.environ.setdefault("ADK_PRISM_MODEL", "offline")
    parser = argparse.ArgumentParser(prog="python -m tests.ag_ui_adk", description=__doc__)
    parser.add_argument("--prompt", action="append", help="compare this prompt only")
    args = parser.parse_args()
    from adk_prism.apps.tour.scenarios import SCENARIOS

    prompts = [each.example for each in SCENARIOS]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(Path(folder))
        good = asyncio.run(compare(args.prompt or prompts))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
