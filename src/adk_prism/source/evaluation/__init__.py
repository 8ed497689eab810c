"""ADK's evaluation: its files, its evaluators. Its package is slow to import, so functions import it."""
