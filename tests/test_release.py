"""What `make release` checks: it refuses what may not be published, and finds what was changed afterwards."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import subprocess
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from release.checks import PLACEHOLDER, problems, version_of
from release.folder import IMAGE, IMAGE_BILL, PAGE_BILL, SUMS, python_bill, verify

ROOT = Path(__file__).parent.parent
VERSION = version_of(ROOT)
READ = (
    *("pyproject.toml", "apps/pyproject.toml", "packages/client/package.json", "SECURITY.md"),
    *("src/adk_prism/version.py", "CHANGELOG.md", "CODE_OF_CONDUCT.md", "changes/README.md"),
)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a checkout that may be released."""
    for name in READ:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        text = (ROOT / name).read_text().replace(PLACEHOLDER, "security@prism.test")
        (tmp_path / name).write_text(text)
    notes = f"# Changelog\n\n## [Unreleased]\n\n## [{VERSION}] - 2026-01-01\n\n- All.\n"
    (tmp_path / "CHANGELOG.md").write_text(notes)
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    who = ("-c", "user.name=x", "-c", "user.email=x@prism.test", "-c", "commit.gpgsign=false")
    git(tmp_path, *who, "commit", "--quiet", "--message", "release")
    git(tmp_path, "tag", f"v{VERSION}")
    return tmp_path


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)


def test_a_checkout_that_may_be_released(checkout: Path) -> None:
    """It has no problem."""
    assert problems(checkout) == []


@pytest.mark.parametrize(
    ("name", "before", "after", "words"),
    [
        ("src/adk_prism/version.py", VERSION, "9.9.9", "version.py says 9.9.9"),
        ("packages/client/package.json", f'"version": "{VERSION}"', '"version": "9.9.9"', "client"),
        ("apps/pyproject.toml", f"adk-prism=={VERSION}", "adk-prism==9.9.9", "apps/pyproject.toml"),
        ("pyproject.toml", f"adk-prism-apps=={VERSION}", "adk-prism-apps==9.9.9", "adk-prism-apps"),
        ("CHANGELOG.md", f"## [{VERSION}]", "## [9.9.9]", "has no notes"),
        ("SECURITY.md", "security@prism.test", PLACEHOLDER, "SECURITY.md names"),
        ("CODE_OF_CONDUCT.md", "security@prism.test", PLACEHOLDER, "CODE_OF_CONDUCT.md names"),
    ],
    ids=["source", "npm", "apps", "extra", "notes", "contact", "conduct"],
)
def test_what_is_wrong_is_said(
    checkout: Path, name: str, before: str, after: str, words: str
) -> None:
    """One line for it, beside the one for a checkout with changes."""
    file = checkout / name
    assert before in file.read_text()
    file.write_text(file.read_text().replace(before, after, 1))
    found = problems(checkout)
    assert len(found) == 2
    assert any(words in each for each in found)


def test_notes_that_are_left_and_a_tag_that_is_missing(checkout: Path) -> None:
    """Both are found."""
    (checkout / "changes" / "one.added.md").write_text("One.\n")
    git(checkout, "tag", "--delete", f"v{VERSION}")
    text = " ".join(problems(checkout))
    assert "one.added.md" in text
    assert f"git tag --sign v{VERSION}" in text


def test_ours_is_refused_for_the_placeholder_until_there_is_an_address() -> None:
    """Who has no address cannot be written to."""
    assert any(PLACEHOLDER in each for each in problems(ROOT))


# --------------------------------------------------------------------------- the folder


