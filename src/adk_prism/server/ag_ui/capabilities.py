"""What an app can do, as AG-UI's `AgentCapabilities` (1.0) says it.

Only what is known: a capability that depends on the model is left out.
"""

from __future__ import annotations

from typing import Any

from adk_prism.source.apps import Apps
from adk_prism.version import VERSION

Json = dict[str, Any]


def capabilities(apps: Apps, app: str) -> Json:
    """Return the capabilities of a loaded app."""
    served, agents = apps.app(app), apps.agents(app)
    others = [{"name": agent.name} for agent in agents if agent.name != served.root_name]
    return {
        "identity": {
            "name": app,
            "type": "google-adk",
            "description": served.description or "",
            "version": VERSION,
        },
        "transport": {
            "streaming": True,
            "websocket": False,
            "httpBinary": False,
            "resumable": True,
        },
        "tools": {
            "supported": any(agent.tools for agent in agents),
            "clientProvided": "client tools" not in served.lacks,
        },
        "state": {
            "snapshots": True,
            "deltas": True,
            "memory": apps.memory_service(app) is not None,
            "persistentState": True,
        },
        "multiAgent": {"supported": bool(others), "subagents": others},
        "humanInTheLoop": {
            "supported": True,
            "approvals": True,
            "interrupts": True,
            "approveWithEdits": False,
        },
    }
