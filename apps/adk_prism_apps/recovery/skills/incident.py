"""Which fire is meant, and what is known of the incident itself: real, and every fact sourced.

A look-up has no confidence of its own: it finds a record or says that there is none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adk_prism.proof import Citation, Proof

from ..calendar_day import resolve_day
from ..finding import Finding
from ..library import DATA_VARIABLE, Library
from ..library.naming import Named, named_fire
from ..library.places import places_of
from ..library.records import Incident
from ..library.sheet import plain

_ADD = (
    f"To add a fire, point {DATA_VARIABLE} at a folder of your own data; "
    "the guide to the recovery app says what it holds."
)


def find_fire(library: Library, text: str, as_of: str = "", last_fire: str = "") -> Finding:
    """Return the fire that a text names; without a name, the last one asked about or the only one."""
    incidents, problems = library.incidents()
    if problems and not incidents:
        raise problems[0]
    named = named_fire(text, incidents)
    incident = named.incident or _implied(incidents, last_fire)
    if named.unknown or incident is None:
        return _none(named.unknown, incidents, [problem.message for problem in problems])
    day = resolve_day(as_of, incident).isoformat()
    return _found(incident, named, day, places_of(library.fire(incident.fire_id)))


def _implied(incidents: list[Incident], last_fire: str) -> Incident | None:
    last = [incident for incident in incidents if incident.fire_id == last_fire]
    if last:
        return last[0]
    return incidents[0] if len(incidents) == 1 else None


def _found(
    incident: Incident, named: Named, as_of: str, places: dict[str, dict[str, str]]
) -> Finding:
    how = "named" if named.incident else "not named; taken as the one that is meant"
    data: dict[str, Any] = {
        "found": True,
        "fire_id": incident.fire_id,
        "as_of": as_of,
        "named": named.incident is not None,
        "matched": "misspelt" if named.misspelt else how,
        "not_covered": list(named.besides),
        "incident": plain(incident),
        "places": places,
    }
    return Finding(
        title=incident.name,
        headline=_headline(data["incident"]),
        body=_body(data),
        data=data,
        proof=Proof(
            citations=tuple(
                Citation(source.source, source.reference, source.uri)
                for source in incident.sources.values()
            ),
            reasoning=(f"The fire is {how}.", f"Answers speak of {as_of}."),
        ),
        synthetic=incident.synthetic,
    )


def _headline(incident: dict[str, Any]) -> str:
    cause = f" ({incident['cause']})" if incident["cause"] else ""
    place = f" in {incident['place']}" if incident["place"] else ""
    began = f"began on {incident['started_on']}{cause}{place}"
    latest = max(incident["growth"], key=lambda growth: str(growth["date"]), default=None)
    size = f"{incident['acres']:,.0f} acres"
    if latest is None or latest["contained_pct"] is None:
        return f"The {incident['name']} {began}: {size}."
    contained = f"{latest['contained_pct']:g}% contained on {latest['date']}, the last report"
    return f"The {incident['name']} {began}: {size}, {contained}."


def _body(data: dict[str, Any]) -> tuple[str, ...]:
    incident = data["incident"]
    grown = ", ".join(f"{entry['date']} {entry['acres']:,.0f}" for entry in incident["growth"])
    lines = [f"Acres by day: {grown}."] if grown else []
    lines += [fact["text"] for fact in incident["facts"]]
    if data["matched"] != "named":
        lines.append(f"The question's fire was {data['matched']}.")
    if data["not_covered"]:
        lines.append(not_covered(data))
    return (*lines, f"Answers speak of {data['as_of']}.")


def not_covered(data: Mapping[str, Any]) -> str:
    """Say which fires of a question an answer leaves out; empty if it names no other."""
    others = data.get("not_covered") or []
    if not others:
        return ""
    verb = "is" if len(others) == 1 else "are"
    return f"{' and '.join(others)} {verb} not covered: this is about {data['incident']['name']} alone."


def _none(name: str, incidents: list[Incident], problems: list[str]) -> Finding:
    """Return the answer when no fire was found."""
    headline = "Which fire is meant?" if incidents else "There is no data about any fire."
    if name:
        headline = f"There is no data about {name!r} here, so nothing can be said about it."
    unreadable = tuple(f"Cannot be read: {text}" for text in problems)
    return Finding(
        title="No such fire" if name or not incidents else "Which fire?",
        headline=headline,
        body=(f"Fires with data: {_known(incidents)}.", *unreadable, _ADD),
        data={"found": False, "asked": name, "known": [item.fire_id for item in incidents]},
        proof=Proof(reasoning=("Compared the question with the names of the fires with data.",)),
    )


def _known(incidents: list[Incident]) -> str:
    return ", ".join(f"{item.name} ({item.fire_id})" for item in incidents) or "none"
