"""What the specialists can do: each skill a function from data files to a `Finding`."""
