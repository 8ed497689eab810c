"""ADK runs over HTTP and WebSocket. Refuses a google-adk that is too old before anything imports it."""

from adk_prism.version import check_adk

check_adk()
