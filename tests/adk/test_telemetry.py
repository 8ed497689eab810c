"""ADK's telemetry is cheap where nobody listens, and the operator's where somebody does."""

from __future__ import annotations

import subprocess
import sys

import pytest

_SETUP = {
    "nobody": "",
    "a tracer": (
        "from opentelemetry.sdk.trace import TracerProvider; from opentelemetry import trace; "
        "trace.set_tracer_provider(TracerProvider()); "
    ),
    "a logger": (
        "from opentelemetry.sdk._logs import LoggerProvider; from opentelemetry import _logs; "
        "_logs.set_logger_provider(LoggerProvider()); "
    ),
}


@pytest.mark.parametrize(
    ("who", "cheap"), [("nobody", True), ("a tracer", False), ("a logger", False)]
)
def test_telemetry_is_cheap_only_where_nobody_listens(who: str, cheap: bool) -> None:
    """Providers are global to a process, so each case has its own."""
    code = (
        f"{_SETUP[who]}from adk_prism.adk.app_environment import run_telemetry; "
        "config = run_telemetry(); "
        "print(config is not None and config.capture_message_content.value == 'NO_CONTENT')"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == str(cheap)
