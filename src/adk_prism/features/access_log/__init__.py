"""A line on stderr for each request, if the operator wants it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from adk_prism.extension import Extension, Served
from adk_prism.options import FLAG, FeatureSettings

if TYPE_CHECKING:
    from adk_prism.server.context import Context


@dataclass(frozen=True, kw_only=True)
class AccessLogSettings(FeatureSettings):
    """Whether requests are logged."""

    title: ClassVar[str] = "Logging"
    access_log: bool = FLAG.option("log every request to stderr")


def _serve(context: Context) -> Served:
    from adk_prism.features.access_log.access_log import access_log

    if context.settings.of(AccessLogSettings).access_log:
        context.observability.calls.ended.append(access_log(context.settings.log_format))
    return Served()


EXTENSION = Extension(
    name="access_log",
    summary="a line for each request (--access-log)",
    serve=_serve,
    settings=lambda: AccessLogSettings,
)
