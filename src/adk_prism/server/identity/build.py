"""The identity that the settings ask for."""

from __future__ import annotations

from pathlib import Path

from adk_prism.errors import Diagnostic, Report, UsageError, ignore
from adk_prism.server.identity.identity import Identity
from adk_prism.server.identity.methods import (
    SHORT,
    Authenticate,
    Callback,
    Method,
    ProxyHeader,
    TokenFile,
    load,
)
from adk_prism.server.identity.share_links import ShareLinks, TicketOffice
from adk_prism.server.proxies import TrustedProxies
from adk_prism.server.settings import Settings

THIS_MACHINE = ("127.0.0.1", "::1")
"""Addresses whose user header is accepted if no proxy is configured."""


def build_identity(
    settings: Settings,
    tickets: TicketOffice,
    links: ShareLinks,
    authenticate: Authenticate | None,
    report: Report = ignore,
) -> Identity:
    """Return the configured identity. Raise `UsageError` for a file or function that cannot be used."""
    methods: list[Method] = []
    if authenticate is not None:
        methods.append(Callback(authenticate))
    if settings.authenticate:
        methods.append(Callback(load(settings.authenticate)))
    if settings.proxy_user_header:
        trusted = TrustedProxies(settings.trusted_proxy or THIS_MACHINE)
        methods.append(ProxyHeader(settings.proxy_user_header, trusted))
    if settings.tokens:
        methods.append(_tokens(Path(settings.tokens).absolute(), report))
    if settings.oidc_issuer:
        methods.append(_web_tokens(settings))
    return Identity(methods, tickets, links, settings.admin)


def _tokens(path: Path, report: Report) -> TokenFile:
    file = TokenFile(path)
    if file.is_readable_by_others:
        detail = f"Every user of this machine can read the tokens in {str(path)!r}: chmod 600 it."
        report(Diagnostic(kind="tokens readable by others", detail=detail))
    if file.short:
        detail = f"{file.short} tokens in {str(path)!r} have fewer than {SHORT} characters: easy to guess."
        report(Diagnostic(kind="short tokens", detail=detail))
    return file


def _web_tokens(settings: Settings) -> Method:
    try:
        # Installed with ADK through authlib, which may change its dependencies.
        from adk_prism.server.identity.web_token import ProviderKeys, Rules, WebTokens
    except ImportError as error:
        raise UsageError(
            "--oidc-issuer needs the package joserfc: pip install 'adk-prism[oidc]'."
        ) from error
    rules = Rules(
        issuer=settings.oidc_issuer,
        audiences=settings.oidc_audience,
        algorithms=settings.oidc_algorithm,
        user_claim=settings.oidc_user_claim,
    )
    return WebTokens(rules, ProviderKeys(settings.oidc_issuer, settings.oidc_jwks))
