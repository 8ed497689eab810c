"""The secrets that the settings name: the same for a server and for `adk-prism run`."""

from __future__ import annotations

import os

from adk_prism.server.settings import Settings
from adk_prism.source.secrets import Secrets, secret_values


def secrets_of(settings: Settings) -> Secrets:
    """Return what is secret in this process."""
    given = secret_values(os.environ, (settings.log, settings.sessions, settings.artifacts))
    return Secrets({*given, *settings.remote_secrets}, settings.redact, settings.reveal)
