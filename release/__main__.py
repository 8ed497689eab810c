"""What is published, in one folder, with what proves it: see docs/release.md.

    python -m release check      # may this checkout be released? A line for each reason why not
    python -m release gather     # wheels, sdists, the npm package and the image context in build/release
    python -m release verify     # is everything in that folder what it says?

`make release` does all three. Needs nothing but Python; `verify` also reads the bills of materials against
CycloneDX's schema where its library is installed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from release.checks import problems
from release.folder import gather, verify

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "build" / "release"


def main() -> int:
    """Run one of the steps; return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m release", description="Prepares a release.")
    parser.add_argument("step", choices=("check", "gather", "verify"))
    parser.add_argument(
        "--draft", action="store_true", help="check: print the reasons, exit with 0"
    )
    options = parser.parse_args()
    if options.step == "gather":
        for path in gather(ROOT, FOLDER):
            print(path.relative_to(ROOT))
        return 0
    found = problems(ROOT) if options.step == "check" else verify(FOLDER)
    for problem in found:
        print(f"release: {problem}", file=sys.stderr)
    if not found:
        print("release: this checkout may be released." if options.step == "check" else
              f"release: all of {FOLDER.relative_to(ROOT)} is what it says.")  # fmt: skip
    return 1 if found and not options.draft else 0


if __name__ == "__main__":
    sys.exit(main())
