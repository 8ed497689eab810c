"""Secrets as an attacker, or a careless app, writes them; and harmless data that sounds like them.

No sample is a real key: they are put together here, so that scanners of this repository find none.
"""

from __future__ import annotations

import base64
from typing import Any

CANARY = "hunter2-9f8e7d6c"
"""Letters and digits, and no form that is known."""

_LETTERS = "aZ3kQ9xW7bN2mL5vC8dR4tY6uP1sE0gH"
_HEX = "0123456789abcdef0123456789abcdef"

FORMS = {
    "Google API key": "AIza" + "Sy0123456789abcdefghijklmnopqrstuvw",
    "Google access token": "ya29." + _LETTERS,
    "Google client secret": "GOCSPX-" + _LETTERS[:28],
    "Google refresh token": "1//0" + _LETTERS,
    "AWS": "AKIA" + "IOSFODNN7EXAMPLE",
    "AWS, temporary": "ASIA" + "Y34FZKBOKMUTVV7A",
    "OpenAI": "sk-" + _LETTERS,
    "OpenAI, project": "sk-proj-" + _LETTERS + "_" + _LETTERS,
    "Anthropic": "sk-ant-api03-" + _LETTERS,
    "OpenRouter": "sk-or-v1-" + _HEX,
    "Stripe": "sk_live_" + _LETTERS[:24],
    "Stripe, short": "sk_live_" + "4eC39HqL",
    "Stripe, restricted": "rk_test_" + _LETTERS[:24],
    "GitHub": "ghp_" + _LETTERS + "abcd",
    "GitHub, app": "ghs_" + _LETTERS + "abcd",
    "GitHub, fine-grained": "github_pat_" + "11ABCDEFG0" + _LETTERS,
    "GitLab": "glpat-" + _LETTERS[:20],
    "Slack": "xoxb-" + "123456789012-" + _LETTERS[:24],
    "Slack, app": "xapp-1-A0" + "1234567-" + _LETTERS,
    "Slack, webhook": "https://hooks.slack.com/services/T00000000/B00000000/" + _LETTERS[:24],
    "Discord, webhook": "https://discord.com/api/webhooks/123456789012345678/" + _LETTERS,
    "npm": "npm_" + _LETTERS + "abcd",
    "PyPI": "pypi-" + "AgEIcHlwaS5vcmc" + _LETTERS + _LETTERS,
    "Hugging Face": "hf_" + _LETTERS,
    "Groq": "gsk_" + _LETTERS,
    "SendGrid": "SG." + _LETTERS[:22] + "." + _LETTERS,
    "Twilio": "SK" + _HEX,
    "Mailgun": "key-" + _HEX,
    "DigitalOcean": "dop_v1_" + _HEX + _HEX,
    "Shopify": "shpat_" + _HEX,
    "Databricks": "dapi" + _HEX,
    "Telegram": "1234567890:AA" + "H" + _LETTERS,
    "Vault": "hvs." + _LETTERS,
    "Notion": "ntn_" + _LETTERS + _LETTERS,
    "Linear": "lin_api_" + _LETTERS + "abcdefgh",
    "Docker": "dckr_pat_" + _LETTERS,
    "age": "AGE-SECRET-KEY-1" + _HEX.upper() + _HEX.upper(),
    "JWT": "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0NTY3ODkwIn0." + _LETTERS,
    "PEM": "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADAN\n-----END PRIVATE KEY-----",
    "PEM, RSA": "-----BEGIN RSA PRIVATE KEY-----\nMIIEvQIBADAN\n-----END RSA PRIVATE KEY-----",
    "PEM, cut off": "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk",
}
"""Each is replaced as a whole, wherever it stands."""

_BASIC = base64.b64encode(b"ann:open-sesame").decode()

TEXTS = {
    "Bearer": (f"curl -H 'Authorization: Bearer {CANARY}' https://x", CANARY),
    "Bearer in prose": (f"then send bearer {CANARY}, please", CANARY),
    "Basic": (f"Authorization: Basic {_BASIC}", _BASIC),
    "URL": ("postgresql://app:s3cr3t-Pa55@db.internal/app", "s3cr3t-Pa55"),
    "URL, letters only": ("redis://:opensesame@cache:6379/0", "opensesame"),
    "URL with @": ("mysql://root:p@55word@db/x", "p@55word"),
    "query": (f"https://api.example.com/v1?api_key={CANARY}&page=2", CANARY),
    "query of a token": (f"https://x/cb?access_token={CANARY}#top", CANARY),
    "environment": (f"export DB_PASSWORD={CANARY}\nexport HOME=/root", CANARY),
    "environment, quoted": (f'OPENAI_APIKEY="{CANARY}"', CANARY),
    "YAML": (f"db:\n  host: x\n  password: {CANARY}\n", CANARY),
    "header": (f"x-goog-api-key: {CANARY}", CANARY),
    "cookie": (f"Cookie: sid={CANARY}; theme=dark", CANARY),
    "JSON in prose": (f'The service said {{"password": "{CANARY}"}} and hung up.', CANARY),
    "Python": (f"{{'client_secret': '{CANARY}', 'n': 1}}", CANARY),
    "code": (f'client = Client(api_key="{CANARY}")', CANARY),
    "Azure": ("AccountName=x;AccountKey=" + "Zm9vYmFyYmF6cXV4Zm9vYmFy==;Suffix=y", "Zm9vYmFyYmF6"),
}
"""A text, and what of it must not be in the log."""

