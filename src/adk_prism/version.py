"""The version, where everything may look it up. `pyproject.toml` says the same; a test holds them equal."""

VERSION = "0.1.0"
