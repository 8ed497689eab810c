"""Every sentence that `adk-prism` prints of its own: help, results and notes, by command.

A sentence with values is a template for `str.format`; a test holds its fields against every use. What an
error deep in the library says belongs to the error, and what a setting is to its declaration
(`docs/decisions/0038-words.md`).
"""

from __future__ import annotations

# ---------------------------------------------------------------------- progress

STARTING = "Starting the server…"
LOADING = "Loading {app}…"
READING = "Reading {file}…"
CHECKING = "Checking {file}…"
SEARCHING = "Searching…"
COMPARING = "Comparing…"
EVALUATING = "Running the eval set…"
RERUNNING = "Running again…"
SENDING = "Sending the trace…"

# ---------------------------------------------------------------------- serve

SERVE_USAGE = "adk-prism serve [AGENTS_DIR] [OPTIONS]"
SERVE_EPILOG = (
    "Every option can also be set with the environment variable in brackets, or in [tool.adk-prism] of"
    " pyproject.toml. Options of `adk web` are accepted in its spelling."
)

# ---------------------------------------------------------------------- view

VIEW_FILE = "a recording or saved /run_sse output; - reads stdin"
VIEW_AT = "show the panels at this event (default: the last)"
VIEW_PANEL = "show only this panel (default: all)"
VIEW_FROM = "also show how the state changed since this event"
VIEW_KEY = "also show every write to this state key"
VIEW_JSON = "print JSON with everything; without a terminal this is the default"
VIEW_TEXT = "print readable text; on a terminal this is the default"

PANEL_TITLES = {
    "conversation": "Conversation",
    "timeline": "Timeline",
    "state": "State",
    "graph": "Graph",
    "proof": "Confidence and sources",
    "grounding": "Research plan",
    "artifacts": "Artifacts",
    "nodes": "Agents and tools",
}
RUN_OF = "Run {run} of {app}: {outcome}, event {at} of {last}"
RUNNING = "running"
THINKING = "{speaker} (thinking)"
CHANGES_SINCE = "Changes since event {cursor}"
WRITES_OF = "Writes to {key}"
WRITE = "event {cursor}, {writer}: {value}"
REMOVED = "removed"
NODE_RAN = "{runs}, {took}"
NODE_FAILED = "{runs}, {failures}, {took}"
NO_ARTIFACTS = "No artifact was saved."
ARTIFACT = "{name}, version {version}, saved by {author} at event {cursor}"
RECEIVED = "from {sender}: {value}"
PASSED_ON = "output: {value}"

RUN, FAILURE, STATE_CHANGE, EVENT = "run", "failure", "state change", "event"
"""Nouns that are counted."""

# ---------------------------------------------------------------------- share

SHARED = "Wrote {path}: {size}, 1 run with {events}. Open it in any browser."
