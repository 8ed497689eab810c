"""What to do about a connection that does not work as it should, in the words of the usual proxies."""

from __future__ import annotations

from typing import Any

from adk_prism.conform.exchange import Answer
from adk_prism.conform.stream_checks import read_json

BUFFERING = (
    "nginx: proxy_buffering off; and no proxy_ignore_headers X-Accel-Buffering. Others: switch the "
    "buffering of responses off for /api and /run_sse."
)
COMPRESSION = (
    "Switch compression off for text/event-stream (nginx: take it out of gzip_types; Express: a filter of "
    "compression()), since events wait until a block is full."
)
TIMEOUTS = "nginx: proxy_read_timeout 3600s; load balancers: raise the idle timeout."
SOCKETS = (
    "nginx: proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; "
    'proxy_set_header Connection "upgrade";'
)


def json_object(answer: Answer) -> dict[str, Any]:
    """Return the object that an answer is; empty if it is none."""
    found = read_json(answer.body.decode(errors="replace"))
    return found if isinstance(found, dict) else {}


def unreached(answer: Answer) -> tuple[str, str] | None:
    """Return why an answer is not the server's own, and what to do."""
    said = f"GET /health gets HTTP {answer.status}"
    if 300 <= answer.status < 400:
        where = answer.headers.get("location", "nowhere").removesuffix("/health")
        return f"{said}, a redirect", f"Use the address that it leads to: {where}"
    if answer.status in (502, 504):
        return (
            f"{said} from a proxy",
            "The proxy does not reach the server: check its address there.",
        )
    if answer.status == 404:
        return (
            f"{said}: there is no adk-prism at this path",
            "Give the path prefix, if there is one. A proxy has to take it off (nginx: location /prism/ "
            "{ proxy_pass http://127.0.0.1:8000/; }, with both slashes).",
        )
    status = json_object(answer).get("status")
    if status == "draining":
        return f"{said}: the server is going down", "Wait for the one that takes its place."
    if status is None:
        return f"{said}, which is not the server's: {answer.text[:120]}", "Check address and proxy."
    return None
