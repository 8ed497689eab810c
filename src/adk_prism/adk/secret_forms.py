"""Secrets that are known by their form, wherever they stand in a text: keys with a prefix, JWTs, PEM.

The forms are those that providers document, for the reason that scanners find them; which exist was compared
with the lists of rules of gitleaks and detect-secrets and with GitHub's list of secret scanning patterns. The
patterns are our own. A form needs a prefix that words do not have; what is only long and random (a hash, an
id, a signature, Base64) is none.

To add one: a line in `_PREFIXED`, with who gives such keys out, and a sample in
`tests/security/secret_samples.py`.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Literal

# ---------------------------------------------------------------------------
# Which names say that their value is a secret: `db_passwd`, `x-goog-api-key`, `credentials:prod`.
#
# A name is split into words (camelCase, snake_case, kebab-case, dots, colons; any length), and the
# words are looked up in tables. Three answers:
#
# - `SECRET`: whatever stands there is one (`password`, `client_secret`, `OPENAI_APIKEY`);
# - `IF_OPAQUE`: it is one if it looks like one (`token`, `cookie`, `github_pat`): see `looks_opaque`. So
#   `"tokens": ["The", "cat"]` is a sentence, and `"tokens": ["a1b2c3d4e5"]` is not;
# - `NO`: counts, sizes, paging (`total_tokens`, `next_page_token`), and what is about a secret and is
#   none
#   (`password_policy_url`, `secret_name`).
#
# Words are English. Decides names only: `secrets.py` decides what becomes of the values.

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
_SECRET_ENDINGS = tuple(
    "password passwords passwd passphrase apikey apikeys secretkey privatekey accesskey secret authtoken"
    " accesstoken refreshtoken idtoken apitoken".split()
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


# ---------------------------------------------------------------------------

REDACTED = "[redacted]"

_PREFIXED = (
    r"AIza[\w-]{35}",  # Google Cloud and Gemini, API keys
    r"ya29\.[\w-]{20,}",  # Google, OAuth access tokens
    r"GOCSPX-[\w-]{20,}",  # Google, OAuth client secrets
    r"1//0[\w-]{30,}",  # Google, OAuth refresh tokens
    r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}",  # AWS, access key ids
    r"sk-(?:proj|svcacct|admin|ant|or-v1|live|test|lf)-[\w-]{12,}",  # OpenAI, Anthropic, OpenRouter, Langfuse
    r"sk-[0-9A-Za-z]{20,}",  # OpenAI, DeepSeek and others
    r"[rs]k_(?:live|test|prod)_[0-9A-Za-z]{8,}",  # Stripe
    r"whsec_[0-9A-Za-z+/=]{20,}",  # Stripe, webhooks
    r"gh[opsur]_[0-9A-Za-z]{20,}",  # GitHub
    r"github_pat_\w{20,}",  # GitHub
    r"gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat|ffct)-[\w.-]{16,}",  # GitLab
    r"xox[abeoprs]-[0-9A-Za-z-]{11,}",  # Slack
    r"xapp-\d-[0-9A-Za-z-]{11,}",  # Slack
    r"npm_[0-9A-Za-z]{30,}",  # npm
    r"pypi-[\w-]{50,}",  # PyPI
    r"hf_[0-9A-Za-z]{20,}",  # Hugging Face
    r"gsk_[0-9A-Za-z]{20,}",  # Groq
    r"xai-[0-9A-Za-z]{20,}",  # xAI
    r"pplx-[0-9A-Za-z]{20,}",  # Perplexity
    r"tvly-[\w-]{16,}",  # Tavily
    r"r8_[0-9A-Za-z]{30,}",  # Replicate
    r"pcsk_\w{20,}",  # Pinecone
    r"lsv2_(?:pt|sk)_\w{20,}",  # LangSmith
    r"SG\.[\w-]{16,}\.[\w-]{16,}",  # SendGrid
    r"SK[0-9a-f]{32}",  # Twilio
    r"key-[0-9a-f]{32}",  # Mailgun
    r"do[opr]_v1_[0-9a-f]{32,}",  # DigitalOcean
    r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}",  # Shopify
    r"dapi[0-9a-f]{32}",  # Databricks
    r"sq0(?:atp|csp)-[\w-]{22,}",  # Square
    r"\d{8,10}:AA[\w-]{33}",  # Telegram
    r"hv[sbr]\.[\w-]{20,}",  # HashiCorp Vault
    r"lin_api_[0-9A-Za-z]{30,}",  # Linear
    r"ntn_[0-9A-Za-z]{40,}",  # Notion
    r"fig[dou]_[\w-]{30,}",  # Figma
    r"PMAK-[0-9a-f-]{40,}",  # Postman
    r"NRAK-[0-9A-Z]{27}",  # New Relic
    r"sntry[su]_[\w=+/-]{30,}",  # Sentry
    r"gl(?:sa|c)_[\w=+/]{30,}",  # Grafana
    r"dckr_(?:pat|oat)_[\w-]{20,}",  # Docker
    r"sbp_[0-9a-f]{40}",  # Supabase
    r"pscale_(?:tkn|pw|oauth)_[\w.-]{30,}",  # PlanetScale
    r"ATATT3x[\w=-]{30,}",  # Atlassian
    r"ATBB[0-9A-Za-z]{24,}",  # Bitbucket
    r"AGE-SECRET-KEY-1[0-9A-Z]{40,}",  # age
    r"eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}",  # JWT (RFC 7519): `{"` in Base64, three parts
)
_KEY = re.compile(rf"(?<![\w-])(?:{'|'.join(_PREFIXED)})(?![\w-])", re.ASCII)
"""Whole words only: Base64 may contain any prefix in its midst."""

_ADDRESS = re.compile(
    r"https://(?:hooks\.slack\.com/(?:services|workflows|triggers)|(?:\w+\.)?discord(?:app)?\.com/api/webhooks"
    r"|[\w.-]+\.webhook\.office\.com/webhookb2)/[\w/@.-]{12,}",
    re.ASCII,
)
"""Addresses that are keys: who knows one can post."""

_PEM = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]{0,60}-----|\Z)",
    re.DOTALL,
)
_IN_URL = re.compile(
    r"""(?P<before>\b[A-Za-z][A-Za-z0-9+.-]{0,40}://[^\s/:@"'<>]{0,200}:)(?P<secret>[^\s/"'<>]{1,2000})(?=@)"""
)
"""The password of `scheme://user:password@host`."""
_NO_PASSWORDS = frozenset("password pass passwd pwd secret user username".split())
"""What documentation writes there."""
_BEARER = re.compile(r"(?i:(?P<before>\bbearer[ \t]+))(?P<secret>[\w.~+/-]{6,}=*)", re.ASCII)
_BASIC = re.compile(r"(?i:(?P<before>\bbasic[ \t]+))(?P<secret>[0-9A-Za-z+/_-]{6,}={0,2})")
"""HTTP (RFC 7617, RFC 6750)."""
_IN_DSN = re.compile(
    r"""(?i)(?P<before>\b(?:AccountKey|SharedAccessKey|SharedAccessSignature)=)(?P<secret>[^;\s"']{8,})"""
)
"""Connection strings of Azure."""

