"""The files that events of a run hold or refer to, served by their place in the log."""
