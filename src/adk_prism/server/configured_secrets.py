"""The secrets that the settings name: the same for a server and for `adk-prism run`."""

from __future__ import annotations

import os

from adk_prism.server.settings import Settings
from adk_prism.source.known_secrets import secret_values
from adk_prism.source.secrets import Secrets
from adk_prism.source.stream_redaction import RunRedaction


def secrets_of(settings: Settings) -> Secrets:
    """Return what is secret in this process."""
    urls = (settings.log, settings.sessions, settings.artifacts, settings.memory)
    given = secret_values(os.environ, urls)
    return Secrets({*given, *settings.remote_secrets}, settings.redact, settings.reveal)


def redaction_of_a_run(secrets: Secrets) -> RunRedaction:
    """Return what redacts the records of a run, with what the environment has become since the start."""
    secrets.learn_variables(os.environ)
    return RunRedaction(secrets)
