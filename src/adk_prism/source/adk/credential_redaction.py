"""Credential secrets in events: removed by ADK's own rule, or by a stricter one of ours.

google-adk has its rule from version 2.12 on. Ours, for older versions, removes the same keys, from
every object that is or contains a credential.
"""

from __future__ import annotations

from typing import Any

from google.adk.auth import auth_credential
from pydantic.alias_generators import to_camel

from adk_prism.facts.adk_event import CREDENTIAL
from adk_prism.source.adk.capability import Capability, require

_redact = getattr(auth_credential, "_redact_credential_secrets", None)


def _both(*names: str) -> frozenset[str]:
    return frozenset(names) | frozenset(map(to_camel, names))


_SECRETS = _both(
    "access_token", "additional_headers", "api_key", "auth_code", "auth_response_uri",
    "client_secret", "code_verifier", "id_token", "password", "private_key", "private_key_id",
    "refresh_token", "token",
)  # fmt: skip
_HOLDERS = _both(
    "auth_config", "exchanged_auth_credential", "raw_auth_credential", "requested_auth_configs"
)
_TYPE = _both("auth_type")


def redact_credentials(value: Any) -> Any:
    """Return JSON data without the secrets of credentials in it."""
    return _redact(value) if _redact is not None else redact_strictly(value)


def redact_strictly(value: Any, *, inside: bool = False) -> Any:
    """Return JSON data without secrets: of all objects inside a credential or a request for one."""
    if isinstance(value, list):
        return [redact_strictly(item, inside=inside) for item in value]
    if not isinstance(value, dict):
        return value
    asks = value.get("name") == CREDENTIAL
    inside = inside or not _TYPE.isdisjoint(value)
    return {
        key: redact_strictly(
            item, inside=inside or key in _HOLDERS or (asks and key in ("args", "response"))
        )
        for key, item in value.items()
        if not (inside and key in _SECRETS)
    }


def _probe() -> None:
    require(_redact is not None, "google-adk has no _redact_credential_secrets.")
    assert _redact is not None
    credential = {"authType": "apiKey", "apiKey": "secret", "resourceRef": "r"}
    kept = {"authType": "apiKey", "resourceRef": "r"}
    require(_redact([credential]) == [kept], "It leaves secrets in a credential.")


CAPABILITY = Capability(
    name="credential redaction",
    summary="remove the secrets of credentials from events as ADK's own server does",
    without="a stricter rule of adk-prism removes them",
    probe=_probe,
)
