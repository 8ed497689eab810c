"""Who may use which app, and which tools need an approval (`--rules`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from adk_prism.errors import UsageError
from adk_prism.extension import Extension, Served
from adk_prism.options import FILE, FeatureSettings

if TYPE_CHECKING:
    from adk_prism.server.context import Context


@dataclass(frozen=True, kw_only=True)
class RuleSettings(FeatureSettings):
    """What is allowed in which app."""

    title: ClassVar[str] = "Security"
    rules: str = FILE.option(
        "TOML file that says who may use which app, and which of its tools need an approval:"
        ' [apps.recovery] users = ["*@example.org"], approve = ["delete_*"]'
    )


def _serve(context: Context) -> Served:
    name = context.settings.of(RuleSettings).rules
    if not name:
        return Served()
    from adk_prism.features.app_rules.rules import read_rules

    rules = read_rules(name, context.apps)
    if rules.restrict:
        if not context.identity.required:
            raise UsageError(
                f"--rules {name}: who may use an app can only be said of callers who authenticate;"
                " use --tokens, --oidc-issuer, --proxy-user-header or --authenticate."
            )
        context.identity.hides = rules.hides
    context.apps.needs_approval = rules.needs_approval
    return Served()


EXTENSION = Extension(
    name="app_rules",
    summary="who may use which app, and which tools need an approval (--rules)",
    settings=lambda: RuleSettings,
    serve=_serve,
)
