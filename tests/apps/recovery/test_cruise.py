"""Cruise statistics and salvage, recomputed from the tally with other code."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterator

import pytest
from tests.apps.recovery.folders import Folder, Row, bundled_rows, case

from adk_prism_apps.recovery.library.folder import BUNDLED
from adk_prism_apps.recovery.library.problem import DataProblem
from adk_prism_apps.recovery.library.reference import ReferenceTables
from adk_prism_apps.recovery.skills.cruise import cruise_statistics
from adk_prism_apps.recovery.skills.decay import loss_of
from adk_prism_apps.recovery.skills.salvage import assess_salvage

BAF = 20
ACRES = {"U1": 96.0, "U2": 74.0, "U3": 58.0}
T95 = {5: 2.571, 6: 2.447, 7: 2.365, 18: 2.101}


def net_per_acre(tree: Row) -> float:
    basal = 0.005454 * float(tree["dbh_in"]) ** 2
    return BAF / basal * float(tree["gross_bf"]) * (1 - float(tree["defect_pct"]) / 100)


def plots_of(unit: str) -> dict[str, list[Row]]:
    plots: dict[str, list[Row]] = defaultdict(list)
    for tree in bundled_rows("cruise_trees.csv"):
        if tree["unit_id"] == unit:
            plots[tree["plot_id"]].append(tree)
    return plots


def volumes(unit: str) -> list[float]:
    return [sum(map(net_per_acre, trees)) for trees in plots_of(unit).values()]


def unit_rows() -> Iterator[tuple[str, dict[str, float]]]:
    for row in cruise_statistics(case()).data["units"]:
        yield row["unit_id"], row


def test_basal_area_and_stems_by_hand() -> None:
    """Basal area is BAF times the mean count; each tree stands for BAF over its basal area."""
    for unit, row in unit_rows():
        plots = plots_of(unit).values()
        counts = [len(trees) for trees in plots]
        stems = [sum(BAF / (0.005454 * float(t["dbh_in"]) ** 2) for t in trees) for trees in plots]

        assert row["basal_area_sqft_per_acre"] == pytest.approx(
            BAF * statistics.mean(counts), abs=0.05
        )
        assert row["trees_per_acre"] == pytest.approx(statistics.mean(stems), abs=0.05)


def test_the_errors_of_each_unit_by_hand() -> None:
    for unit, row in unit_rows():
        values = volumes(unit)
        mean, sd, n = statistics.mean(values), statistics.stdev(values), len(values)
        cv = 100 * sd / mean
        error = T95[n - 1] * cv / math.sqrt(n)

        assert row["net_bf_per_acre"] == pytest.approx(mean, abs=0.06)
        assert row["cv_pct"] == pytest.approx(cv, abs=0.06)
        assert row["se_pct"] == pytest.approx(cv / math.sqrt(n), abs=0.06)
        assert row["sampling_error_pct"] == pytest.approx(error, abs=0.06)
        assert row["plots_needed"] == math.ceil((T95[n - 1] * cv / 20) ** 2)
        assert row["error_met"] == (error <= 20)


def test_units_are_strata_of_the_total() -> None:
    total = sum(ACRES[u] * statistics.mean(volumes(u)) for u in ACRES)
    squares = sum(
        (ACRES[u] * statistics.stdev(volumes(u)) / math.sqrt(len(volumes(u)))) ** 2 for u in ACRES
    )
    error = 100 * T95[18] * math.sqrt(squares) / total
    finding = cruise_statistics(case())

    assert finding.data["total_net_mbf"] == pytest.approx(total / 1000, abs=0.06)
    assert finding.data["total_sampling_error_pct"] == pytest.approx(error, abs=0.06)
    assert finding.proof.confidence == pytest.approx((1 - error / 100) * 0.9, abs=1e-3)
    assert finding.gives == {"acres": 228.0}


def test_one_tree_by_hand(folder: Folder) -> None:
    """A 20-inch tree has 2.1816 square feet: with BAF 20 it stands for 9.17 trees an acre."""
    plots = [
        {"unit_id": "U1", "plot_id": "a", "tree": "1", "species": "PSME", "dbh_in": "20",
         "gross_bf": "500", "defect_pct": "10", "status": "dead", "synthetic": "true"},
        {"unit_id": "U1", "plot_id": "b", "tree": "", "species": "", "dbh_in": "",
         "gross_bf": "", "defect_pct": "", "status": "", "synthetic": "true"},
    ]  # fmt: skip
    folder.write_rows("cruise_trees.csv", plots)
    (row,) = cruise_statistics(folder.case(), "U1").data["units"]

    # The second plot is empty and counts: means are halves.
    assert row["plots"] == 2
    assert row["basal_area_sqft_per_acre"] == 10
    assert row["trees_per_acre"] == pytest.approx(20 / 2.1816 / 2, abs=0.05)
    assert row["net_bf_per_acre"] == pytest.approx(20 / 2.1816 * 450 / 2, abs=0.06)


def test_a_single_plot_has_no_error_and_no_confidence_in_it(folder: Folder) -> None:
    folder.write_rows("cruise_trees.csv", bundled_rows("cruise_trees.csv")[:1])
    finding = cruise_statistics(folder.case(), "U1")

    assert finding.data["units"][0]["sampling_error_pct"] is None
    assert finding.proof.confidence == 0
    assert "with an unknown error" in finding.text()


@pytest.mark.parametrize("row", ReferenceTables(BUNDLED).student_t(), ids=lambda row: str(row.df))
def test_the_table_of_t_against_the_distribution_itself(row) -> None:  # type: ignore[no-untyped-def]
    """The integral of Student's density from -t to t is 95 %."""
    steps = 4_000
    scale = math.exp(math.lgamma((row.df + 1) / 2) - math.lgamma(row.df / 2)) / math.sqrt(
        row.df * math.pi
    )

    def density(x: float) -> float:
        return scale * (1 + x * x / row.df) ** (-(row.df + 1) / 2)

    width = row.t95 / steps
    area = 2 * width * sum(density((i + 0.5) * width) for i in range(steps))
    assert area == pytest.approx(0.95, abs=5e-5)


