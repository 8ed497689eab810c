"""Find a Firefox for `make test-matrix`, or unpack Debian's into a folder: `python -m tests.firefox FOLDER`.

npm has none. Debian's packages are downloaded and unpacked, not installed, so nobody has to be root.
`FIREFOX=/path/to/firefox make test-matrix` takes another one.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

PACKAGE = "firefox-esr"


def main(folder: Path) -> None:
    """Write into `folder/browser.json` how Firefox is started."""
    found = os.environ.get("FIREFOX") or shutil.which("firefox") or shutil.which(PACKAGE)
    if found:
        start = {"executable": found, "libraries": ""}
    elif shutil.which("apt-get") and shutil.which("dpkg"):
        start = _unpacked(folder)
    else:
        sys.exit("There is no Firefox here: install one, or name it: FIREFOX=/path/to/firefox")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "browser.json").write_text(json.dumps(start))


def _unpacked(folder: Path) -> dict[str, str]:
    """Unpack Debian's Firefox and the libraries that this machine lacks."""
    packages, root = folder / "packages", folder / "root"
    shutil.rmtree(folder, ignore_errors=True)
    packages.mkdir(parents=True)
    plan = _output("apt-get", "--simulate", "--no-install-recommends", "install", PACKAGE)
    missing = [line.split()[1] for line in plan.splitlines() if line.startswith("Inst ")]
    if not missing:
        sys.exit(f"apt-get does not know the package {PACKAGE}; try: apt-get update")
    subprocess.run(["apt-get", "--quiet", "download", *missing], cwd=packages, check=True)
    for package in packages.glob("*.deb"):
        subprocess.run(["dpkg", "--extract", package, root], check=True)
    shutil.rmtree(packages)
    home = root / "usr" / "lib" / PACKAGE
    (libraries,) = {file.parent for file in root.glob("usr/lib/*-linux-gnu*/libgtk-3.so.0")} or {
        home
    }
    return {"executable": str(home / PACKAGE), "libraries": f"{libraries}:{home}"}


def _output(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{command[0]} failed: {done.stderr.strip()}")
    return done.stdout


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
