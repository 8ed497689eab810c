"""Recall and precision of the redaction: what must not be in the log, and what must stay as it is."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.security.secret_samples import (
    CANARY,
    FORMS,
    HARMLESS_NAMES,
    HARMLESS_TEXTS,
    HARMLESS_VALUES,
    NAMES,
    OPAQUE_NAMES,
    TEXTS,
)

from adk_prism.adk.secret_forms import (
    _PREFIXED,
    _REPLACED,
    NO,
    REDACTED,
    SECRET,
    may_hold_forms,
    verdict,
    without_forms,
)
from adk_prism.adk.secrets import Secrets, secret_values
from adk_prism.adk.stream_redaction import RunRedaction

Json = dict[str, Any]
RECORDINGS = sorted((Path(__file__).parent.parent / "recordings").rglob("*.jsonl"))


def event(**fields: Any) -> Json:
    return {"author": "a", "invocationId": "i", "id": "1", "timestamp": 1.5, **fields}


def called(args: Any) -> Json:
    part = {"functionCall": {"id": "c", "name": "f", "args": args}}
    return event(content={"role": "model", "parts": [part]})


def answered(response: Any) -> Json:
    part = {"functionResponse": {"id": "c", "name": "f", "response": response}}
    return event(content={"role": "user", "parts": [part]})


def text(said: str, **fields: Any) -> Json:
    return event(content={"role": "model", "parts": [{"text": said}]}, **fields)


PLACES = {
    "arguments": called,
    "a result": answered,
    "state": lambda value: event(actions={"stateDelta": {"deep": value}}),
    "a partial event": lambda value: answered(value) | {"partial": True},
    "a result that says partial": lambda value: answered({"partial": True, "deep": value}),
    "metadata": lambda value: event(customMetadata={"deep": [value]}),
    "JSON in a string": lambda value: answered({"result": json.dumps(value)}),
    "JSON in JSON in a string": lambda value: answered({"r": json.dumps({"b": json.dumps(value)})}),
}


def stored(value: Json, *known: str) -> str:
    """Return what a log would keep of an event, as text without escapes."""
    out = RunRedaction(Secrets(known)).feed("AgentEvent", msgspec.json.encode(value))
    return "\n".join(json.dumps(json.loads(data), ensure_ascii=False) for _, data in out)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", [*NAMES, *OPAQUE_NAMES])
def test_what_a_name_calls_secret_is_redacted(name: str, place: str) -> None:
    """As a text, in a list, in an object, in pairs; in every place that an event has."""
    values: list[Any] = [
        {name: CANARY},
        {name: [CANARY, CANARY + "x"]},
        {name: {"prod": CANARY}},
        {"name": name, "value": CANARY},
        {"key": name, "value": CANARY, "enabled": True},
        [[name, CANARY]],
    ]
    for value in values:
        kept = stored(PLACES[place](value))
        assert CANARY not in kept, value
        assert REDACTED in kept


@pytest.mark.parametrize("name", NAMES)
def test_a_secret_name_needs_no_secret_look(name: str) -> None:
    """A password can be a word."""
    assert verdict(name) == SECRET
    kept = stored(called({name: "swordfish", "other": "swordfish too"}))
    assert "swordfish too" in kept
    assert '"swordfish"' not in kept


@pytest.mark.parametrize("name", FORMS)
def test_what_has_the_form_of_a_secret_is_redacted(name: str) -> None:
    """By itself, in a sentence, in a URL, as a key, in one delta."""
    secret = FORMS[name]
    for said in (
        secret,
        f"use {secret}.",
        f"({secret})",
        f"see https://x/?q={secret}",
        f"k={secret}",
    ):
        for value in (text(said), text(said, partial=True), answered({"r": [said]})):
            kept = stored(value)
            assert json.dumps(secret)[1:-1] not in kept
            assert secret.replace("\n", "\\n") not in kept
            assert REDACTED in kept


@pytest.mark.parametrize("name", TEXTS)
def test_secrets_in_texts_are_redacted(name: str) -> None:
    """What stands around them stays."""
    said, secret = TEXTS[name]
    for value in (text(said), text(said, partial=True), answered({"result": said})):
        assert secret not in stored(value)
    assert without_forms(said)[:3] == said[:3]


KNOWN = {
    "in a text": text(f"it is {CANARY}!"),
    "in a delta": text(f"it is {CANARY}!", partial=True),
    "in a key": event(actions={"stateDelta": {f"of {CANARY}": 1}}),
    "in a name": called({"q": {"name": "x", "value": f"<{CANARY}>"}}),
    "inside another word": text(f"abc{CANARY}def"),
    "in an id": event(content={"parts": [{"functionCall": {"id": CANARY, "name": "f"}}]}),
    "as an event's id": text("x", partial=True) | {"id": CANARY},
}


@pytest.mark.parametrize("name", KNOWN)
def test_known_values_are_found_anywhere(name: str) -> None:
    """Whatever their form, and whatever the name around them."""
    assert CANARY not in stored(KNOWN[name], CANARY)


def test_known_values_of_the_environment() -> None:
    """By the names of variables, and inside URLs, connection strings and JSON."""
    variables = {
        "OPENAI_APIKEY": "value-number-1",
        "PGPASSWORD": "value-number-2",
        "SMTP_PASS": "value-number-3",
        "GITHUB_PAT": "value-number-4",
        "DATABASE_URL": "postgresql://me:p%40ss-word-5@host/db",
        "REDIS": "redis://:value-number-6@host/0",
        "ODBC": "Server=db;Uid=me;Pwd=value-number-7;",
        "SLASHED_SECRET": "/begins+with/a-slash=8",
        "SERVICE_ACCOUNT": json.dumps({"type": "x", "private_key": "value-number-9"}),
        "SIGNING_KEY": "value-number-10",
        "MY_TOKEN": "value-number-11",
        "GOOGLE_APPLICATION_CREDENTIALS": "/home/me/key.json",
        "PWD": "/srv/app-with-a-long-name",
        "KEYBOARD": "qwertyuiopasdfgh",
        "PATH": "/usr/local/bin:/usr/bin",
        "HOME": "/root",
    }
    found = secret_values(
        variables, ["https://u:value-number-12@x/?api_key=value-number-13", "http://["]
    )
    expected = {f"value-number-{n}" for n in (1, 2, 3, 4, 6, 7, 9, 10, 11, 12, 13)}
    assert expected | {"p@ss-word-5", "p%40ss-word-5", "/begins+with/a-slash=8"} <= {*found}
    assert not {*found} & {
        variables[n] for n in ("GOOGLE_APPLICATION_CREDENTIALS", "PWD", "KEYBOARD", "PATH")
    }


# ------------------------------------------------------------------------------ precision


@pytest.mark.parametrize("name", HARMLESS_NAMES)
def test_names_that_only_sound_secret_are_not(name: str) -> None:
    """Counts, paging, what is about a secret, words with a secret inside."""
    assert verdict(name) == NO
    assert verdict(name, in_state=True) == NO
    secrets = Secrets(["a-known-value-1"])
    for value in HARMLESS_VALUES:
        for place in PLACES.values():
            document = place({name: value, "other": value})
            assert secrets.value(document) is document, (name, value)


@pytest.mark.parametrize("said", HARMLESS_TEXTS)
def test_harmless_texts_stay(said: str) -> None:
    """As a message, as a delta, as a result."""
    secrets = Secrets(["a-known-value-1"])
    for document in (text(said), text(said, partial=True), answered({"result": said})):
        assert secrets.value(document) is document


def test_every_recording_stays_as_it_is() -> None:
    """Real runs of every shape: usage, signatures, media, credentials that ADK has redacted."""
    secrets = Secrets(["a-known-value-1"])
    count = 0
    for file in RECORDINGS:
        for line in file.read_bytes().splitlines():
            if line.strip():
                count += 1
                assert secrets.json(line) is line, (file.name, line[:300])
    assert count > 1000


def harmless_run(number: int) -> list[Json]:
    """Return the events of a run that an app without secrets could make."""
    chance = random.Random(number)

    def value(depth: int = 0) -> Any:
        if depth < 3 and chance.random() < 0.4:
            names = chance.sample(HARMLESS_NAMES, 3)
            return {name: value(depth + 1) for name in names}
        return chance.choice([*HARMLESS_VALUES, *HARMLESS_TEXTS, chance.randint(0, 10**9)])

    words = " ".join(chance.choice(HARMLESS_TEXTS) for _ in range(3))
    cuts = sorted(chance.sample(range(len(words)), 12))
    pieces = [words[a:b] for a, b in zip([0, *cuts], [*cuts, len(words)], strict=True)]
    usage = {
        "promptTokenCount": number,
        "totalTokenCount": 3,
        "promptTokensDetails": [{"modality": "TEXT"}],
    }
    return [
        called({"q": value(), "tokens": ["one", "two"], "max_tokens": "512"}),
        answered({"result": value(), "usage": {"total_tokens": "77"}}),
        event(actions={"stateDelta": {name: value() for name in chance.sample(HARMLESS_NAMES, 4)}}),
        *(text(piece, partial=True, usageMetadata=usage) for piece in pieces if piece),
        text(words, usageMetadata=usage),
    ]


def test_a_thousand_harmless_runs_stay_as_they_are() -> None:
    """Not one event is changed, held back or added."""
    secrets = Secrets(["a-known-value-1", "~another/known+value"])
    for number in range(1000):
        redaction = RunRedaction(secrets)
        for each in harmless_run(number):
            data = msgspec.json.encode(each)
            out = redaction.feed("AgentEvent", data)
            if each.get("partial"):
                continue  # the end of one may be the beginning of a known value: see the streams
            assert out[-1] == ("AgentEvent", data), (number, each)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(_PREFIXED).flatmap(lambda form: st.from_regex(form, fullmatch=True)))
def test_the_cheap_look_at_a_text_misses_no_form(secret: str) -> None:
    """Whatever matches a form is looked at; it is then replaced."""
    if secret.isascii():
        assert may_hold_forms(f"x {secret} y")


_SIGNS = """a Zz 0 1 - _ = : , " ' ` :// @ / . bearer Basic password api_key token s3cr3t AKIA ü""".split()
_PIECES = st.sampled_from(
    [*_SIGNS, " ", "\n", "YW5uOm9wZW4=", "-----BEGIN ", "PRIVATE KEY-----", "s3cr3t-value"]
)


@settings(max_examples=1000, deadline=None)
@given(st.lists(_PIECES, max_size=12).map("".join))
def test_the_cheap_look_at_a_text_equals_the_search(said: str) -> None:
    """Where it says that there is nothing, no pattern finds something."""
    if not may_hold_forms(said):
        for pattern, replaced in _REPLACED:
            assert pattern.sub(replaced, said) == said
