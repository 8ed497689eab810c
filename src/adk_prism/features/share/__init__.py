"""A run as one HTML file that opens from disk, and links that let others read one run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adk_prism.extension import Command, Extension, Served

if TYPE_CHECKING:
    from adk_prism.server.context import Context


def _serve(context: Context) -> Served:
    from adk_prism.features.conversations.listing import ConversationTitles
    from adk_prism.features.model_calls import model_calls
    from adk_prism.features.share.links import open_links
    from adk_prism.features.share.routes import LinkRoutes, ShareRoutes

    log, chats = context.log, context.chats
    shared = ShareRoutes(
        log,
        chats,
        context.apps,
        model_calls(context),
        ConversationTitles(log, chats),
        context.limits.heavy,
    )
    links = open_links(context.settings, context.recording.log)
    links.on_revoked(lambda link: context.identity.opened.end(f"link {link}"))
    context.identity.links = links
    context.lifecycle.hold(links.closing)
    of_links = LinkRoutes(links, log, context.audit, context.settings)
    return Served(routers=[shared.router(), of_links.router()])


EXTENSION = Extension(
    name="share",
    summary="share a run as one HTML file or by a link",
    requires=("app_graph", "captures", "conversations", "model_calls", "page"),
    commands=(
        Command(
            "share", "write a recording as one HTML file", "adk_prism.features.share.page_file"
        ),
    ),
    serve=_serve,
)