_QUOTED = re.compile(
    r"""(?P<before>(?P<q>\\?["'])(?P<name>[^"'\\\s]{2,120})(?P=q)\s*[:=,]\s*(?:\w{1,2}(?=["']))?(?P<r>\\?["']))"""
    r"""(?P<secret>[^"'\\\n]{6,4000})(?P=r)"""
)
"""`"password": "…"` in a text that is not JSON as a whole: a log line, the text of a dict, code."""
_ASSIGNED = re.compile(
    r"""(?P<before>(?<![\w.:-])(?P<name>[A-Za-z_][\w.:-]{1,120}?)[ \t]?(?:=|:(?!/))[ \t]?["'`]?)"""
    r"""(?P<secret>[^\s"'`&;,<>(){}\[\]]{6,4000})"""
)
"""`PASSWORD=…` and `api_key: …`: lines of a file of settings, parts of a URL's query, HTTP headers."""

_RUN = re.compile(r"[\w./+~=:@-]{16}", re.ASCII)
"""Every prefixed form and address has so many of these characters in a row (a test tries samples of each)."""
_SHORTEST = 7
"""Characters of the shortest text with a secret in it, `a://:b@`; one without a sign below has 12."""
_SIGN = re.compile(r"[=:,\"']")
_ASSIGNMENT = re.compile(r"""://|[=:,][ \t]?\S{6}|["']\s*[:=,]""")
_WORD = re.compile(r"PRIVATE KEY|(?i:bearer|basic)")

