"""The dashboard for Grafana asks for metrics and labels that the server has."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.adk.scripted import Scripted
from tests.server.local_server import agent, local_server

ROOT = Path(__file__).parent.parent.parent.parent
DASHBOARD = json.loads((ROOT / "deploy" / "grafana.json").read_text())
GUIDE = (ROOT / "docs" / "guides" / "operate.md").read_text()

PANELS: list[dict[str, Any]] = [each for each in DASHBOARD["panels"] if each["type"] != "row"]
QUESTIONS = [target["expr"] for panel in PANELS for target in panel["targets"]]

SCRAPED = {"instance", "le"}
"""Labels that Prometheus and its histograms add."""


def _asked(question: str) -> set[str]:
    return set(re.findall(r"\b((?:adk_prism|process)_\w+)", question))


def _family(sample: str) -> str:
    return re.sub(r"_(?:bucket|total)$", "", sample)


async def test_every_metric_is_one_of_the_server() -> None:
    """As Prometheus scrapes them; on Linux also those of the process."""
    async with local_server(agent(Scripted.saying())) as server:
        text = (await server.client.get("/metrics")).text
    found = {_family(name) for name in re.findall(r"^# TYPE (\S+)", text, re.MULTILINE)}
    assert {_family(name) for question in QUESTIONS for name in _asked(question)} <= found


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_label_is_documented(question: str) -> None:
    """In the table of the guide, for this metric."""
    used = set(re.findall(r"(\w+)=~?\"", question))
    for names in re.findall(r"\bby \(([^)]*)\)", question):
        used |= set(names.split(", "))
    for metric in _asked(question):
        row = re.search(rf"^\|[^|]*`{_family(metric)}\w*`[^|]*\|([^|]*)\|", GUIDE, re.MULTILINE)
        assert row is not None, metric
        assert used <= SCRAPED | set(row[1].strip().split(", ")), metric


def test_panels_lie_beside_each_other() -> None:
    """On a grid of 24 columns, without two in one place; each says what it shows."""
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        fields = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert not taken & fields
        assert at["x"] + at["w"] <= 24
        taken |= fields
    assert all(panel["title"] and panel["description"] for panel in PANELS)
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])


def test_names_are_those_of_prometheus() -> None:
    """A counter ends in `_total`, and is only asked for as a rate or an increase."""
    for question in QUESTIONS:
        for name in re.findall(r"\b\w+_total\b", question):
            assert re.search(rf"(?:rate|increase)\({name}\b", question), question
