"""The terminal panel: a client of an adk-prism server, for a person at a keyboard or a pipe.

`client` and `run_follower` talk to the server; `transcript` and `session_history` hold what they received;
`commands` and `intents` interpret typed lines; `panels/` renders rows; `screen` is the textual app. Only
`screen` and the modules that it alone imports need textual.
"""
