"""`python -m benchmarks [--only NAME] [--quick]`: measure, print one table.

Exits with 1 if a target was missed.
"""

from __future__ import annotations

import argparse
import sys
import time
from importlib import import_module

from benchmarks.table import Row, render

NAMES = (
    "log_to_bytes",
    "studio",
    "nodes",
    "model_calls",
    "redaction",
    "view",
    "film",
    "compare",
    "replay",
    "progress",
    "scrubbing",
    "proof",
    "grounding",
    "library",
    "growth",
    "stream_over_http",
    "smoothness",
    "remote",
    "identity",
    "flood",
    "idle_sockets",
    "long_runs",
    "viewers",
    "live",
    "live_hour",
    "long_sessions",
    "redis_log",
    "search",
    "start_up",
    "page",
    "console",
)


def main() -> int:
    """Run the benchmarks that were asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--only", action="append", choices=NAMES, metavar="NAME", help="one of %(choices)s"
    )
    parser.add_argument(
        "--quick", action="store_true", help="fewer rounds: rougher figures, sooner"
    )
    args = parser.parse_args()
    rows: list[Row] = []
    for name in args.only or NAMES:
        began = time.monotonic()
        rows += import_module(f"benchmarks.{name}").rows(quick=args.quick)
        print(f"{name}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    print(render(rows))
    return int(any(row.verdict == "MISSED" for row in rows))


if __name__ == "__main__":
    sys.exit(main())
