"""Everything here that depends on internals of google-adk, OpenTelemetry or pydantic.

One module per internal. Each says what adk-prism does without it, and has a `CAPABILITY` whose probe
finds out whether the installed version still has it (`capabilities`, `adk-prism doctor`). No other
package uses a private name of a third party: `tests/test_architecture.py` checks it.
"""
