"""Which places of Cloud Storage a reference may name, and from which this server may fetch.

A reference is in our log, but a model may have written it: which places may be read is decided by the
operator's list alone, which is empty unless set. A name that some reader on the way could understand as
another one (dots, empty folders, control characters) is not accepted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from msgspec import Struct

from adk_prism.errors import UsageError
from adk_prism.log.entry import Origin
from adk_prism.options import URL, FeatureSettings, several
from adk_prism.server.proxies import is_loopback, origin_of_url

SCHEME = "gs://"

LONGEST_NAME = 1024
"""Bytes of an object's name, as Cloud Storage allows."""

_BUCKET = re.compile(r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]")
_PLACEHOLDER = re.compile(r"\{(app|user|session)\}")
_NAVIGATION = frozenset({"", ".", ".."})


class GcsLocation(Struct, frozen=True):
    """One object."""

    bucket: str
    name: str


def place_of(uri: str) -> GcsLocation | None:
    """Return the place that a `gs://` reference names; None for anything that is not exactly one."""
    bucket, _, name = uri.removeprefix(SCHEME).partition("/")
    if not uri.startswith(SCHEME) or _BUCKET.fullmatch(bucket) is None or not _is_path(name):
        return None
    return GcsLocation(bucket, name)


class AllowedLocations:
    """Folders of buckets from which files may be fetched."""

    def __init__(self, texts: Iterable[str]) -> None:
        """`gs://BUCKET/FOLDER`, where `{app}`, `{user}` and `{session}` are replaced by the run's own.

        Raise `UsageError` for anything else.
        """
        self._folders = [_folder(text) for text in texts]

    def __bool__(self) -> bool:
        return bool(self._folders)

    def allow(self, place: GcsLocation, origin: Origin) -> bool:
        """Return whether a run of this origin may be given the file at a place."""
        return any(
            place.bucket == bucket and place.name.startswith(_filled(folder, origin))
            for bucket, folder in self._folders
        )


def _folder(text: str) -> tuple[str, str]:
    bucket, _, folder = text.removeprefix(SCHEME).partition("/")
    folder = folder.rstrip("/")
    plain = _PLACEHOLDER.sub("x", folder)
    if (
        not text.startswith(SCHEME)
        or _BUCKET.fullmatch(bucket) is None
        or not (not folder or _is_path(plain))
        or "{" in plain
        or "}" in plain
    ):
        raise UsageError(
            f"{text[:80]!r} is not a file location; expected gs://BUCKET or gs://BUCKET/FOLDER, in which"
            " {app}, {user} and {session} are replaced with those of the run."
        )
    return bucket, f"{folder}/" if folder else ""


def _filled(folder: str, origin: Origin) -> str:
    """Return a folder for one run. A value with a slash would be several folders: it matches none."""
    values = {"app": origin.app, "user": origin.user, "session": origin.session}
    filled = _PLACEHOLDER.sub(lambda match: values[match[1]].replace("/", "\0"), folder)
    return filled if not folder or _is_path(filled[:-1]) else "\0"


def _is_path(name: str) -> bool:
    return (
        name.isprintable()
        and "\\" not in name
        and len(name.encode(errors="replace")) <= LONGEST_NAME
        and _NAVIGATION.isdisjoint(name.split("/"))
    )


@dataclass(frozen=True, kw_only=True)
class CloudFileSettings(FeatureSettings):
    """Which files of Cloud Storage may be fetched."""

    title: ClassVar[str] = "Storage"
    files_from: tuple[str, ...] = several("PLACE", "places such as gs://BUCKET/FOLDER").option(
        "Cloud Storage folder from which files of a run may be fetched; {app}, {user} and {session}"
        " are replaced with those of the run; repeatable"
    )
    files_emulator: str = URL.option("loopback URL of a Cloud Storage emulator, for tests")

    def broken_rule(self) -> str:
        """Return what is wrong with the emulator. Raise `UsageError` for a place."""
        AllowedLocations(self.files_from)
        emulator = origin_of_url(self.files_emulator)
        if self.files_emulator and (emulator is None or not is_loopback(emulator.host)):
            return f"--files-emulator must be a loopback URL, got {self.files_emulator!r}."
        return ""