@pytest.mark.parametrize(
    ("species", "years", "expected"),
    [
        ("ABLA", 0.33, (0.0, 0.40)),
        ("ABLA", 1.0, (0.40, 0.40)),
        ("ABLA", 1.5, (0.40, 0.60)),
        ("ABLA", 4.0, (0.60, 1.0)),
        ("PIPO", 1.5, (0.0, 1.0)),
        ("PIPO", 2.5, (0.10, 1.0)),
        ("PSME", 0.5, (0.0, 0.0)),
        ("PSME", 2.0, (0.08, 0.08)),
        ("PSME", 2.5, (0.08, 0.15)),
        ("PSME", 3.5, (0.144, 0.15)),
        ("PSME", 5.0, (0.144, 1.0)),
    ],
)
def test_loss_lies_between_the_marks(
    species: str, years: float, expected: tuple[float, float]
) -> None:
    loss = loss_of(species, years, ReferenceTables(BUNDLED).deterioration())
    assert loss is not None
    assert (loss.share.low, loss.share.high) == expected


def test_salvage_by_hand() -> None:
    """Net volume by species, less the loss of a third of a year, times the price range."""
    finding = assess_salvage(case())
    volume: dict[str, float] = defaultdict(float)
    for unit, acres in ACRES.items():
        plots = plots_of(unit)
        for tree in (tree for trees in plots.values() for tree in trees):
            volume[tree["species"]] += net_per_acre(tree) / len(plots) * acres / 1000
    rows = {row["species"]: row for row in finding.data["species"]}

    assert finding.data["years_since_fire"] == 0.33
    for species, mbf in volume.items():
        assert rows[species]["net_mbf"] == pytest.approx(mbf, abs=0.06)
    assert rows["ABLA"]["remaining_mbf"] == pytest.approx(
        [0.6 * volume["ABLA"], volume["ABLA"]], abs=0.06
    )
    assert rows["ABLA"]["value_usd"] == pytest.approx(
        [0.6 * volume["ABLA"] * 150, volume["ABLA"] * 220], abs=1
    )
    assert rows["TSHE"]["remaining_mbf"] is None
    assert finding.data["unknown_species"] == ["TSHE"]


def test_salvage_confidence_by_hand() -> None:
    finding = assess_salvage(case())
    data = finding.data
    rows = {row["species"]: row for row in data["species"]}
    whole = data["dead_or_dying_mbf"]
    known = 1 - rows["TSHE"]["net_mbf"] / whole
    low, high = data["remaining_mbf"]
    narrow = 1 - (high - low) / (high + low)
    analogue = 1 - 0.1 * rows["PSME"]["net_mbf"] / whole
    precise = 1 - data["total_sampling_error_pct"] / 100

    assert finding.proof.confidence == pytest.approx(
        known * narrow * analogue * precise * 0.9, abs=3e-4
    )


def test_after_four_years_nothing_bounds_the_loss() -> None:
    """Salvage in 2026 is past all evidence: from nothing upwards, with no confidence."""
    finding = assess_salvage(case("2026-11-01"))

    assert finding.data["remaining_mbf"][0] == 0
    assert finding.proof.confidence == 0
    assert "nothing bounds the loss from above" in finding.text()


def test_without_prices_there_is_volume_and_no_value(folder: Folder) -> None:
    folder.path("prices.csv").unlink()
    finding = assess_salvage(folder.case())

    assert finding.data["value_usd"] is None
    assert "$" not in finding.text()


def test_an_unknown_unit_is_said_to_be() -> None:
    with pytest.raises(DataProblem, match=r"no unit 'U9'.*U1, U2, U3"):
        cruise_statistics(case(), "U9")
