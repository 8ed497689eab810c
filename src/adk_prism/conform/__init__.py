"""`adk-prism conform`: does a server speak the protocol that it claims to speak?

A server is judged from outside, by what it answers to the requests of an ordinary client and to bad ones.
Nothing is known of its agents, so every check is about the protocol. What did not occur is reported as not
seen, never as passed.
"""
