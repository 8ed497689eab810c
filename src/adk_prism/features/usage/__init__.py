"""What model calls use: tokens, times, and by a price list what they cost."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from adk_prism.errors import UsageError
from adk_prism.extension import Command, Extension
from adk_prism.options import FILE, FeatureSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from adk_prism.facts.run_reader import MakeAnnotator
    from adk_prism.features.usage.usage import Prices
    from adk_prism.server.settings import Settings

PRICES_FILE = (
    "JSON file with prices of models per million tokens, instead of those that adk-prism brings"
    " (adk-prism prices) [ADK_PRISM_PRICES]"
)
"""Help of the argument `--prices`, which several commands have."""


@dataclass(frozen=True, kw_only=True)
class UsageSettings(FeatureSettings):
    """What models cost."""

    title: ClassVar[str] = "Models"
    prices: str = FILE.option(
        "JSON file with prices of models per million tokens (default: those of `adk-prism prices`)"
    )

    def read(self) -> Prices:
        """Return the prices: without a file, ours. Raise `UsageError` for one that cannot be read."""
        from adk_prism.features.usage.usage import list_prices, read_prices

        if not self.prices:
            return list_prices()
        try:
            text = Path(self.prices).read_bytes()
        except OSError as error:
            reason = error.strerror or str(error)
            raise UsageError(
                f"The price list {self.prices} cannot be read: {reason}. Name another file with --prices."
            ) from None
        return read_prices(text, self.prices)


def _annotators(settings: Settings | None) -> Sequence[MakeAnnotator]:
    from adk_prism.features.usage.annotator import CostAnnotator

    prices = (settings.of(UsageSettings) if settings is not None else UsageSettings()).read()
    return [partial(CostAnnotator, prices)]


EXTENSION = Extension(
    name="usage",
    summary="tokens and times of model calls, and what they cost (--prices)",
    commands=(
        Command("prices", "what models cost, and since when", "adk_prism.features.usage.command"),
    ),
    settings=lambda: UsageSettings,
    annotators=_annotators,
)
