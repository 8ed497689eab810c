"""Names are allow-listed: what clients use passes, what means something else is refused."""

from __future__ import annotations

import pytest

from adk_prism.errors import NotFound, UsageError
from adk_prism.server.request_bodies import check_app, check_artifact, check_session, check_user

GOOD_IDS = [
    "user",
    "0b7c9c6e-7f5c-4a57-9a53-1f3f0c6d2b11",
    "someone+tag@example.com",
    "aB3dE6gH9jK2mN5p",
    "auth0|5f7c8ec7c33c6c004bbafe82",
    "Grace Hopper",
    "名前",
    "ada-λ_1.2~x:y",
    "a" * 128,
    "😀",
]

BAD_IDS = [
    "",
    " ",
    " padded",
    "padded ",
    ".",
    "..",
    "a/b",
    "../etc",
    "a\\b",
    "nul\0",
    "line\nbreak",
    "x\r\ny",
    "tab\t",
    "right\u202eleft",
    "zero\u200bwidth",
    "half\ud800",
    "not utf-8 \ufffd",
    "next\u0085line",
    "para\u2029graph",
    "__proto__",
    "constructor",
    "prototype",
    "a" * 129,
    "a" * 5000,
]


@pytest.mark.parametrize("name", GOOD_IDS, ids=ascii)
def test_ids_that_clients_use_pass(name: str) -> None:
    """Uuids, e-mail addresses, nanoids, identity providers' ids, people's names."""
    assert check_user(name) == name
    assert check_session(name) == name


@pytest.mark.parametrize("name", BAD_IDS, ids=lambda name: ascii(name)[:20])
def test_ids_that_mean_something_else_are_refused(name: str) -> None:
    """Paths, invisible characters, names of JavaScript's own, and no echo of them."""
    for check in (check_user, check_session):
        with pytest.raises(UsageError) as caught:
            check(name)
        assert caught.value.detail.isprintable()
        assert len(caught.value.detail) < 250


@pytest.mark.parametrize("name", ["tour", "app_1", "_x", "A"])
def test_app_names_are_identifiers(name: str) -> None:
    """As ADK's loader has them."""
    assert check_app(name) == name


@pytest.mark.parametrize(
    "name", ["", "../agents", "a.b", "a-b", "1a", "a b", "é", "a" * 200, "a\n"]
)
def test_other_app_names_are_not_found(name: str) -> None:
    """No app has such a name, so there is none to find."""
    with pytest.raises(NotFound):
        check_app(name)


@pytest.mark.parametrize("name", ["a.txt", "reports/2024/a b.pdf", "user:me.png", "名.md"])
def test_artifact_names_may_have_folders(name: str) -> None:
    """ADK's artifact services take relative paths, and `user:` for the user's own."""
    assert check_artifact(name) == name


BAD_ARTIFACTS = [
    "",
    "/",
    "/etc/passwd",
    "a//b",
    "a/../b",
    "..",
    "user:",
    "user:../x",
    "a\\b",
    "a\0",
    "a/ b",
    "x/__proto__",
    "a" * 300,
    "é" * 150,
    "/".join(["a"] * 400),
]


@pytest.mark.parametrize("name", BAD_ARTIFACTS, ids=lambda name: ascii(name)[:20])
def test_artifact_names_stay_below_their_folder(name: str) -> None:
    """Nothing that climbs, nothing that a file system cannot hold."""
    with pytest.raises(UsageError):
        check_artifact(name)
