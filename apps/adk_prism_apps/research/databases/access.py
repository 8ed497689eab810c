"""Where a service is and what is shown to it: address, key, contact, all from the environment.

Read when a request is built, so that a key can come later. Values are never kept, shown or logged.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from adk_prism import __version__

CONTACT_VARIABLE = "ADK_PRISM_RESEARCH_EMAIL"
AGENT = f"adk-prism/{__version__}"


@dataclass(frozen=True, slots=True)
class Access:
    """`base` is the public address; the variable `address_variable` takes its place."""

    base: str
    address_variable: str
    key_variable: str = ""
    environment: Mapping[str, str] | None = None

    @property
    def address(self) -> str:
        """Return the address that requests go to, without a slash at its end."""
        return (self._value(self.address_variable) or self.base).rstrip("/")

    @property
    def host(self) -> str:
        """Return host and port, which the limiter counts by."""
        return urlsplit(self.address).netloc.rpartition("@")[2]

    @property
    def api_key(self) -> str:
        """Return the key, or nothing."""
        return self._value(self.key_variable) if self.key_variable else ""

    @property
    def contact(self) -> str:
        """Return the e-mail address by which a service may reach the user, or nothing."""
        return self._value(CONTACT_VARIABLE)

    def redacted(self, text: str) -> str:
        """Return a service's words without our key and contact in them."""
        for secret in (self.api_key, self.contact):
            if secret:
                text = text.replace(secret, "[redacted]")
        return text

    def _value(self, variable: str) -> str:
        settings = os.environ if self.environment is None else self.environment
        value = settings.get(variable, "").strip()
        # A line break in a header or address would be refused by httpx with the value in its text.
        return value if value.isprintable() else ""
