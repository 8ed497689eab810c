"""Budgets as they are written: what is read, what is refused, and which of them a run keeps."""

from __future__ import annotations

import pytest

from adk_prism.errors import UsageError
from adk_prism.features.budgets.budget import (
    EACH,
    NANO,
    Account,
    Budget,
    Day,
    budgets_of,
    read_budgets,
    used_up,
)
from adk_prism.log.entry import Origin
from adk_prism.server.settings import Settings, read_settings

READ = {
    "caller runs=200 tokens=2M cost=5": Budget(
        EACH, "", {"runs": 200, "tokens": 2_000_000, "cost": 5 * NANO}
    ),
    "tokens=1.5K": Budget("", "", {"tokens": 1500}),
    "caller=ann@example.org runs=0": Budget("ann@example.org", "", {"runs": 0}),
    "app cost=0.000000001": Budget("", EACH, {"cost": 1}),
    "  runs=3   app=recovery  caller ": Budget(EACH, "recovery", {"runs": 3}),
    "tokens=2B": Budget("", "", {"tokens": 2 * 10**9}),
}


@pytest.mark.parametrize("text", READ)
def test_a_budget_is_read(text: str) -> None:
    assert read_budgets([text]) == [READ[text]]


WRONG = {
    "": "it limits nothing",
    "caller": "it limits nothing",
    "caller runs": "runs must be a number such as 200",
    "caller runs=many": "runs must be a number such as 200",
    "runs=1.5": "runs must be a number such as 200",
    "runs=-1": "runs must be a number such as 200",
    "runs=\u0661": "runs must be a number such as 200",
    "tokens=2m": "tokens must be a number such as 500K or 2M",
    "tokens=": "tokens must be a number such as 500K or 2M",
    "tokens=999999999B": "tokens must be a number such as 500K or 2M",
    "tokens=1.0001K": "tokens must be a number such as 500K or 2M",
    "cost=5M": "cost must be a number such as 5 or 0.50",
    "cost=$5": "cost must be a number such as 5 or 0.50",
    "cost=0.0000000001": "cost must be a number such as 5 or 0.50",
    "cost=inf": "cost must be a number such as 5 or 0.50",
    "caller= runs=1": "'caller=' is none of caller, caller=NAME",
    "caller=* runs=1": "'caller=*' is none of caller, caller=NAME",
    "user=ann runs=1": "'user=ann' is none of caller, caller=NAME",
    "caller:runs=1": "'caller:runs=1' is none of caller, caller=NAME",
    "caller caller=ann runs=1": "caller stands there twice",
    "runs=1 runs=2": "runs stands there twice",
    "x" * 5000: "is none of caller",
}


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_budget_is_refused_at_the_start(text: str) -> None:
    """In one line, which says what is wrong and how a right one looks."""
    with pytest.raises(UsageError) as refused:
        Settings(budget=(text,))
    assert WRONG[text] in refused.value.detail
    assert refused.value.detail.startswith("--budget '")
    assert "'app=recovery cost=50'" in refused.value.detail
    assert len(refused.value.detail) < 500
    assert "\n" not in refused.value.detail


def test_two_for_the_same_are_refused() -> None:
    """Also if they limit different things: one could be overlooked."""
    with pytest.raises(UsageError, match="there is another one for the same"):
        Settings(budget=("caller runs=1", "caller tokens=1"))


def test_budgets_need_their_feature() -> None:
    with pytest.raises(UsageError, match="--without budgets: options of this feature are set"):
        Settings(budget=("caller runs=1",), without=("budgets",))


def test_they_come_from_everywhere(tmp_path) -> None:  # type: ignore[no-untyped-def]
    """The command line, the environment, split at commas, and pyproject.toml."""
    from adk_prism.features.budgets import BudgetSettings

    expected = ("caller runs=2", "app=recovery tokens=5K")
    typed = read_settings({"budget": list(expected)}, {}, tmp_path)
    assert typed.of(BudgetSettings).budget == expected
    variable = {"ADK_PRISM_BUDGET": "caller runs=2, app=recovery tokens=5K"}
    assert read_settings({}, variable, tmp_path).of(BudgetSettings).budget == expected
    (tmp_path / "pyproject.toml").write_text(
        '[tool.adk-prism]\nbudget = ["caller runs=2", "app=recovery tokens=5K"]\n'
    )
    assert read_settings({}, {}, tmp_path).of(BudgetSettings).budget == expected


ALL = read_budgets(
    [
        "caller runs=1",
        "caller=ann runs=2",
        "app runs=3",
        "app=one runs=4",
        "caller app runs=5",
        "caller app=one runs=6",
        "caller=ann app runs=7",
        "caller=ann app=one runs=8",
        "runs=9",
    ]
)
KEPT = {
    ("ann", "one"): {2, 4, 8, 9},
    ("ann", "two"): {2, 3, 7, 9},
    ("bob", "one"): {1, 4, 6, 9},
    ("bob", "two"): {1, 3, 5, 9},
}


@pytest.mark.parametrize("who", KEPT)
def test_the_budget_that_names_most_counts(who: tuple[str, str]) -> None:
    """One of each kind, whatever their order."""
    origin = Origin(user=who[0], app=who[1], session="s")
    for budgets in (ALL, ALL[::-1]):
        assert {each.limits["runs"] for each in budgets_of(budgets, origin)} == KEPT[who]


def test_a_refusal_says_which_and_until_when() -> None:
    day = Day.at(1_763_600_000)
    assert day.name == "2025-11-20"
    texts = {
        Account("ann", ""): "The budget of this user is used up: 5 runs a day.",
        Account("", "one"): "The budget of the app 'one' is used up: 5 runs a day.",
        Account(
            "ann", "one"
        ): "The budget of this user for the app 'one' is used up: 5 runs a day.",
        Account("", ""): "The budget of this server is used up: 5 runs a day.",
    }
    for account, text in texts.items():
        end = " The next day begins at 2025-11-21T00:00Z (midnight UTC)."
        assert used_up(account, "runs", 5, day) == text + end
    assert "a cost of 0.5 a day" in used_up(Account("", ""), "cost", NANO // 2, day)
