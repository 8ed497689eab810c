"""What is installed, what works with it, and how a running server is reached."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adk_prism.extension import Command, Extension, Served

if TYPE_CHECKING:
    from adk_prism.server.context import Context


def _serve(context: Context) -> Served:
    from adk_prism.features.doctor import connection_doctor as connection_check

    return Served(routers=[connection_check.routes(context.settings, context.lifecycle)])


EXTENSION = Extension(
    name="doctor",
    summary="check the installation, or a running server",
    requires=("captures", "conform"),
    commands=(
        Command(
            "doctor",
            "show which versions are installed and what works with them; check a running server",
            "adk_prism.features.doctor.command",
        ),
    ),
    serve=_serve,
)
