"""Which runs are wanted: the same questions for every backend.

Everything in a query may come from a stranger. Text becomes words without syntax (`search_text`); a name may
begin or end with `*`, and no other pattern exists, so no query takes longer than a look at every digest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct

from adk_prism.runlog.run_digest import NameKind, Used


class Bounds(Struct, frozen=True):
    """From and to, both included; None: no limit."""

    least: float | None = None
    most: float | None = None

    def hold(self, value: float) -> bool:
        """Return whether a value is inside."""
        low, high = self.least, self.most
        return (low is None or value >= low) and (high is None or value <= high)


ANY = Bounds()


class NamePattern(Struct, frozen=True):
    """A name, or a part of one."""

    part: str
    """In the form in which names are compared."""
    begins: bool = False
    """The name may go on before it."""
    ends: bool = False
    """The name may go on after it."""

    def fits(self, name: str) -> bool:
        """Return whether a folded name is meant."""
        if self.begins:
            return self.part in name if self.ends else name.endswith(self.part)
        return name.startswith(self.part) if self.ends else name == self.part


def name_pattern(text: str) -> NamePattern:
    """Read a name in which a `*` at the beginning or the end stands for any characters."""
    folded = text.casefold()
    part = folded.strip("*")
    return NamePattern(part, folded.startswith("*"), folded.endswith("*"))


Price = Callable[[Used], float | None]


class RunQuery(Struct, frozen=True, kw_only=True):
    """Which runs are wanted. What is empty matches any."""

    app: str = ""
    user: str = ""
    session: str = ""
    text: str = ""
    names: Mapping[NameKind, str] = {}
    without: NameKind | None = None
    """Runs that have no name of this kind."""
    outcome: str = ""
    tokens: Bounds = ANY
    duration: Bounds = ANY
    cost: Bounds = ANY
    price: Price = lambda _: None
    """What a run cost; None: unknown, and such a run fits no bounds of cost."""
    started: Bounds = ANY
    """Seconds since 1970."""

    def fits_cost(self, used: Used) -> bool:
        """Return whether a run cost as much as is wanted."""
        cost = self.price(used)
        return cost is not None and self.cost.hold(cost)
