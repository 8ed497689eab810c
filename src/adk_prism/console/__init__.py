"""The terminal panel: a client of an adk-prism server, for a person at a keyboard or a pipe.

`client` and `exchange` talk to the server, `talk` and `dialogue` know what has been said, `commands` and
`wishes` what may be asked for, `panels/` how it is shown as rows; `screen` puts it on a terminal. All but
`screen` and what it imports do without textual.
"""
