"""Under which heading of `serve --help` each setting stands; every setting is in one group."""

from __future__ import annotations

from adk_prism.cli import words

GROUPS: dict[str, tuple[str, ...]] = {
    words.SERVER: (
        "host", "port", "root_path", "public_url", "workers", "worker_port", "reload", "a2a",
        "auto_create_session", "keep_alive", "stalled", "grace",
    ),
    words.STORAGE: (
        "data_dir", "log", "sessions", "artifacts", "memory", "local_storage", "retention_age",
        "retention_size", "retention_sessions", "files_from", "files_limit", "files_emulator",
    ),
    words.MODELS: ("default_llm_model", "max_llm_calls", "model_calls", "prices"),
    words.AGENTS: (
        "chat_busy", "adk_busy", "tool_threads", "tool_timeout", "in_doubt", "in_doubt_tool",
        "lease",
        "client_state", "extra_plugins", "enable_features", "disable_features",
    ),
    words.VOICE: (
        "live_busy", "live_grace", "live_sound", "live_sound_limit", "live_shortcut",
        "approval_timeout", "client_tool_timeout",
    ),
    words.REMOTE: (
        "remote", "remote_app", "remote_header", "remote_token_command", "remote_dialect",
        "remote_idle", "remote_total", "remote_event_limit",
    ),
    words.SECURITY: (
        "tokens", "oidc_issuer", "oidc_audience", "oidc_jwks", "oidc_user_claim", "oidc_algorithm",
        "proxy_user_header", "trusted_proxy", "authenticate", "admin", "allow_origin", "allow_host",
        "dev", "insecure", "redact", "reveal",
    ),
    words.LIMITS: (
        "body_limit", "history_limit", "upload_limit", "limit_runs", "limit_requests",
        "limit_sockets", "limit_rate", "limit_bytes", "limit_run_time", "limit_unwatched",
    ),
    words.LOGGING: ("log_level", "log_format", "access_log", "audit", "errors", "otlp"),
}  # fmt: skip
"""In the order in which someone who sets up a server needs them."""
