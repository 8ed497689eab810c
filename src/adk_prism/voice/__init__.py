"""Voice: live runs of an app, from ADK to a WebSocket (`/api/live`; a feature serves ADK's own, `/run_live`).

Live runs cannot be continued by another process. When a server stops and another one shares its run log, a
client can begin again there, so it is sent away at once; elsewhere it may talk on for as long as the grace
period lasts.
"""
