"""Apps to evaluate: a shop, and the same with a wrong instruction for its clerk."""

from __future__ import annotations

import shutil
from pathlib import Path

import adk_prism.apps

TOUR = Path(adk_prism.apps.__path__[0]) / "tour"
AGENTS = Path(__file__).parent / "agents"
QUESTION = "What does the lamp cost?"
RIGHT, WRONG = 'CURRENCY = "euros"', 'CURRENCY = "dollars"'


def two_shops(folder: Path) -> Path:
    """Return a folder of apps: `right` and `wrong`, and the tour."""
    agents = Path(shutil.copytree(AGENTS, folder / "agents"))
    shutil.copytree(TOUR, agents / "tour")
    shutil.copytree(agents / "right", agents / "wrong")
    code = (agents / "wrong" / "agent.py").read_text()
    assert RIGHT in code
    (agents / "wrong" / "agent.py").write_text(code.replace(RIGHT, WRONG))
    return agents
