"""A storm over some replicas: `python -m tests.chaos --kill 30 --pause 5 --redis 3 --full 3`.

Or over a single process with its log in a file: `… --on-sqlite --kill 30 --locked 5 --disk 5`.

Prints a line for each run, and its seed, with which the same faults come at the same moments again.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import random
import sys
import tempfile
import time
from pathlib import Path

from tests.chaos.replicas import Replicas
from tests.chaos.storm import AGENTS, ALIKE, FAULTS, HOSTILE, Report, Storm


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    for fault in FAULTS:
        parser.add_argument(f"--{fault}", type=int, default=0, metavar="N")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--replicas", type=int, default=3)
    parser.add_argument("--viewers", type=int, default=6)
    parser.add_argument("--outage", type=float, default=5.0, help="longest, of a store")
    parser.add_argument("--lease", type=float, default=2.0)
    parser.add_argument("--hostile", action="store_true", help="beside runs that misbehave")
    parser.add_argument("--on-postgres", action="store_true", help="sessions in PostgreSQL")
    parser.add_argument(
        "--on-sqlite", action="store_true", help="one process, with its log in a file"
    )
    parser.add_argument(
        "--minutes", type=float, default=20.0, help="after which nothing new begins"
    )
    args = parser.parse_args()
    wrong = ("redis", "full", "pause") if args.on_sqlite else ("locked", "disk")
    if any(getattr(args, fault) for fault in wrong):
        parser.error(f"{', '.join(wrong)} need {'Redis' if args.on_sqlite else '--on-sqlite'}")
    faults = [fault for fault in FAULTS for _ in range(getattr(args, fault))]
    random.Random(args.seed).shuffle(faults)
    count = 1 if args.on_sqlite else args.replicas
    print(f"seed {args.seed}, {count} replicas, lease {args.lease:g} s", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        replicas = Replicas(
            Path(folder),
            lease=args.lease,
            postgres=args.on_postgres or bool(args.postgres),
            agents=AGENTS if args.hostile else None,
            words=ALIKE,
            in_file=args.on_sqlite,
            after="0.7",
        )
        try:
            replicas.start(count)
            until = time.monotonic() + 60 * args.minutes
            storm = Storm(
                replicas, args.lease, args.seed, args.viewers, outage=args.outage, latest=3.0
            )
            reports = asyncio.run(_play(storm, faults, until, args.hostile))
        finally:
            replicas.close()
    return _sum_up(reports, len(faults))


async def _play(storm: Storm, faults: list[str], until: float, is_hostile: bool) -> list[Report]:
    reports = []
    beside = itertools.cycle(HOSTILE)
    for fault in faults:
        if time.monotonic() > until:
            break
        hostile = {"app": "hostile", "hostile": next(beside)} if is_hostile else {}
        report = await storm.play(fault, **hostile)
        reports.append(report)
        wrong = "; ".join(report.wrong) or "ok"
        print(
            f"{fault:6} {report.outcome:9} takeovers {report.takeovers} after {report.waited:4.1f} s, "
            f"entries {report.entries:4}, reconnections {report.reconnections:3}, "
            f"{report.hostile or 'alone'}: {wrong}",
            flush=True,
        )
    return reports


def _sum_up(reports: list[Report], planned: int) -> int:
    bad = [report for report in reports if report.wrong]
    print(f"{len(reports)} of {planned} runs, {len(bad)} with something wrong")
    return 1 if bad or len(reports) < planned else 0


if __name__ == "__main__":
    sys.exit(main())
