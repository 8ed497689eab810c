"""The apps that the benchmarks serve: a folder as `adk web` takes it."""
