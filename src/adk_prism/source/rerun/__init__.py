"""A run that is run again: an app with changes, and tools that are answered from a recording."""
