"""Every error of adk-prism, by whose fault it is.

    PrismError
    ├── UsageError            the caller asked for something that cannot be
    │   ├── NotFound          … there is no such app, session, run, artifact (404)
    │   ├── Conflict          … not now: busy session, answered call, taken name (409)
    │   │   ├── StaleConversation … the client does not show the latest messages
    │   │   ├── QuestionsOpen … the conversation waits for answers first
    │   │   └── Expired       … that question is not open (any more)
    │   ├── Unprocessable     … understood and refused, e.g. a reused key with another body (422)
    │   ├── BadPosition       … not a position of this stream (400)
    │   ├── Gone              … it was there and has been trimmed (410)
    │   ├── TooLarge          … over a stated limit (413)
    │   ├── Unauthorized      … by a caller who does not say who it is (401)
    │   ├── Forbidden         … not from this origin, not this state scope (403)
    │   ├── TooMany           … more at a time than one caller may have (429)
    │   ├── NotBuilt          … a named feature that this version does not have (501)
    │   └── NotSupported      … a feature that this one app does not have, with the reason (501)
    ├── SourceError           what came from upstream cannot be read
    │   ├── AppFailed         … an agent folder that does not import
    │   ├── RemoteFailed      … another ADK server that does not answer, or not as one (502)
    │   ├── NotAnEvent        … an agent that yields something else than events
    │   └── CallNotRecorded   … a run that is run again made a call that its recording has no answer to
    │       └── FailedAsRecorded  … or a call that failed in the recording: the run fails with it again
    ├── LogError              the run log could not keep or give its entries
    │   ├── LogUnavailable    … for too long; what it was given is stored once it is back
    │   └── Fenced            … another owner has taken the run over
    ├── NoSessions            the sessions cannot be read or written now (503)
    ├── NoIdentity            who the caller is cannot be found out now (503)
    ├── AppLoading            an app that is still being imported; ask again later (503)
    ├── Busy                  the server has too much to do; ask again in a moment (503)
    ├── ServerCancelled       agent code has cancelled the server's own tasks: it has to be started again
    ├── Draining              the server is going down; ask again elsewhere (503)
    └── ProtocolError         we were about to emit something illegal: a bug

The message says what came, what was expected and what to do. It is safe to show to a client: no
path, no stack, no secret. `status` is a hint for a shell that speaks HTTP; the core never uses it.
"""

from __future__ import annotations

import secrets
import traceback
from collections.abc import Callable
from typing import ClassVar

from msgspec import Struct


class PrismError(Exception):
    """Base of all our errors; never raised itself."""

    status: ClassVar[int] = 500
    title: ClassVar[str] = "Internal error"

    def __init__(self, detail: str, *, correlation: str = "") -> None:
        super().__init__(detail)
        self.detail = detail
        self.correlation = correlation
        """Of the operator's line, where one has been written already."""

    @property
    def kind(self) -> str:
        """The error's stable name on the wire, e.g. `bad-position`."""
        name = type(self).__name__
        return "".join(f"-{c.lower()}" if c.isupper() else c for c in name).lstrip("-")


class UsageError(PrismError):
    status = 400
    title = "Bad request"


class NotFound(UsageError):
    status = 404
    title = "Not found"


class Conflict(UsageError):
    status = 409
    title = "Conflict"


class StaleConversation(Conflict):
    title = "The conversation has continued"


class QuestionsOpen(Conflict):
    title = "Questions are open"


class Expired(Conflict):
    title = "Expired"


class Unprocessable(UsageError):
    status = 422
    title = "Unprocessable"


class BadPosition(UsageError):
    status = 400
    title = "Unknown position"


class Gone(UsageError):
    status = 410
    title = "Gone"


class TooLarge(UsageError):
    status = 413
    title = "Too large"


class Unauthorized(UsageError):
    status = 401
    title = "Unauthorized"

    def __init__(self, detail: str, challenge: str = "") -> None:
        super().__init__(detail)
        self.challenge = challenge
        """How the caller is asked to say who it is; empty: by a bearer token."""


class Forbidden(UsageError):
    status = 403
    title = "Forbidden"


class TooMany(UsageError):
    status = 429
    title = "Too many requests"

    def __init__(self, detail: str, retry_after: float = 1.0) -> None:
        super().__init__(detail)
        self.retry_after = retry_after
        """Seconds after which it is worth asking again."""


class NotBuilt(UsageError):
    status = 501
    title = "Not in this version"


class NotSupported(UsageError):
    status = 501
    title = "Not supported by this app"


class SourceError(PrismError):
    status = 502
    title = "Unreadable source"


class AppFailed(SourceError):
    status = 500
    title = "The app could not be loaded"


class RemoteFailed(SourceError):
    title = "The remote app failed"


class NotAnEvent(SourceError):
    title = "Not an event"


class CallNotRecorded(SourceError):
    title = "Call not recorded"


class FailedAsRecorded(CallNotRecorded):
    title = "Failed as recorded"

    def __init__(self, detail: str, code: str = "") -> None:
        super().__init__(detail)
        self._code = code

    @property
    def kind(self) -> str:
        """The code that the call failed with, if that is known."""
        return self._code or super().kind


class LogError(PrismError):
    status = 503
    title = "Run log unavailable"


class LogUnavailable(LogError):
    pass


class Fenced(LogError):
    title = "Run owned elsewhere"


class NoSessions(PrismError):
    status = 503
    title = "Session store unavailable"


class NoIdentity(PrismError):
    status = 503
    title = "Identity provider unavailable"


class AppLoading(PrismError):
    status = 503
    title = "The app is being loaded"

    def __init__(self, detail: str, retry_after: float = 1.0) -> None:
        super().__init__(detail)
        self.retry_after = retry_after
        """Seconds after which it is worth asking again."""


class Busy(PrismError):
    status = 503
    title = "Busy"


class ServerCancelled(PrismError):
    title = "Cancelled"


class Draining(PrismError):
    status = 503
    title = "Shutting down"


class ProtocolError(PrismError):
    title = "Protocol violation"


# ---------------------------------------------------------------------------
# What the operator gets, and the client does not.
#
# A diagnostic says what went wrong with its cause; the client gets safe text and the same correlation
# id. This module only names the shape: `cli` and `server` decide where lines go and how they look.


class Diagnostic(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing an operator should know."""

    kind: str
    """What happened, in a stable word or two: `run failed`, `unknown field`, `viewer cut`."""
    detail: str = ""
    correlation: str = ""
    request: str = ""
    """Id of the request that was being answered, or that started the run."""
    run: str = ""
    app: str = ""
    cause: str = ""
    """The exception with its stack, or upstream's raw text."""
    message: str = ""
    """What the exception says, in a line or a few: what a developer is shown on their own machine."""


Report = Callable[[Diagnostic], None]


def new_correlation() -> str:
    """Draw an id that joins what a client saw to the operator's line. 48 bits: unique in a log file."""
    return secrets.token_hex(6)


def cause_of(error: BaseException) -> str:
    """Return an exception with its stack, for operators only."""
    return "".join(traceback.format_exception(error)).rstrip()


def ignore(diagnostic: Diagnostic) -> None:
    """Drop a diagnostic: for pure uses such as `project`, which have no operator."""
    del diagnostic
