"""Who calls this server: `Principal` is what an `authenticate` function returns."""

from adk_prism.server.identity.caller import Principal

__all__ = ["Principal"]
