"""Apps that another ADK server runs, in any language, served here like any other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adk_prism.extension import Extension

if TYPE_CHECKING:
    from collections.abc import Sequence

    from adk_prism.adk.served_app import AppElsewhere
    from adk_prism.errors import Report
    from adk_prism.options import FeatureSettings
    from adk_prism.server.settings import Settings


def _apps(settings: Settings, report: Report) -> Sequence[AppElsewhere]:
    from adk_prism.features.remote.app import RemoteApp
    from adk_prism.features.remote.settings import RemoteSettings

    return [RemoteApp(remote, report) for remote in settings.of(RemoteSettings).remotes]


def _settings() -> type[FeatureSettings]:
    from adk_prism.features.remote.settings import RemoteSettings

    return RemoteSettings


EXTENSION = Extension(
    name="remote",
    summary="serve apps of other ADK servers",
    requires=(
        "app_graph",
        "captures",
    ),
    settings=_settings,
    apps=_apps,
)
