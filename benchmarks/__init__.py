"""How fast adk-prism is, beside the least that could be done and beside its peers.

Run by `make bench`. Every figure is a ratio of two things that were measured in the same run, in turns,
so that a slow or busy machine slows both. README.md says how to read the table.
"""