NAMES = (
    "password Password PASSWORD db_password dbPassword PGPASSWORD MYSQL_PWD db_passwd userPasswd passphrase"
    " password:prod credentials:prod credentials credential client_secret clientSecret my_secret secrets"
    " secret api_key apiKey APIKey apikey OPENAI_APIKEY x-api-key x-goog-api-key X-Goog-Api-Key access_key"
    " aws_secret_access_key private_key privateKey signing_key access_token accessToken refresh_token"
    " auth_token authToken oauth_token bot_token Authorization authorization Proxy-Authorization"
    " x-authorization smtp_pass DB_PASS admin_pass user:password app:api_key api_key_production"
    " password_of_the_production_database_of_the_customer_portal_in_europe"
    " secret_of_the_production_database_of_the_customer_portal_in_europe_west"
    " service.account.password auth.basic.password passcode db.pwd token:access_token"
).split()
"""Whatever stands under such a name is a secret."""

OPAQUE_NAMES = (
    "token tokens user_token csrfToken token:prod x-token jwt bearer cookie Set-Cookie github_pat GITLAB_PAT"
    " pat ssh_key stripe_key Ocp-Apim-Subscription-Key auth x-auth session_token secret_value"
).split()
"""What stands under such a name is a secret if it looks like one."""

HARMLESS_NAMES = (
    "total_tokens tokenCount token_count max_tokens maxOutputTokens prompt_tokens promptTokenCount"
    " totalTokenCount thoughtsTokenCount cachedContentTokenCount next_page_token nextPageToken pageToken"
    " continuation_token sync_token stop_token eos_token tokenizer tokenize tokens_per_second token_limit"
    " password_policy_url passwordResetUrl password_min_length password_hint password_strength"
    " passwordless secretary secret_name secretName passport passenger compass author authors authored"
    " authority keyboard key keys primary_key foreign_key public_key publicKey sort_key cache_key"
    " idempotency_key keyword keywords monkey hotkey donkey cookies_eaten credential_type credentialKey"
    " credential_id authType auth_type author_name path pattern patient patio pass_rate passed bypass"
    " boarding_pass first_pass session_id sessionId invocationId thoughtSignature signature digest hash"
    " commit sha256 etag checksum requestedAuthConfigs token_type token_url tokenUri secret_santa"
).split()

HARMLESS_VALUES: tuple[Any, ...] = (
    "7f3a9c51d2e84b60f00dcafe1234567890abcdef",
    "550e8400-e29b-41d4-a716-446655440000",
    "adk-7f3a9c51-d2e8-4b60-a716-446655440000",
    "2026-11-18T01:57:26.123456+00:00",
    "2026-11-18",
    "123456789012345678901234567890",
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    "CiQBcsjafKZ_0-sk-9aAbCdEfGhIjKlMnOpQrStUvWxYz0123456789_-AIza012",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "https://example.com/a/b?page=2&sort=desc#top",
    "gemini-2.5-flash-preview-09-2025",
    "projects/my-project-1/locations/us-central1/reasoningEngines/1234567890",
    ["The", "cat", "sat", "COVID-19"],
    {"input": 12, "output": "30"},
    42,
    True,
    None,
)

HARMLESS_TEXTS = (
    "A token of my esteem: the password policy says 12 characters, see https://example.com/policy.",
    "Basic Python3 and basic HTML5/CSS3; the bearer of this letter is the standard bearer of bearer bonds.",
    "Key: value. Keys: A4, B7. Press Ctrl+C. Ratio 16:9, at 10:30, in room B12.",
    "total_tokens=1234, max_tokens: 8192, tokens_per_second=35.2, next_page_token=CAoQAA1234",
    "class Tokenizer:\n    def __init__(self, token: str, api_key: str | None = None) -> None:\n",
    'client = Client(api_key=os.environ["API_KEY"], password=getpass(), token=YOUR_TOKEN)',
    "password = input('Password: ')\nsecret = secrets.token_hex(16)",
    "postgresql://user:password@localhost/db, https://user:<password>@example.com",
    "sk-learn, sk-estimator-doc-link-and-more, task-force-of-the-united-nations, risk-adjusted-returns-2024",
    "git commit 7f3a9c51d2e84b60f00dcafe1234567890abcdef in feature/auth-token-refresh",
    "npm_config_registry, hf_model_name, ghp_ is the prefix, AKIA is another, eyJ begins a JWT",
    '{"type": "object", "properties": {"password": {"type": "string", "description": "of the user"}}}',
    '{"password": {"type": "string", "minLength": 12}}',
    "| model | tokens | cost |\n| --- | --- | --- |\n| gemini-2.5-pro | 12,345 | $0.02 |",
    "Author: Ann <ann@example.com>; Date: 2026-11-18T01:57:26Z; Passport: required; Pass rate: 98.2%.",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
    "Forgotten secret? The secret ingredient is love; secret: patience.",
    "The cookie: chocolate chip. Cookies: 12. Authorization: required. Token: none.",
)