SHORTEST_BLOB = 4096
_BLOB = re.compile(r"[\w+/=-]+", re.ASCII)


def may_hold_forms(text: str) -> bool:
    """Return whether a text could hold a secret by its form. False is certain; True costs a search."""
    size = len(text)
    if size < _SHORTEST:
        return False
    if _SIGN.search(text) is not None and _ASSIGNMENT.search(text) is not None:
        return True
    if size < 12:
        return False
    return _WORD.search(text) is not None or _RUN.search(text) is not None


def without_forms(text: str) -> str:
    """Return a text without what has the form of a secret: the same object, if there is nothing.

    A long text of nothing but Base64 is returned as it is: a second of audio is 64 KB of it.
    """
    if not may_hold_forms(text):
        return text
    if len(text) >= SHORTEST_BLOB and _BLOB.fullmatch(text):
        return text
    for pattern, replaced in _REPLACED:
        if pattern.search(text) is not None:
            found = pattern.sub(replaced, text)
            text = text if found == text else found
    return text


def crossing_form(text: str, at: int) -> int:
    """Return where the form begins that stands across a place in a text; the place itself, if none does."""
    if may_hold_forms(text):
        for pattern, replaced in _REPLACED:
            for match in pattern.finditer(text):
                if match.start() < at < match.end() and replaced(match) != match[0]:
                    return crossing_form(text, match.start())
    return at


def _whole(_: re.Match[str]) -> str:
    return REDACTED


def _after(match: re.Match[str]) -> str:
    return match["before"] + REDACTED


def _if_password(match: re.Match[str]) -> str:
    secret = match["secret"]
    is_example = secret.lower() in _NO_PASSWORDS or is_placeholder(secret)
    return match[0] if is_example else _after(match)


def _if_basic(match: re.Match[str]) -> str:
    """Replace the credentials of HTTP's Basic scheme: `user:password` in Base64. Any other word stays."""
    body = match["secret"].rstrip("=")
    body = body.replace("+", "-").replace("/", "_") + "=" * (-len(body) % 4)
    try:
        pair = base64.urlsafe_b64decode(body).decode("ascii")
    except ValueError:
        return match[0]
    return _after(match) if ":" in pair and pair.isprintable() else match[0]


def _if_opaque(match: re.Match[str]) -> str:
    return _after(match) if looks_opaque(match["secret"]) else match[0]


def _if_named(match: re.Match[str]) -> str:
    """Replace the value of an assignment to a secret name; in a text only if it looks like a secret."""
    secret = match["secret"]
    if verdict(match["name"]) == NO or REDACTED in secret or not looks_opaque(secret):
        return match[0]
    begin, end = match.start("secret") - match.start(), match.end("secret") - match.start()
    return match[0][:begin] + REDACTED + match[0][end:]


_REPLACED: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    (_PEM, _whole),
    (_ADDRESS, _whole),
    (_KEY, _whole),
    (_IN_DSN, _after),
    (_IN_URL, _if_password),
    (_BEARER, _if_opaque),
    (_BASIC, _if_basic),
    (_QUOTED, _if_named),
    (_ASSIGNED, _if_named),
)
