"""What model calls use: tokens, times, and by a price list of the operator what they cost."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from adk_prism.errors import UsageError
from adk_prism.extension import Extension
from adk_prism.options import FILE, FeatureSettings

if TYPE_CHECKING:
    from adk_prism.features.usage.usage import Prices

PRICES_FILE = (
    "JSON file with prices of models per million tokens; shows what runs cost [ADK_PRISM_PRICES]"
)
"""Help of the argument `--prices`, which several commands have."""


@dataclass(frozen=True, kw_only=True)
class UsageSettings(FeatureSettings):
    """What models cost."""

    title: ClassVar[str] = "Models"
    prices: str = FILE.option(
        "JSON file with prices of models per million tokens (default: no cost is shown)"
    )

    def read(self) -> Prices:
        """Return the prices, none without a file. Raise `UsageError` for one that cannot be read."""
        from adk_prism.features.usage.usage import Prices, read_prices

        if not self.prices:
            return Prices()
        try:
            text = Path(self.prices).read_bytes()
        except OSError as error:
            reason = error.strerror or str(error)
            raise UsageError(
                f"The price list {self.prices} cannot be read: {reason}. Name another file with --prices."
            ) from None
        return read_prices(text, self.prices)


EXTENSION = Extension(
    name="usage",
    summary="tokens and times of model calls, and what they cost (--prices)",
    settings=lambda: UsageSettings,
)
