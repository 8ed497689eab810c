"""The check finds what nobody has decided, and says what to do about it."""

from __future__ import annotations

import msgspec
import pytest
from google.adk.events.event import Event as AdkEvent
from google.genai import types

from adk_prism.features.fields import dispositions
from adk_prism.features.fields.dispositions import Carried
from adk_prism.features.fields.report import (
    AgUiRelease,
    Finding,
    Inventory,
    Keys,
    Release,
    read_ag_ui_releases,
    read_inventory,
    read_openai_releases,
    read_releases,
    report,
    to_json,
    totals,
)


@pytest.fixture(scope="module")
def inventory() -> Inventory:
    return read_inventory()


@pytest.fixture(scope="module")
def releases() -> tuple[Release, ...]:
    return read_releases()


AG_UI = read_ag_ui_releases()
OPENAI = read_openai_releases()


def findings(
    inventory: Inventory,
    releases: tuple[Release, ...],
    ag_ui: tuple[AgUiRelease, ...] = AG_UI,
    openai: tuple[AgUiRelease, ...] = OPENAI,
) -> list[Finding]:
    return list(report(inventory, releases, ag_ui, openai).findings)


def test_everything_that_is_installed_is_decided(
    inventory: Inventory, releases: tuple[Release, ...]
) -> None:
    """A new upstream field fails here, with the sentence that says where to decide about it."""
    assert [finding.message for finding in findings(inventory, releases)] == []


def test_a_new_field_is_found(releases: tuple[Release, ...]) -> None:
    """As an ADK would look that has one field more."""

    class Event(AdkEvent):
        foo: str | None = None

    [found] = findings(read_inventory(Event), releases)
    assert found.kind == "missing"
    assert found.what == "Event.foo"
    assert found.message.startswith("google-adk 2.")
    assert found.message.endswith(
        "has a new field Event.foo: decide its disposition in adk_prism/features/fields/dispositions.toml."
    )


def test_a_new_type_is_found(releases: tuple[Release, ...]) -> None:
    """A type that nobody has a table for is sent to the place where tables are joined."""

    class Event(AdkEvent):
        foo: types.Interval | None = None

    found = findings(read_inventory(Event), releases)
    assert [finding.what for finding in found] == [
        "Event.foo",
        "Interval.end_time",
        "Interval.start_time",
    ]
    assert "google-genai" in found[1].message
    assert found[1].message.endswith("in adk_prism/features/fields/dispositions.toml.")


def test_a_new_value_is_found(inventory: Inventory, releases: tuple[Release, ...]) -> None:
    """A finish reason that nobody has translated."""
    known = inventory["FinishReason"]
    news = msgspec.structs.replace(known, members=(*known.members, "BORED"))
    [found] = findings({**inventory, "FinishReason": news}, releases)
    assert "has a new value FinishReason.BORED" in found.message
    assert found.message.endswith("in adk_prism/features/fields/dispositions.toml.")


def test_a_field_that_is_gone_is_found(inventory: Inventory, releases: tuple[Release, ...]) -> None:
    """A row about nothing is taken out, or it would count as coverage."""
    known = inventory["Part"]
    less = msgspec.structs.replace(known, members=known.members[1:])
    gone = known.members[0]
    [found] = findings({**inventory, "Part": less}, releases)
    assert found.kind == "stale"
    assert f"no longer has the field Part.{gone}: remove its row from" in found.message


def test_a_type_that_is_gone_is_found(
    inventory: Inventory, releases: tuple[Release, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same for a whole table."""
    monkeypatch.setitem(dispositions.FIELDS, "Telegram", {"text": Carried("nobody sends them")})
    [found] = findings(inventory, releases)
    assert found.kind == "stale"
    assert found.message.startswith("No event can hold the type Telegram any more: remove")


def newer(releases: tuple[Release, ...], **chunks: Keys) -> tuple[Release, ...]:
    last = releases[-1]
    return (*releases, msgspec.structs.replace(last, version="8.0.0", chunks=chunks))


def test_a_new_chunk_and_a_new_key_are_found(
    inventory: Inventory, releases: tuple[Release, ...]
) -> None:
    """As a later AI SDK would look. A new key of a chunk that we never write needs no decision."""
    news = newer(
        releases, error=Keys(("errorText",), ("code",)), wave=Keys((), ()), custom=Keys((), ("x",))
    )
    found = findings(inventory, news)
    assert [finding.what for finding in found] == ["error.code", "wave.type"]
    assert found[0].message == (
        "ai 8.0.0 accepts error.code: decide its disposition in adk_prism/features/fields/dispositions.toml."
    )


def test_a_chunk_that_is_gone_is_found(inventory: Inventory, releases: tuple[Release, ...]) -> None:
    """With the releases that have it no longer kept, a chunk's rows are about nothing."""
    found = findings(inventory, releases[:2])
    assert {finding.kind for finding in found} == {"stale"}
    gone = {finding.what for finding in found}
    assert {"custom.type", "tool-approval-response.approved", "text-end.citations"} <= gone
    assert "finishReason.interrupted" in gone


def test_news_of_ag_ui_are_found(inventory: Inventory, releases: tuple[Release, ...]) -> None:
    """An event, a key of one that we send, and rows about what no release has any more."""
    last = AG_UI[-1]
    events = {**last.events, "WAVE": Keys((), ()), "RUN_ERROR": Keys(("message", "hint"), ())}
    later = msgspec.structs.replace(last, version="2.0.0", events=events)
    found = findings(inventory, releases, (*AG_UI, later))
    assert sorted(finding.what for finding in found) == ["RUN_ERROR.hint", "WAVE.type"]
    assert found[0].message.endswith("in adk_prism/features/fields/dispositions.toml.")
    gone = {finding.what for finding in findings(inventory, releases, AG_UI[1:])}
    assert "THINKING_START.type" in gone


def test_news_of_openai_are_found(inventory: Inventory, releases: tuple[Release, ...]) -> None:
    """An event and a key that a newer package has."""
    [last] = OPENAI
    text = last.events["response.output_text.delta"]
    more = msgspec.structs.replace(text, optional=("mood",))
    news = {**last.events, "response.hum": Keys((), ()), "response.output_text.delta": more}
    later = msgspec.structs.replace(last, version="4.0.0", events=news)
    found = findings(inventory, releases, openai=(later,))
    assert sorted(each.what for each in found) == [
        "response.hum.type",
        "response.output_text.delta.mood",
    ]
    assert found[0].message.startswith("openai 4.0.0 accepts response.")


def test_the_counts_add_up(inventory: Inventory, releases: tuple[Release, ...]) -> None:
    """Coverage is the share of fields with a disposition, so nothing may be counted twice or not."""
    told = report(inventory, releases, AG_UI, OPENAI)
    counts = totals(told.fields)
    assert counts.total() == sum(len(upstream.members) for upstream in inventory.values())
    shown = to_json(told)
    assert shown["ok"] is True
    assert shown["fields"]["totals"] == dict(counts)
    assert set(counts) <= {"projected", "carried", "dropped"}
    assert set(totals(told.chunks)) <= {"emitted", "declined"}
    assert set(totals(told.events)) <= {"emitted", "declined"}
    assert set(totals(told.openai)) == {"emitted", "declined"}
