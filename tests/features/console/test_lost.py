"""The server goes away and comes back: the person is told, nothing is lost, nothing is done twice."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.end_to_end.server import Server, serving
from tests.features.console.conftest import AGENTS, Opens
from tests.features.console.cutting import cutting

from adk_prism.features.console.history import TextItem
from adk_prism.features.console.session import LONGEST, Backoff

LONG = 1500
"""Words of an answer that takes many connections."""


async def test_a_cut_stream_goes_on_without_a_seam(terminal: Opens, console_server: Server) -> None:
    """Every word once and in order, through as many connections as it takes."""
    async with (
        cutting(console_server.port, 60_000) as (url, cutter),
        terminal(url=url) as panel,
    ):
        await panel.say(f"long {LONG}")
        said = [
            item
            for item in panel.console._session.history.transcript.items
            if isinstance(item, TextItem)
        ]
        words = "".join(item.text for item in said).split()
        assert cutter.cuts > 1
    numbers = [word.strip(".,") for word in words if word.startswith("word")]
    assert numbers == [f"word{number}" for number in range(1, LONG + 1)]


async def test_a_restarted_server_is_gone_on_with(terminal: Opens, tmp_path: Path) -> None:
    """A run that it left goes on with it; what is typed while it is away is sent once it is back."""
    with serving(tmp_path, agents=AGENTS) as first:
        port = str(first.port)
        async with terminal(url=first.url, session="restarted", width=140) as panel:
            await panel.say("tool")
            await panel.type("slow 6")
            await panel.sees("keep_silent", "… running")
            first.kill()
            await panel.sees("Reconnecting in")
            with serving(tmp_path, "--port", port, agents=AGENTS) as second:
                await panel.until_idle()
                second.kill()
                await panel.type("approval")
                await panel.sees("Your message will be sent then.")
                with serving(tmp_path, "--port", port, agents=AGENTS) as third:
                    await panel.sees("? send_invoice needs your approval")
                    await panel.until_idle()
                    await panel.press("y")
                    assert "The invoice was sent." in panel.text
                    runs = third.http.get("/api/runs", params={"session": "restarted"}).json()
    assert [run["outcome"] for run in runs] == ["finished", "finished", "waiting", "finished"]


async def test_a_server_that_forgets(terminal: Opens, tmp_path: Path) -> None:
    """Without a log on disk the run is gone: said as such, and the conversation begins anew."""
    words = ("--log", "memory:", "--sessions", "memory://")
    with serving(tmp_path, *words, agents=AGENTS) as first:
        port = str(first.port)
        async with terminal(url=first.url, session="forgotten", width=140) as panel:
            await panel.type("slow 60")
            await panel.sees("keep_silent", "… running")
            first.kill()
            with serving(tmp_path, *words, "--port", port, agents=AGENTS):
                await panel.sees("! The run failed (forgotten).")
                await panel.say("tool")
                assert (
                    "! The server no longer has this session. A new one was started." in panel.text
                )
                assert "It is sunny in Lisbon" in panel.text, panel.text


async def test_a_server_that_stays_away(
    terminal: Opens, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a while it is given up, and what was typed is back in the input line."""
    monkeypatch.setattr("adk_prism.features.console.session.Backoff", lambda: Backoff(0.5))
    with serving(tmp_path, agents=AGENTS) as server:
        async with terminal(url=server.url) as panel:
            server.kill()
            await panel.type("are you there?")
            await panel.until(lambda: panel.line.value == "are you there?", "given back")
            await panel.sees("! The server does not answer.")


async def test_sending_is_given_up_by_escape(terminal: Opens, tmp_path: Path) -> None:
    """Who does not want to wait has the line back at once."""
    with serving(tmp_path, agents=AGENTS) as server:
        async with terminal(url=server.url) as panel:
            server.kill()
            await panel.type("are you there?")
            await panel.sees("Your message will be sent then.")
            await panel.press("escape")
            assert panel.line.value == "are you there?"
            assert "probably not sent" in panel.text


def test_waits_grow_and_end() -> None:
    """Soon, then slower up to a bound, then never; a server that was there counts anew."""
    backoff = Backoff(30.0)
    waits = list(iter(backoff.wait, None))
    assert waits == sorted(waits)
    assert max(waits) == LONGEST
    assert 30.0 <= sum(waits) < 30.0 + LONGEST
    backoff.reset()
    assert backoff.wait() == waits[0]
