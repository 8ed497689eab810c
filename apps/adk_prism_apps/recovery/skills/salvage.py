"""What is left to salvage on a day: volume and value by species, as intervals.

Volume is the cruise's net volume of dead and dying trees, less the loss that the table gives for the
years since the fire; value is that times the user's own price range, where there is one. A species
that is not in the table is left out of the interval and reported as unknown.

Confidence: the share of volume with a row in the table, times how narrow the interval is (one minus
half-width over middle), times the cruise's own factors, times the cost of evidence from trees that
did not die by fire.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from adk_prism.proof import Citation, Factor, Proof

from .. import confidence
from ..calendar_day import years_between
from ..finding import Finding
from ..library import Sheet
from ..library.records import Price
from .case import Case
from .cruise import Cruise, cruise_factors, net_bf, total
from .decay import Loss, loss_of

_UNBOUNDED = "The evidence does not reach this far: nothing bounds the loss from above."
_GENERAL = "Value falls before volume: stain and checks cost grade while the scale still counts."


def assess_salvage(case: Case, unit_id: str = "") -> Finding:
    """Compute the remaining volume and value on the date of the assessment."""
    cruise = Cruise(case, unit_id)
    prices = case.folder.prices()
    years = round(years_between(case.incident.started_on, case.as_of), 2)
    table = case.tables.deterioration()
    losses = {name: loss_of(name, years, table) for name in _volumes(cruise)}
    rows = [
        _species_row(case, name, volume, losses[name], prices)
        for name, volume in sorted(_volumes(cruise).items())
    ]
    data = case.data | {
        "years_since_fire": years,
        "species": rows,
        **_totals(rows),
        **total(cruise),
    }
    return Finding(
        title="Salvage",
        headline=_headline(data),
        body=(*(_line(row) for row in rows), *_notes(data)),
        data=data,
        proof=Proof(
            factors=(*_factors(cruise, rows, data), *cruise_factors(cruise, data)),
            citations=_citations(case, cruise, prices, losses),
            reasoning=(
                f"Counted {years:g} years from the fire's start to {data['as_of']}.",
                "Added up the net volume of dead and dying trees by species.",
                "Took each species' loss between the table's marks before and after that time.",
                "Multiplied what remains by the price range, where there is one.",
            ),
        ),
        synthetic=confidence.any_synthetic(cruise.units, cruise.trees, prices),
        actions=_actions(data),
    )


def _volumes(cruise: Cruise) -> dict[str, float]:
    """Return the net thousand board feet of dead and dying trees by species."""
    volumes: dict[str, float] = defaultdict(float)
    for unit in cruise.units.rows:
        plots = cruise.plots(unit)
        for tree in (tree for plot in plots for tree in plot if tree.status != "live"):
            volumes[tree.species] += net_bf(tree, unit.baf) / len(plots) * unit.acres / 1000
    return dict(volumes)


def _species_row(
    case: Case, name: str, volume: float, loss: Loss | None, prices: Sheet[Price] | None
) -> dict[str, Any]:
    row: dict[str, Any] = {
        "species": name,
        "name": case.tables.species().get(name, name),
        "net_mbf": round(volume, 1),
        "loss": None,
        "remaining_mbf": None,
        "value_usd": None,
        "analogue": None,
    }
    if loss is None:
        return row
    low, high = volume * (1 - loss.share.high), volume * (1 - loss.share.low)
    price = next((p for p in prices.rows if p.species == name), None) if prices else None
    row |= {
        "loss": [loss.share.low, loss.share.high],
        "remaining_mbf": [round(low, 1), round(high, 1)],
        "analogue": loss.analogue,
    }
    if price is not None:
        row["value_usd"] = [
            round(low * price.low_usd_per_mbf),
            round(high * price.high_usd_per_mbf),
        ]
    return row


def _totals(rows: list[dict[str, Any]]) -> dict[str, Any]:
    known = [row for row in rows if row["remaining_mbf"]]
    priced = [row for row in rows if row["value_usd"]]
    return {
        "dead_or_dying_mbf": round(sum(row["net_mbf"] for row in rows), 1),
        "unknown_species": [row["species"] for row in rows if not row["remaining_mbf"]],
        "unknown_mbf": round(sum(row["net_mbf"] for row in rows if not row["remaining_mbf"]), 1),
        "remaining_mbf": _sum(known, "remaining_mbf"),
        "value_usd": _sum(priced, "value_usd"),
    }


def _sum(rows: list[dict[str, Any]], key: str) -> list[float] | None:
    return [round(sum(row[key][end] for row in rows), 1) for end in (0, 1)] if rows else None


def _factors(
    cruise: Cruise, rows: list[dict[str, Any]], data: dict[str, Any]
) -> tuple[Factor, ...]:
    volume = data["dead_or_dying_mbf"]
    known = 1 - data["unknown_mbf"] / volume if volume else 0.0
    analogue = sum(row["net_mbf"] for row in rows if row["analogue"]) / volume if volume else 0.0
    low, high = data["remaining_mbf"] or (0.0, 0.0)
    narrow = 1 - (high - low) / (high + low) if high else 0.0
    policy = cruise.case.tables.confidence()
    return (
        confidence.share("species_known", known, "volume of species with a row in the table"),
        confidence.share("interval_narrow", narrow, "one minus half-width over middle"),
        confidence.weakness(
            policy,
            "analogue_evidence",
            analogue,
            "volume whose evidence is not of fire-killed trees",
        ),
    )


def _citations(
    case: Case, cruise: Cruise, prices: Sheet[Price] | None, losses: dict[str, Loss | None]
) -> tuple[Citation, ...]:
    used = [row for loss in losses.values() if loss for row in loss.rows]
    names = dict.fromkeys(row.citation for row in used)
    published = [case.tables.citation(name) for name in names]
    own = case.tables.own_citation("deterioration.csv", used, "Table of deterioration")
    sheets = [
        cruise.citations()[0],
        cruise.citations()[1],
        *([prices.citation()] if prices else []),
    ]
    return (*sheets, *published, own, case.tables.citation("pnw-gtr-292"))


def _headline(data: dict[str, Any]) -> str:
    remaining = data["remaining_mbf"]
    if remaining is None:
        return f"No species of the tally has a row in the table, {data['years_since_fire']:g} years on."
    unknown = data["unknown_species"]
    also = f"; not known for {', '.join(unknown)}" if unknown else ""
    return (
        f"{remaining[0]:,.0f} to {remaining[1]:,.0f} thousand board feet remain "
        f"{data['years_since_fire']:g} years after the fire{also}."
    )


def _line(row: dict[str, Any]) -> str:
    start = f"{row['name']} ({row['species']}): {row['net_mbf']:,.0f} thousand board feet"
    if row["loss"] is None:
        return f"{start}, loss not known: no row in the table."
    low, high = row["loss"]
    kept = row["remaining_mbf"]
    value = row["value_usd"]
    worth = f", worth ${value[0]:,.0f} to ${value[1]:,.0f}" if value else ""
    other = " (evidence from another kind of death)" if row["analogue"] else ""
    return f"{start}, loss {low:.0%} to {high:.0%}{other}: {kept[0]:,.0f} to {kept[1]:,.0f}{worth}."


def _notes(data: dict[str, Any]) -> tuple[str, ...]:
    value = data["value_usd"]
    money = (
        (f"Together ${value[0]:,.0f} to ${value[1]:,.0f} at the given prices.",) if value else ()
    )
    losses = [row["loss"] for row in data["species"] if row["loss"]]
    unbounded = (_UNBOUNDED,) if any(high == 1 for _, high in losses) else ()
    return (*money, *unbounded, _GENERAL)


def _actions(data: dict[str, Any]) -> tuple[str, ...]:
    if not data["unknown_species"]:
        return ()
    names = ", ".join(data["unknown_species"])
    return (f"Find evidence on how {names} deteriorates; until then that volume is left out.",)
