"""Which names say that their value is a secret: `db_passwd`, `x-goog-api-key`, `credentials:prod`.

A name is split into words (camelCase, snake_case, kebab-case, dots, colons; any length), and the words are
looked up in tables. Three answers:

- `SECRET`: whatever stands there is one (`password`, `client_secret`, `OPENAI_APIKEY`);
- `IF_OPAQUE`: it is one if it looks like one (`token`, `cookie`, `github_pat`): see `looks_opaque`. So
  `"tokens": ["The", "cat"]` is a sentence, and `"tokens": ["a1b2c3d4e5"]` is not;
- `NO`: counts, sizes, paging (`total_tokens`, `next_page_token`), and what is about a secret and is none
  (`password_policy_url`, `secret_name`).

Words are English. Decides names only: `secrets.py` decides what becomes of the values.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

Verdict = Literal["secret", "if opaque", "no"]
SECRET: Verdict = "secret"
IF_OPAQUE: Verdict = "if opaque"
NO: Verdict = "no"

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_LONGEST_CACHED = 80
"""Characters of a name whose verdict is kept: an identifier of somebody's data; keys that are ids do not come
again, and longer ones could fill the memory."""

_SECRET_WORDS = frozenset(
    "password passwords passwd passphrase passphrases passcode passcodes passwort kennwort pwd pw"
    " secret secrets credential credentials creds".split()
)
_SECRET_ENDINGS = (
    *(
        "password",
        "passwords",
        "passwd",
        "passphrase",
        "apikey",
        "apikeys",
        "secretkey",
        "privatekey",
    ),
    *(
        "accesskey",
        "secret",
        "authtoken",
        "accesstoken",
        "refreshtoken",
        "idtoken",
        "apitoken",
    ),
)
"""Of words that were written together: `PGPASSWORD`, `openaiapikey`."""

_ABOUT = frozenset(
    "url uri link links endpoint href page policy policies length len size min max minimum maximum"
    " strength score hint hints field fields label labels placeholder type types kind reset expiry"
    " expires expired expiration expire at in on enabled disabled required requires valid validity"
    " invalid status rule rules requirement requirements help message messages error errors prompt title"
    " description format regex pattern version algorithm algo created updated changed modified rotation"
    " rotated age ttl date time id ids path paths file files filename dir directory folder name names"
    " scope scopes manager provider service source ref reference used usage limit limits budget exists"
    " present missing count counts number total policyurl ingredient ingredients santa garden recipe"
    " sauce level agent menu".split()
)
"""Last words of a name that is about a secret: `password_reset_url`, `secretName`."""

_KEYS = frozenset("key keys".split())
_KEY_OF = frozenset("api access private secret signing encryption master".split())
"""`api_key` and its like are secrets, whatever they look like."""
_KEY_OF_SOMEBODY = frozenset(
    "ssh gpg pgp auth service subscription account storage shared admin deploy webhook hmac root session"
    " openai anthropic claude gemini google maps azure aws stripe github gitlab slack twilio sendgrid mistral"
    " cohere groq huggingface pinecone tavily serpapi license decryption".split()
)

_TOKENS = frozenset("token tokens".split())
_TOKEN_OF = frozenset("access refresh auth oauth api bearer bot secret personal".split())
_NO_TOKEN = frozenset(
    "page next previous prev continuation continue cursor sync stop start end pad eos bos cls sep unk mask"
    " first last max min num total input output prompt completion reasoning cached thought candidates"
    " special vocab per new".split()
)
"""Words before a `token` of paging, or of a model's text. A paging token names a position in a list that
the caller can already read, and a client needs it to go on."""
_TOKENS_ABOUT = _ABOUT | frozenset(
    "s details detail estimate estimated rate cost price window length ids id per second minute sec".split()
)

_PASS_OF = frozenset(
    "db database smtp imap mail email user admin root ftp sftp ssh sudo login redis mysql pg postgres"
    " postgresql mongo mongodb rabbit rabbitmq amqp mqtt ldap http basic proxy wifi vnc rdp jdbc odbc account"
    " svc service registry docker api app".split()
)
_HEADERS = frozenset("proxy x http https request".split())
"""Words before `authorization` in the name of a header."""
_OPAQUE_WORDS = frozenset("authorization auth cookie cookies pass pat pats jwt bearer".split())
_IN_STATE = frozenset("token cookie authorization".split())
"""In session state these are never words or counts: apps keep what they were given there."""


def verdict(name: str, *, in_state: bool = False) -> Verdict:
    """Return what a name says about its value; `in_state`: the name is a key of session state."""
    if len(name) > _LONGEST_CACHED or not name.isidentifier():
        return _verdict(name, in_state)
    return _cached(name, in_state)


def _verdict(name: str, in_state: bool) -> Verdict:
    words = [word.lower() for word in _WORDS.findall(name)]
    if not words:
        return NO
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last in _KEYS:
        return _of_key(words, before)
    if last in _TOKENS:
        return _of_token(last, before, in_state)
    for index, word in enumerate(words):
        if word in _SECRET_WORDS or word.endswith(_SECRET_ENDINGS):
            return _of_secret(words, index)
    if last.endswith("pass") and last[:-4] in _PASS_OF:
        return SECRET
    if last == "pass" and before:
        return SECRET if before in _PASS_OF else NO  # `boarding_pass`, `first_pass`
    if last in _OPAQUE_WORDS:
        return _of_header(last, before, in_state)
    return _of_qualified(words)


def _of_secret(words: list[str], index: int) -> Verdict:
    """Return the verdict on a name with a secret word at a place in it."""
    rest = words[index + 1 :]
    if not rest:
        # `has_password`, `is_secret`: a switch, and its text is one of few words.
        return IF_OPAQUE if words[0] in ("has", "is", "use", "needs") and index else SECRET
    if rest[-1] in _ABOUT:
        return NO
    return IF_OPAQUE if words[index] in ("secret", "secrets") and len(rest) == 1 else SECRET


def _of_key(words: list[str], before: str) -> Verdict:
    if before in _KEY_OF or any(word.endswith(_SECRET_ENDINGS) for word in words[:-1]):
        return SECRET
    # `credentialKey` is ADK's name for a place, not for a key.
    return IF_OPAQUE if before in _KEY_OF_SOMEBODY else NO


def _of_token(last: str, before: str, in_state: bool) -> Verdict:
    if before in _NO_TOKEN:
        return NO
    if last == "token" and (before in _TOKEN_OF or in_state):
        return SECRET
    return IF_OPAQUE


def _of_header(last: str, before: str, in_state: bool) -> Verdict:
    if last == "authorization" and (not before or before in _HEADERS):
        return SECRET
    if in_state and (last in _IN_STATE or before == "set"):
        return SECRET
    return IF_OPAQUE


def _of_qualified(words: list[str]) -> Verdict:
    """Return the verdict on `token:prod`, `api_key_production`: a secret name, and whose it is."""
    if words[-1] in _TOKENS_ABOUT or (words[-1].isdigit() and len(words) == 1):
        return NO
    for index, word in enumerate(words[:-1]):
        before = words[index - 1] if index else ""
        if word in _KEYS and before in _KEY_OF:
            return SECRET
        if word in _TOKENS and before not in _NO_TOKEN:
            return IF_OPAQUE
        if word == "authorization" and not before:
            return IF_OPAQUE
        if word == "auth" and words[index + 1 :] in (["string"], ["header"], ["value"]):
            return IF_OPAQUE
        if word == "pat" or (word == "pass" and before in _PASS_OF):
            return IF_OPAQUE
    return NO


_cached = lru_cache(512)(_verdict)


# --------------------------------------------------------------------------- values

_SCHEME = re.compile(r"(?i)(?:bearer|basic|token|apikey|digest)\s+")
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[T ][\d:.,]+(?:Z|[+-]\d\d:?\d\d)?)?")
_PLACEHOLDER = re.compile(
    r"[<{$\[%].*[>}\])%]|[$%]\w+|\.{3,}|\*+|x{3,}|(?i:your|my|example|test)[-_].*"
)
_PATH = re.compile(r"(?:[a-z][a-z0-9+.-]*://|~?/|\.{1,2}/|[A-Za-z]:\\)\S*")
_COOKIE = re.compile(r"[\s;,=]+")
SHORTEST_OPAQUE = 6
_LONG = 20


def is_placeholder(text: str) -> bool:
    """Return whether a text stands for a value that a reader is to put there: `<key>`, `your-key`."""
    return _PLACEHOLDER.fullmatch(text) is not None


def looks_opaque(text: str) -> bool:
    """Return whether a text looks like a key, not like words: no spaces, and letters with digits, or long.

    Dates, addresses, paths and placeholders do not.
    """
    scheme = _SCHEME.match(text)
    body = text[scheme.end() :] if scheme else text.strip()
    if len(body) < SHORTEST_OPAQUE:
        return False
    if any(map(str.isspace, body)):
        # The value of a cookie, with its attributes.
        return "=" in body and any(map(looks_opaque, _COOKIE.split(body)))
    if _DATE.fullmatch(body) or is_placeholder(body) or _PATH.fullmatch(body):
        return False
    has_digit, has_letter = any(map(str.isdigit, body)), any(map(str.isalpha, body))
    if has_digit and has_letter:
        return True
    return has_letter and len(body) >= _LONG and body != body.lower() and body != body.upper()
