"""The folder of a release: what is in it, and whether that is what it says."""

from __future__ import annotations

import hashlib
import io
import json
import re
import shutil
import subprocess
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from release.checks import version_of

SUMS = "SHA256SUMS"
IMAGE = "image-context.tar.gz"
"""What `docker build` needs, and nothing else."""
PAGE_BILL = "page.cdx.json"
"""The npm packages that the page bundles: the bill of materials that is in the wheel."""
IMAGE_BILL = "image.cdx.json"
"""The Python packages of the image."""

_PIN = re.compile(
    r"^(?P<name>[A-Za-z0-9._-]+)(?:\[[^\]]*\])?==(?P<version>[^ ;\\]+)(?P<rest>(?:.*\\\n)*.*)$",
    re.MULTILINE,
)
_HASH = re.compile(r"--hash=sha256:(?P<hash>[0-9a-f]{64})")

Json = dict[str, Any]


def gather(root: Path, folder: Path) -> list[Path]:
    """Collect what `make wheels` and `npm pack` made, with sums and bills of materials; return the files."""
    version = version_of(root)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    wheels = sorted((root / "dist").glob(f"*{version}*"))
    packed = root / "packages" / "client" / f"adk-prism-client-{version}.tgz"
    for path in (*wheels, packed):
        shutil.copy2(path, folder / path.name)
    _write_image_context(root, folder / IMAGE)
    (folder / PAGE_BILL).write_bytes(_page_bill(folder))
    pins = (root / "requirements" / "image.txt").read_text()
    commit = subprocess.run(
        ["git", "log", "-1", "--format=%cI"], cwd=root, capture_output=True, text=True, check=True
    )
    bill = python_bill(pins, version, commit.stdout.strip())
    (folder / IMAGE_BILL).write_text(json.dumps(bill, indent=1) + "\n")
    (folder / SUMS).write_text("".join(_sum_lines(folder)))
    return sorted(folder.iterdir())


def _write_image_context(root: Path, file: Path) -> None:
    named = [root / name for name in ("Dockerfile", ".dockerignore", "requirements/image.txt")]
    with tarfile.open(file, "w:gz", compresslevel=9) as archive:
        for path in (*named, *sorted((root / "dist").glob("*.whl"))):
            about = archive.gettarinfo(path, str(path.relative_to(root)))
            about.uid = about.gid = 0
            about.uname = about.gname = ""
            with path.open("rb") as content:
                archive.addfile(about, content)


def _page_bill(folder: Path) -> bytes:
    (wheel,) = folder.glob("adk_prism-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (each for each in archive.namelist() if "/sboms/" in each)
        return archive.read(name)


def python_bill(pins: str, version: str, time: str) -> Json:
    """Return the packages of a hashed requirements file as a bill of materials (CycloneDX 1.6)."""
    components = [
        {
            "type": "library",
            "name": pin["name"],
            "version": pin["version"],
            "bom-ref": f"pkg:pypi/{pin['name']}@{pin['version']}",
            "purl": f"pkg:pypi/{pin['name']}@{pin['version']}",
            "properties": [
                {"name": "sha256", "value": found["hash"]} for found in _HASH.finditer(pin["rest"])
            ],
        }
        for pin in _PIN.finditer(pins)
    ]
    about = {"type": "container", "name": "adk-prism", "version": version}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"timestamp": time, "component": about},
        "components": components,
    }


def _sum_lines(folder: Path) -> Iterator[str]:
    for path in sorted(folder.iterdir()):
        if path.name != SUMS:
            yield f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"


# --------------------------------------------------------------------------- is it what it says?


def verify(folder: Path) -> list[str]:
    """Return what is wrong with a gathered folder, a sentence each."""
    if not (folder / SUMS).is_file():
        return [f"{folder} has no {SUMS}: gather first."]
    wrong = []
    if (folder / SUMS).read_text() != "".join(_sum_lines(folder)):
        wrong.append(f"{SUMS} does not fit the files.")
    names = {path.name for path in folder.iterdir()}
    wrong += [
        f"There is not exactly one file {pattern!r}."
        for pattern in _EXPECTED
        if sum(re.fullmatch(pattern, name) is not None for name in names) != 1
    ]
    if not wrong:
        wrong += [*_versions(folder), *_image(folder), *_bills(folder)]
    return wrong


_EXPECTED = (
    r"adk_prism-[\d.a-z]+-py3-none-any\.whl",
    r"adk_prism_apps-[\d.a-z]+-py3-none-any\.whl",
    r"adk_prism-[\d.a-z]+\.tar\.gz",
    r"adk_prism_apps-[\d.a-z]+\.tar\.gz",
    r"adk-prism-client-[\d.a-z]+\.tgz",
    re.escape(IMAGE),
    re.escape(PAGE_BILL),
    re.escape(IMAGE_BILL),
)


def _versions(folder: Path) -> Iterator[str]:
    """Read the version inside each package: it must be that of its file name, and of all others."""
    found = {path.name: _inner_version(path) for path in folder.iterdir() if _is_package(path)}
    for name, version in found.items():
        if version not in name:
            yield f"{name} says inside that it is {version}."
    if len(set(found.values())) > 1:
        yield f"The packages have different versions: {found}."


def _is_package(path: Path) -> bool:
    return path.name.startswith("adk") and path.suffix in (".whl", ".gz", ".tgz")


def _inner_version(path: Path) -> str:
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as archive:
            (name,) = (each for each in archive.namelist() if each.endswith(".dist-info/METADATA"))
            return _metadata_version(archive.read(name).decode())
    with tarfile.open(path) as archive:
        inner = "package/package.json" if path.suffix == ".tgz" else f"{path.name[:-7]}/PKG-INFO"
        content = archive.extractfile(inner)
        assert content is not None, f"{path.name} has no {inner}"
        text = content.read().decode()
    return str(json.loads(text)["version"]) if path.suffix == ".tgz" else _metadata_version(text)


def _metadata_version(text: str) -> str:
    match = re.search(r"^Version: (.+)$", text, re.MULTILINE)
    return match[1] if match else "nothing"


def _image(folder: Path) -> Iterator[str]:
    """What is copied by the Dockerfile is there, and the wheels are those of the release."""
    with tarfile.open(folder / IMAGE) as archive:
        held = {each.name: archive.extractfile(each) for each in archive.getmembers()}
        held_bytes = {name: io.BytesIO(file.read() if file else b"") for name, file in held.items()}
    for name in ("Dockerfile", "requirements/image.txt"):
        if name not in held_bytes:
            yield f"{IMAGE} has no {name}."
    for wheel in folder.glob("*.whl"):
        inside = held_bytes.get(f"dist/{wheel.name}")
        if inside is None or inside.read() != wheel.read_bytes():
            yield f"{IMAGE} has another {wheel.name}, or none."


def _bills(folder: Path) -> Iterator[str]:
    for name in (PAGE_BILL, IMAGE_BILL):
        text = (folder / name).read_text()
        if not json.loads(text).get("components"):
            yield f"{name} lists nothing."
        for error in _schema_errors(text):
            yield f"{name}: {error}"


def _schema_errors(text: str) -> list[str]:
    try:
        from cyclonedx.schema import SchemaVersion
        from cyclonedx.validation.json import JsonStrictValidator
    except ImportError:
        return []  # `make release` runs this where the library is; the rest is checked anywhere
    error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    return [str(error)[:300]] if error is not None else []
