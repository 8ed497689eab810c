"""What `adk web` and `adk api_server` can be told and other settings do not cover."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from adk_prism.server.settings.option_kinds import FLAG, SWITCH, TEXT, WHOLE_NUMBER, Option, several


@dataclass(frozen=True, kw_only=True)
class AdkSettings:
    """How ADK runs apps: its storage, plugins, limits, default model and features."""

    reload: Annotated[
        bool | None,
        Option(
            SWITCH,
            "load an app again when its files have changed; runs in progress keep the old code (default: on"
            " if the server is only used locally)",
            adk="--reload_agents",
        ),
    ] = None
    local_storage: Annotated[
        bool,
        Option(
            FLAG,
            "use the sessions and artifacts of `adk web`, in the `.adk` folder of each app",
            adk="--use_local_storage",
        ),
    ] = False
    auto_create_session: Annotated[
        bool,
        Option(
            FLAG,
            "let /run and /run_sse create a session that does not exist, as chats always do",
            adk="--auto_create_session",
        ),
    ] = False
    a2a: Annotated[
        bool,
        Option(
            FLAG,
            "serve the apps that have an agent card (`agent.json`) over A2A, at /a2a/APP;"
            " needs google-adk[a2a]",
        ),
    ] = False
    extra_plugins: Annotated[
        tuple[str, ...],
        Option(
            several("CLASS", "names such as my_package.MyPlugin"),
            "add an ADK plugin to every app: MODULE.NAME of a class or an object; repeatable",
            adk="--extra_plugins",
        ),
    ] = ()
    max_llm_calls: Annotated[
        int | None,
        Option(
            WHOLE_NUMBER,
            "most model calls of one run; 0 or less means no limit (default: ADK's limit)",
            adk="--max_llm_calls",
        ),
    ] = None
    default_llm_model: Annotated[
        str, Option(TEXT, "model for agents that name none", adk="--default_llm_model")
    ] = ""
    enable_features: Annotated[
        tuple[str, ...],
        Option(
            several("FEATURE", "names of ADK's features"),
            "experimental feature of ADK to switch on; repeatable",
            adk="--enable_features",
        ),
    ] = ()
    disable_features: Annotated[
        tuple[str, ...],
        Option(
            several("FEATURE", "names of ADK's features"),
            "feature of ADK to switch off; repeatable",
            adk="--disable_features",
        ),
    ] = ()
