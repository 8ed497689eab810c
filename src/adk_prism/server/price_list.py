"""The price list that the settings name."""

from __future__ import annotations

from pathlib import Path

from adk_prism.errors import UsageError
from adk_prism.facts.pricing import Prices, read_prices
from adk_prism.server.settings import Settings


def prices_of(settings: Settings) -> Prices:
    """Return the prices of models; none without a file. Raise `UsageError` for one that cannot be read."""
    if not settings.prices:
        return Prices()
    try:
        text = Path(settings.prices).read_bytes()
    except OSError as error:
        reason = error.strerror or str(error)
        raise UsageError(
            f"The price list {settings.prices} cannot be read: {reason}. Name another file with --prices."
        ) from None
    return read_prices(text, settings.prices)