@pytest.fixture
def gathered(tmp_path: Path) -> Path:
    """Return a folder as `gather` leaves it, with packages that hold their version and nothing else."""
    metadata = f"Metadata-Version: 2.4\nName: x\nVersion: {VERSION}\n".encode()
    for name in ("adk_prism", "adk_prism_apps"):
        with zipfile.ZipFile(tmp_path / f"{name}-{VERSION}-py3-none-any.whl", "w") as wheel:
            wheel.writestr(f"{name}-{VERSION}.dist-info/METADATA", metadata)
        pack(tmp_path / f"{name}-{VERSION}.tar.gz", {f"{name}-{VERSION}/PKG-INFO": metadata})
    package = json.dumps({"version": VERSION}).encode()
    pack(tmp_path / f"adk-prism-client-{VERSION}.tgz", {"package/package.json": package})
    wheels = {f"dist/{each.name}": each.read_bytes() for each in tmp_path.glob("*.whl")}
    pack(tmp_path / IMAGE, {"Dockerfile": b"x", "requirements/image.txt": b"x", **wheels})
    pins = (ROOT / "requirements" / "image.txt").read_text()
    bill = json.dumps(python_bill(pins, VERSION, "2026-01-01T00:00:00+00:00"))
    for name in (PAGE_BILL, IMAGE_BILL):
        (tmp_path / name).write_text(bill)
    write_sums(tmp_path)
    return tmp_path


def pack(file: Path, members: dict[str, bytes]) -> None:
    with tarfile.open(file, "w:gz") as archive:
        for name, content in members.items():
            about = tarfile.TarInfo(name)
            about.size = len(content)
            archive.addfile(about, io.BytesIO(content))


def write_sums(folder: Path) -> None:
    files = sorted(path for path in folder.iterdir() if path.name != SUMS)
    lines = (f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files)
    (folder / SUMS).write_text("".join(lines))


def test_a_gathered_folder_is_what_it_says(gathered: Path) -> None:
    """Nothing is wrong with it."""
    assert verify(gathered) == []


def _other_wheel(folder: Path) -> None:
    pack(folder / IMAGE, {"Dockerfile": b"x", "requirements/image.txt": b"x"})
    write_sums(folder)


def _other_version(folder: Path) -> None:
    package = json.dumps({"version": "9.9.9"}).encode()
    pack(folder / f"adk-prism-client-{VERSION}.tgz", {"package/package.json": package})
    write_sums(folder)


def _nothing_listed(folder: Path) -> None:
    (folder / IMAGE_BILL).write_text('{"components": []}')
    write_sums(folder)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda folder: (folder / IMAGE_BILL).write_text("{}"), "does not fit"),
        (lambda folder: (folder / IMAGE).unlink(), "not exactly one"),
        (lambda folder: shutil.rmtree(folder), "gather first"),
        (_other_wheel, "or none"),
        (_other_version, "9.9.9"),
        (_nothing_listed, "lists nothing"),
    ],
    ids=["changed", "missing", "none", "other-wheel", "other-version", "empty-bill"],
)
def test_what_is_not_what_it_says(
    gathered: Path, damage: Callable[[Path], object], words: str
) -> None:
    """A sentence that names the file."""
    damage(gathered)
    assert any(words in each for each in verify(gathered))


def test_the_bill_lists_every_package_of_the_image_with_its_hashes() -> None:
    """As the lock has them."""
    pins = (ROOT / "requirements" / "image.txt").read_text()
    bill = python_bill(pins, VERSION, "2026-01-01T00:00:00+00:00")
    names = {each["name"] for each in bill["components"]}
    assert {"google-adk", "redis", "fastapi"} <= names
    assert len(names) == pins.count("==")
    assert sum(len(each["properties"]) for each in bill["components"]) == pins.count("--hash=")


# --------------------------------------------------------------------------- what the repository shows


def test_the_workflow_runs_what_a_developer_runs() -> None:
    """`.ci/run`, on Python that is supported, with no more rights than to read."""
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())
    (job,) = workflow["jobs"].values()
    assert job["steps"][-1]["run"] == "bash .ci/run"
    assert workflow["permissions"] == {"contents": "read"}
    assert set(job["strategy"]["matrix"]["python"]) == {"3.11", "3.13"}


@pytest.mark.parametrize("name", ["bug", "feature"])
def test_forms_of_issues_ask_for_something(name: str) -> None:
    """Each field has a label and an id of its own, and one at least has to be filled in."""
    form = yaml.safe_load((ROOT / ".github" / "ISSUE_TEMPLATE" / f"{name}.yml").read_text())
    fields = [each for each in form["body"] if each["type"] != "markdown"]
    assert len({each["id"] for each in fields}) == len(fields)
    assert all(each["attributes"]["label"] for each in fields)
    assert any(each.get("validations", {}).get("required") for each in fields)
