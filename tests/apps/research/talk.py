"""A conversation with the research app through `/run_sse`: what was said, called and written into the box."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.end_to_end.adk_client import Adk, answers

from adk_prism.grounding import PREFIX, Grounding, read

Json = dict[str, Any]
CONFIRMATION = "adk_request_confirmation"
SYSTEM = {"role": "system", "parts": []}


@dataclass
class Turn:
    """The whole events of one run, in order."""

    events: list[Json]

    def parts(self, kind: str) -> list[Any]:
        """Return the parts of a kind: text, functionCall, functionResponse."""
        contents = [event.get("content") or {} for event in self.events]
        return [
            part[kind] for each in contents for part in each.get("parts") or () if part.get(kind)
        ]

    @property
    def text(self) -> str:
        return "\n".join(self.parts("text"))

    @property
    def calls(self) -> list[str]:
        """Return the names of the tools that were called, ADK's question included."""
        return [call["name"] for call in self.parts("functionCall")]

    def response(self, name: str) -> Json:
        """Return the last answer of a tool; that somebody is asked first is none."""
        given = [each for each in self.parts("functionResponse") if each["name"] == name]
        found = [dict(each["response"]) for each in given]
        return [each for each in found if "requires confirmation" not in each.get("error", "")][-1]

    @property
    def deltas(self) -> list[Json]:
        """Return the changes of the box, one for each event that has any, without the prefix."""
        found = []
        for event in self.events:
            delta = (event.get("actions") or {}).get("stateDelta") or {}
            named = {k.removeprefix(PREFIX): v for k, v in delta.items() if k.startswith(PREFIX)}
            if named:
                found.append(named)
        return found

    @property
    def written(self) -> Json:
        """Return all changes of the box together."""
        return {key: value for delta in self.deltas for key, value in delta.items()}

    @property
    def shape(self) -> list[str]:
        """Return the run as a list of words, one for each thing that an event holds."""
        return [word for event in self.events for word in _words(event)]


def _words(event: Json) -> list[str]:
    found = []
    for part in (event.get("content") or {}).get("parts") or ():
        if part.get("text"):
            found.append("text")
        if part.get("functionCall"):
            found.append(f"call {part['functionCall']['name']}")
        if part.get("functionResponse"):
            found.append(f"answer {part['functionResponse']['name']}")
    delta = (event.get("actions") or {}).get("stateDelta") or {}
    return [*found, *(["box"] if any(key.startswith(PREFIX) for key in delta) else [])]


@dataclass
class Talk:
    """A session of the app, and what has come of it so far."""

    adk: Adk
    turns: list[Turn] = field(default_factory=list)

    async def run(self, message: Json | None, **extras: Any) -> Turn:
        """Run; every event has to keep to the contract."""
        events = await self.adk.run(message, streaming=True, **extras)
        turn = Turn([event for event in events if not event.get("partial")])
        self.turns.append(turn)
        for event in turn.events:
            delta = (event.get("actions") or {}).get("stateDelta") or {}
            assert read(delta).unreadable == []
            assert not event.get("errorCode"), event
        return turn

    async def say(self, text: str, **extras: Any) -> Turn:
        """Say something."""
        return await self.run({"role": "user", "parts": [{"text": text}]}, **extras)

    async def write(self, **values: Any) -> Turn:
        """Change the box from the panel, without a message."""
        delta = {PREFIX + name: value for name, value in values.items()}
        return await self.run(SYSTEM, stateDelta=delta)

    def pending(self) -> str:
        """Return the id of the newest question of ADK's."""
        calls = [call for turn in self.turns for call in turn.parts("functionCall")]
        return str([call["id"] for call in calls if call["name"] == CONFIRMATION][-1])

    async def confirm(self, confirmed: bool, payload: Json | None = None) -> Turn:
        """Answer the newest question of ADK's."""
        response: Json = {"confirmed": confirmed} | ({"payload": payload} if payload else {})
        about = {"id": self.pending(), "name": CONFIRMATION, "response": response}
        return await self.run(answers(about))

    async def state(self) -> Json:
        """Return the session's state."""
        found: Json = (await self.adk.session_now())["state"]
        return found

    async def grounding(self) -> Grounding:
        """Return the box, every value of which has to be readable."""
        found = read(await self.state())
        assert found.unreadable == []
        return found

    async def counts_add_up(self) -> None:
        """The box counts what the receipts and the tools' answers hold, no more and no less."""
        box = (await self.grounding()).box()
        papers: set[str] = set()
        for turn in self.turns:
            for answer in turn.parts("functionResponse"):
                if answer["name"].startswith("search_"):
                    papers |= {each["title"] for each in answer["response"].get("papers", ())}
        assert box.papers_found == len(papers)
        assert box.papers_found == sum(each.new_count for each in box.search_history)
        databases = [each.database for each in box.search_history]
        assert box.databases_searched == list(dict.fromkeys(databases))
        for each in box.search_history:
            assert sum(each.by_kind.values()) == sum(each.by_year.values()) == each.results_count
